// shared_key.c - one execution for all tasks with the same content key.
//
// The first task to be placed becomes the leader; the artifact's `runner` names it. Other tasks
// attach as followers, linked through next and previous, starting at the leader's extra.leader.
// When the leader is removed while a worker runs it, its first suitable follower takes over the
// execution; otherwise the followers are offered again, and one of them becomes the leader.
#include "core/core.h"

static struct object *key_of(const struct rota *rota, task_row row)
{
    assert(task_extra(rota, row)->key);
    return OBJECT(rota, task_extra(rota, row)->key);
}

task_row shared_key_leader(const struct rota *rota, task_row row)
{
    return task_extra(rota, row)->key ? key_of(rota, row)->runner : 0;
}

bool shared_key_leads(const struct rota *rota, task_row row)
{
    return rota->task[row].state != ROTA_TASK_SHARED && task_extra(rota, row)->leader;
}

// The worker knows the attempt by its number, so only a task that has not used that number itself
// can take it over.
static task_row heir_of(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    task_row at = task_extra(rota, row)->leader;
    while (at && rota->task[at].attempt >= rota->task[row].attempt) at = rota->task[at].next;
    return at;
}

bool shared_key_has_heir(const struct rota *rota, task_row row)
{
    return shared_key_leads(rota, row) && heir_of(rota, row);
}

bool shared_key_attach(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    struct extra *extra = task_extra(rota, row);
    struct object *artifact = OBJECT(rota, extra->key);
    if (!artifact->runner) artifact->runner = row;
    task_row leader = artifact->runner;
    if (leader == row) return false;
    task_move(rota, row, CAUSE_SHARED);
    rota->shared++;
    extra->resume = 0;  // its phases under pull ended; they start again if it is offered again
    extra->since = 0;
    // Oldest first, whatever the order in which they attached.
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

// The head of the list that contains a follower.
static task_row *list_of(struct rota *rota, task_row row)
{
    task_row leader = task_extra(rota, row)->leader;
    return leader ? &task_extra(rota, leader)->leader : &rota->orphans;
}

void shared_key_detach(struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_SHARED);
    struct task *task = &rota->task[row];
    if (task->next) rota->task[task->next].previous = task->previous;
    if (task->previous)
        rota->task[task->previous].next = task->next;
    else
        *list_of(rota, row) = task->next;
    task->next = task->previous = 0;
    task_extra(rota, row)->leader = 0;
    rota->shared--;
}

// All other followers come after the new leader.
static void lead(struct rota *rota, task_row row, task_row followers)
{
    assert(IS_TASK(rota, row));
    task_extra(rota, row)->leader = followers;
    for (task_row at = followers; at; at = rota->task[at].next) task_extra(rota, at)->leader = row;
    key_of(rota, row)->runner = row;
}

static bool leads(const struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    return rota->task[row].extra && extra->key && OBJECT(rota, extra->key)->runner == row;
}

void shared_key_alias(struct rota *rota, task_row from, task_row to, worker_row worker, bool later)
{
    assert(from != to);
    const struct extra *one = task_extra(rota, from), *other = task_extra(rota, to);
    uint32_t count
        = one->output_count < other->output_count ? one->output_count : other->output_count;
    for (uint32_t i = 0; worker && i < count; i++) {
        const struct use *made = &rota->use[one->use_first + one->input_count + i];
        const struct use *same = &rota->use[other->use_first + other->input_count + i];
        struct rota_action *action = effect_action(rota, ROTA_ACTION_ALIAS);
        action->alias.from = OBJECT(rota, made->object)->id;
        action->alias.to = OBJECT(rota, same->object)->id;
        action->alias.worker.number = WORKER(rota, worker)->id;
        action->alias.later = later;
    }
}

bool shared_key_hand_over(struct rota *rota, task_row row)
{
    assert(task_extra(rota, row)->key);
    struct task *task = &rota->task[row];
    if (!leads(rota, row)) return false;
    task_row next = heir_of(rota, row);
    bool out = (task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING)
               && task->worker && !(task->flags & TASK_STOPPING);
    if (!next || !out) {
        shared_key_release(rota, row);
        return false;
    }
    shared_key_detach(rota, next);
    task_row rest = task_extra(rota, row)->leader;
    task_extra(rota, row)->leader = 0;
    lead(rota, next, rest);
    shared_key_alias(rota, row, next, task->worker, true);
    attempt_transfer(rota, row, next);
    return true;
}

void shared_key_release(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (!leads(rota, row)) return;
    task_row first = task_extra(rota, row)->leader, last = first;
    key_of(rota, row)->runner = 0;
    task_extra(rota, row)->leader = 0;
    for (task_row at = first; at; at = rota->task[at].next) {
        task_extra(rota, at)->leader = 0;
        last = at;
    }
    if (!first) return;
    rota->task[last].next = rota->orphans;
    if (rota->orphans) rota->task[rota->orphans].previous = last;
    rota->orphans = first;
}

// Followers that lost their leader are offered again.
void shared_key_settle(struct rota *rota)
{
    while (rota->orphans) {
        task_row row = rota->orphans;
        shared_key_detach(rota, row);
        task_move(rota, row, CAUSE_OFFERED);
        if (rota->task[row].flags & TASK_HAS_LANE)
            lane_offer_again(rota, row);
        else
            place_add(rota, row);
    }
    assert(!rota->orphans);
}

uint32_t shared_key_outputs(const struct rota *rota, task_row row)
{
    uint32_t count = task_extra(rota, row)->output_count;
    if (!task_extra(rota, row)->key) return count;
    for (task_row at = task_extra(rota, row)->leader; at; at = rota->task[at].next)
        count += task_extra(rota, at)->output_count;
    return count;
}

void shared_key_end(struct rota *rota, task_row row)
{
    assert(task_extra(rota, row)->key);
    if (key_of(rota, row)->runner == row) key_of(rota, row)->runner = 0;
}
