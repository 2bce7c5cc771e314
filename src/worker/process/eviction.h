// eviction.h - ends from outside: a batch system that ends a worker may end its commands as well.
#pragma once

#include "worker/process/internal.h"

void outside_note(struct run *run);  // it has just ended, with the status of wait4()
bool outside_is_held(const struct worker *worker, const struct run *run);
int64_t outside_due(const struct worker *worker);  // when the next one has waited long enough
// Whether it was ended together with its worker. Then it has end, status and reason.
bool outside_was(const struct worker *worker, struct run *run);
