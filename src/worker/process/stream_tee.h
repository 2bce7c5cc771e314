// stream_tee.h - a stream with several readers (stream_tee.c).
#pragma once

#include "worker/process/internal.h"

// Outputs with the same name are one stream, each for another reader.
// an earlier output has the same name
bool spread_is_again(const wire_files *outputs, uint32_t at);
// The path that the command writes to.
void spread_path(char *out, size_t size, const char *folder, const wire_files *outputs,
                 uint32_t at);
bool spreads_join(struct worker *worker, const struct run *run);  // false with errno
void spreads_work(struct worker *worker);
bool spreads_are_dry(struct worker *worker, const struct run *run);  // all its data is passed on
void spreads_leave(struct worker *worker, const struct run *run);  // null: all
