// effect.c - the effects of a step: changed rows, each recorded once, and actions in order.
#include "core/core.h"

// ---- Reserving memory before anything changes -----------------------------------------------

// An upper bound of the actions that the end of one task can cause: for itself, waiting clients,
// copies to drop, tasks that share its execution, consumers to recall, and jobs that fail with it.
static uint64_t bound(const struct rota *rota)
{
    uint64_t most = 8 + (uint64_t)pool_used(&rota->waits) + pool_used(&rota->replicas);
    most += 4 * (uint64_t)rota->shared + 3 * (uint64_t)rota->fail_job_tasks;
    if (pool_used(&rota->objects) || rota->fail_job_tasks) most += rota->out;
    // objects that one task makes for another one
    if (rota->shared) most += pool_used(&rota->objects);
    return most;
}

static uint64_t tomb_bound(const struct rota *rota)
{
    return 2 + (uint64_t)rota->closing + pool_used(&rota->waits) + pool_used(&rota->replicas);
}

// A shared execution that is handed over keeps its old name, which takes a row, and the inputs of
// its new task are in use where it runs. Which tasks share may change within the step, so all
// assigned tasks with a key are counted.
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
    if (!ARRAY_RESERVE_RAW(&rota->memory, rota->actions, rota->action_capacity, actions))
        return false;
    return ARRAY_RESERVE_RAW(&rota->memory, rota->tombs, rota->tomb_capacity, tombs)
           && reserve_names(rota);
}

bool effect_cover_all(struct rota *rota, uint64_t rows)
{
    if (!bits_reserve(&rota->memory, &rota->task_marks, rota->task_capacity)) return false;
    return ARRAY_RESERVE(&rota->memory, rota->marks, rota->mark_capacity, rows);
}

// ---- Marking rows and adding actions --------------------------------------------------------

void effect_mark(struct rota *rota, enum rota_record_kind kind, uint32_t number)
{
    assert(number);
    assert(kind <= ROTA_RECORD_WAIT);
    assert(rota->mark_count < rota->mark_capacity);
    rota->marks[rota->mark_count++] = (struct mark){kind, number};
}

// The row is removed before its record was taken.
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
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    struct rota_action *action = effect_action(rota, ROTA_ACTION_CONFIRM);
    action->confirm.client = JOB(rota, task_job(rota, row))->client;
    action->confirm.task = task_id(rota, row);
    action->confirm.outcome = (enum rota_outcome)task->outcome;
    action->confirm.status = task->status;
}
