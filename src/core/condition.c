// condition.c - start conditions beyond "all succeeded", as clauses in postfix order.
//
// Each clause has two results: is it true now, and could it still become true while everything that
// failed stays failed. A condition that can no longer become true is dead.
#include "base/planted.h"
#include "core/core.h"

enum { TRUE_NOW = 1, POSSIBLE = 2 };

static uint32_t clause_value(const struct rota *rota, const struct rota_clause *clause)
{
    const struct task *task = &rota->task[clause->task.job];  // a row number; see core.h
    enum rota_task_state state = task_shown(task);
    bool now = false, possible = state != ROTA_TASK_BLOCKED;
    bool over = task_is_over(task);
    if (state == ROTA_TASK_FROZEN) return TRUE_NOW | POSSIBLE;
    switch (clause->kind) {
    case ROTA_CLAUSE_SUCCESS:
        now = state == ROTA_TASK_SUCCEEDED;
        possible = possible && state != ROTA_TASK_FAILED && state != ROTA_TASK_ABORTED;
        break;
    case ROTA_CLAUSE_FAILED:
        now = state == ROTA_TASK_FAILED || (PLANTED(CLAUSE_ABORTED) && state == ROTA_TASK_ABORTED);
        possible = possible && state != ROTA_TASK_SUCCEEDED && state != ROTA_TASK_ABORTED;
        break;
    case ROTA_CLAUSE_NOT_RUNNING: now = over || state == ROTA_TASK_IDLE; break;
    case ROTA_CLAUSE_DONE: now = over; break;
    default: break;
    }
    return now ? TRUE_NOW | POSSIBLE : possible ? POSSIBLE : 0;
}

// AND and OR work bitwise on both results. Values are kept in two stacks of bits; on_submit rejects
// conditions that need more than 64.
enum verdict condition_evaluate(const struct rota *rota, task_row row)
{
    assert(task_extra(rota, row)->clause_count);
    const struct extra *extra = task_extra(rota, row);
    if (extra->clause_count == 0 || rota->task[row].flags & TASK_BYPASS) return VERDICT_TRUE;
    uint8_t stack[64];
    uint32_t height = 0;
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        const struct rota_clause *clause = &rota->clause[extra->clause_first + i];
        if (clause->kind == ROTA_CLAUSE_AND || clause->kind == ROTA_CLAUSE_OR) {
            height--;
            if (clause->kind == ROTA_CLAUSE_AND || PLANTED(CLAUSE_OR))
                stack[height - 1] &= stack[height];
            else
                stack[height - 1] |= stack[height];
        } else {
            stack[height++] = (uint8_t)clause_value(rota, clause);
        }
    }
    assert(height == 1);
    if (PLANTED(CONDITION_WAITS)) stack[0] |= POSSIBLE;
    return stack[0] & TRUE_NOW ? VERDICT_TRUE : stack[0] & POSSIBLE ? VERDICT_FALSE : VERDICT_DEAD;
}

static uint32_t need_of(enum verdict verdict)
{
    return verdict == VERDICT_TRUE ? NEED_MET : verdict == VERDICT_DEAD ? NEED_DEAD : 0;
}

uint32_t condition_need(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    return need_of((enum verdict)task_extra(rota, row)->verdict);
}

static bool is_bound(const struct task *task)
{
    return task->state == ROTA_TASK_QUEUED || task->state == ROTA_TASK_WAITING
           || task->state == ROTA_TASK_BLOCKED;
}

// The verdict is updated while the condition still applies to the task; otherwise it counts as
// true.
void condition_look(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct extra *extra = task_extra(rota, row);
    if (!is_bound(&rota->task[row]) || !extra->clause_count) return;
    enum verdict verdict = condition_evaluate(rota, row), before = (enum verdict)extra->verdict;
    extra->verdict = (uint8_t)verdict;
    if (verdict != before)
        graph_need(rota, row, need_of(before), need_of(verdict));
    else if (rota->task[row].state == ROTA_TASK_BLOCKED)
        graph_look_at(rota, row);
}

void condition_unbind(struct rota *rota, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    if (is_bound(&rota->task[row]) || extra->verdict == VERDICT_TRUE) return;
    rota->unmet[row]--;
    rota->task[row].dead -= extra->verdict == VERDICT_DEAD;
    extra->verdict = VERDICT_TRUE;
}

bool condition_has_real_cause(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    if (extra->verdict != VERDICT_DEAD) return false;
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        const struct rota_clause *clause = &rota->clause[extra->clause_first + i];
        if (clause->task.job && graph_view(&rota->task[clause->task.job]) & NEED_REAL) return true;
    }
    return false;
}
