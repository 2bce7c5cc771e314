// planned.h - plans of a play, and the statements of one turn of the core.
#pragma once

#include "sim/play/play.h"
#include "rota.h"

struct play;

struct play_bounds {
    struct play_bound { rota_job_id job; struct rota_placement placement; } items[64];
    uint32_t count;
};

// From `turn` to `end` there is no other turn.
struct play_block {
    bool open;
    rota_time before;  // the time of the turn before it
    bool submitted;    // a submission; its data lives until the end of the turn
};

void turn_once(struct play *play);    // a single turn
void verb_turn(struct play *play);
void verb_end(struct play *play);
void verb_bind(struct play *play);
void bounds_tell(struct play *play);  // sends the plans to the core again
