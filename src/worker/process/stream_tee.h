// stream_tee.h - a stream with several readers (spread.c).
#pragma once

#include "worker/process/internal.h"

// Outputs of one name are one stream, each for another reader.
bool spread_is_again(const wire_files *outputs, uint32_t at);  // one before it has that name
// What the command writes to.
void spread_path(char *out, size_t size, const char *folder, const wire_files *outputs,
                 uint32_t at);
bool spreads_join(struct worker *worker, const struct run *run);  // false with errno
void spreads_work(struct worker *worker);
bool spreads_are_dry(struct worker *worker, const struct run *run);  // all it wrote is passed on
void spreads_leave(struct worker *worker, const struct run *run);  // null: all
