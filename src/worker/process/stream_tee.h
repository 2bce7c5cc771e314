// stream_tee.h - a stream with several readers (stream_tee.c).
#pragma once

#include "worker/process/internal.h"

// Outputs with the same name are one stream, each for another reader.
// an earlier output has the same name
bool stream_tee_is_again(const wire_files *outputs, uint32_t at);
// The path that the command writes to.
void stream_tee_path(char *out, size_t size, const char *folder, const wire_files *outputs,
                     uint32_t at);
bool stream_tees_join(struct worker *worker, const struct attempt *attempt);  // false with errno
void stream_tees_work(struct worker *worker);
// All its data is passed on.
bool stream_tees_are_dry(struct worker *worker, const struct attempt *attempt);
void stream_tees_leave(struct worker *worker, const struct attempt *attempt);  // null: all
