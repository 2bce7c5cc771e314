// object_store_thread.c - `rota server`: opens the object store, and hands connections over to it.
//
// Files that clients upload are in an object store with a thread of its own (object/transfer). A
// peer whose first message fetches or uploads is handed over with its connection: from then on it
// belongs to the store's thread, which closes it. The store is connected to the loop like a peer,
// through a pair of sockets: it reports its objects and gets tickets and orders. If the folder
// cannot be opened the server does not start; if the thread ends, the server ends. A disk that
// hangs delays only the thread: acknowledged changes do not depend on it.
#include "server/cluster/objects.h"
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
    serve->object_store = object_store_open(serve->options.data, serve->options.data_max,
                                            &serve->keys, &socket, &error);
    struct link *link = serve->object_store ? link_over(socket) : NULL;
    if (!link) {
        if (serve->object_store) close(socket);
        fprintf(stderr, "rota server: %s\n", error.text);
        return 70;
    }
    serve->object_store_peer = serve_peer_add(serve, link);
    serve_peer_opened(serve, serve->object_store_peer);
    serve->object_store_peer->peer
        = cluster_peer_add(&serve->cluster, 0, "object_store", &link->out);
    cluster_object_store_set(&serve->cluster, serve->object_store_peer->peer);
    return 0;
}

// A disk that does not respond can block the thread. Acknowledged changes do not depend on it.
void serve_data_close(struct serve *serve, int status)
{
    struct os_watch signals = {.file = serve->signals};
    while (!object_store_has_ended(serve->object_store)) {
        os_wait(&signals, 1, os_ticks() + STEP);
        for (int number; (number = os_signal_next(serve->signals));)
            serve->ending += number != SIGHUP;
        if (serve->ending > 1) _exit(status);
    }
    object_store_close(serve->object_store);
}

bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message)
{
    bool is_first = !peer->peer->role && peer != serve->object_store_peer;
    bool wants = is_first && message->kind == WIRE_GREET_MESSAGE && serve->object_store
                 && message->greet.version == WIRE_VERSION && message->greet.role == WIRE_PEER;
    peer->is_given |= wants;
    peer->is_fetcher = wants && !message->greet.name.length;
    return wants;
}

// Users of this machine may have any role: a peer that only fetches counts as a worker then.
void serve_data_give(struct serve *serve, struct serve_peer *peer, char *who)
{
    struct link *link = peer->link;
    bool may_put = link->roles & (WIRE_CLIENT | WIRE_ADMIN);
    bool is_local = !link->id[0];
    bool is_client = is_local ? !peer->is_fetcher : !(link->roles & (WIRE_WORKER | WIRE_ADMIN));
    os_loop_remove(serve->loop, link->file);
    link->is_read_slowly = false;  // the store has limits of its own
    peer->link = NULL;
    object_store_adopt(serve->object_store, &(struct data_adoption){
                                  .link = link,
                                  .rights = may_put ? DATA_MAY_PUT : DATA_MAY_GET,
                                  .owner = {peer->owner, is_client},
                                  .who = who,
                              });
}
