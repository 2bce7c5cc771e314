// wait.c - clients that wait for tasks to be over, or for an object to read.
#include "core/core.h"

bool wait_reserve(struct rota *rota, uint32_t more)
{
    return pool_reserve(&rota->memory, &rota->waits, more) && graph_late_reserve(rota, more);
}

static rota_task_id waited_for(const struct rota *rota, const struct wait *item)
{
    return item->task ? task_id(rota, item->task) : (rota_task_id){0, 0};
}

wait_row wait_add(struct rota *rota, const struct wait *like, wait_row last)
{
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
    const struct wait *item = WAIT(rota, row);
    struct rota_record tomb = {.kind = ROTA_RECORD_WAIT, .gone = true};
    tomb.wait.number = item->number;
    tomb.wait.index = item->index;
    effect_tomb(rota, tomb);
    if (item->marked) effect_forget_marks(rota, ROTA_RECORD_WAIT, row);
    if (item->task) graph_late_remove(rota, item->task, LATE_WAIT, row);
    pool_give(&rota->waits, row);
}

static void tell(struct rota *rota, const struct wait *item)
{
    struct rota_action *action = effect_action(rota, ROTA_ACTION_WAIT_OVER);
    action->wait_over.client = item->client;
    action->wait_over.wait = item->number;
    action->wait_over.task = waited_for(rota, item);
    if (!item->task) return;
    const struct task *task = &rota->task[item->task];
    bool plain = task->flags & TASK_IS_BUNDLE || !task->outcome;
    enum rota_outcome outcome = (enum rota_outcome)task->outcome;
    if (plain)
        outcome = task->state == ROTA_TASK_SUCCEEDED ? ROTA_OUTCOME_OK
                  : task->state == ROTA_TASK_FAILED  ? ROTA_OUTCOME_EXIT
                                                     : ROTA_OUTCOME_ABORTED;
    action->wait_over.outcome = task->flags & TASK_AGAIN ? ROTA_OUTCOME_OK : outcome;
}

// Tells what is over of what it waited for, and forgets the wait.
static void finish(struct rota *rota, wait_row first)
{
    wait_row next;
    for (wait_row at = first; at; at = next) {
        const struct wait *item = WAIT(rota, at);
        next = item->next;
        if (task_is_over(&rota->task[item->task])) tell(rota, item);
        forget(rota, at);
    }
}

void wait_look(struct rota *rota, wait_row first)
{
    bool some = false;
    for (wait_row at = first; at; at = WAIT(rota, at)->next)
        some = some || task_is_over(&rota->task[WAIT(rota, at)->task]);
    bool enough = WAIT(rota, first)->mode == ROTA_WAIT_SOME ? some : WAIT(rota, first)->left == 0;
    if (enough) finish(rota, first);
}

// Telling one wait changes the list, so the search starts again after each.
static wait_row ready_wait(const struct rota *rota, task_row row)
{
    for (late_row at = graph_late_first(rota, row); at; at = LATE(rota, at)->next) {
        if (LATE(rota, at)->kind != LATE_WAIT) continue;
        const struct wait *first = WAIT(rota, WAIT(rota, LATE(rota, at)->target)->first);
        if (first->left == 0 || first->mode == ROTA_WAIT_SOME) return first->first;
    }
    return 0;
}

static void count(struct rota *rota, task_row row, uint32_t change)
{
    for (late_row at = graph_late_first(rota, row); at; at = LATE(rota, at)->next)
        if (LATE(rota, at)->kind == LATE_WAIT)
            WAIT(rota, WAIT(rota, LATE(rota, at)->target)->first)->left += change;
}

void wait_task_over(struct rota *rota, task_row row)
{
    if (!(rota->task[row].flags & TASK_LINKED)) return;
    count(rota, row, -1u);
    for (wait_row at = ready_wait(rota, row); at; at = ready_wait(rota, row)) wait_look(rota, at);
}

void wait_task_not_over(struct rota *rota, task_row row)
{
    if (rota->task[row].flags & TASK_LINKED) count(rota, row, 1);
}

// The job of the task is being forgotten: whoever still waits for it would wait for ever.
void wait_drop_task(struct rota *rota, task_row row)
{
    late_row at = graph_late_first(rota, row);
    while (at) {
        bool waits = LATE(rota, at)->kind == LATE_WAIT;
        if (waits) finish(rota, WAIT(rota, LATE(rota, at)->target)->first);
        at = waits ? graph_late_first(rota, row) : LATE(rota, at)->next;
    }
}

void wait_object_over(struct rota *rota, object_row row)
{
    wait_row next;
    for (wait_row at = OBJECT(rota, row)->reads; at; at = next) {
        struct wait *item = WAIT(rota, at);
        next = item->next;
        struct rota_action *action = effect_action(rota, ROTA_ACTION_READ);
        worker_row source = replica_source(rota, row, 0);
        action->read.client = item->client;
        action->read.object = OBJECT(rota, row)->id;
        action->read.from.number = source ? WORKER(rota, source)->id : 0;
        action->read.there = (OBJECT(rota, row)->flags & OBJECT_FINISHED) != 0;
        forget(rota, at);
    }
    OBJECT(rota, row)->reads = 0;
}
