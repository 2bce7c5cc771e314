// submission_pieces.h - a submission whose pieces are still arriving.
#pragma once

#include "server/cluster/cluster.h"


// The pieces as received: a copy of each frame, decoded again when all have arrived. `tasks` and
// the other counts include all pieces.
struct cluster_draft {
    struct wire_out frames;
    uint64_t high, low;
    uint32_t tasks, edges, clauses, inputs, outputs, bodies, lanes, groups, machines;
    uint32_t first;   // expected number of its first task
    rota_time until;  // ticks: deadline of the next piece
    bool is_refused;  // the rest is read and ignored
};

// The number of the next task of a job; 1 for a new one.
uint32_t cluster_next_task(const struct cluster *cluster, uint32_t job);
// All pieces have arrived: makes a job of them, or refuses them.
void cluster_job_make(struct cluster *cluster, struct cluster_peer *peer,
                      const struct wire_submit *submit);

// ---- refusal_text.c: the reason of a refusal, in a sentence that names the task --------------

// The reason when memory runs out; recognized by its address.
extern const char cluster_no_room[];

// Names of the tasks of a submission, starting at the number `first`.
struct cluster_called {
    const struct store_text *texts;
    uint32_t first, count;
};

// Turns the server's reason into a sentence about the tasks of a fault. Invalid names are left out.
void cluster_fault_tell(struct cluster *cluster, const struct rota_fault *fault,
                    const struct cluster_called *called);
