// session.h - a database file that one process has opened for changes, with a core.
#pragma once

#include "turn/catalog.h"

struct session {
    struct store *store;
    struct server server;
};

enum session_mode { SESSION_THERE, SESSION_MADE };  // whether a missing file is created

// Waits a moment if another process has opened the file. Returns the exit status, and has printed
// why it is not 0. Close it in either case.
int session_open(struct session *session, const char *path, enum session_mode mode);
void session_close(struct session *session);
// Prints what went wrong in a turn, and returns the exit status.
int session_failed(const struct session *session);

zone_read_fn zone_load;  // of /usr/share/zoneinfo
