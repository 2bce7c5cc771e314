// eviction.h - ends from outside: a batch system that ends a worker may end its commands as well.
#pragma once

#include "worker/process/internal.h"

void eviction_note(struct attempt *attempt);  // it has just ended, with the status of wait4()
bool eviction_is_held(const struct worker *worker, const struct attempt *attempt);
int64_t eviction_due(const struct worker *worker);  // when the next one has waited long enough
// Whether it was ended together with its worker. Then it has end, status and reason.
bool eviction_ended(const struct worker *worker, struct attempt *attempt);
