// planned.h - what plans have said in a play, and what comes in one turn of the core.
#pragma once

#include "sim/play/play.h"
#include "rota.h"

struct play;

struct play_bounds {
    struct play_bound { rota_job_id job; struct rota_placement placement; } items[64];
    uint32_t count;
};

// From `turn` to `end`: no other turn is taken in between.
struct play_block {
    bool open;
    rota_time before;  // the time of the turn before it
    bool submitted;    // something; what it points to lives until the turn is over
};

void turn_once(struct play *play);    // a single turn
void verb_turn(struct play *play);
void verb_end(struct play *play);
void verb_bind(struct play *play);
void bounds_tell(struct play *play);  // tells the core again
