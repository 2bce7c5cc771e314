// model_lane.c - lanes: who is let in, who is the next, who runs for whom.
#include "model.h"

// ---- Lanes and offers -----------------------------------------------------------

static bool own_result_is_somewhere(struct model *model, const struct model_task *task)
{
    for (uint32_t w = 1; w < 32; w++) {
        if (model_near(model, task, (rota_worker_id){w})) return true;
    }
    return false;
}

static void task_offer(struct model *model, struct model_task *task)
{
    task->state = ROTA_TASK_OFFERED;
    task->let_in = ++model->admissions;
    task->placed = false;
    task->leader = (rota_task_id){0, 0};
}

static bool is_inside(const struct model_task *task)
{
    return task->state >= ROTA_TASK_OFFERED && task->state <= ROTA_TASK_RUNNING;
}

// The order of a lane: of submission always, or of asking.
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

// May it try for its group? In a strict lane only when all before it have started.
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

// Could it go through its lane at once, as the last to ask?
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

// Does something that `task` waits for stand in the lane, behind it?
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

// In a lane in order of submission: its head waits for something that is not in the lane itself.
bool model_is_behind_somebody_waiting(struct model *model, const struct model_task *task)
{
    const struct model_task *head = lane_head(model, model_lane_find(model, task->spec.lane));
    return head->state != ROTA_TASK_HELD && !waits_for_lane(model, head, task->spec.lane);
}

static void lanes_admit(struct model *model)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct model_lane *lane = &model->lanes[i];
        struct model_task *head = lane_head(model, lane);
        while (head && head->state == ROTA_TASK_HELD && lane_admits(model, lane, head)) {
            task_offer(model, head);
            head = lane_head(model, lane);
        }
    }
}

// What has all it needs asks for its lane, or is offered.
void model_ready_leave(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->state != ROTA_TASK_READY) continue;
        if (!task->keeps_place) task->asked = model->turn;
        if (task->spec.lane)
            task->state = ROTA_TASK_HELD;
        else
            task_offer(model, task);
    }
}

// ---- Sharing --------------------------------------------------------------------

static bool may_lead(const struct model_task *leader, const struct model_task *task)
{
    if (leader == task || !model_same_object(leader->spec.key, task->spec.key)) return false;
    bool pending = leader->state == ROTA_TASK_OFFERED || leader->state == ROTA_TASK_ASSIGNED
                   || leader->state == ROTA_TASK_RUNNING;
    return pending && leader->placed;
}

// Who is under way for its key.
struct model_task *model_leader_find(struct model *model, const struct model_task *task)
{
    if (model_is_no_object(task->spec.key)) return NULL;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (may_lead(&model->tasks[i], task)) return &model->tasks[i];
    }
    return NULL;
}

// Attaches what was offered in this event to what runs for its key. Of several that are offered
// at once the core says which leads.
static void task_share(struct model *model, struct model_task *task)
{
    struct rota_task_view view;
    const struct model_task *leader = model_leader_find(model, task);
    if (!leader || !rota_task_look(model->core, task->id, &view)) return;
    bool shared = view.state == ROTA_TASK_SHARED;
    if (task->regenerating) shared = view.leader.job != 0;  // it shows SUCCEEDED
    if (!shared) {
        bool lead = leader->fresh && rota_task_look(model->core, leader->id, &view)
                    && view.state == ROTA_TASK_SHARED;
        if (!lead) {
            model_differs(model, "%u.%u should share with %u.%u", task->id.job, task->id.task,
                          leader->id.job, leader->id.task);
        }
        return;
    }
    leader = model_task_find(model, view.leader);
    if (!leader || !may_lead(leader, task)) {
        model_differs(model, "%u.%u shares with %u.%u, which cannot lead", task->id.job,
                      task->id.task, view.leader.job, view.leader.task);
        return;
    }
    task->state = ROTA_TASK_SHARED;
    task->leader = leader->id;
}

// Lets tasks into their lanes and has them look for their key. A task of a lane does that only
// when it is the next to be handed out.
void model_share(struct model *model)
{
    for (bool moved = true; moved;) {
        moved = false;
        lanes_admit(model);
        for (uint32_t i = 0; i < model->task_count; i++) {
            struct model_task *task = &model->tasks[i];
            if (task->state != ROTA_TASK_OFFERED || task->placed) continue;
            if (!model_is_first_of_lane(model, task)) continue;
            task->placed = task->fresh = moved = true;
            task->attached = model->turn;
            task->since = model->now;
            task->phase = own_result_is_somewhere(model, task) ? MODEL_NEAR : MODEL_INPUT;
        }
        for (uint32_t i = 0; i < model->task_count; i++) {
            struct model_task *task = &model->tasks[i];
            if (task->fresh && !model_is_no_object(task->spec.key)) task_share(model, task);
        }
        for (uint32_t i = 0; i < model->task_count; i++) model->tasks[i].fresh = false;
    }
}
