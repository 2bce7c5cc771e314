// refusal_text.h - what a submission is refused for, in a sentence that names the task.
#pragma once

#include "server/cluster/cluster.h"

// The reason when there is none; told apart by its address.
extern const char hub_no_room[];

// What the tasks of a submission are called, from the number `first` on.
struct hub_called {
    const struct store_text *texts;
    uint32_t first, count;
};

// Makes the server's reason a sentence about the tasks of a fault. What is no name is left out.
void hub_fault_tell(struct hub *hub, const struct rota_fault *fault,
                    const struct hub_called *called);
