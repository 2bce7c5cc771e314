// submission_pieces.h - a submission whose pieces still come.
#pragma once

#include "server/cluster/refusal_text.h"

// The pieces, as they came: a copy of each frame, decoded again when all are there. `tasks` and so
// on are counts over all of them.
struct hub_draft {
    struct wire_out frames;
    uint64_t high, low;
    uint32_t tasks, edges, clauses, inputs, outputs, bodies, lanes, groups, machines;
    uint32_t first;   // the number that its first task would have by now
    rota_time until;  // ticks: when the next piece must have come
    bool is_refused;  // the rest of it is read, and nothing comes of it
};

// The number that the next task of a job will have; 1 for one that is not there.
uint32_t hub_next_task(const struct hub *hub, uint32_t job);
// All pieces are there: they become a job, or are refused.
void hub_job_make(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit);
