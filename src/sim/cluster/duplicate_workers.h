// duplicate_workers.h - workers that use the name, or a copy of the folder, of another worker
// (duplicate_workers.c).
#pragma once

#include "sim/cluster/base.h"

struct sim;

void duplicates_draw(struct sim *sim);
void duplicate_make(struct sim *sim, uint32_t who);  // it uses the name or folder of that worker
void duplicates_end(struct sim *sim);                // permanently
// As the server sees it. Null: no other worker of its name or folder is connected.
const struct node *duplicate_alive(const struct sim *sim, uint32_t who);
bool duplicate_shares_name(const struct sim *sim, const struct node *node);
