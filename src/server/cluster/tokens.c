// tokens.c - tokens of attempts: never reused, and known until the attempt has ended.
//
// A report counts only with the token of its attempt. The attempt number is not enough: a database
// that was restored from a backup issues the same numbers again. Tokens are kept here, by worker,
// as they were issued. Tokens of earlier server processes are smaller than all of this one, and are
// learned from the first list of attempts with which a worker joins.
#include "base/planted.h"
#include "server/cluster/tokens.h"

#include <stdlib.h>

// A worker has tasks with neighbouring numbers: multiplied by the golden ratio they spread evenly.
static uint32_t home(const struct cluster_tokens *tokens, rota_task_id task)
{
    return ((task.task + task.job * 0x85ebca6bu) * 0x9e3779b9u) >> tokens->shift;
}

static bool is_free(const struct cluster_token *slot)
{
    return !slot->token;
}

// The slot of the task, or the free one where it belongs. There is always a free one.
static struct cluster_token *slot_of(const struct cluster_tokens *tokens, rota_task_id task)
{
    uint32_t at = home(tokens, task);
    while (!is_free(&tokens->slots[at]) && !SAME_TASK(tokens->slots[at].task, task))
        at = (at + 1) & (tokens->capacity - 1);
    return &tokens->slots[at];
}

static uint64_t token_find(const struct cluster_tokens *tokens, rota_task_id task)
{
    return tokens->count ? slot_of(tokens, task)->token : 0;
}

static void token_put(struct cluster_tokens *tokens, rota_task_id task, uint64_t token)
{
    struct cluster_token *slot = slot_of(tokens, task);
    tokens->count += is_free(slot);
    *slot = (struct cluster_token){task, token};
}

// At most half of the slots are used, so that a search is short.
static void tokens_reserve(struct cluster_tokens *tokens, uint32_t count)
{
    if ((uint64_t)count * 2 <= tokens->capacity) return;
    struct cluster_tokens grown = {.capacity = 16, .shift = 28};
    for (; grown.capacity < (uint64_t)count * 2; grown.shift--) grown.capacity *= 2;
    grown.slots = cluster_allocate(grown.capacity, sizeof *grown.slots);
    for (uint32_t i = 0; i < tokens->capacity; i++)
        if (!is_free(&tokens->slots[i]))
            token_put(&grown, tokens->slots[i].task, tokens->slots[i].token);
    free(tokens->slots);
    *tokens = grown;
}

// Tokens after the hole move up if a search for them passes it.
static void token_remove(struct cluster_tokens *tokens, struct cluster_token *slot)
{
    uint32_t mask = tokens->capacity - 1, hole = (uint32_t)(slot - tokens->slots);
    for (uint32_t i = (hole + 1) & mask; !is_free(&tokens->slots[i]); i = (i + 1) & mask) {
        uint32_t wanted = home(tokens, tokens->slots[i].task);
        if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
        tokens->slots[hole] = tokens->slots[i];
        hole = i;
    }
    tokens->slots[hole] = (struct cluster_token){0};
    tokens->count--;
}

uint64_t cluster_token_next(struct cluster *cluster)
{
    return PLANTED(TOKEN_SAME) ? cluster->token : ++cluster->token;
}

void cluster_token_give(struct cluster_worker *worker, rota_task_id task, uint64_t token)
{
    assert(token);
    tokens_reserve(&worker->tokens, worker->tokens.count + 1);
    token_put(&worker->tokens, task, token);
}

static bool token_fits(const struct cluster *cluster, uint64_t given, uint64_t token)
{
    if (PLANTED(TOKEN_UNCHECKED)) return true;
    return token && given == token && token <= cluster->token;
}

bool cluster_token_fits(const struct cluster *cluster, const struct cluster_worker *worker,
                        rota_task_id task, uint64_t token)
{
    return token_fits(cluster, token_find(&worker->tokens, task), token);
}

bool cluster_token_listed(const struct cluster *cluster, struct cluster_worker *worker,
                          rota_task_id task, uint64_t token)
{
    bool is_known = token_find(&worker->tokens, task);
    if (!is_known && token && token <= cluster->token_first)
        cluster_token_give(worker, task, token);
    return cluster_token_fits(cluster, worker, task, token);
}

bool cluster_token_take(const struct cluster *cluster, struct cluster_worker *worker,
                        rota_task_id task, uint64_t token)
{
    struct cluster_tokens *tokens = &worker->tokens;
    struct cluster_token *slot = tokens->count ? slot_of(tokens, task) : NULL;
    bool fits = token_fits(cluster, slot ? slot->token : 0, token);
    if (fits && slot && !is_free(slot)) token_remove(tokens, slot);
    return fits;
}

void cluster_tokens_keep(struct cluster_worker *worker, const rota_task_id *tasks, uint32_t count)
{
    struct cluster_tokens kept = {0};
    tokens_reserve(&kept, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t given = token_find(&worker->tokens, tasks[i]);
        if (given) token_put(&kept, tasks[i], given);
    }
    cluster_tokens_release(worker);
    worker->tokens = kept;
}

void cluster_tokens_release(struct cluster_worker *worker)
{
    free(worker->tokens.slots);
    worker->tokens = (struct cluster_tokens){0};
}

// ---- Databases restored from a backup -------------------------------------------------------

// Workers are told only what is durable. So a worker that knows more than the database was told by
// a later state of it.
bool cluster_is_outdated(struct cluster *cluster, const struct wire_join *join)
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
