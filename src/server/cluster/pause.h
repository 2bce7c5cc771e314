// pause.h - lanes and workers that are paused, and workers that are drained.
#pragma once

#include "server/cluster/cluster.h"

void hub_rest(struct hub *hub, struct hub_peer *peer, const struct wire_rest *rest);
// In a turn: a worker says that it wants to go.
void hub_worker_leaves(struct hub *hub, struct hub_worker *worker);
// In a turn: a worker that drains and has nothing left is told to end, and then leaves.
void hub_rest_look(struct hub *hub, struct hub_worker *worker);
