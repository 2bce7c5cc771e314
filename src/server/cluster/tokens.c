// tokens.c - tokens of attempts: never reused, and known until the attempt has ended.
//
// A report counts only with the token of its attempt. The attempt number is not enough: a database
// that was restored from a backup issues the same numbers again. Tokens are kept here, by worker,
// as they were issued. Tokens of earlier server processes are smaller than all of this one, and are
// learned from the first list of attempts with which a worker joins.
#include "base/planted.h"
#include "server/cluster/tokens.h"

// A worker has tasks with neighbouring numbers. The map keeps neighbours together, where removing
// them one by one is slow, so an odd factor scatters them; it maps no two tasks to one key.
static uint64_t key_of(rota_task_id task)
{
    return ((uint64_t)task.job << 32 | task.task) * 0x9e3779b97f4a7c15u;
}

// A hash of the complete token: its lower half is the same in every epoch. 0 would mean none.
static uint32_t mark_of(uint64_t token)
{
    return (uint32_t)hash_mix(token, 1) | 1;
}

uint64_t cluster_token_next(struct cluster *cluster)
{
    return PLANTED(TOKEN_SAME) ? cluster->token : ++cluster->token;
}

void cluster_token_give(struct cluster_worker *worker, rota_task_id task, uint64_t token)
{
    if (!map_reserve(&memory_heap, &worker->tokens, worker->tokens.count + 1)) cluster_no_memory();
    *map_place(&worker->tokens, key_of(task)) = mark_of(token);
}

bool cluster_token_fits(const struct cluster *cluster, const struct cluster_worker *worker,
                        rota_task_id task, uint64_t token)
{
    uint32_t given = map_find(&worker->tokens, key_of(task));
    if (PLANTED(TOKEN_UNCHECKED)) return true;
    return given == mark_of(token) && token <= cluster->token;
}

bool cluster_token_listed(const struct cluster *cluster, struct cluster_worker *worker,
                          rota_task_id task, uint64_t token)
{
    bool is_known = map_find(&worker->tokens, key_of(task));
    if (!is_known && token <= cluster->token_first)
        cluster_token_give(worker, task, token);
    return cluster_token_fits(cluster, worker, task, token);
}

bool cluster_token_take(const struct cluster *cluster, struct cluster_worker *worker,
                        rota_task_id task, uint64_t token)
{
    bool fits = cluster_token_fits(cluster, worker, task, token);
    if (fits) map_remove(&worker->tokens, key_of(task));
    return fits;
}

void cluster_tokens_keep(struct cluster_worker *worker, const rota_task_id *tasks, uint32_t count)
{
    struct map kept = {0};
    if (count && !map_reserve(&memory_heap, &kept, count)) cluster_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t given = map_find(&worker->tokens, key_of(tasks[i]));
        if (given) map_put(&kept, key_of(tasks[i]), given);
    }
    cluster_tokens_release(worker);
    worker->tokens = kept;
}

void cluster_tokens_release(struct cluster_worker *worker)
{
    map_release(&memory_heap, &worker->tokens);
}

// ---- Databases restored from a backup -------------------------------------------------------

// Workers are told only what is durable. So a worker that knows more than the database was told by
// a later state of it.
bool cluster_is_behind(struct cluster *cluster, const struct wire_join *join)
{
    if (join->epoch > cluster->epoch || !cluster_epoch_is_ours(cluster, join->epoch, join->opened))
        return true;
    for (uint32_t i = 0; i < join->attempts.count; i++) {
        const struct wire_attempt *attempt = &join->attempts.items[i];
        struct rota_task_view view;
        if (attempt->token > cluster->token) return true;
        if (attempt->task.job >= cluster->server->next_job.number) return true;
        if (rota_task_look(cluster->server->rota, attempt->task, &view)
            && attempt->attempt > view.attempt)
            return true;
    }
    return false;
}

const char cluster_quiet_reason[]
    = "the server's database was restored from a backup; tasks are handed out when the leases of"
      " the lost server have expired: try again later";

bool cluster_is_quiet(const struct cluster *cluster)
{
    return cluster->ticks < cluster->quiet_until;
}
