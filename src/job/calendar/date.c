// date.c - the proleptic Gregorian calendar, counted in days since 1970.
#include "job/calendar/internal.h"

#include <assert.h>

enum { YEAR_DAYS = 365, FOUR_YEARS_DAYS = 4 * YEAR_DAYS + 1 };
enum { CENTURY_DAYS = 25 * FOUR_YEARS_DAYS - 1, CYCLE_YEARS = 400, CYCLE_DAYS = 146097 };
enum { YEAR_ONE = -719162, LEAPS_BEFORE_1970 = 477, THURSDAY = 4 };  // YEAR_ONE is 0001-01-01

rota_time minute_begin(rota_time at)
{
    const rota_time limit = (rota_time)100000 * 366 * DAY_SECONDS * SECOND_TIME;
    assert(at > -limit);
    assert(at < limit);
    return floor_divide(at, MINUTE_TIME) * MINUTE_TIME;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % CYCLE_YEARS == 0);
}

int date_month_days(int64_t year, int month)
{
    static const uint8_t days[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month] + (month == 2 && is_leap(year));
}

// The number of leap years from year 1 to the end of this year.
static int64_t leaps_until(int64_t year)
{
    return floor_divide(year, 4) - floor_divide(year, 100) + floor_divide(year, CYCLE_YEARS);
}

int64_t date_to_day(struct date date)
{
    static const int16_t before[] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t day = YEAR_DAYS * (date.year - 1970) + leaps_until(date.year - 1) - LEAPS_BEFORE_1970;
    return day + before[date.month] + (date.month > 2 && is_leap(date.year)) + date.day - 1;
}

// The number of whole periods, at most 3: the fourth year, or century, is one day longer.
static int whole_ones(int *days, int length)
{
    int count = *days / length < 3 ? *days / length : 3;
    *days -= count * length;
    return count;
}

struct date date_from_day(int64_t day)
{
    int64_t cycle = floor_divide(day - YEAR_ONE, CYCLE_DAYS);
    int rest = (int)(day - YEAR_ONE - cycle * CYCLE_DAYS);
    int years = 100 * whole_ones(&rest, CENTURY_DAYS);
    years += 4 * (rest / FOUR_YEARS_DAYS);
    rest %= FOUR_YEARS_DAYS;
    years += whole_ones(&rest, YEAR_DAYS);
    struct date date = {1 + cycle * CYCLE_YEARS + years, 1, 1};
    for (; rest >= date_month_days(date.year, date.month); date.month++)
        rest -= date_month_days(date.year, date.month);
    date.day = rest + 1;
    return date;
}

int date_week_day(int64_t day)
{
    return (int)(day + THURSDAY - 7 * floor_divide(day + THURSDAY, 7));
}
