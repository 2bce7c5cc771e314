// drain.c - the end of `rota server`: received requests are decided, made durable and answered.
//
// After SIGTERM the server closes its listeners, reads what has already arrived, and runs turns
// until all of it is decided and durable. Then it sends the replies, for at most a few seconds: a
// peer that does not read does not delay the end. Connections, turns and the store still belong to
// the loop; this file only decides when it stops. A second signal, or an error of the store, ends
// the server at once: whatever was acknowledged is durable, and other clients repeat their requests
// to the next server.
#include "server/loop/loop.h"
#include "os/os.h"

enum { DRAIN = 5 * 1000000, STEP = 5000, READY = 256 };

static bool is_drained(const struct serve *serve)
{
    if (serve->inputs || serve->questions || serve->cluster.turn[0] || serve->cluster.turn[1])
        return false;
    for (const struct serve_peer *peer = serve->peers; peer; peer = peer->next)
        if (!peer->is_gone && peer->peer && peer->link->out.length) return false;
    return true;
}

// From here on no connection is accepted: later requests go to the next server process.
static void doors_close(struct serve *serve)
{
    for (uint32_t i = 0; i < serve->listener_count; i++) {
        os_loop_remove(serve->loop, serve->listeners[i].file);
        link_listener_close(&serve->listeners[i]);
    }
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next)
        os_loop_remove(serve->loop, peer->link->file);
}

// Reads what has already arrived on this machine.
static void last_words_read(struct serve *serve)
{
    struct os_ready ready[READY];
    uint32_t count = os_loop_wait(serve->loop, ready, READY, 0);
    for (uint32_t i = 0; i < count; i++) serve_ready(serve, &ready[i]);
}

int serve_drain(struct serve *serve)
{
    struct os_ready ready[READY];
    uint32_t interrupts = serve->ending;
    int64_t until = os_ticks() + DRAIN;
    os_service_tell(&serve->service, "STOPPING=1\nSTATUS=ending: answering received requests");
    last_words_read(serve);
    doors_close(serve);
    while (!is_drained(serve) && os_ticks() < until && serve->ending == interrupts) {
        if (serve->inputs && cluster_can_begin(&serve->cluster) && !serve_turn(serve)) return 70;
        serve_settle(serve);
        if (store_error(serve->store)->fault) return 70;
        uint32_t count = os_loop_wait(serve->loop, ready, READY, os_ticks() + STEP);
        for (uint32_t i = 0; i < count; i++) serve_ready(serve, &ready[i]);
    }
    return 0;
}
