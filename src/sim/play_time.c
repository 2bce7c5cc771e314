// play_time.c - time passes, plans take their time, the core starts again.
#include "sim/play_parts.h"

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

void verb_at(struct play *play)
{
    rota_time target = take_moment(play);
    if (play->halt) return;
    if (target < play->now) play_wrong(play, "that time has passed");
    else turn_advance(play, target);
}

void verb_advance(struct play *play)
{
    rota_time length = take_moment(play);
    if (play->halt) return;
    if (length > ROTA_NEVER - 1 - play->now) play_wrong(play, "that is too long");
    else turn_advance(play, play->now + length);
}

void verb_restart(struct play *play)
{
    take_end(play);
    if (!play->halt) turn_restart(play);
}

// The core hears in its next turn how long its last plan took.
void verb_plan(struct play *play)
{
    rota_time took = take_time(play, "took", 0);
    take_end(play);
    if (!play->halt) play->plan_took = took;
}
