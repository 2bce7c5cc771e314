// decide.c - decides whether to stage, remember or skip a firing.
#include "job/calendar/internal.h"

static rota_time earlier(rota_time left, rota_time right)
{
    return left < right ? left : right;
}

// The undecided firing in the current minute, or CALENDAR_NONE.
static rota_time firing_now(const struct calendar *calendar, rota_time settled, rota_time now)
{
    rota_time firing = calendar_next(calendar, minute_begin(now) - 1);
    return firing <= now && firing > settled ? firing : CALENDAR_NONE;
}

// The first undecided firing before the current minute, or CALENDAR_NONE.
static rota_time firing_missed(const struct calendar *calendar, rota_time settled, rota_time now)
{
    if (settled == CALENDAR_NONE) return CALENDAR_NONE;
    rota_time firing = calendar_next(calendar, settled);
    return firing < minute_begin(now) ? firing : CALENDAR_NONE;
}

static bool is_held_up(const struct calendar_situation *situation)
{
    if (situation->active) return true;
    return situation->ended != CALENDAR_NONE
           && minute_begin(situation->ended) == minute_begin(situation->now);
}

// Stages the oldest waiting firing; with overlap queue the newest one is remembered.
static void firing_place(struct calendar_decision *decision, rota_time firing,
                         const struct calendar_rules *rules, bool held_up)
{
    rota_time waiting = decision->state.remembered;
    bool queue = rules->overlap == CALENDAR_OVERLAP_QUEUE;
    if (!held_up && (waiting != CALENDAR_NONE || firing != CALENDAR_NONE)) {
        decision->verdict = CALENDAR_STAGE;
        decision->firing = waiting != CALENDAR_NONE ? waiting : firing;
        decision->state.remembered = waiting != CALENDAR_NONE && queue ? firing : CALENDAR_NONE;
    } else if (held_up && queue && firing != CALENDAR_NONE && waiting == CALENDAR_NONE) {
        decision->verdict = CALENDAR_REMEMBER;
        decision->firing = decision->state.remembered = firing;
    }
}

struct calendar_decision calendar_decide(const struct calendar *calendar,
                                         const struct calendar_state *state,
                                         const struct calendar_rules *rules,
                                         const struct calendar_situation *situation)
{
    rota_time now = situation->now;
    struct calendar_decision decision
        = {.verdict = CALENDAR_NOTHING, .state = *state, .firing = CALENDAR_NONE};
    rota_time firing = firing_now(calendar, state->settled, now);
    decision.missed = firing_missed(calendar, state->settled, now);
    if (decision.missed != CALENDAR_NONE) decision.state.settled = minute_begin(now) - 1;
    if (firing != CALENDAR_NONE)
        decision.state.settled = firing;
    else if (rules->catch_up == CALENDAR_CATCH_UP_ONCE)
        firing = decision.missed;
    bool held_up = is_held_up(situation);
    firing_place(&decision, firing, rules, held_up);
    decision.look_at
        = calendar_next(calendar, now > decision.state.settled ? now : decision.state.settled);
    if (decision.state.remembered != CALENDAR_NONE && held_up && !situation->active)
        decision.look_at = earlier(decision.look_at, minute_begin(now) + MINUTE_TIME);
    return decision;
}
