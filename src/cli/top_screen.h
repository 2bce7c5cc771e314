// top_screen.h - `rota top` on a terminal.
#pragma once

#include "cli/connect.h"

struct top_source {
    const char *path;      // of the database; null: ask a server
    struct connection *connection;
};
int top_screen(const struct top_source *source, int64_t interval);  // the exit status
