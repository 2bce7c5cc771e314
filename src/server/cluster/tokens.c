// tokens.c - tokens of attempts: always new, and known until the attempt has ended.
//
// A report counts only with the token of its attempt. The number of the attempt is not enough: a
// database that was restored from a backup gives the same numbers again. Tokens are kept here, by
// worker, as they were given out. Those of earlier lives of the server are smaller than all of this
// one, and are taken from the first list of its attempts that a worker joins with.
#include "base/planted.h"
#include "server/cluster/tokens.h"

static const struct memory heap = {memory_resize_heap, NULL};

static uint64_t key_of(rota_task_id task)
{
    return (uint64_t)task.job << 32 | task.task;
}

// All of a token counts: its lower half is the same in every epoch. 0 would be none.
static uint32_t mark_of(uint64_t token)
{
    return (uint32_t)hash_mix(token, 1) | 1;
}

uint64_t hub_token_next(struct hub *hub)
{
    return PLANTED(TOKEN_SAME) ? hub->token : ++hub->token;
}

void hub_token_give(struct hub_worker *worker, rota_task_id task, uint64_t token)
{
    if (!map_reserve(&heap, &worker->tokens, 1)) hub_no_memory();
    *map_place(&worker->tokens, key_of(task)) = mark_of(token);
}

bool hub_token_fits(const struct hub *hub, const struct hub_worker *worker, rota_task_id task,
                    uint64_t token)
{
    uint32_t given = map_find(&worker->tokens, key_of(task));
    if (PLANTED(TOKEN_UNCHECKED)) return true;
    return given == mark_of(token) && token <= hub->token;
}

bool hub_token_listed(const struct hub *hub, struct hub_worker *worker, rota_task_id task,
                      uint64_t token)
{
    bool is_known = map_find(&worker->tokens, key_of(task));
    if (!is_known && token <= hub->token_first)
        hub_token_give(worker, task, token);
    return hub_token_fits(hub, worker, task, token);
}

void hub_token_drop(struct hub_worker *worker, rota_task_id task)
{
    if (map_find(&worker->tokens, key_of(task))) map_remove(&worker->tokens, key_of(task));
}

void hub_tokens_keep(struct hub_worker *worker, const rota_task_id *tasks, uint32_t count)
{
    struct map kept = {0};
    if (count && !map_reserve(&heap, &kept, count)) hub_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t given = map_find(&worker->tokens, key_of(tasks[i]));
        if (given) map_put(&kept, key_of(tasks[i]), given);
    }
    hub_tokens_release(worker);
    worker->tokens = kept;
}

void hub_tokens_release(struct hub_worker *worker)
{
    map_release(&heap, &worker->tokens);
}

// ---- A database that went back -----------------------------------------------------------------

// What a worker was told was durable before. So a worker that knows more than the database has been
// told by a later state of it.
bool hub_is_behind(struct hub *hub, const struct wire_join *join)
{
    if (join->epoch > hub->epoch || !hub_epoch_is_ours(hub, join->epoch, join->opened)) return true;
    for (uint32_t i = 0; i < join->attempts.count; i++) {
        const struct wire_attempt *attempt = &join->attempts.items[i];
        struct rota_task_view view;
        if (attempt->token > hub->token) return true;
        if (attempt->task.job >= hub->server->next_job.number) return true;
        if (rota_task_look(hub->server->rota, attempt->task, &view)
            && attempt->attempt > view.attempt)
            return true;
    }
    return false;
}

const char hub_quiet_reason[]
    = "the server's database was restored from a backup; nothing is given out until the leases of"
      " the lost server are over: try again later";

bool hub_is_quiet(const struct hub *hub)
{
    return hub->ticks < hub->quiet_until;
}
