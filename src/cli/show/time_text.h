// time_text.h - times as text, and lines about tasks.
#pragma once

#include "rota_types.h"

#include <stdbool.h>

// "2026-11-16", "2026-11-16T23:59" or "2026-11-16T23:59:30", in UTC.
bool time_read(const char *text, rota_time *time);
enum { TIME_TEXT = 32 };
const char *time_write(rota_time time, char out[TIME_TEXT]);

// One line about a task: "2026-11-16T23:59:00Z staged load", or an object with --json.
struct line_about {
    rota_time at;
    const char *what, *name, *status;
    rota_task_id task;
};
void line_print(const struct line_about *line, bool json);
