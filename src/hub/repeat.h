// repeat.h - which failures of a task are followed by another attempt: as its body says.
#pragma once

#include "hub/hub.h"
#include "server/ends.h"

// In a turn. False: there is no REPEAT.
bool hub_repeat_find(struct hub *hub, rota_job_id id, uint32_t number, struct ends_repeat *repeat);
