// next.c - the next minute at which a calendar fires.
//
// The search goes through local days and the set of minutes in a day, not minute by minute. It
// begins at the first local minute that the clock has not reached. The result is the instant at
// which the clock reaches the minute found.
#include "job/calendar/internal.h"

enum { REPEAT_DAYS = 146097 };  // 400 years, after which the Gregorian calendar repeats

// The first set bit in [from, to), or -1.
static int minute_find(const struct calendar *calendar, int from, int to)
{
    while (from < to) {
        uint64_t rest = calendar->minutes[from / 64] >> from % 64;
        if (rest) {
            from += __builtin_ctzll(rest);
            return from < to ? from : -1;
        }
        from += 64 - from % 64;
    }
    return -1;
}

static bool day_fits(const struct calendar *calendar, int64_t day)
{
    struct date date = date_from_day(day);
    bool week_day = calendar->week_days >> date_week_day(day) & 1;
    bool month_day = calendar->month_days >> date.day & 1;
    if (!(calendar->months >> date.month & 1)) return false;
    return calendar->either_day ? week_day || month_day : week_day && month_day;
}

// The first minute of that day that fires, not before `from`; or -1.
static int minute_of_day(const struct calendar *calendar, int64_t day, int from)
{
    int carried = (int)calendar->carried, found = -1;
    if (from < carried && day_fits(calendar, day - 1)) found = minute_find(calendar, from, carried);
    if (found >= 0 || !day_fits(calendar, day)) return found;
    return minute_find(calendar, from > carried ? from : carried, DAY_MINUTES);
}

// The next day, or the first day of the next month if this month is excluded.
static int64_t day_after(const struct calendar *calendar, int64_t day)
{
    struct date date = date_from_day(day);
    if (calendar->carried || calendar->months >> date.month & 1) return day + 1;
    return day + date_month_days(date.year, date.month) - date.day + 1;
}

// The first local minute that fires, not before `from`. Minutes count from 1970.
static bool local_find(const struct calendar *calendar, int64_t from, int64_t *found)
{
    int64_t first = floor_divide(from, DAY_MINUTES);
    int start = (int)(from - first * DAY_MINUTES);
    for (int64_t day = first; day <= first + REPEAT_DAYS; day = day_after(calendar, day)) {
        int minute = minute_of_day(calendar, day, start);
        start = 0;
        if (minute < 0) continue;
        *found = day * DAY_MINUTES + minute;
        return true;
    }
    return false;
}

rota_time calendar_next(const struct calendar *calendar, rota_time after)
{
    if (calendar->kind == CALENDAR_MANUAL) return ROTA_NEVER;
    const struct zone *zone = calendar->zone;
    int64_t reached = zone_highest(zone, floor_divide(after, SECOND_TIME));
    int64_t local = floor_divide(reached, MINUTE_SECONDS) + 1;
    while (local_find(calendar, local, &local)) {
        int64_t at = zone_reach(zone, local * MINUTE_SECONDS);
        int64_t shown = at + zone_span_at(zone, at).offset;
        if (at > ROTA_NEVER / SECOND_TIME) return ROTA_NEVER;
        if (!calendar->beat || shown == local * MINUTE_SECONDS) return at * SECOND_TIME;
        local = -floor_divide(-shown, MINUTE_SECONDS);
    }
    return ROTA_NEVER;
}
