// play_bound.h - what plans have said in a play, for a core that is rebuilt.
#pragma once

#include "sim/sim.h"
#include "rota.h"

struct play;

struct play_bounds {
    struct play_bound { rota_job_id job; struct rota_placement placement; } items[64];
    uint32_t count;
};

void verb_bind(struct play *play);
void bounds_tell(struct play *play);  // tells the core again
