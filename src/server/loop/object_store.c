// object_store.c - `rota server`: files that clients bring lie in a store with a thread of its own.
#include "server/loop/loop.h"
#include "os/os.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { STEP = 2000 };

int serve_data_open(struct serve *serve)
{
    struct link_error error = {""};
    int socket;
    if (!serve->options.data) return 0;
    serve->depot = depot_open(serve->options.data, serve->options.data_max, &serve->keys,
                              &socket, &error);
    struct link *link = serve->depot ? link_over(socket) : NULL;
    if (!link) {
        if (serve->depot) close(socket);
        fprintf(stderr, "rota server: %s\n", error.text);
        return 70;
    }
    serve->depot_peer = serve_peer_add(serve, link);
    serve_peer_opened(serve, serve->depot_peer);
    serve->depot_peer->peer = hub_peer_add(&serve->hub, 0, "depot", &link->out);
    hub_depot_set(&serve->hub, serve->depot_peer->peer);
    return 0;
}

// A disk that does not answer can hold up the thread. Nothing that was promised depends on it.
void serve_data_close(struct serve *serve, int status)
{
    struct os_watch signals = {.file = serve->signals};
    while (!depot_has_ended(serve->depot)) {
        os_wait(&signals, 1, os_ticks() + STEP);
        uint32_t before = serve->ending;
        for (int number; (number = os_signal_next(serve->signals));)
            serve->ending += number != SIGHUP;
        if (serve->ending > before && before) _exit(status);
    }
    depot_close(serve->depot);
}

bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message)
{
    bool is_first = !peer->peer->role && peer != serve->depot_peer;
    bool wants = is_first && message->kind == WIRE_GREET_MESSAGE && serve->depot
                 && message->greet.version == WIRE_VERSION && message->greet.role == WIRE_PEER;
    peer->is_given |= wants;
    peer->is_fetcher = wants && !message->greet.name.length;
    return wants;
}

// Users of this machine may be anything: what only fetches counts as a worker then.
void serve_data_give(struct serve *serve, struct serve_peer *peer, char *who)
{
    struct link *link = peer->link;
    bool may_put = link->roles & (WIRE_CLIENT | WIRE_ADMIN);
    bool is_local = !link->id[0];
    bool is_client = is_local ? !peer->is_fetcher : !(link->roles & (WIRE_WORKER | WIRE_ADMIN));
    os_loop_remove(serve->loop, link->file);
    link->is_read_slowly = false;  // the store has limits of its own
    peer->link = NULL;
    depot_adopt(serve->depot, &(struct data_adoption){
                                  .link = link,
                                  .rights = may_put ? DATA_MAY_PUT : DATA_MAY_GET,
                                  .owner = {peer->owner, is_client},
                                  .who = who,
                              });
}
