// bundle.c - bundles: named groups of tasks with one common state.
#include "base/planted.h"
#include "core/core.h"

struct bundle *bundle_get(const struct rota *rota, task_row row)
{
    uint32_t at = map_find(&rota->bundle_of, row);
    assert(at);
    return BUNDLE(rota, at);
}

// Members that will never run, but are not blocked by a failure, do not make the bundle fail.
enum rota_task_state counts_state(const uint32_t *counts, bool staged)
{
    uint32_t all = 0;
    for (int class = CLASS_ACTIVE; class < TASK_CLASSES; class ++) all += counts[class];
    if (all == 0 && !staged) return ROTA_TASK_IDLE;
    if (counts[CLASS_ACTIVE] > PLANTED(BUNDLE_EARLY)) return ROTA_TASK_RUNNING;
    bool aborted = counts[CLASS_ABORTED] && !PLANTED(BUNDLE_FORGIVES);
    if (counts[CLASS_FAILED] || aborted || counts[CLASS_STUCK])
        return ROTA_TASK_FAILED;
    return ROTA_TASK_SUCCEEDED;
}

void bundle_count(struct rota *rota, task_row row, enum task_class from, enum task_class to)
{
    assert(from != to);
    struct bundle *bundle = bundle_get(rota, row);
    if (from != CLASS_NONE) bundle->counts[from]--;
    if (to != CLASS_NONE) bundle->counts[to]++;
    graph_look_at(rota, row);
}

static enum task_cause cause_of(enum rota_task_state state, uint8_t before)
{
    switch (state) {
    case ROTA_TASK_IDLE: return before == ROTA_TASK_NONE ? CAUSE_DEFINED : CAUSE_RESET;
    case ROTA_TASK_RUNNING: return CAUSE_STARTED;
    case ROTA_TASK_FAILED: return CAUSE_FAILED;
    default: return CAUSE_SUCCEEDED;
    }
}

void bundle_look(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_IS_BUNDLE);
    struct bundle *bundle = bundle_get(rota, row);
    enum rota_task_state state = counts_state(bundle->counts, bundle->ever_staged);
    if (state == (enum rota_task_state)rota->task[row].state) return;
    task_move(rota, row, cause_of(state, rota->task[row].state));
    if (task_is_over(&rota->task[row])) wait_task_over(rota, row);
}
