// ends.h - how an attempt ended: what a worker reports, as the core and the store have it.
#pragma once

#include "server/server.h"
#include "wire/wire.h"

enum { ENDS_SIGNAL = 256 };  // plus a signal: the status of what it ended

// What was stopped is what we have asked for; whether it was lost is for the caller to know.
enum rota_outcome ends_outcome(const struct wire_finished *finished);
int32_t ends_status(const struct wire_finished *finished);
// In a turn, for those who ask later; the core needs none of it. False: no memory.
bool ends_note(struct server *server, const struct wire_finished *finished, rota_worker_id worker);
