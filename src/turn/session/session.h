// session.h - a database file, opened by one process for changes, together with a core.
#pragma once

#include "turn/definitions.h"

struct session {
    struct store *store;
    struct server server;
};

enum session_mode { SESSION_THERE, SESSION_MADE };  // whether a missing file is created

// Waits for a few seconds if another process has the file open. Returns the exit status; if that is
// not 0, the reason was printed. Call session_close() in either case.
int session_open(struct session *session, const char *path, enum session_mode mode);
void session_close(struct session *session);
// Prints why a turn failed, and returns the exit status.
int session_failed(const struct session *session);

zone_read_fn zone_load;  // from /usr/share/zoneinfo
