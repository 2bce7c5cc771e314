// wait.c - clients that wait for the end of tasks, or for an object to read.
#include "core/core.h"

bool wait_reserve(struct rota *rota, uint32_t more)
{
    return pool_reserve(&rota->memory, &rota->waits, more) && graph_late_reserve(rota, more);
}

wait_row wait_add(struct rota *rota, const struct wait *like, wait_row last)
{
    assert(last == 0 || IS_ROW(rota->waits, last));
    wait_row row = pool_take(&rota->waits);
    struct wait *item = WAIT(rota, row);
    *item = *like;
    item->first = last ? WAIT(rota, last)->first : row;
    if (last) WAIT(rota, last)->next = row;
    if (item->task) {
        graph_late_add(rota, item->task, LATE_WAIT, row);
        WAIT(rota, item->first)->left += !task_is_over(&rota->task[item->task]);
    }
    if (item->object) {
        item->next = OBJECT(rota, item->object)->reads;
        OBJECT(rota, item->object)->reads = row;
    }
    item->marked = true;
    effect_mark(rota, ROTA_RECORD_WAIT, row);
    return row;
}

static void forget(struct rota *rota, wait_row row)
{
    assert(IS_ROW(rota->waits, row));
    const struct wait *item = WAIT(rota, row);
    struct rota_record tomb = {.kind = ROTA_RECORD_WAIT, .gone = true};
    tomb.wait.number = item->number;
    tomb.wait.index = item->index;
    effect_tomb(rota, tomb);
    if (item->marked) effect_forget_marks(rota, ROTA_RECORD_WAIT, row);
    if (item->task) graph_late_remove(rota, item->task, LATE_WAIT, row);
    pool_give(&rota->waits, row);
}

static enum rota_outcome outcome_of(const struct task *task)
{
    if (!task_is_over(task)) return ROTA_OUTCOME_NONE;
    bool ran = task->outcome && !(task->flags & (TASK_IS_BUNDLE | TASK_AGAIN));
    if (ran) return (enum rota_outcome)task->outcome;
    enum rota_task_state state = task_shown(task);
    return state == ROTA_TASK_SUCCEEDED ? ROTA_OUTCOME_OK
           : state == ROTA_TASK_FAILED  ? ROTA_OUTCOME_EXIT
                                        : ROTA_OUTCOME_ABORTED;
}

static void tell(struct rota *rota, const struct wait *item)
{
    assert(item->task || item->object);
    struct rota_action *action = effect_action(rota, ROTA_ACTION_WAIT_OVER);
    action->wait_over.client = item->client;
    action->wait_over.wait = item->number;
    action->wait_over.task = task_id(rota, item->task);
    action->wait_over.outcome = outcome_of(&rota->task[item->task]);
}

// Reports how the awaited tasks ended (the ended ones, or all), and removes the wait.
static void finish(struct rota *rota, wait_row first, bool all)
{
    assert(IS_ROW(rota->waits, first));
    wait_row next;
    for (wait_row at = first; at; at = next) {
        const struct wait *item = WAIT(rota, at);
        next = item->next;
        if (all || task_is_over(&rota->task[item->task])) tell(rota, item);
        forget(rota, at);
    }
}

void wait_look(struct rota *rota, wait_row first)
{
    assert(IS_ROW(rota->waits, first));
    bool some = false;
    for (wait_row at = first; at; at = WAIT(rota, at)->next)
        some = some || task_is_over(&rota->task[WAIT(rota, at)->task]);
    bool enough = WAIT(rota, first)->mode == ROTA_WAIT_SOME ? some : WAIT(rota, first)->left == 0;
    if (enough) finish(rota, first, false);
}

static void count(struct rota *rota, task_row row, uint32_t change)
{
    for (late_row at = graph_late_first(rota, row); at; at = LATE(rota, at)->next) {
        if (LATE(rota, at)->kind != LATE_WAIT) continue;
        wait_row first = WAIT(rota, LATE(rota, at)->target)->first;
        WAIT(rota, first)->left += change;
        if (WAIT(rota, first)->looking) continue;
        WAIT(rota, first)->looking = true;
        WAIT(rota, first)->next_look = rota->look_waits;
        rota->look_waits = first;
    }
}

void wait_task_over(struct rota *rota, task_row row)
{
    if (rota->task[row].flags & TASK_LINKED) count(rota, row, -1u);
}

// Runs at the end of a step, when everything that ends with it has ended.
void wait_settle(struct rota *rota)
{
    while (rota->look_waits) {
        wait_row first = rota->look_waits;
        rota->look_waits = WAIT(rota, first)->next_look;
        WAIT(rota, first)->looking = false;
        wait_look(rota, first);
    }
}

void wait_task_not_over(struct rota *rota, task_row row)
{
    if (rota->task[row].flags & TASK_LINKED) count(rota, row, 1);
}

static void give_up(struct rota *rota, wait_row first)
{
    assert(IS_ROW(rota->waits, first));
    wait_row *link = &rota->look_waits;
    while (*link && *link != first) link = &WAIT(rota, *link)->next_look;
    if (*link) *link = WAIT(rota, first)->next_look;
    finish(rota, first, true);
}

// The job of the task failed or is being removed: a client would wait for it forever.
void wait_drop_task(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    late_row at = graph_late_first(rota, row);
    while (at) {
        bool waits = LATE(rota, at)->kind == LATE_WAIT;
        if (waits) give_up(rota, WAIT(rota, LATE(rota, at)->target)->first);
        at = waits ? graph_late_first(rota, row) : LATE(rota, at)->next;
    }
}

void wait_object_over(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    wait_row next;
    for (wait_row at = OBJECT(rota, row)->reads; at; at = next) {
        struct wait *item = WAIT(rota, at);
        next = item->next;
        struct rota_action *action = effect_action(rota, ROTA_ACTION_READ);
        worker_row source = replica_source(rota, row, 0, item->client);
        action->read.client = item->client;
        action->read.object = OBJECT(rota, row)->id;
        action->read.from.number = source ? WORKER(rota, source)->id : 0;
        action->read.there = object_is_present(rota, OBJECT(rota, row));
        forget(rota, at);
    }
    OBJECT(rota, row)->reads = 0;
}
