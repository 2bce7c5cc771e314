// stream.c - a stream: copies from the FIFO of a command to its reader on another worker.
//
// Nothing is stored: data that the reader does not take stays in the FIFO, and the writer waits.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOW_PIECE = 64 << 10 };

struct flow *flow_find(const struct data_server *server, rota_object_id object)
{
    struct flow *flow = server->flows;
    while (flow && (flow->is_done || !SAME_ID(flow->object, object))) flow = flow->next;
    return flow;
}

bool data_server_flow(struct data_server *server, rota_object_id object, const char *path)
{
    size_t size = strlen(path) + 1;
    data_server_flow_forget(server, object);
    struct flow *flow = calloc(1, sizeof *flow + size);
    if (!flow) return false;
    flow->object = object;
    memcpy(flow->path, path, size);
    flow->next = server->flows;
    server->flows = flow;
    return true;
}

static void flow_free(struct data_server *server, struct flow *flow)
{
    struct flow **at = &server->flows;
    while (*at != flow) at = &(*at)->next;
    *at = flow->next;
    free(flow);
}

void data_server_flow_forget(struct data_server *server, rota_object_id object)
{
    struct flow *flow = flow_find(server, object);
    if (!flow) return;
    for (uint32_t i = 0; i < server->peer_count; i++)
        if (server->peers[i]->flow == flow) {
            flow_end(server->peers[i]);
            server->peers[i]->state = PEER_GONE;
        }
    flow_free(server, flow);
}

void flows_release(struct data_server *server)
{
    while (server->flows) flow_free(server, server->flows);
}

void data_server_flow_over(struct data_server *server, rota_object_id object, int64_t now)
{
    struct flow *flow = flow_find(server, object);
    if (!flow) return;
    flow->is_over = true;
    flow->is_done = flow->is_left;
    for (uint32_t i = 0; i < server->peer_count; i++)
        if (server->peers[i]->flow == flow) peer_continue(server->peers[i], now);
}

bool data_server_next_flowed(struct data_server *server, rota_object_id *object)
{
    struct flow *flow = server->flows;
    while (flow && !flow->is_done) flow = flow->next;
    if (!flow) return false;
    *object = flow->object;
    flow_free(server, flow);
    return true;
}

const void *data_server_flow_look(const struct data_server *server, const void *at,
                                  rota_object_id *object, uint64_t *bytes)
{
    const struct flow *flow = at ? ((const struct flow *)at)->next : server->flows;
    if (!flow) return NULL;
    *object = flow->object;
    *bytes = flow->bytes;
    return flow;
}

// ---- Sending to the reader ------------------------------------------------------------------

// There is only one reader: data that was read cannot be read again.
bool flow_begin(struct peer *peer, struct flow *flow)
{
    if (flow->is_taken) return false;
    peer->flow_file = open(flow->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (peer->flow_file < 0) return false;
    flow->is_taken = true;
    peer->flow = flow;
    peer->state = PEER_KNOWN;
    return true;
}

// The writer is not told at once that its reader is gone: the server learns of the reader's end
// first, and tells it then. Otherwise a writer whose reader's machine died would fail before the
// reader.
void flow_end(struct peer *peer)
{
    if (!peer->flow) return;
    if (peer->is_flow_watched) os_loop_remove(peer->server->loop, peer->flow_file);
    close(peer->flow_file);
    peer->flow->is_done = peer->flow->is_over;
    peer->flow->is_left = !peer->flow->is_over;
    peer->flow = NULL;
    peer->is_flow_watched = false;
}

// While data waits to be sent the FIFO is not watched.
void flow_watch(struct peer *peer)
{
    bool reads = peer->flow && !peer->link->out.length && peer->state != PEER_GONE;
    if (!peer->flow || reads == peer->is_flow_watched) return;
    if (reads)
        os_loop_add(peer->server->loop, peer->flow_file, peer);
    else
        os_loop_remove(peer->server->loop, peer->flow_file);
    peer->is_flow_watched = reads;
}

bool flow_continue(struct peer *peer)
{
    struct wire_message piece = {.kind = WIRE_PIECE_MESSAGE};
    struct wire_out *out = &peer->link->out;
    char bytes[FLOW_PIECE];
    ssize_t got = read(peer->flow_file, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return false;
    bool is_empty = got < 0 && errno == EAGAIN;
    if (is_empty && !peer->flow->is_over) return true;
    // the process that holds it open has died: that is not its end
    if (got == 0 && !peer->flow->is_over) {
        peer->state = PEER_GONE;
        return true;
    }
    piece.piece.entry = wire_text_of("");
    piece.piece.offset = peer->flow->bytes;
    piece.piece.bytes = got > 0 ? (uint64_t)got : 0;
    wire_put(out, &piece);
    if (got <= 0) {
        flow_end(peer);
        return false;
    }
    char *room = wire_out_room(out, (uint32_t)got);
    if (!room) {
        peer->state = PEER_GONE;
        return true;
    }
    memcpy(room, bytes, (size_t)got);
    peer->flow->bytes += (uint64_t)got;
    return false;
}
