// refusal_text.h - the reason of a refused submission, in a sentence that names the task.
#pragma once

#include "server/cluster/cluster.h"

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
