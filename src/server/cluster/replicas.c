// replicas.c - what workers hold, and what they turn out not to hold.
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"

#include <stdlib.h>

static const struct memory heap = {memory_resize_heap, NULL};

enum { TOLD_MANY = 65536 };

// What a worker has named since it joined. Until it has told all: the rest is gone then.
struct hub_told {
    rota_object_id *items;
    uint32_t count, capacity;
    uint32_t results;
};

bool hub_is_held(const struct hub *hub, rota_object_id object, rota_worker_id worker)
{
    enum { FEW = 64 };
    rota_worker_id holders[FEW];
    uint32_t count = rota_object_workers(hub->server->rota, object, ROTA_SET_LOCATED, holders, FEW);
    for (uint32_t i = 0; i < count && i < FEW; i++)
        if (holders[i].number == worker.number) return true;
    return false;
}

// Nobody needs it any more: a DROP was lost with its connection, or came before the copy did.
static bool is_stray(const struct hub *hub, rota_object_id object)
{
    enum rota_object_state state = rota_object_state(hub->server->rota, object);
    return state == ROTA_OBJECT_NONE || state == ROTA_OBJECT_REMOVED;
}

static void replica_tell(struct hub *hub, struct hub_peer *peer, const struct wire_file *file,
                         enum rota_event_kind kind)
{
    struct rota_event event = {.kind = kind};
    event.replica.worker = peer->worker->id;
    event.replica.object = file->object;
    event.replica.bytes = file->bytes;
    event.replica.content = file->content;
    server_step(hub->server, &event);
}

static bool is_liar(const struct hub *hub, const struct hub_peer *peer,
                    const struct wire_file *file)
{
    return hub_is_liar(hub, file->object, peer->worker->id);
}

static void replicas_tell(struct hub *hub, struct hub_peer *peer, const wire_files *files,
                          enum rota_event_kind kind)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool is_news = kind == ROTA_EVENT_OBJECT_HELD;
        if (is_news && (is_stray(hub, file->object) || is_liar(hub, peer, file))) continue;
        // Another content than it should be is no copy of it, whatever it said before.
        bool is_false = is_news && hub_is_false(hub, file);
        replica_tell(hub, peer, file, is_false ? ROTA_EVENT_OBJECT_LOST : kind);
    }
    hub_ahead_news(hub);
}

// ---- All that a worker has -------------------------------------------------------------------

static int by_id(const void *left, const void *right)
{
    const rota_object_id *one = left, *other = right;
    if (one->high != other->high) return one->high < other->high ? -1 : 1;
    return one->low < other->low ? -1 : one->low > other->low;
}

static void same_remove(struct hub_told *told)
{
    uint32_t kept = 0;
    qsort(told->items, told->count, sizeof *told->items, by_id);
    for (uint32_t i = 0; i < told->count; i++)
        if (!kept || by_id(&told->items[kept - 1], &told->items[i]))
            told->items[kept++] = told->items[i];
    told->count = kept;
}

// Twice as many: to sort again for every few would take long.
static void told_reserve(struct hub_told *told)
{
    if (told->count < told->capacity) return;
    if (told->count >= TOLD_MANY) same_remove(told);
    if (told->count < told->capacity / 2) return;
    void *items = told->items;
    bool there = memory_reserve(&heap, &items, &told->capacity, (uint64_t)told->capacity * 2 + 1,
                                sizeof *told->items);
    told->items = items;
    if (!there) hub_no_memory();
}

// Only objects that the core knows: so there are never many more than it has, whatever a worker
// says.
static void remember(const struct hub *hub, struct hub_told *told, const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        if (is_stray(hub, files->items[i].object)) continue;
        told_reserve(told);
        told->items[told->count++] = files->items[i].object;
    }
}

// A key of which nobody has heard is not stray: who asks for such a result next will be glad of it.
// Told again with every connection, and most is known. The core keeps those that are new, so their
// number is not counted anew with each JOIN.
static void results_tell(struct hub *hub, struct hub_peer *peer, const wire_files *files)
{
    struct hub_worker *worker = peer->worker;
    struct hub_told *told = worker->told;
    for (uint32_t i = 0; told && i < files->count && told->results < WIRE_RESULTS_MAX; i++) {
        told->results++;
        if (hub_is_held(hub, files->items[i].object, worker->id)) continue;
        if (worker->results == WIRE_RESULTS_MAX) return;
        worker->results++;
        replica_tell(hub, peer, &files->items[i], ROTA_EVENT_OBJECT_HELD);
    }
}

void hub_known_put(struct hub *hub, struct hub_peer *peer, rota_object_id key,
                   const wire_files *outputs)
{
    struct wire_message message = {.kind = WIRE_KNOWN_MESSAGE};
    message.known.key = key;
    message.known.outputs = *outputs;
    wire_put(hub_later(hub, peer), &message);
}

void hub_told_begin(struct hub_worker *worker)
{
    hub_told_end(worker);
    worker->told = hub_allocate(1, sizeof *worker->told);
}

void hub_told_end(struct hub_worker *worker)
{
    if (worker->told) free(worker->told->items);
    free(worker->told);
    worker->told = NULL;
}

void hub_held_all(struct hub *hub, struct hub_peer *peer)
{
    const struct hub_told *told = peer->worker->told;
    struct rota_event event = {.kind = ROTA_EVENT_HELD_ALL};
    if (!told) return;  // it has not joined, or says so twice
    rota_object_id *objects = hub_keep(hub, told->count, sizeof *objects);
    for (uint32_t i = 0; i < told->count; i++) objects[i] = told->items[i];
    if (told->count) qsort(objects, told->count, sizeof *objects, by_id);
    event.held_all.worker = peer->worker->id;
    event.held_all.objects = objects;
    event.held_all.count = told->count;
    server_step(hub->server, &event);
    hub_told_end(peer->worker);
}

// ---- News ------------------------------------------------------------------------------------

static void strays_drop(struct hub *hub, struct hub_peer *peer, const wire_files *files)
{
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    wire_files *strays = &message.drop.objects;
    struct rota_worker_view view;
    // What differs may have been made there just now, which is not recorded yet.
    bool is_busy = rota_worker_look(hub->server->rota, peer->worker->id, &view) && view.tasks;
    strays->items = hub_keep(hub, files->count, sizeof *strays->items);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool is_nobodys = is_stray(hub, file->object);
        if (!is_nobodys && (is_busy || !hub_is_false(hub, file))) continue;
        struct wire_file *stray = &strays->items[strays->count++];
        *stray = (struct wire_file){
            .name = wire_text_of(""), .path = wire_text_of(""), .object = file->object};
        if (!is_nobodys) stray->content = file->content;  // the right one may be on its way
    }
    if (strays->count) wire_put(hub_later(hub, peer), &message);
}

bool hub_copies_told(struct hub *hub, struct hub_peer *peer, const wire_files *files,
                     hub_copies_fn *take)
{
    if (files->count > WIRE_HELD_MAX)
        return hub_turn_away(peer, WIRE_REFUSED_REQUEST, "a message names at most 4096 objects");
    take(hub, peer, files);
    return true;
}

void hub_held(struct hub *hub, struct hub_peer *peer, const wire_files *files)
{
    // A message has results, or objects.
    if (files->count && files->items[0].kind == WIRE_RESULT)
        return results_tell(hub, peer, files);
    if (peer->worker->told) remember(hub, peer->worker->told, files);
    replicas_tell(hub, peer, files, ROTA_EVENT_OBJECT_HELD);
    strays_drop(hub, peer, files);
}

void hub_lost(struct hub *hub, struct hub_peer *peer, const wire_files *files)
{
    replicas_tell(hub, peer, files, ROTA_EVENT_OBJECT_LOST);
}

void hub_streamed(struct hub *hub, struct hub_peer *peer, const wire_files *files)
{
    replicas_tell(hub, peer, files, ROTA_EVENT_STREAMED);
    strays_drop(hub, peer, files);
}
