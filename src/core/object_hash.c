// object_hash.c - the hash of an object, as reported by the attempt that made it.
//
// Other workers may hold copies of that content only. An object that is made again may get another
// content: then the report of the newer producer counts, and copies of the older content are
// dropped.
#include "core/core.h"

#include <string.h>

static bool is_same(const struct rota_content *one, const struct rota_content *other)
{
    return one->kind == other->kind && memcmp(one->hash, other->hash, sizeof one->hash) == 0;
}

bool content_is_false(const struct object *object, const struct rota_content *content)
{
    return object->job && object->content.kind && !is_same(&object->content, content);
}

uint64_t content_digest(const struct rota_content *content)
{
    uint64_t hash = (uint64_t)content->kind, word;
    for (size_t i = 0; i < sizeof content->hash; i += sizeof word) {
        memcpy(&word, content->hash + i, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash;
}

static replica_row older_find(const struct rota *rota, object_row row, worker_row maker)
{
    replica_row at = OBJECT(rota, row)->replicas;
    while (at
           && (REPLICA(rota, at)->worker == maker
               || !(REPLICA(rota, at)->flags & REPLICA_LOCATED)))
        at = REPLICA(rota, at)->next_of_object;
    return at;
}

// Readers of the older content that have not started are recalled, and get the newer one.
static void older_drop(struct rota *rota, object_row row, worker_row maker,
                       const struct rota_content *older)
{
    for (replica_row at; (at = older_find(rota, row, maker));) {
        const struct worker *holder = WORKER(rota, REPLICA(rota, at)->worker);
        if (!holder->lost) {
            struct rota_action *action = effect_action(rota, ROTA_ACTION_DROP);
            action->drop.object = OBJECT(rota, row)->id;
            action->drop.worker.number = holder->id;
            action->drop.content = *older;
        }
        replica_lose(rota, at);
    }
}

static void set(struct rota *rota, object_row row, worker_row maker,
                const struct rota_content *content)
{
    const struct rota_content older = OBJECT(rota, row)->content;
    OBJECT(rota, row)->content = *content;
    if (older.kind && !is_same(&older, content)) older_drop(rota, row, maker, &older);
}

// A worker that runs an execution under the id of another task reports the outputs of that task, in
// order.
static object_row made_find(const struct rota *rota, task_row row, const struct rota_output *made,
                            uint32_t place)
{
    const struct extra *extra = task_extra(rota, row);
    object_row at = object_find(rota, made->object);
    if (at && OBJECT(rota, at)->producer == row) return at;
    bool is_other = map_find(&rota->run_as, row) && place < extra->output_count;
    return is_other ? rota->use[extra->use_first + extra->input_count + place].object : 0;
}

void content_note(struct rota *rota, task_row row, worker_row worker,
                  const struct rota_output *sizes, uint32_t count)
{
    assert(count == 0 || sizes);
    for (uint32_t i = 0; i < count && rota->task[row].extra; i++) {
        object_row at = made_find(rota, row, &sizes[i], i);
        if (!at) continue;
        OBJECT(rota, at)->bytes = sizes[i].bytes;
        object_mark(rota, at);
        if (worker) set(rota, at, worker, &sizes[i].content);
    }
}

void content_copy(struct rota *rota, task_row from, task_row to)
{
    assert(from != to);
    const struct extra *one = task_extra(rota, from), *other = task_extra(rota, to);
    uint32_t count
        = one->output_count < other->output_count ? one->output_count : other->output_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct object *made
            = OBJECT(rota, rota->use[one->use_first + one->input_count + i].object);
        object_row same = rota->use[other->use_first + other->input_count + i].object;
        if (!made->content.kind) continue;
        OBJECT(rota, same)->bytes = made->bytes;
        object_mark(rota, same);
        set(rota, same, 0, &made->content);
    }
}
