// attempts.c - the table of all attempts of this worker that are not recorded yet.
#include "worker/agent/decide.h"

static struct attempt *row_at(const struct attempts *attempts, uint32_t number)
{
    return number ? (struct attempt *)attempts->rows.items + number : NULL;
}

static uint32_t number_of(const struct attempts *attempts, const struct attempt *attempt)
{
    assert(attempt);
    return (uint32_t)(attempt - (const struct attempt *)attempts->rows.items);
}

// Every change of a row subtracts it from the sums and adds it again.
static void count(struct attempts *attempts, const struct attempt *attempt, bool is_in)
{
    assert(attempt->state);
    uint32_t one = is_in ? 1 : (uint32_t)-1;
    if (!attempt_is_alive(attempt)) return;
    attempts->alive += one;
    if (!attempt->is_stopping) attempts->going += one;
    if (!attempt->is_exclusive || attempt->state == ATTEMPT_HELD) return;
    attempts->exclusive += one;
    if (!attempt->is_fenced) attempts->unfenced += one;
}

bool attempts_reserve(struct attempts *attempts)
{
    if (!attempts->rows.size) attempts->rows.size = sizeof(struct attempt);
    return attempts_count(attempts) < DECIDE_ATTEMPTS_MAX
           && pool_reserve(&attempts->memory, &attempts->rows, 1)
           && map_reserve(&attempts->memory, &attempts->by_task, 1);
}

// A task has few attempts, and the newest is first. Reports that were read from disk may come in
// any order.
struct attempt *attempts_add(struct attempts *attempts, const struct attempt *attempt)
{
    assert(attempt->state);
    uint32_t number = pool_take(&attempts->rows);
    struct attempt *row = row_at(attempts, number);
    *row = *attempt;
    struct attempt *newer = attempts_newest(attempts, row->task);
    if (newer && newer->number > row->number) {
        while (newer->older && row_at(attempts, newer->older)->number > row->number)
            newer = row_at(attempts, newer->older);
        row->older = newer->older;
        newer->older = number;
    } else {
        row->older = newer ? number_of(attempts, newer) : 0;
        map_put(&attempts->by_task, attempt_key(row->task), number);
    }
    count(attempts, row, true);
    return row;
}

void attempts_remove(struct attempts *attempts, struct attempt *attempt)
{
    assert(attempt->state);
    uint32_t number = number_of(attempts, attempt);
    struct attempt *newer = attempts_newest(attempts, attempt->task);
    count(attempts, attempt, false);
    if (newer != attempt) {
        while (newer->older != number) newer = row_at(attempts, newer->older);
        newer->older = attempt->older;
    } else if (attempt->older) {
        map_put(&attempts->by_task, attempt_key(attempt->task), attempt->older);
    } else {
        map_remove(&attempts->by_task, attempt_key(attempt->task));
    }
    attempt->state = 0;
    pool_give(&attempts->rows, number);
}

struct attempt *attempts_newest(const struct attempts *attempts, rota_task_id task)
{
    return row_at(attempts, map_find(&attempts->by_task, attempt_key(task)));
}

struct attempt *attempts_older(const struct attempts *attempts, const struct attempt *attempt)
{
    assert(attempt->state);
    return row_at(attempts, attempt->older);
}

struct attempt *attempts_find(const struct attempts *attempts, rota_task_id task, uint32_t number)
{
    struct attempt *attempt = attempts_newest(attempts, task);
    while (attempt && attempt->number != number) attempt = row_at(attempts, attempt->older);
    return attempt;
}

struct attempt *attempts_next(const struct attempts *attempts, const struct attempt *after)
{
    uint32_t number = after ? number_of(attempts, after) + 1 : 1;
    for (; number < attempts->rows.count; number++)
        if (row_at(attempts, number)->state) return row_at(attempts, number);
    return NULL;
}

void attempts_move(struct attempts *attempts, struct attempt *attempt, enum attempt_state state)
{
    assert(state > attempt->state);  // a state never goes back
    count(attempts, attempt, false);
    attempt->state = state;
    attempt->has_started |= state == ATTEMPT_RUNNING;
    count(attempts, attempt, true);
}

void attempts_stop(struct attempts *attempts, struct attempt *attempt)
{
    assert(attempt->state);
    count(attempts, attempt, false);
    attempt->is_stopping = true;
    count(attempts, attempt, true);
}

void attempts_fence(struct attempts *attempts, struct attempt *attempt)
{
    assert(attempt->is_exclusive);
    count(attempts, attempt, false);
    attempt->is_stopping = attempt->is_fenced = true;
    count(attempts, attempt, true);
    assert(attempt->is_fenced);
}

struct wire_finished attempts_refuse(struct attempts *attempts, struct attempt *attempt,
                                     enum wire_end end, int error, const char *reason,
                                     rota_time now)
{
    if (attempt->state != ATTEMPT_ENDED) attempts_move(attempts, attempt, ATTEMPT_ENDED);
    return (struct wire_finished){.task = attempt->task,
                                  .attempt = attempt->number,
                                  .token = attempt->token,
                                  .began = now,
                                  .ended = now,
                                  .end = end,
                                  .status = error,
                                  .reason = wire_text_of(reason)};
}

void attempts_forget_spooled(struct attempts *attempts)
{
    for (struct attempt *attempt = NULL; (attempt = attempts_next(attempts, attempt));)
        if (attempt->state == ATTEMPT_SPOOLED) attempts_remove(attempts, attempt);
}

void attempts_release(struct attempts *attempts)
{
    pool_release(&attempts->memory, &attempts->rows);
    map_release(&attempts->memory, &attempts->by_task);
}
