// serve_objects.c - serves objects to peers that show a ticket for them.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <stdlib.h>
#include <unistd.h>

enum { READY_MAX = DATA_GUESTS_MAX + 1 };

static struct data_server *server_make(struct cache *cache)
{
    struct data_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    *server = (struct data_server){.cache = cache, .listener.file = -1, .loop = os_loop_open()};
    if (server->loop >= 0 && tickets_init(&server->tickets)) return server;
    data_server_close(server);
    return NULL;
}

// On failure the listener is closed.
static struct data_server *server_begin(struct data_server *server, bool listens)
{
    if (listens && os_loop_add(server->loop, server->listener.file, server)) return server;
    data_server_close(server);
    return NULL;
}

struct data_server *data_server_open(struct cache *cache, const char *address,
                                     const struct link_keys *keys, struct link_error *error)
{
    struct data_server *server = server_make(cache);
    if (!server || !address) return server;
    return server_begin(server, link_listen(&server->listener, address, keys, error));
}

struct data_server *data_server_open_over(struct cache *cache, int file,
                                          const struct link_keys *keys, struct link_error *error)
{
    struct data_server *server = server_make(cache);
    if (!server) return NULL;
    return server_begin(server, link_listen_over(&server->listener, file, keys, error));
}

void data_server_close(struct data_server *server)
{
    if (!server) return;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        put_leave(server->guests[i], 0);
        guest_release(server->guests[i]);
        free(server->guests[i]);
    }
    connection_queue_release(server);
    if (server->listener.file >= 0) link_listener_close(&server->listener);
    parts_release(server->cache, &server->parts);
    flows_release(server);
    tickets_release(&server->tickets);
    if (server->loop >= 0) close(server->loop);
    free(server);
}

const char *data_server_address(const struct data_server *server)
{
    return server->listener.address;
}

bool data_server_serve(struct data_server *server, const struct wire_serve *serve, int64_t now)
{
    return tickets_add(&server->tickets, serve, now);
}

int data_server_file(const struct data_server *server)
{
    return server->loop;
}

uint32_t data_server_connections(const struct data_server *server)
{
    return server->guest_count + server->queue_count;
}

int64_t data_server_due(const struct data_server *server)
{
    if (turns_are_due(server)) return 0;
    // A waiting connection may have to wait until a guest has been served for some time.
    int64_t due = server->queue_count ? server->worked + DATA_GRACE_TICKS : INT64_MAX;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        int64_t of_guest = guest_due(server->guests[i]);
        if (of_guest < due) due = of_guest;
    }
    return due;
}

static void guest_remove(struct data_server *server, uint32_t at, int64_t now)
{
    put_leave(server->guests[at], now);
    guest_release(server->guests[at]);
    free(server->guests[at]);
    server->guests[at] = server->guests[--server->guest_count];
}

void revoked_note(struct data_server *server, char *who)
{
    struct data_brought brought = {.who = who, .reason = DATA_REVOKED};
    if (server->on_brought) server->on_brought(server->context, &brought);
}

// Nothing more is read from it, and it is closed when it has been told.
static void guest_revoke(struct guest *guest, int64_t now)
{
    struct data_server *server = guest->server;
    brought_tell(guest, "");
    revoked_note(server, guest->brought.who);
    put_drop(server->cache, &guest->put);
    flow_end(guest);
    guest_deny(guest, WIRE_REFUSED_ROLE, DATA_REVOKED);
    guest_go_on(guest, now);
}

uint32_t data_server_revoke(struct data_server *server, const struct link_keys *keys, int64_t now)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        struct guest *guest = server->guests[i];
        bool is_ending = guest->state == GUEST_LEAVING || guest->state == GUEST_GONE;
        if (is_ending || link_is_allowed(guest->link, keys)) continue;
        guest_revoke(guest, now);
        count++;
    }
    return count + connection_queue_revoke(server, keys);
}

// Guests with a ticket stay; of the others the oldest is disconnected.
static bool room_make(struct data_server *server, int64_t now)
{
    uint32_t oldest = DATA_GUESTS_MAX;
    if (server->guest_count < DATA_GUESTS_MAX) return true;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        if (server->guests[i]->state == GUEST_KNOWN) continue;
        if (oldest == DATA_GUESTS_MAX || server->guests[i]->since < server->guests[oldest]->since)
            oldest = i;
    }
    if (oldest == DATA_GUESTS_MAX) return false;
    guest_remove(server, oldest, now);
    return true;
}

static struct guest *guest_add(struct data_server *server, struct link *link, int64_t now)
{
    struct guest *guest = room_make(server, now) ? calloc(1, sizeof *guest) : NULL;
    if (!guest || !os_loop_add(server->loop, link->file, guest)) {
        free(guest);
        link_close(link);
        return NULL;
    }
    guest_init(guest, server, link, now);
    server->guests[server->guest_count++] = guest;
    return guest;
}

static void guests_accept(struct data_server *server, int64_t now)
{
    for (struct link *link; (link = link_accept(&server->listener));) guest_add(server, link, now);
}

static void guest_send_away(struct data_server *server, const struct guest *guest, int64_t now)
{
    uint32_t at = 0;
    while (server->guests[at] != guest) at++;
    crowder_note(server, guest->link);
    guest_remove(server, at, now);
}

// Messages it has already sent are in the link, and the event loop does not report them. `leaves`
// makes room for it, and may be null.
static void adopted_enter(struct data_server *server, const struct data_adoption *adoption,
                          const struct guest *leaves, int64_t now)
{
    if (leaves) guest_send_away(server, leaves, now);
    struct guest *guest = guest_add(server, adoption->link, now);
    if (!guest) {
        free(adoption->who);
        return;
    }
    guest->brought.who = adoption->who;
    guest->is_greeted = true;
    guest->owner = adoption->owner;
    guest->may_put = adoption->rights == DATA_MAY_PUT;
    guest_work(guest, true, now);
}

void data_adoption_drop(const struct data_adoption *adoption)
{
    link_close(adoption->link);
    free(adoption->who);
}

void data_server_adopt(struct data_server *server, const struct data_adoption *adoption,
                       int64_t now)
{
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    struct guest *leaves;
    welcome.welcome.version = WIRE_VERSION;
    bool enters = connection_queue_may_enter(server, adoption->owner, now, &leaves);
    if (!enters && !connection_queue_add(server, adoption)) return;
    wire_put(&adoption->link->out, &welcome);
    if (enters)
        adopted_enter(server, adoption, leaves, now);
    else
        link_flush(adoption->link);
}

void data_server_on_gone(struct data_server *server, data_gone_fn *call, void *context)
{
    server->on_gone = call;
    server->context = context;
}

void data_server_on_bound(struct data_server *server, data_bound_fn *call, void *context)
{
    server->on_bound = call;
    server->context = context;
}

void data_server_on_brought(struct data_server *server, data_brought_fn *call)
{
    server->on_brought = call;
}

static void guests_remove_gone(struct data_server *server, int64_t now)
{
    for (uint32_t i = server->guest_count; i-- > 0;) {
        struct guest *guest = server->guests[i];
        bool is_held_up = guest->is_waiting || guest->is_behind || guest->flow;
        if (is_held_up) pace_begin(&guest->pace, now);  // not its fault
        bool late = guest->state == GUEST_KNOWN ? pace_is_lost(&guest->pace, now)
                                                : now >= guest_due(guest);
        if (late || guest->state == GUEST_GONE) guest_remove(server, i, now);
    }
}

void data_server_work(struct data_server *server, int64_t now)
{
    struct os_ready ready[READY_MAX];
    uint32_t count = os_loop_wait(server->loop, ready, READY_MAX, 0);
    bool somebody_knocks = false;
    for (uint32_t i = 0; i < count; i++) {
        if (ready[i].owner == server)
            somebody_knocks = true;
        else
            guest_work(ready[i].owner, ready[i].can_read, now);
    }
    for (uint32_t i = 0; i < server->guest_count; i++)
        if (server->guests[i]->is_waiting && !guest_has_to_wait(server->guests[i]))
            guest_go_on(server->guests[i], now);
    turns_give(server, now);
    guests_remove_gone(server, now);
    struct data_adoption adoption;
    struct guest *leaves;
    while (connection_queue_next(server, now, &adoption, &leaves))
        adopted_enter(server, &adoption, leaves, now);
    server->worked = now;
    if (somebody_knocks) guests_accept(server, now);  // last: others may have to leave for them
}
