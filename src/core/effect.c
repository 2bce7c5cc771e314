// effect.c - what a step asks for: rows that changed, each written once, and messages in order.
#include "core/core.h"

// ---- Room, before anything changes --------------------------------------------------------

// The most actions the end of one task can cause: itself, who waits, copies to drop, shared
// tasks, consumers to call back, and whole jobs that fail with it.
static uint64_t bound(const struct rota *rota)
{
    uint64_t most = 8 + (uint64_t)pool_used(&rota->waits) + pool_used(&rota->replicas);
    most += 4 * (uint64_t)rota->shared + 3 * (uint64_t)rota->fail_job_tasks;
    if (pool_used(&rota->objects) || rota->fail_job_tasks) most += rota->out;
    if (rota->shared) most += pool_used(&rota->objects);  // made by one task for another
    return most;
}

static uint64_t tomb_bound(const struct rota *rota)
{
    return 2 + (uint64_t)rota->closing + pool_used(&rota->waits) + pool_used(&rota->replicas);
}

// A shared execution that is handed over keeps its old name, which needs a place, and the inputs
// of its new task are used where it runs. Who shares may change within the step; so this counts
// those with keys that are out.
static bool reserve_names(struct rota *rota)
{
    uint32_t names = rota->keyed < rota->out ? rota->keyed : rota->out;
    if (!names) return true;
    uint64_t copies = (uint64_t)names * rota->inputs_most, uses = rota->uses.end;
    return graph_late_reserve(rota, names) && map_reserve(&rota->memory, &rota->run_as, names)
           && map_reserve(&rota->memory, &rota->runs, names)
           && pool_reserve(&rota->memory, &rota->replicas,
                           (uint32_t)(copies < uses ? copies : uses))
           && effect_cover(rota);
}

bool effect_reserve_all(struct rota *rota, uint64_t more)
{
    uint64_t actions = rota->action_count + bound(rota) + more;
    uint64_t tombs = rota->tomb_count + tomb_bound(rota) + more;
    void *items = rota->actions;
    bool there = memory_reserve_raw(&rota->memory, &items, &rota->action_capacity, actions,
                                    sizeof *rota->actions);
    rota->actions = items;
    if (!there) return false;
    items = rota->tombs;
    there = memory_reserve_raw(&rota->memory, &items, &rota->tomb_capacity, tombs,
                               sizeof *rota->tombs);
    rota->tombs = items;
    return there && reserve_names(rota);
}

bool effect_cover_all(struct rota *rota, uint64_t rows)
{
    if (!bits_reserve(&rota->memory, &rota->task_marks, rota->task_capacity)) return false;
    void *items = rota->marks;
    bool there
        = memory_reserve(&rota->memory, &items, &rota->mark_capacity, rows, sizeof *rota->marks);
    rota->marks = items;
    return there;
}

// ---- Marking and asking ----------------------------------------------------------------------

void effect_mark(struct rota *rota, enum rota_record_kind kind, uint32_t number)
{
    assert(rota->mark_count < rota->mark_capacity);
    rota->marks[rota->mark_count++] = (struct mark){kind, number};
}

// The row goes before its record was taken.
void effect_forget_marks(struct rota *rota, enum rota_record_kind kind, uint32_t number)
{
    uint32_t kept = rota->mark_taken;
    for (uint32_t i = rota->mark_taken; i < rota->mark_count; i++)
        if (rota->marks[i].kind != kind || rota->marks[i].number != number)
            rota->marks[kept++] = rota->marks[i];
    rota->mark_count = kept;
}

void effect_tomb(struct rota *rota, struct rota_record record)
{
    assert(rota->tomb_count < rota->tomb_capacity);
    rota->tombs[rota->tomb_count++] = record;
}

void effect_core(struct rota *rota)
{
    rota->core_marked = true;
}

void effect_confirm(struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    struct rota_action *action = effect_action(rota, ROTA_ACTION_CONFIRM);
    action->confirm.client = JOB(rota, task_job(rota, row))->client;
    action->confirm.task = task_id(rota, row);
    action->confirm.outcome = (enum rota_outcome)task->outcome;
    action->confirm.status = task->status;
}
