// replicas.c - reports of workers about the copies they hold or lack.
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"

#include <stdlib.h>

enum { TOLD_MANY = 65536 };

// The objects a worker has named since it joined, until its list is complete: all others are lost
// then.
struct cluster_told {
    rota_object_id *items;
    uint32_t count, capacity;
    uint32_t results;
};

bool cluster_is_held(const struct cluster *cluster, rota_object_id object, rota_worker_id worker)
{
    enum { FEW = 64 };
    rota_worker_id holders[FEW];
    uint32_t count
        = rota_object_workers(cluster->server->rota, object, ROTA_SET_LOCATED, holders, FEW);
    for (uint32_t i = 0; i < count && i < FEW; i++)
        if (holders[i].number == worker.number) return true;
    return false;
}

// No task needs it any more: a DROP was lost with its connection, or arrived before the copy.
static bool is_stray(const struct cluster *cluster, rota_object_id object)
{
    enum rota_object_state state = rota_object_state(cluster->server->rota, object);
    return state == ROTA_OBJECT_NONE || state == ROTA_OBJECT_REMOVED;
}

static void replica_tell(struct cluster *cluster, struct cluster_peer *peer,
                         const struct wire_file *file, enum rota_event_kind kind)
{
    struct rota_event event = {.kind = kind};
    event.replica.worker = peer->worker->id;
    event.replica.object = file->object;
    event.replica.bytes = file->bytes;
    event.replica.content = file->content;
    server_step(cluster->server, &event);
}

static void replicas_tell(struct cluster *cluster, struct cluster_peer *peer,
                          const wire_files *files, enum rota_event_kind kind)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool is_news = kind == ROTA_EVENT_OBJECT_HELD;
        bool is_refused = is_stray(cluster, file->object)
                          || cluster_is_bad_source(cluster, file->object, peer->worker->id);
        if (is_news && is_refused) continue;
        // Content other than the recorded one is not a copy, whatever was reported before.
        bool is_false = is_news && cluster_is_false(cluster, file);
        replica_tell(cluster, peer, file, is_false ? ROTA_EVENT_OBJECT_LOST : kind);
    }
    cluster_ahead_news(cluster);
}

// ---- The list of a joining worker -----------------------------------------------------------

static int by_id(const void *left, const void *right)
{
    const rota_object_id *one = left, *other = right;
    if (one->high != other->high) return one->high < other->high ? -1 : 1;
    return one->low < other->low ? -1 : one->low > other->low;
}

static void same_remove(struct cluster_told *told)
{
    uint32_t kept = 0;
    qsort(told->items, told->count, sizeof *told->items, by_id);
    for (uint32_t i = 0; i < told->count; i++)
        if (!kept || by_id(&told->items[kept - 1], &told->items[i]))
            told->items[kept++] = told->items[i];
    told->count = kept;
}

// Doubles the size: sorting again for every few entries would take long.
static void told_reserve(struct cluster_told *told)
{
    if (told->count < told->capacity) return;
    if (told->count >= TOLD_MANY) same_remove(told);
    if (told->count < told->capacity / 2) return;
    if (!ARRAY_RESERVE(&memory_heap, told->items, told->capacity, (uint64_t)told->capacity * 2 + 1))
        cluster_no_memory();
}

// Only objects that the core knows: so the list is limited, whatever a worker sends.
static void remember(const struct cluster *cluster, struct cluster_told *told,
                     const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        if (is_stray(cluster, files->items[i].object)) continue;
        told_reserve(told);
        told->items[told->count++] = files->items[i].object;
    }
}

// A content key unknown to the core is not dropped: a later task may use the result. It is reported
// with every connection, and most are known. The core keeps new ones, so their number is not
// counted again with each JOIN.
static void results_tell(struct cluster *cluster, struct cluster_peer *peer,
                         const wire_files *files)
{
    struct cluster_worker *worker = peer->worker;
    struct cluster_told *told = worker->told;
    for (uint32_t i = 0; told && i < files->count && told->results < WIRE_RESULTS_MAX; i++) {
        told->results++;
        if (cluster_is_held(cluster, files->items[i].object, worker->id)) continue;
        if (worker->results == WIRE_RESULTS_MAX) return;
        worker->results++;
        replica_tell(cluster, peer, &files->items[i], ROTA_EVENT_OBJECT_HELD);
    }
}

void cluster_known_put(struct cluster *cluster, struct cluster_peer *peer, rota_object_id key,
                   const wire_files *outputs)
{
    struct wire_message message = {.kind = WIRE_KNOWN_MESSAGE};
    message.known.key = key;
    message.known.outputs = *outputs;
    wire_put(cluster_later(cluster, peer), &message);
}

void cluster_told_begin(struct cluster_worker *worker)
{
    cluster_told_end(worker);
    worker->told = cluster_allocate(1, sizeof *worker->told);
}

void cluster_told_end(struct cluster_worker *worker)
{
    if (worker->told) free(worker->told->items);
    free(worker->told);
    worker->told = NULL;
}

void cluster_held_all(struct cluster *cluster, struct cluster_peer *peer)
{
    const struct cluster_told *told = peer->worker->told;
    struct rota_event event = {.kind = ROTA_EVENT_HELD_ALL};
    if (!told) return;  // it has not joined, or ended its list twice
    rota_object_id *objects = cluster_keep(cluster, told->count, sizeof *objects);
    for (uint32_t i = 0; i < told->count; i++) objects[i] = told->items[i];
    if (told->count) qsort(objects, told->count, sizeof *objects, by_id);
    event.held_all.worker = peer->worker->id;
    event.held_all.objects = objects;
    event.held_all.count = told->count;
    server_step(cluster->server, &event);
    cluster_told_end(peer->worker);
}

// ---- Changes --------------------------------------------------------------------------------

static void strays_drop(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files)
{
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    wire_files *strays = &message.drop.objects;
    struct rota_worker_view view;
    // A different content may just have been made there, and is not recorded yet.
    bool is_busy = rota_worker_look(cluster->server->rota, peer->worker->id, &view) && view.tasks;
    strays->items = cluster_keep(cluster, files->count, sizeof *strays->items);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool is_nobodys = is_stray(cluster, file->object);
        if (!is_nobodys && (is_busy || !cluster_is_false(cluster, file))) continue;
        struct wire_file *stray = &strays->items[strays->count++];
        *stray = (struct wire_file){
            .name = wire_text_of(""), .path = wire_text_of(""), .object = file->object};
        if (!is_nobodys) stray->content = file->content;  // the right one may be on its way
    }
    if (strays->count) wire_put(cluster_later(cluster, peer), &message);
}

bool cluster_copies_told(struct cluster *cluster, struct cluster_peer *peer,
                         const wire_files *files, cluster_copies_fn *take)
{
    if (files->count > WIRE_HELD_MAX)
        return cluster_turn_away(peer, WIRE_REFUSED_REQUEST,
                                 "a message names at most 4096 objects");
    take(cluster, peer, files);
    return true;
}

void cluster_held(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files)
{
    // A message has either results or objects.
    if (files->count && files->items[0].kind == WIRE_RESULT)
        return results_tell(cluster, peer, files);
    if (peer->worker->told) remember(cluster, peer->worker->told, files);
    replicas_tell(cluster, peer, files, ROTA_EVENT_OBJECT_HELD);
    strays_drop(cluster, peer, files);
}

void cluster_lost(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files)
{
    replicas_tell(cluster, peer, files, ROTA_EVENT_OBJECT_LOST);
}

void cluster_streamed(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files)
{
    replicas_tell(cluster, peer, files, ROTA_EVENT_STREAMED);
    strays_drop(cluster, peer, files);
}
