// lane.c - lanes: tasks in order of request, one task of a group, readers or writers only.
//
// A lane has a queue of held tasks. Only its head may be admitted. A head that found its group free
// reserves the group while it waits for the readers or writers inside. Admitted tasks are offered,
// but only the first of them, `placing`, can be handed out, so that starts keep the order.
#include "base/planted.h"
#include "core/core.h"

static int32_t side(const struct task *task)
{
    return task->flags & TASK_WRITES ? +1 : -1;
}

void lane_look_at(struct rota *rota, lane_row row)
{
    assert(IS_ROW(rota->lanes, row));
    struct lane *lane = LANE(rota, row);
    if (lane->looking) return;
    lane->looking = true;
    lane->next_look = rota->look_lanes;
    rota->look_lanes = row;
}

static void release_group(struct rota *rota, task_row row)
{
    group_row group = task_extra(rota, row)->group;
    if (PLANTED(GROUP_KEPT)) return;
    if (group && GROUP(rota, group)->holder == row) GROUP(rota, group)->holder = 0;
}

static void unreserve(struct rota *rota, struct lane *lane)
{
    if (!lane->reserved) return;
    release_group(rota, lane->reserved);
    lane->reserved = 0;
}

static bool comes_before(const struct rota *rota, task_row a, task_row b)
{
    assert(a != b);
    const struct lane *lane = LANE(rota, task_extra(rota, a)->lane);
    if (lane->flags & ROTA_LANE_SUBMIT_ORDER) return task_older(rota, a, b);
    if (PLANTED(LANE_BACKWARDS)) return task_older(rota, b, a);
    uint64_t one = task_extra(rota, a)->asked, other = task_extra(rota, b)->asked;
    return one != other ? one < other : task_older(rota, a, b);
}

// New requests go to the tail; a retried task keeps its original position.
static void line_insert(struct rota *rota, struct lane *lane, task_row row)
{
    assert(!task_extra(rota, row)->in_line);
    task_row next = 0, previous = lane->held_last;
    bool last = !previous || !comes_before(rota, row, previous);
    if (!last && comes_before(rota, row, lane->held_first)) {
        next = lane->held_first;
        previous = 0;
    }
    while (!last && previous && comes_before(rota, row, previous)) {
        next = previous;
        previous = rota->task[previous].previous;
    }
    task_extra(rota, row)->in_line = true;
    list_insert(rota, row, previous, next, &lane->held_first, &lane->held_last);
    if (!previous) unreserve(rota, lane);
}

static void line_leave(struct rota *rota, struct lane *lane, task_row row)
{
    assert(task_extra(rota, row)->in_line);
    task_extra(rota, row)->in_line = false;
    list_unlink(rota, row, &lane->held_first, &lane->held_last);
}

// In a lane that keeps submit order a task has its place before it is ready.
void lane_enlist(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_HAS_LANE);
    struct extra *extra = task_extra(rota, row);
    struct lane *lane = LANE(rota, extra->lane);
    if (!(lane->flags & ROTA_LANE_SUBMIT_ORDER) || extra->in_line) return;
    if (!extra->asked) extra->asked = rota->turn;
    line_insert(rota, lane, row);
    effect_mark_task(rota, row);
}

void lane_request(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_HAS_LANE);
    struct extra *extra = task_extra(rota, row);
    task_move(rota, row, CAUSE_HELD);
    effect_mark_task(rota, row);
    if (!extra->asked) extra->asked = rota->turn;
    if (!extra->in_line) line_insert(rota, LANE(rota, extra->lane), row);
    lane_look_at(rota, extra->lane);
    assert(rota->task[row].state == ROTA_TASK_HELD && extra->in_line);
}

static void offered_insert(struct rota *rota, struct lane *lane, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_OFFERED);
    task_row next = 0, previous = lane->offered_last;
    while (previous && comes_before(rota, row, previous)) {
        next = previous;
        previous = rota->task[previous].previous;
    }
    list_insert(rota, row, previous, next, &lane->offered_first, &lane->offered_last);
}

// Under pull its phases resume when it is the next task again. If it was the next one for a part of
// this step only, they have not begun.
static void step_back(struct rota *rota, struct lane *lane, task_row row)
{
    assert(lane->placing == row);
    struct extra *extra = task_extra(rota, row);
    bool has_begun = rota->placed_now != row || rota->placed_turn != rota->turn;
    uint8_t phase = extra->phase ? extra->phase : extra->resume;
    rota_time since = extra->since;
    place_remove(rota, row);
    shared_key_release(rota, row);
    extra->resume = has_begun ? phase & 15u : 0;
    extra->since = has_begun ? since : 0;
    effect_mark_task(rota, row);
    offered_insert(rota, lane, row);
}

static bool is_paused(const struct lane *lane)
{
    return lane->flags & ROTA_LANE_PAUSED;
}

// The first admitted task is the one to hand out. A task does not have to leave the placement queue
// for a task that runs as a follower of another, unless that other is itself.
static void place_first(struct rota *rota, struct lane *lane)
{
    while (lane->offered_first && (!is_paused(lane) || PLANTED(PAUSE_ENTERS))) {
        task_row first = lane->offered_first, placing = lane->placing;
        if (placing && !comes_before(rota, first, placing)) return;
        list_unlink(rota, first, &lane->offered_first, &lane->offered_last);
        task_row leader = place_is_paused(rota, first) ? 0 : shared_key_leader(rota, first);
        if (!placing || !leader || leader == placing) {
            if (placing) step_back(rota, lane, placing);
            lane->placing = first;
        }
        place_add(rota, first);
    }
}

static bool group_is_free(const struct rota *rota, task_row row)
{
    group_row group = task_extra(rota, row)->group;
    if (PLANTED(GROUP_IGNORED)) return true;
    return !group || !GROUP(rota, group)->holder || GROUP(rota, group)->holder == row;
}

static bool class_is_free(const struct lane *lane, const struct task *task)
{
    if (PLANTED(CLASS_IGNORED)) return true;
    return lane->counter == 0 || (lane->counter > 0) == (side(task) > 0);
}

void lane_enter(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_HAS_LANE);
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    group_row group = task_extra(rota, row)->group;
    if (group) GROUP(rota, group)->holder = row;
    lane->counter += side(&rota->task[row]);
    lane->inside++;
    lane->starting++;
    assert(lane->starting <= lane->inside);
}

// A strict lane admits a task only after all tasks inside have started.
static bool all_have_started(const struct lane *lane)
{
    return !(lane->flags & ROTA_LANE_STRICT) || lane->starting == 0;
}

bool lane_is_strict(const struct rota *rota, task_row row)
{
    return LANE(rota, task_extra(rota, row)->lane)->flags & ROTA_LANE_STRICT;
}

bool lane_admits_now(const struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_HAS_LANE);
    const struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    return !lane->held_first && !lane->placing && !is_paused(lane) && all_have_started(lane)
           && group_is_free(rota, row) && class_is_free(lane, &rota->task[row]);
}

static void let_in(struct rota *rota, lane_row at, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_HELD);
    line_leave(rota, LANE(rota, at), row);
    lane_enter(rota, row);
    task_move(rota, row, CAUSE_OFFERED);
    offered_insert(rota, LANE(rota, at), row);
}

// Admits the head if possible; false if it has to wait.
static bool admit_head(struct rota *rota, lane_row at)
{
    assert(IS_ROW(rota->lanes, at));
    struct lane *lane = LANE(rota, at);
    task_row row = lane->held_first;
    bool paused = is_paused(lane) && !PLANTED(PAUSE_ENTERS);
    if (!row || paused || !all_have_started(lane)) return false;
    if (rota->task[row].state != ROTA_TASK_HELD) return false;
    if (!group_is_free(rota, row)) return false;
    if (!class_is_free(lane, &rota->task[row])) {
        group_row group = task_extra(rota, row)->group;
        if (group) GROUP(rota, group)->holder = row;
        lane->reserved = row;
        return false;
    }
    lane->reserved = 0;
    let_in(rota, at, row);
    return true;
}

// A SHARED task counts as started in a strict lane, but it is offered again when its leader goes
// back to waiting in another lane. So strict lanes admit their heads after all other lanes have
// settled.
static void look_at_strict(struct rota *rota, lane_row row)
{
    struct lane *lane = LANE(rota, row);
    if (lane->looking_strict) return;
    lane->looking_strict = true;
    lane->next_strict = rota->look_strict;
    rota->look_strict = row;
}

// All tasks that may enter are admitted before one of them is placed: the first in the order of the
// lane is placed first, also if it was admitted earlier and waits for its turn.
void lane_settle(struct rota *rota)
{
    while (rota->look_lanes) {
        lane_row row = rota->look_lanes;
        rota->look_lanes = LANE(rota, row)->next_look;
        LANE(rota, row)->looking = false;
        if (LANE(rota, row)->flags & ROTA_LANE_STRICT)
            look_at_strict(rota, row);
        else
            while (admit_head(rota, row)) continue;
        place_first(rota, LANE(rota, row));
    }
    assert(!rota->look_lanes);
}

// An admitted head displaces no task: all tasks inside have started.
void lane_settle_strict(struct rota *rota)
{
    assert(rota->look_strict);
    lane_row row = rota->look_strict;
    rota->look_strict = LANE(rota, row)->next_strict;
    LANE(rota, row)->looking_strict = false;
    if (admit_head(rota, row)) place_first(rota, LANE(rota, row));
}

// Tasks that were admitted but not handed out wait with the others; running tasks continue.
void lane_pause(struct rota *rota, lane_row row, bool pause)
{
    assert(is_paused(LANE(rota, row)) != pause);
    struct lane *lane = LANE(rota, row);
    if (pause && lane->placing) {
        step_back(rota, lane, lane->placing);
        lane->placing = 0;
    }
    if (pause && !PLANTED(PAUSE_RESERVES)) unreserve(rota, lane);  // as after a restart
    lane->flags ^= ROTA_LANE_PAUSED;
    lane_look_at(rota, row);
}

// Tasks that were admitted before a restart are inside again. When all are, the first of each lane
// is placed.
void lane_restore_offered(struct rota *rota, task_row row)
{
    lane_enter(rota, row);
    task_move(rota, row, CAUSE_OFFERED);
    offered_insert(rota, LANE(rota, task_extra(rota, row)->lane), row);
}

void lane_restore_placing(struct rota *rota)
{
    for (lane_row at = 1; at < rota->lanes.count; at++) {
        struct lane *lane = LANE(rota, at);
        task_row row = lane->offered_first;
        if (!row || is_paused(lane)) continue;
        list_unlink(rota, row, &lane->offered_first, &lane->offered_last);
        lane->placing = row;
        place_add(rota, row);
    }
}

bool lane_is_placing(const struct rota *rota, task_row row)
{
    return LANE(rota, task_extra(rota, row)->lane)->placing == row;
}

// Another task ran for it, which counts as started; now it has to start itself.
void lane_starts_again(struct rota *rota, task_row row)
{
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    lane->starting++;
    if (!all_have_started(lane)) unreserve(rota, lane);
    assert(lane->starting <= lane->inside);
}

// The task takes its place among the admitted ones. Which of them is first is determined when the
// lane is settled, so the order in which several return does not matter.
void lane_offer_again(struct rota *rota, task_row row)
{
    lane_row at = task_extra(rota, row)->lane;
    lane_starts_again(rota, row);
    offered_insert(rota, LANE(rota, at), row);
    lane_look_at(rota, at);
}

void lane_handed_out(struct rota *rota, task_row row)
{
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    if (lane->placing != row) return;
    lane->placing = lane->offered_first;
    if (!lane->placing) return;
    list_unlink(rota, lane->placing, &lane->offered_first, &lane->offered_last);
    if (!task_extra(rota, lane->placing)->resume) {
        rota->placed_now = lane->placing;
        rota->placed_turn = rota->turn;
    }
    place_add(rota, lane->placing);
}

void lane_started(struct rota *rota, task_row row)
{
    assert(LANE(rota, task_extra(rota, row)->lane)->starting > 0);
    lane_row at = task_extra(rota, row)->lane;
    LANE(rota, at)->starting--;
    lane_look_at(rota, at);
}

// Removes the task from the queue or from the lane, whatever its state there. The caller has
// removed it from the placement queues and changes its state afterwards.
void lane_leave(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_HAS_LANE);
    const struct task *task = &rota->task[row];
    lane_row at = task_extra(rota, row)->lane;
    struct lane *lane = LANE(rota, at);
    lane_look_at(rota, at);
    if (task_extra(rota, row)->in_line) {
        if (lane->reserved == row) unreserve(rota, lane);
        line_leave(rota, lane, row);
        return;
    }
    if (!task_is_inside(task)) return;
    bool waits = task->state == ROTA_TASK_OFFERED && lane->placing != row;
    if (waits) {
        list_unlink(rota, row, &lane->offered_first, &lane->offered_last);
        task_extra(rota, row)->resume = 0;
    }
    release_group(rota, row);
    if (!PLANTED(CLASS_KEPT)) lane->counter -= side(task);
    lane->inside--;
    lane->starting -= task_is_starting(task);
    if (lane->placing == row) lane->placing = 0;
}
