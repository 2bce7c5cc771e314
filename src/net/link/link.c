// link.c - messages in and out over a non-blocking socket.
//
// The owner of a link polls its file, calls link_work(), takes messages from `in` and puts messages
// into `out`. A socket error, a closed connection or a lack of memory ends the link: `reason` says
// why, and complete messages that came before stay in `in`.
#define _GNU_SOURCE
#include "net/link/tls.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Bytes to read before other links have their turn; bytes that an empty buffer may keep.
enum { KEPT = 2 << 20 };

void file_prepare(int file)
{
    int one = 1;
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
    fcntl(file, F_SETFD, FD_CLOEXEC);
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // fails for a Unix socket
    setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

struct link *link_new(int file)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->file = file;
    link->opened_at = os_ticks();
    return link;
}

struct link *link_over(int file)
{
    struct link *link = link_new(file);
    if (!link) return NULL;
    file_prepare(file);
    link->roles = LINK_LOCAL_ROLES;
    link_opened(link);
    return link;
}

void link_opened(struct link *link)
{
    assert(link->state == LINK_OPENING);
    door_leave(link);
    link->state = LINK_OPEN;
}

bool link_end(struct link *link, const char *reason)
{
    if (link->state == LINK_CLOSED) return false;
    door_leave(link);
    link->state = LINK_CLOSED;
    link->reason = reason;
    link->wants_write = false;
    return false;
}

bool link_overdue(struct link *link, int64_t now)
{
    if (link->state != LINK_OPENING || now - link->opened_at < LINK_OPENING_TICKS) return false;
    link_end(link, link->door ? "the peer did not authenticate in time" : "no answer in time");
    return true;
}

void link_close(struct link *link)
{
    if (!link) return;
    tls_close(link);
    search_close(link);
    link_end(link, "closed");
    if (link->file >= 0) close(link->file);
    wire_in_release(&link->in);
    wire_out_release(&link->out);
    free(link);
}

// ---- Bytes --------------------------------------------------------------------------------

ssize_t file_read(struct link *link, char *bytes, size_t count_max)
{
    for (;;) {
        ssize_t count = recv(link->file, bytes, count_max, 0);
        if (count > 0) return count;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return PIPE_AGAIN;
        link_end(link, "the peer closed the connection");
        return PIPE_OVER;
    }
}

ssize_t file_write(struct link *link, const char *bytes, size_t count)
{
    for (;;) {
        ssize_t sent = send(link->file, bytes, count, MSG_NOSIGNAL);
        if (sent >= 0) return sent;
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return PIPE_AGAIN;
        link_end(link, "the peer closed the connection");
        return PIPE_OVER;
    }
}

// Frees the memory of a long message, which the link may never need again.
static void buffer_trim(struct link *link)
{
    if (link->in.capacity > KEPT && link->in.taken == link->in.length) wire_in_release(&link->in);
}

// The owner may be slow to take messages: reads no further ahead than one message of maximal size.
static bool is_full(const struct link *link)
{
    return link->in.length - link->in.taken > WIRE_FRAME_MAX + WIRE_HEAD;
}

static ssize_t plain_read(struct link *link)
{
    char *bytes = wire_in_room(&link->in, PIECE);
    if (!bytes) {
        link_end(link, "out of memory for received data");
        return PIPE_OVER;
    }
    ssize_t count = file_read(link, bytes, PIECE);
    if (count > 0) wire_in_came(&link->in, (uint32_t)count);
    return count;
}

static bool link_read(struct link *link)
{
    for (uint32_t total = 0; total < LINK_READ_MAX && !is_full(link);) {
        ssize_t count = link->tls ? tls_read(link) : plain_read(link);
        if (count < 0) return count == PIPE_AGAIN;
        total += (uint32_t)count;
        if (count < PIECE) return true;  // that was all; if not, poll reports it
        if (link->is_read_slowly) return true;
    }
    return true;
}

static bool plain_flush(struct link *link)
{
    struct wire_out *out = &link->out;
    while (out->sent < out->length) {
        ssize_t count = file_write(link, out->bytes + out->sent, out->length - out->sent);
        if (count < 0) return count == PIPE_AGAIN;
        wire_out_sent(out, (uint32_t)count);
    }
    return true;
}

bool link_flush(struct link *link)
{
    if (link->state != LINK_OPEN) return link->state == LINK_OPENING;
    if (link->out.failed)
        return link_end(link, "out of memory for a message, or the message is too long");
    if (!(link->tls ? tls_flush(link) : plain_flush(link))) return false;
    link->wants_write = link->out.sent < link->out.length || (link->tls && tls_has_more(link));
    return true;
}

static bool open_on(struct link *link)
{
    if (link->search && (!search_on(link) || link->search)) return link->state != LINK_CLOSED;
    if (!tls_open_on(link)) return false;
    if (link->state == LINK_OPENING) link->wants_write = tls_has_more(link);
    return true;
}

bool link_work(struct link *link)
{
    if (link->state == LINK_CLOSED) return false;
    if (link->state == LINK_OPENING && (!open_on(link) || link->state == LINK_OPENING))
        return link->state != LINK_CLOSED;
    buffer_trim(link);
    // Reads first: the last messages of a peer that has gone must not be lost by a failed write.
    return link_read(link) && link_flush(link);
}
