// serve_data.c - `rota server`: files that clients bring lie in a store with a thread of its own.
#include "cli/serve.h"
#include "os/os.h"

#include <stdio.h>
#include <unistd.h>

static const struct link_key *peer_key(const struct serve *serve)
{
    for (uint32_t i = 0; i < serve->keys.count; i++)
        if (serve->keys.items[i].role == WIRE_PEER) return &serve->keys.items[i];
    return NULL;
}

int serve_data_open(struct serve *serve)
{
    struct link_error error = {""};
    int socket;
    if (!serve->options.data) return 0;
    serve->depot = depot_open(serve->options.data, serve->options.data_max, peer_key(serve),
                              &socket, &error);
    struct link *link = serve->depot ? link_over(socket) : NULL;
    if (!link) {
        if (serve->depot) close(socket);
        fprintf(stderr, "rota server: %s\n", error.text);
        return 70;
    }
    serve->depot_peer = serve_peer_add(serve, link);
    serve->depot_peer->peer = hub_peer_add(&serve->hub, 0, "depot", &link->out);
    hub_depot_set(&serve->hub, serve->depot_peer->peer);
    return 0;
}

void serve_data_close(struct serve *serve)
{
    depot_close(serve->depot);
}

bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message)
{
    bool is_first = !peer->peer->role && peer != serve->depot_peer;
    bool wants = is_first && message->kind == WIRE_GREET_MESSAGE && serve->depot
                 && message->greet.version == WIRE_VERSION && message->greet.role == WIRE_PEER;
    peer->is_given |= wants;
    return wants;
}

void serve_data_give(struct serve *serve, struct serve_peer *peer)
{
    bool may_put = peer->link->roles & (WIRE_CLIENT | WIRE_ADMIN);
    struct link *link = peer->link;
    os_loop_remove(serve->loop, link->file);
    peer->link = NULL;
    depot_adopt(serve->depot, link, may_put ? DATA_MAY_PUT : DATA_MAY_GET);
}
