// zone_rule.c - the rule in the footer of a zone file: "CET-1CEST,M3.5.0,M10.5.0/3".
#include "job/calendar/internal.h"

#include <string.h>

struct reader {
    const char *at, *end;
};

// One change of the clock, to be sorted among the changes of the neighbouring years.
struct change {
    int64_t at;
    int32_t offset;
};

enum { YEARS_AROUND = 2, CHANGES = 2 * (2 * YEARS_AROUND + 1) };

// ---- Reading ---------------------------------------------------------------

static bool take(struct reader *reader, char wanted)
{
    if (reader->at == reader->end || *reader->at != wanted) return false;
    reader->at++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// "CET", or "<+0330>" if the name has characters other than letters. rota does not use the name.
static bool take_name(struct reader *reader)
{
    bool quoted = take(reader, '<');
    const char *start = reader->at;
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (!is_letter(c) && !(quoted && (is_digit(c) || c == '+' || c == '-'))) break;
    }
    return reader->at - start >= 3 && (!quoted || take(reader, '>'));
}

static bool take_number(struct reader *reader, int min, int max, int *number)
{
    const char *start = reader->at;
    *number = 0;
    for (; reader->at < reader->end && is_digit(*reader->at); reader->at++) {
        if (reader->at - start == 3) return false;
        *number = *number * 10 + (*reader->at - '0');
    }
    return reader->at > start && *number >= min && *number <= max;
}

// "[+-]hours[:minutes[:seconds]]"
static bool take_time(struct reader *reader, int hours_max, int32_t *seconds)
{
    int hours, minutes = 0, rest = 0;
    bool negative = take(reader, '-');
    if (!negative) take(reader, '+');
    if (!take_number(reader, 0, hours_max, &hours)) return false;
    if (take(reader, ':')) {
        if (!take_number(reader, 0, 59, &minutes)) return false;
        if (take(reader, ':') && !take_number(reader, 0, 59, &rest)) return false;
    }
    *seconds = hours * HOUR_SECONDS + minutes * 60 + rest;
    if (negative) *seconds = -*seconds;
    return true;
}

static bool take_month_day(struct reader *reader, struct zone_rule_date *date)
{
    date->form = ZONE_DAY_OF_MONTH;
    return take_number(reader, 1, 12, &date->month) && take(reader, '.')
           && take_number(reader, 1, 5, &date->week) && take(reader, '.')
           && take_number(reader, 0, 6, &date->day);
}

static bool take_day(struct reader *reader, struct zone_rule_date *date)
{
    if (take(reader, 'M')) return take_month_day(reader, date);
    bool julian = take(reader, 'J');
    date->form = julian ? ZONE_DAY_JULIAN : ZONE_DAY_COUNTED;
    return take_number(reader, julian, 365, &date->day);
}

static bool take_date(struct reader *reader, struct zone_rule_date *date)
{
    date->second = 2 * HOUR_SECONDS;
    if (!take(reader, ',') || !take_day(reader, date)) return false;
    return !take(reader, '/') || take_time(reader, 167, &date->second);
}

// The rule counts offsets to the west as positive.
static bool take_offset(struct reader *reader, int32_t *offset)
{
    int32_t west = 0;
    if (!take_time(reader, 24, &west)) return false;
    *offset = -west;
    return true;
}

bool zone_rule_parse(const char *text, size_t length, struct zone_rule *rule)
{
    struct reader reader = {text, text + length};
    memset(rule, 0, sizeof *rule);
    if (!take_name(&reader) || !take_offset(&reader, &rule->standard)) return false;
    if (reader.at == reader.end) return true;
    rule->has_summer = true;
    rule->summer = rule->standard + HOUR_SECONDS;
    if (!take_name(&reader) || reader.at == reader.end) return false;
    if (*reader.at != ',' && !take_offset(&reader, &rule->summer)) return false;
    return take_date(&reader, &rule->begin) && take_date(&reader, &rule->end)
           && reader.at == reader.end;
}

// ---- Applying --------------------------------------------------------------

static int64_t day_of_month(const struct zone_rule_date *date, int64_t year)
{
    int64_t first = date_to_day((struct date){year, date->month, 1});
    int64_t day = first + (date->day - date_week_day(first) + 7) % 7 + 7 * (date->week - 1);
    return day < first + date_month_days(year, date->month) ? day : day - 7;
}

// The local second of the change in that year.
static int64_t local_change(const struct zone_rule_date *date, int64_t year)
{
    int64_t day = date_to_day((struct date){year, 1, 1}) + date->day;
    if (date->form == ZONE_DAY_OF_MONTH) day = day_of_month(date, year);
    if (date->form == ZONE_DAY_JULIAN) {
        bool after_leap_day = date->day > 59 && date_month_days(year, 2) == 29;
        day += after_leap_day - 1;
    }
    return day * DAY_SECONDS + date->second;
}

// Keeps the changes in order. Of two at the same instant the beginning of summer time comes last
// and wins: where summer time ends as the next one begins, it is always summer.
static void change_insert(struct change *changes, int count, struct change change, bool summer)
{
    int place = count;
    while (
        place > 0
        && (changes[place - 1].at > change.at || (changes[place - 1].at == change.at && !summer))) {
        changes[place] = changes[place - 1];
        place--;
    }
    changes[place] = change;
}

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t second)
{
    struct zone_span span = {-ZONE_FAR, ZONE_FAR, rule->standard};
    if (!rule->has_summer) return span;
    struct change changes[CHANGES];
    int count = 0;
    int64_t year = date_from_day(floor_divide(second, DAY_SECONDS)).year;
    for (int64_t near = year - YEARS_AROUND; near <= year + YEARS_AROUND; near++) {
        struct change begin = {local_change(&rule->begin, near) - rule->standard, rule->summer};
        struct change end = {local_change(&rule->end, near) - rule->summer, rule->standard};
        change_insert(changes, count++, begin, true);
        change_insert(changes, count++, end, false);
    }
    for (int i = 0; i < count && span.to == ZONE_FAR; i++) {
        if (changes[i].at > second)
            span.to = changes[i].at;
        else
            span = (struct zone_span){changes[i].at, ZONE_FAR, changes[i].offset};
    }
    return span;
}
