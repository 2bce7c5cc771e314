// share.c - one execution for all tasks with the same content key.
//
// The first task to be offered leads; the artifact's `runner` names it. Others attach as
// followers, linked through next and previous behind the leader's extra.leader. When the
// leader goes before the end, its first follower takes the execution over as it is.
#include "core/core.h"

static struct object *key_of(const struct rota *rota, task_row row)
{
    return OBJECT(rota, task_extra(rota, row)->key);
}

bool share_attach(struct rota *rota, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    struct object *artifact = OBJECT(rota, extra->key);
    if (!artifact->runner) artifact->runner = row;
    task_row leader = artifact->runner;
    if (leader == row) return false;
    task_move(rota, row, CAUSE_SHARED);
    rota->shared++;
    // Oldest first, whatever the order in which they came.
    task_row previous = 0, next = task_extra(rota, leader)->leader;
    while (next && task_older(rota, next, row)) {
        previous = next;
        next = rota->task[next].next;
    }
    extra->leader = leader;
    rota->task[row].next = next;
    rota->task[row].previous = previous;
    if (next) rota->task[next].previous = row;
    if (previous)
        rota->task[previous].next = row;
    else
        task_extra(rota, leader)->leader = row;
    return true;
}

void share_detach(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct extra *leader = task_extra(rota, task_extra(rota, row)->leader);
    if (task->next) rota->task[task->next].previous = task->previous;
    if (task->previous)
        rota->task[task->previous].next = task->next;
    else
        leader->leader = task->next;
    task->next = task->previous = 0;
    task_extra(rota, row)->leader = 0;
    rota->shared--;
}

// All other followers stand behind the new leader.
static void lead(struct rota *rota, task_row row, task_row followers)
{
    task_extra(rota, row)->leader = followers;
    for (task_row at = followers; at; at = rota->task[at].next) task_extra(rota, at)->leader = row;
    key_of(rota, row)->runner = row;
}

bool share_hand_over(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    if (!task->extra || !task_extra(rota, row)->key || key_of(rota, row)->runner != row)
        return false;
    task_row next = task_extra(rota, row)->leader;
    bool out = (task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING)
               && task->worker && !(task->flags & TASK_STOPPING);
    if (!next) return false;
    share_detach(rota, next);
    task_row rest = task_extra(rota, row)->leader;
    task_extra(rota, row)->leader = 0;
    lead(rota, next, rest);
    if (out) {
        attempt_transfer(rota, row, next);
    } else {
        task_move(rota, next, CAUSE_OFFERED);
        if (rota->task[next].flags & TASK_GATED)
            gate_offer_again(rota, next);
        else
            place_add(rota, next);
    }
    return true;
}

uint32_t share_outputs(const struct rota *rota, task_row row)
{
    uint32_t count = task_extra(rota, row)->output_count;
    if (!task_extra(rota, row)->key) return count;
    for (task_row at = task_extra(rota, row)->leader; at; at = rota->task[at].next)
        count += task_extra(rota, at)->output_count;
    return count;
}

void share_end(struct rota *rota, task_row row)
{
    if (key_of(rota, row)->runner == row) key_of(rota, row)->runner = 0;
}
