// pause.h - lanes and workers that are paused, and workers that are drained.
#pragma once

#include "server/cluster/cluster.h"

void cluster_rest(struct cluster *cluster, struct cluster_peer *peer, const struct wire_rest *rest);
// In a turn: a worker announces that it will leave.
void cluster_worker_leaves(struct cluster *cluster, struct cluster_worker *worker);
// In a turn: a draining worker without attempts is told to end, and then leaves.
void cluster_rest_look(struct cluster *cluster, struct cluster_worker *worker);
