// retry_rule.h - which failures of a task are followed by another attempt: as its body says.
#pragma once

#include "server/cluster/cluster.h"
#include "turn/attempt_end.h"

// In a turn. False: there is no REPEAT.
bool hub_repeat_find(struct hub *hub, rota_job_id id, uint32_t number, struct ends_repeat *repeat);
