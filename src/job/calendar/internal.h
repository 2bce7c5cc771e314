// internal.h - shared by the files of calendar.h: dates, time zones, pieces of text.
#pragma once

#include "job/calendar/calendar.h"

// ---- date.c: the Gregorian calendar; day 0 is 1970-01-01 --------------------

enum { MINUTE_SECONDS = 60, HOUR_SECONDS = 3600, DAY_SECONDS = 24 * HOUR_SECONDS };
enum { SECOND_TIME = 1000000, MINUTE_TIME = MINUTE_SECONDS * SECOND_TIME };  // as rota_time

struct date {
    int64_t year;
    int month, day;  // from 1
};

static inline int64_t floor_divide(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}
rota_time minute_begin(rota_time at);  // the start of its minute
int64_t date_to_day(struct date date);
struct date date_from_day(int64_t day);
int date_week_day(int64_t day);  // 0 is Sunday
int date_month_days(int64_t year, int month);

// ---- zone.c: a clock that is set forward and back ---------------------------

// From `from` until just before `to` the local clock is `offset` seconds ahead of UTC. Both are
// seconds since 1970.
struct zone_span {
    int64_t from, to;
    int32_t offset;
};
#define ZONE_FAR ((int64_t)1 << 60)  // earlier and later than any change

struct zone_span zone_span_at(const struct zone *zone, int64_t second);

// The highest local time that the clock has shown up to and including this second.
int64_t zone_highest(const struct zone *zone, int64_t second);
// The first second at which the clock shows that local time or jumps over it.
int64_t zone_reach(const struct zone *zone, int64_t local);

// ---- zone_rule.c: the rule for times after the last change in a file ---------

struct zone_rule_date {
    enum { ZONE_DAY_JULIAN, ZONE_DAY_COUNTED, ZONE_DAY_OF_MONTH } form;
    int month, week;  // for ZONE_DAY_OF_MONTH; week 5 is the last
    int day;          // of the year from 1 without 29 February, or from 0 with it, or of the week
    int32_t second;   // of that day on the clock before the change; may be outside the day
};

struct zone_rule {
    int32_t standard, summer;  // UTC offsets
    bool has_summer;
    struct zone_rule_date begin, end;  // of summer time
};

// Parses "CET-1CEST,M3.5.0,M10.5.0/3". False: not a rule.
bool zone_rule_parse(const char *text, size_t length, struct zone_rule *rule);
struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t second);

// ---- text.c: parsing a field ------------------------------------------------

struct field {
    const char *name, *text;
    struct calendar_error *error;
};

struct piece {
    const char *text;
    size_t length;
};

// Sets the error for a position in the field's text. Always false.
bool field_refuse(const struct field *field, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}
// A piece in quotes, shortened if it is long.
struct quoted {
    char text[48];
};
struct quoted piece_quote(struct piece piece);
bool piece_is(struct piece piece, const char *word);  // ignores case
bool piece_number(struct piece piece, int max, int *number);

struct piece piece_whole(const char *text);  // without surrounding blanks

void minute_set(struct calendar *calendar, int minute);

// ---- cron.c: cron expressions -----------------------------------------------

bool cron_parse(const struct field *field, struct calendar *calendar);
