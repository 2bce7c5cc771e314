// calendar.h - when a definition is due: days, times, windows, cron expressions and time zones.
//
// These functions read no file and no clock. Instants are rota_time: microseconds since 1970 in
// UTC. Callers only ask about instants within 100,000 years of 1970.
//
// The local clock decides when a calendar fires:
// - A time fires at the first instant at which the clock of the zone reaches it. A time that comes
//   twice (the clock goes back) fires the first time only. A time that never comes (the clock
//   goes forward) fires at the first instant after the jump, together with all others in the jump.
// - Windows, and cron expressions for every hour, repeat at an interval: minutes that the clock
//   jumps over are left out, and the next minute of the interval fires as usual.
// doc/calendar-and-definitions.md says it with examples.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rota_types.h"

// ---- zone.c: local time of a time zone --------------------------------------

struct zone;  // null is UTC

// Parses the content of a TZif file (RFC 9636) of version 2 or later. Null: `reason` says why.
struct zone *zone_parse(const void *bytes, size_t size, const char **reason);
void zone_close(struct zone *zone);

// Whether a name like Europe/Berlin is safe to append to the folder of zone files.
bool zone_name_is_safe(const char *name);

// ---- text.c: the schedule fields of a definition ----------------------------

// Null or empty: not given.
struct calendar_fields {
    const char *run_days;     // "mo,we,fr-su" or "all"; used with start_times or run_window
    const char *start_times;  // "23:59,06:30"
    const char *run_window;   // "22:00-02:00", both ends included; needs start_mins
    const char *start_mins;   // "0,20,40": minutes of each hour
    const char *cron;         // "30 6 * * mon-fri" or "@daily"
    const char *zone;         // "Europe/Berlin"; not given: UTC
};

enum calendar_kind { CALENDAR_MANUAL, CALENDAR_BATCH, CALENDAR_WINDOW, CALENDAR_CRON };

enum { DAY_MINUTES = 24 * 60 };

// All in local time. A window across midnight belongs to the day on which it opens: Friday's night
// shift is Friday's, and "mo-fr" must not cut it in two.
struct calendar {
    enum calendar_kind kind;
    uint64_t minutes[(DAY_MINUTES + 63) / 64];  // one bit per minute of the day that fires
    uint32_t carried;         // the first minutes of a day that belong to the day before
    uint32_t week_days;       // bit 0 is Sunday
    uint32_t month_days;      // bits 1 to 31
    uint32_t months;          // bits 1 to 12
    bool either_day;  // true: either the week day or the day of the month must match; false: both
    bool beat;                // skips minutes that the clock jumps over
    const struct zone *zone;  // owned by the caller, which sets it after parsing
};

struct calendar_error {
    const char *field;  // "start_times"
    uint32_t column;    // in that field's text, from 1
    char reason[160];
};

// False: `error` says what is wrong, and the calendar must not be used.
bool calendar_parse(const struct calendar_fields *fields, struct calendar *calendar,
                    struct calendar_error *error);

// Checks each field alone, because an update may contain only one of two fields that need each
// other.
bool calendar_check(const struct calendar_fields *fields, struct calendar_error *error);

// ---- next.c: the next time a calendar fires ---------------------------------

// The first instant after `after` at which the calendar fires. ROTA_NEVER: none within 400 years,
// after which the Gregorian calendar repeats.
rota_time calendar_next(const struct calendar *calendar, rota_time after);

// ---- decide.c: whether to start a run ---------------------------------------

#define CALENDAR_NONE INT64_MIN  // no such time

// The state stored with a definition. New and changed definitions begin with { now, none }. A row
// written by another program begins with { none, none } and gets only the current minute.
struct calendar_state {
    rota_time settled;     // all firings up to here are decided; never goes back (G19)
    rota_time remembered;  // a firing that waits until the current run ends
};

enum calendar_overlap { CALENDAR_OVERLAP_SKIP, CALENDAR_OVERLAP_QUEUE };    // if a run is active
enum calendar_catch_up { CALENDAR_CATCH_UP_SKIP, CALENDAR_CATCH_UP_ONCE };  // after a downtime

struct calendar_rules {
    enum calendar_overlap overlap;
    enum calendar_catch_up catch_up;
};

struct calendar_situation {
    rota_time now;
    rota_time ended;  // when its last run ended, or CALENDAR_NONE
    bool active;      // a run is staged or in any later state
};

enum calendar_verdict { CALENDAR_NOTHING, CALENDAR_STAGE, CALENDAR_REMEMBER };

struct calendar_decision {
    enum calendar_verdict verdict;
    struct calendar_state state;  // store it, if it changed, together with the staging
    rota_time firing;             // STAGE, REMEMBER: the firing to run
    rota_time missed;   // the first firing that was not decided in its minute, or CALENDAR_NONE
    rota_time look_at;  // decide again at this time and when a run ends; ROTA_NEVER: not needed
};

// A firing counts only in its own minute. It is held up while the definition is active and for the
// rest of the minute in which the run ended; `overlap` then says whether it is dropped or
// remembered, and at most one is remembered. Older firings are missed; `catch_up` says whether one
// run replaces all of them.
struct calendar_decision calendar_decide(const struct calendar *calendar,
                                         const struct calendar_state *state,
                                         const struct calendar_rules *rules,
                                         const struct calendar_situation *situation);
