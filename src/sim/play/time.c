// time.c - time passes, plans take time, the core restarts.
#include "sim/play/internal.h"

static rota_time take_moment(struct play *play)
{
    const char *text = take_name(play);
    rota_time time = 0;
    if (!play->halt && !time_parse(text, &time)) {
        play_wrong(play, "'%s' is not a time like 250ms, 60s or 2m", text);
    }
    take_end(play);
    return time;
}

// Inside a turn no time passes.
static bool is_between_turns(struct play *play)
{
    if (play->block.open) play_wrong(play, "the turn before has no 'end'");
    return !play->halt;
}

void verb_at(struct play *play)
{
    rota_time target = take_moment(play);
    if (!is_between_turns(play)) return;
    if (target < play->now) play_wrong(play, "that time has passed");
    else turn_advance(play, target);
}

void verb_advance(struct play *play)
{
    rota_time length = take_moment(play);
    if (!is_between_turns(play)) return;
    if (length > ROTA_NEVER - 1 - play->now) play_wrong(play, "the time is too long");
    else turn_advance(play, play->now + length);
}

// The time changes at once; what was due before it happens at the end of the turn.
void verb_turn(struct play *play)
{
    rota_time target = take_moment(play);
    if (!is_between_turns(play)) return;
    if (target < play->now) play_wrong(play, "that time has passed");
    play->block = (struct play_block) { .open = true, .before = play->now };
    if (!play->halt) play->now = target;
}

void verb_end(struct play *play)
{
    take_end(play);
    if (!play->block.open) play_wrong(play, "'end' without 'turn'");
    else if (play->batch.open) play_wrong(play, "'submit' is missing after the last 'begin'");
    play->block.open = false;
    if (!play->halt) turn_once(play);
}

void verb_restart(struct play *play)
{
    take_end(play);
    bool late = play->block.open && play->kept_count;
    if (late) play_wrong(play, "'restart' must come first in a turn");
    play->bounds.count = 0;  // there is no plan yet
    rota_time now = play->now;
    if (play->block.open) play->now = play->block.before;  // nothing has become due meanwhile
    if (!play->halt) turn_restart(play);
    play->now = now;
}

static struct rota_event bound_event(const struct play_bound *bound)
{
    struct rota_event event = { .kind = ROTA_EVENT_PLAN };
    event.plan.job = bound->job;
    event.plan.placements = &bound->placement;
    event.plan.count = 1;
    return event;
}

// Plans are not stored; the planner makes them again for a core that is rebuilt.
void bounds_tell(struct play *play)
{
    for (uint32_t i = 0; i < play->bounds.count; i++) {
        struct rota_event event = bound_event(&play->bounds.items[i]);
        play_turn_step(play, &event);  // refused if the job is closed by now
    }
}

// A planner has made a plan.
void verb_bind(struct play *play)
{
    rota_task_id task = task_named(play, take_name(play));
    struct play_bound bound = { { task.job }, { .task = task.task } };
    bound.placement.worker.number = worker_named(play, take_name(play));
    bound.placement.order = take_number(play, "order", 0);
    take_end(play);
    uint32_t at = 0, most = sizeof play->bounds.items / sizeof *play->bounds.items;
    while (at < play->bounds.count
           && (play->bounds.items[at].job.number != task.job
               || play->bounds.items[at].placement.task != task.task))
        at++;
    if (at == most) play_wrong(play, "at most %u tasks can be bound", most);
    if (play->halt) return;
    play->bounds.items[at] = bound;
    play->bounds.count += at == play->bounds.count;
    struct rota_event event = bound_event(&play->bounds.items[at]);
    turn_send(play, &event);
}

// The core is told in its next turn how long its last plan took.
void verb_plan(struct play *play)
{
    rota_time took = take_time(play, "took", 0);
    take_end(play);
    if (!play->halt) play->plan_took = took;
}
