// calendar.h - when a definition is due: days, times, windows, cron expressions and time zones.
//
// Nothing here reads a file or a clock. Instants are rota_time: microseconds since 1970 in UTC; a
// minute that is asked about lies within 100,000 years of it.
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

// ---- zone.c: what a zone's clock shows --------------------------------------

struct zone;  // null is UTC

// Reads the content of a TZif file (RFC 9636) of version 2 or later. Null: `reason` says why.
struct zone *zone_parse(const void *bytes, size_t size, const char **reason);
void zone_close(struct zone *zone);

int32_t zone_offset(const struct zone *zone, rota_time at);  // seconds to add to UTC

// Whether a name like Europe/Berlin may be appended to the folder of zone files.
bool zone_name_is_safe(const char *name);

// ---- text.c: the fields of a definition ----------------------------

// Null or empty: not given.
struct calendar_fields {
    const char *run_days;     // "mo,we,fr-su" or "all"; goes with start_times or run_window
    const char *start_times;  // "23:59,06:30"
    const char *run_window;   // "22:00-02:00", both ends inside; needs start_mins
    const char *start_mins;   // "0,20,40": minutes of each hour
    const char *cron;         // "30 6 * * mon-fri" or "@daily"
    const char *zone;         // "Europe/Berlin"; not given: UTC
};

enum calendar_kind { CALENDAR_MANUAL, CALENDAR_BATCH, CALENDAR_WINDOW, CALENDAR_CRON };

enum { DAY_MINUTES = 24 * 60 };

// All in local time. A window across midnight belongs to the day on which it opened: a night
// shift that starts on Friday is Friday's, and "mo-fr" must not cut Friday's night in two.
struct calendar {
    enum calendar_kind kind;
    uint64_t minutes[(DAY_MINUTES + 63) / 64];  // a bit for each minute of the day that fires
    uint32_t carried;         // minutes of the day before this one belong to the day before
    uint32_t week_days;       // bit 0 is Sunday
    uint32_t month_days;      // bits 1 to 31
    uint32_t months;          // bits 1 to 12
    bool either_day;          // a week day or a day of the month is enough; else both must fit
    bool beat;                // minutes that the clock jumps over are left out
    const struct zone *zone;  // belongs to the caller, who puts it here after parsing
};

struct calendar_error {
    const char *field;  // "start_times"
    uint32_t column;    // in that field's text, from 1
    char reason[160];
};

// False: `error` says what is wrong, and the calendar is worthless.
bool calendar_parse(const struct calendar_fields *fields, struct calendar *calendar,
                    struct calendar_error *error);

// Looks at each field alone: an update may bring one half of what belongs together.
bool calendar_check(const struct calendar_fields *fields, struct calendar_error *error);

// ---- next.c: the next time -----------------------------------------

// The first instant after `after` at which it fires; ROTA_NEVER: none in 400 years, after which
// the Gregorian calendar repeats itself.
rota_time calendar_next(const struct calendar *calendar, rota_time after);

// ---- decide.c: what to do about it ---------------------------------

#define CALENDAR_NONE INT64_MIN  // no such time

// The state that is stored with a definition. New and changed ones begin with { now, none }; a row
// of another program begins with { none, none } and gets the current minute only.
struct calendar_state {
    rota_time settled;     // all firings up to here are decided; never goes back (G19)
    rota_time remembered;  // a firing that waits for the end of the run before it
};

enum calendar_overlap { CALENDAR_OVERLAP_SKIP, CALENDAR_OVERLAP_QUEUE };    // while it is active
enum calendar_catch_up { CALENDAR_CATCH_UP_SKIP, CALENDAR_CATCH_UP_ONCE };  // after a downtime

struct calendar_rules {
    enum calendar_overlap overlap;
    enum calendar_catch_up catch_up;
};

struct calendar_situation {
    rota_time now;
    rota_time ended;  // its last end, or CALENDAR_NONE
    bool active;      // it is staged, or in any later state
};

enum calendar_verdict { CALENDAR_NOTHING, CALENDAR_STAGE, CALENDAR_REMEMBER };

struct calendar_decision {
    enum calendar_verdict verdict;
    struct calendar_state state;  // to be stored, if it differs, with the staging
    rota_time firing;             // STAGE, REMEMBER: the time it stands for
    rota_time missed;   // the first firing that nobody looked at in its minute, or CALENDAR_NONE
    rota_time look_at;  // decide again at this time, and when a run ends; ROTA_NEVER: no need
};

// A firing counts in its own minute. It is held up while the definition is active and for the
// rest of the minute in which it ended: then overlap says whether it is dropped or remembered, and
// at most one is. Older firings are missed: catch_up says whether one run makes up for all.
struct calendar_decision calendar_decide(const struct calendar *calendar,
                                         const struct calendar_state *state,
                                         const struct calendar_rules *rules,
                                         const struct calendar_situation *situation);
