// model_lane.c - lanes in the model: admission, order, and shared executions.
#include "model.h"

// ---- Lanes and offers -----------------------------------------------------------

static bool own_result_is_somewhere(struct model *model, const struct model_task *task)
{
    for (uint32_t w = 1; w < 32; w++) {
        if (model_near(model, task, (rota_worker_id){w})) return true;
    }
    return false;
}

static void task_offer(struct model_task *task)
{
    task->state = ROTA_TASK_OFFERED;
    task->placed = false;
    task->leader = (rota_task_id){0, 0};
}

static bool is_inside(const struct model_task *task)
{
    return task->state >= ROTA_TASK_OFFERED && task->state <= ROTA_TASK_RUNNING;
}

// The order of a lane: of submission, or of request.
bool model_comes_before(const struct model_lane *lane, const struct model_task *a,
                         const struct model_task *b)
{
    bool submit = lane->flags & ROTA_LANE_SUBMIT_ORDER;
    return submit || a->asked == b->asked ? a->sequence < b->sequence : a->asked < b->asked;
}

static struct model_task *lane_head(struct model *model, const struct model_lane *lane)
{
    struct model_task *head = NULL;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->spec.lane != lane->number) continue;
        bool queued = task->state == ROTA_TASK_HELD;
        if (lane->flags & ROTA_LANE_SUBMIT_ORDER) {
            queued = task->state >= ROTA_TASK_QUEUED && task->state <= ROTA_TASK_HELD;
        }
        if (queued && (!head || model_comes_before(lane, task, head))) head = task;
    }
    return head;
}

static bool group_is_free(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane != task->spec.lane || !is_inside(other)) continue;
        if (task->spec.group && other->spec.group == task->spec.group) return false;
    }
    return true;
}

static bool has_started(const struct model_task *task)
{
    return task->state == ROTA_TASK_RUNNING || task->state == ROTA_TASK_SHARED;
}

static bool all_have_started(struct model *model, const struct model_lane *lane)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane != lane->number || !is_inside(other)) continue;
        if (!has_started(other)) return false;
    }
    return true;
}

// Whether it may try to enter its group. In a strict lane only when all before it have started.
static bool lane_reaches(struct model *model, const struct model_lane *lane,
                         const struct model_task *task)
{
    if ((lane->flags & ROTA_LANE_STRICT) && !all_have_started(model, lane)) return false;
    return group_is_free(model, task);
}

static bool lane_admits(struct model *model, const struct model_lane *lane,
                        const struct model_task *task)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane != lane->number || !is_inside(other)) continue;
        if (other->spec.access != task->spec.access) return false;
    }
    return lane_reaches(model, lane, task);
}

// Whether it could pass its lane at once, as the last one to ask.
bool model_lane_is_open(struct model *model, const struct model_task *task)
{
    const struct model_lane *lane = model_lane_find(model, task->spec.lane);
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane == lane->number && other->state == ROTA_TASK_OFFERED) return false;
    }
    return !lane_head(model, lane) && lane_admits(model, lane, task);
}

// The head of a lane holds its group already while it waits for the readers or writers inside.
bool model_lane_head_reserves(struct model *model, const struct model_lane *lane,
                              const struct model_task *task)
{
    if (task->state != ROTA_TASK_HELD || lane_head(model, lane) != task) return false;
    return lane_reaches(model, lane, task);
}

// Whether something that `task` waits for is after it in the lane.
static bool waits_for_lane(struct model *model, const struct model_task *task, uint32_t lane)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *other = &model->tasks[i];
        bool needed = false;
        for (uint32_t k = 0; k < model->edge_count && other->id.job == task->id.job; k++) {
            const struct model_edge *edge = &model->edges[k];
            needed |= edge->job == task->id.job && edge->after == task->id.task
                      && edge->before == other->id.task;
        }
        for (uint32_t k = 0; k < task->spec.clause_count; k++) {
            needed |= model_same_task(task->clauses[k].task, other->id);
        }
        if (!needed || other->state < ROTA_TASK_QUEUED || other->state > ROTA_TASK_HELD) continue;
        if (other->state == ROTA_TASK_HELD && other->spec.lane == lane) return true;
        if (waits_for_lane(model, other, lane)) return true;
    }
    return false;
}

// In a lane with submission order: its head waits for something that is not in the lane itself.
bool model_is_after_a_waiting_one(struct model *model, const struct model_task *task)
{
    const struct model_task *head = lane_head(model, model_lane_find(model, task->spec.lane));
    return head->state != ROTA_TASK_HELD && !waits_for_lane(model, head, task->spec.lane);
}

static bool lanes_admit(struct model *model, bool strict)
{
    bool any = false;
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct model_lane *lane = &model->lanes[i];
        if (strict != ((lane->flags & ROTA_LANE_STRICT) != 0)) continue;
        struct model_task *head = lane_head(model, lane);
        while (head && head->state == ROTA_TASK_HELD && lane_admits(model, lane, head)) {
            task_offer(head);
            head = lane_head(model, lane);
            any = true;
        }
    }
    return any;
}

// A task with all its dependencies asks for its lane, or is offered.
void model_ready_leave(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->state != ROTA_TASK_READY) continue;
        if (!task->keeps_place) task->asked = model->turn;
        if (task->spec.lane)
            task->state = ROTA_TASK_HELD;
        else
            task_offer(task);
    }
}

// ---- Shared executions --------------------------------------------------------------------------

static bool is_under_way(const struct model_task *task)
{
    return task->state == ROTA_TASK_OFFERED || task->state == ROTA_TASK_ASSIGNED
           || task->state == ROTA_TASK_RUNNING;
}

static bool is_shared_in_core(struct model *model, const struct model_task *task)
{
    struct rota_task_view view;
    return rota_task_look(model->core, task->id, &view) && view.leader.job != 0;
}

// It continues as soon as it has a leader, so the tasks after it need not step back for it. If
// there is no leader, it is left over, and should have led.
static bool passes_by(struct model *model, const struct model_task *task,
                      const struct model_task *leader)
{
    if (!task->fresh || model_same_object(task->spec.key, leader->spec.key)) return false;
    return is_shared_in_core(model, task);
}

static bool is_next(struct model *model, const struct model_task *task)
{
    if (task->state != ROTA_TASK_OFFERED) return true;
    const struct model_lane *lane = model_lane_find(model, task->spec.lane);
    for (uint32_t i = 0; i < model->task_count && lane; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane != lane->number || other->state != ROTA_TASK_OFFERED) continue;
        bool before = other != task && model_comes_before(lane, other, task);
        if (before && !passes_by(model, other, task)) return false;
    }
    return true;
}

// A task that has to wait, or is no longer the next of its lane, does not lead.
static bool leaders_step_down(struct model *model, bool waiting)
{
    bool any = false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *leader = &model->tasks[i];
        bool down = waiting ? !is_under_way(leader) : !is_next(model, leader);
        if (!leader->leads || !down) continue;
        model_task_release(model, leader);
        any = true;
    }
    return any;
}

// The task that runs for its key.
struct model_task *model_leader_find(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *leader = &model->tasks[i];
        if (!leader->leads || leader == task) continue;
        if (model_same_object(leader->spec.key, task->spec.key)) return leader;
    }
    return NULL;
}

// Of several that come at once the core decides which one leads.
static void leaders_choose(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (!task->fresh || model_is_no_object(task->spec.key)) continue;
        const struct model_task *leader = model_leader_find(model, task);
        if (leader && is_next(model, leader)) continue;
        bool same_lane = leader && leader->spec.lane == task->spec.lane;
        if (same_lane || !is_shared_in_core(model, task)) task->leads = true;
    }
}

static void task_share(struct model *model, struct model_task *task)
{
    const struct model_task *leader = model_leader_find(model, task);
    if (!leader) return;  // one that is not the next of its lane yet
    task->fresh = false;
    if (!is_shared_in_core(model, task)) {
        model_differs(model, "%u.%u should share with %u.%u", task->id.job, task->id.task,
                      leader->id.job, leader->id.task);
        return;
    }
    task->state = ROTA_TASK_SHARED;
    task->leader = leader->id;
}

static void task_begin_waits(struct model *model, struct model_task *task)
{
    task->placed = true;
    task->since = model->now;
    task->phase = own_result_is_somewhere(model, task) ? MODEL_NEAR : MODEL_INPUT;
}

// The next task of its lane takes part; it may have been the next before another one came first.
static bool task_place(struct model *model, struct model_task *task)
{
    bool keyed = !model_is_no_object(task->spec.key);
    if (task->state != ROTA_TASK_OFFERED || !model_is_first_of_lane(model, task)) return false;
    if (task->fresh || (task->placed && (!keyed || task->leads))) return false;
    task->fresh = true;
    if (!task->placed) task_begin_waits(model, task);
    return true;
}

static void keys_settle(struct model *model)
{
    leaders_choose(model);
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (model_is_no_object(task->spec.key) || task->leads) task->fresh = false;
        if (task->fresh) task_share(model, task);
    }
}

// Admits tasks to their lanes and lets them look for their key. A task of a lane does that only
// when it is the next to be given out. Strict lanes wait until no leader steps down any more: a
// task that shares an execution counts as started there.
void model_share(struct model *model)
{
    uint32_t rounds = 0;
    for (bool moved = true; moved && rounds < MODEL_TASKS; rounds++) {
        moved = leaders_step_down(model, true);
        lanes_admit(model, false);
        for (uint32_t i = 0; i < model->task_count; i++) {
            moved |= task_place(model, &model->tasks[i]);
        }
        keys_settle(model);
        moved |= leaders_step_down(model, false);
        if (!moved) moved = lanes_admit(model, true);
    }
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->fresh) model_differs(model, "%u.%u should lead", task->id.job, task->id.task);
    }
}
