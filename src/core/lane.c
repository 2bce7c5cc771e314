// lane.c - lanes: in order of request, one task of a group, only readers or only writers.
//
// A lane is a line of held tasks. Only its head may be let in, and a head that found its
// group free keeps it while it waits for its class. Who was let in is offered; of those
// only the first, `placing`, can be handed out, so that starts keep the order.
#include "base/planted.h"
#include "core/core.h"

static int32_t side(const struct task *task)
{
    return task->flags & TASK_WRITES ? +1 : -1;
}

void gate_look_at(struct rota *rota, lane_row row)
{
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
    const struct lane *lane = LANE(rota, task_extra(rota, a)->lane);
    if (lane->flags & ROTA_LANE_SUBMIT_ORDER) return task_older(rota, a, b);
    if (PLANTED(LANE_BACKWARDS)) return task_older(rota, b, a);
    uint64_t one = task_extra(rota, a)->asked, other = task_extra(rota, b)->asked;
    return one != other ? one < other : task_older(rota, a, b);
}

// Most come last; one that comes back goes in front by its old request.
static void line_insert(struct rota *rota, struct lane *lane, task_row row)
{
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
    task_extra(rota, row)->in_line = false;
    list_unlink(rota, row, &lane->held_first, &lane->held_last);
}

// In a lane that keeps submit order a task has its place before it is ready.
void gate_enlist(struct rota *rota, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    struct lane *lane = LANE(rota, extra->lane);
    if (!(lane->flags & ROTA_LANE_SUBMIT_ORDER) || extra->in_line) return;
    if (!extra->asked) extra->asked = rota->turn;
    line_insert(rota, lane, row);
    effect_mark_task(rota, row);
}

void gate_request(struct rota *rota, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    task_move(rota, row, CAUSE_HELD);
    effect_mark_task(rota, row);
    if (!extra->asked) extra->asked = rota->turn;
    if (!extra->in_line) line_insert(rota, LANE(rota, extra->lane), row);
    gate_look_at(rota, extra->lane);
}

static void offered_insert(struct rota *rota, struct lane *lane, task_row row)
{
    task_row next = 0, previous = lane->offered_last;
    while (previous && comes_before(rota, row, previous)) {
        next = previous;
        previous = rota->task[previous].previous;
    }
    list_insert(rota, row, previous, next, &lane->offered_first, &lane->offered_last);
}

// Under pull its waits go on when it is the next again.
static void step_back(struct rota *rota, struct lane *lane, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    uint8_t phase = extra->phase ? extra->phase : extra->resume;
    rota_time since = extra->since;
    place_remove(rota, row);
    share_release(rota, row);
    extra->resume = phase & 15u;
    extra->since = since;
    effect_mark_task(rota, row);
    offered_insert(rota, lane, row);
}

static bool is_paused(const struct lane *lane)
{
    return lane->flags & ROTA_LANE_PAUSED;
}

// Of those let in the first is to be handed out. Nobody has to step back for a task that another
// one leads, unless that is the one.
static void place_first(struct rota *rota, struct lane *lane)
{
    while (lane->offered_first && (!is_paused(lane) || PLANTED(PAUSE_ENTERS))) {
        task_row first = lane->offered_first, placing = lane->placing;
        if (placing && !comes_before(rota, first, placing)) return;
        list_unlink(rota, first, &lane->offered_first, &lane->offered_last);
        task_row leader = place_rests(rota, first) ? 0 : share_leader(rota, first);
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

void gate_enter(struct rota *rota, task_row row)
{
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    group_row group = task_extra(rota, row)->group;
    if (group) GROUP(rota, group)->holder = row;
    lane->counter += side(&rota->task[row]);
    lane->inside++;
    lane->starting++;
}

// In a strict lane nobody is let in before all that are inside have started.
static bool all_have_started(const struct lane *lane)
{
    return !(lane->flags & ROTA_LANE_STRICT) || lane->starting == 0;
}

bool gate_is_strict(const struct rota *rota, task_row row)
{
    return LANE(rota, task_extra(rota, row)->lane)->flags & ROTA_LANE_STRICT;
}

bool gate_admits_now(const struct rota *rota, task_row row)
{
    const struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    return !lane->held_first && !lane->placing && !is_paused(lane) && all_have_started(lane)
           && group_is_free(rota, row) && class_is_free(lane, &rota->task[row]);
}

static void let_in(struct rota *rota, lane_row at, task_row row)
{
    line_leave(rota, LANE(rota, at), row);
    gate_enter(rota, row);
    task_move(rota, row, CAUSE_OFFERED);
    offered_insert(rota, LANE(rota, at), row);
}

// Lets the head in if it may; false when it has to wait.
static bool admit_head(struct rota *rota, lane_row at)
{
    struct lane *lane = LANE(rota, at);
    task_row row = lane->held_first;
    bool rests = is_paused(lane) && !PLANTED(PAUSE_ENTERS);
    if (!row || rests || !all_have_started(lane)) return false;
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

// A SHARED task counts as started in a strict lane, but it is offered again when its leader steps
// back in another lane. So strict lanes let their heads in after all other lanes have settled.
static void look_at_strict(struct rota *rota, lane_row row)
{
    struct lane *lane = LANE(rota, row);
    if (lane->looking_strict) return;
    lane->looking_strict = true;
    lane->next_strict = rota->look_strict;
    rota->look_strict = row;
}

// All that may go in go in before one of them is placed: the first of the lane is the first of them
// all, also when a task that is already inside waits for its turn.
void gate_settle(struct rota *rota)
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
}

// A head that is let in makes nobody step back: all that are inside have started.
void gate_settle_strict(struct rota *rota)
{
    lane_row row = rota->look_strict;
    rota->look_strict = LANE(rota, row)->next_strict;
    LANE(rota, row)->looking_strict = false;
    if (admit_head(rota, row)) place_first(rota, LANE(rota, row));
}

// Who was let in and not handed out waits with the others; what runs goes on.
void gate_pause(struct rota *rota, lane_row row, bool pause)
{
    struct lane *lane = LANE(rota, row);
    if (pause && lane->placing) {
        step_back(rota, lane, lane->placing);
        lane->placing = 0;
    }
    if (pause && !PLANTED(PAUSE_RESERVES)) unreserve(rota, lane);  // as a restart finds it
    lane->flags ^= ROTA_LANE_PAUSED;
    gate_look_at(rota, row);
}

// Who had been let in before a restart is inside again; when all are, the first of each lane
// is placed.
void gate_restore_offered(struct rota *rota, task_row row)
{
    gate_enter(rota, row);
    task_move(rota, row, CAUSE_OFFERED);
    offered_insert(rota, LANE(rota, task_extra(rota, row)->lane), row);
}

void gate_restore_placing(struct rota *rota)
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

bool gate_is_placing(const struct rota *rota, task_row row)
{
    return LANE(rota, task_extra(rota, row)->lane)->placing == row;
}

// Somebody else ran for it, which counts as started; now it is to start itself.
void gate_starts_anew(struct rota *rota, task_row row)
{
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    lane->starting++;
    if (!all_have_started(lane)) unreserve(rota, lane);
}

// It takes its place among those that were let in; the first of them is found when the lane
// is looked at, so that the order in which several come back does not matter.
void gate_offer_again(struct rota *rota, task_row row)
{
    lane_row at = task_extra(rota, row)->lane;
    gate_starts_anew(rota, row);
    offered_insert(rota, LANE(rota, at), row);
    gate_look_at(rota, at);
}

void gate_handed_out(struct rota *rota, task_row row)
{
    struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
    if (lane->placing != row) return;
    lane->placing = lane->offered_first;
    if (!lane->placing) return;
    list_unlink(rota, lane->placing, &lane->offered_first, &lane->offered_last);
    place_add(rota, lane->placing);
}

void gate_started(struct rota *rota, task_row row)
{
    lane_row at = task_extra(rota, row)->lane;
    LANE(rota, at)->starting--;
    gate_look_at(rota, at);
}

// Out of the line, or out of the lane, whatever the task was doing there. The caller has
// taken it out of the placement queues and moves it on afterwards.
void gate_leave(struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    lane_row at = task_extra(rota, row)->lane;
    struct lane *lane = LANE(rota, at);
    gate_look_at(rota, at);
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
