// retry_rule.h - which failures of a task are retried, as its body says.
#pragma once

#include "server/cluster/cluster.h"
#include "turn/attempt_end.h"

// In a turn. False: there is no REPEAT.
bool cluster_repeat_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                         struct attempt_retry *repeat);
