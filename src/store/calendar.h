// calendar.h - when a definition is due: days, times, windows, cron expressions and time zones.
//
// Nothing here reads a file or a clock. Instants are rota_time: microseconds since 1970 in UTC; a
// minute that is asked about lies within 100,000 years of it.
//
// What the local clock does decides when something fires:
// - A time fires at the first instant at which the clock of the zone reaches it. A time that comes
//   twice (the clock goes back) fires the first time only. A time that never comes (the clock
//   goes forward) fires at the first instant after the jump, together with all others in the jump.
// - Windows, and cron expressions for every hour, are a beat and not an appointment: what
//   the clock jumps over is left out, and the next minute of the beat fires as it would.
// doc/calendar.md says it with examples.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rota_types.h"

// ---- zone.c: what a zone's clock shows --------------------------------------

struct zone;  // null is UTC

// Reads the content of a TZif file (RFC 9636) of version 2 or later. Null: `reason` says why.
struct zone *zone_parse(const void *bytes, size_t size, const char **reason);
void zone_close(struct zone *zone);

int32_t zone_offset(const struct zone *zone, rota_time at);  // seconds to add to UTC

// Whether a name like Europe/Berlin is safe to be put behind the folder of zone files.
bool zone_name_is_safe(const char *name);
