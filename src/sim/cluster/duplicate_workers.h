// duplicate_workers.h - workers that use the name, or a copy of the folder, of another worker
// (duplicate_workers.c).
#pragma once

#include "sim/cluster/base.h"

struct world;

void twins_draw(struct world *world);
void twin_make(struct world *world, uint32_t who);  // which worker it is like
void twins_end(struct world *world);                // for good
// As the server hears of them. Null: no other worker of its name or folder is connected.
const struct hand *twin_alive(const struct world *world, uint32_t who);
bool twin_shares_name(const struct world *world, const struct hand *hand);
