// cron.c - parses cron expressions as in cron(5): "minute hour day month week-day".
#include "job/calendar/internal.h"

#include <string.h>

enum { FIELDS = 5, NAME_LENGTH = 3 };
enum { MINUTE, HOUR, DAY, MONTH, WEEK_DAY };

struct range {
    const char *noun;
    int min, max;
    const char *names;  // three letters each; the first name means `first_name`
    int first_name;
};

static const struct range ranges[FIELDS] = {
    [MINUTE] = {"a minute", 0, 59, "", 0},
    [HOUR] = {"an hour", 0, 23, "", 0},
    [DAY] = {"a day of the month", 1, 31, "", 0},
    [MONTH] = {"a month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1},
    [WEEK_DAY] = {"a day of the week", 0, 7, "sunmontuewedthufrisat", 0},
};

static const struct {
    const char *word, *meaning;
} nicknames[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
};

// ---- One field -------------------------------------------------------------

static bool is_named(struct piece piece, const char *name)
{
    char word[NAME_LENGTH + 1] = "";
    memcpy(word, name, NAME_LENGTH);
    return piece_is(piece, word);
}

static bool value_read(const struct field *field, const struct range *range, struct piece piece,
                       int *value)
{
    for (size_t i = 0; range->names[i]; i += NAME_LENGTH) {
        if (!is_named(piece, range->names + i)) continue;
        *value = range->first_name + (int)(i / NAME_LENGTH);
        return true;
    }
    if (piece_number(piece, range->max, value) && *value >= range->min) return true;
    return field_refuse(field, piece.text, "%s is not %s (%d to %d)", piece_quote(piece).text,
                        range->noun, range->min, range->max);
}

// The piece before a letter. `rest` is the text after it, or empty if the letter is absent.
static struct piece piece_until(struct piece *rest, char letter)
{
    struct piece before = *rest;
    const char *place = memchr(rest->text, letter, rest->length);
    if (!place) {
        *rest = (struct piece){NULL, 0};
        return before;
    }
    before.length = (size_t)(place - rest->text);
    *rest = (struct piece){place + 1, rest->length - before.length - 1};
    return before;
}

// Parses "*", "7" or "1-5".
static bool span_read(const struct field *field, const struct range *range, struct piece piece,
                      int *first, int *last)
{
    *first = range->min;
    *last = range->max;
    if (piece_is(piece, "*")) return true;
    struct piece right = piece, left = piece_until(&right, '-');
    if (!value_read(field, range, left, first)) return false;
    *last = *first;
    if (!right.text) return true;
    if (!value_read(field, range, right, last)) return false;
    return *first <= *last
           || field_refuse(field, piece.text, "the range %s is reversed", piece_quote(piece).text);
}

// One element of a list: a span with an optional step.
static bool element_read(const struct field *field, const struct range *range, struct piece piece,
                         uint64_t *set)
{
    struct piece step_piece = piece, span = piece_until(&step_piece, '/');
    int first, last, step = 1;
    if (!span_read(field, range, span, &first, &last)) return false;
    if (step_piece.text) {
        if (!piece_number(step_piece, range->max, &step) || !step)
            return field_refuse(field, step_piece.text, "%s is not a step (expected 1 to %d)",
                                piece_quote(step_piece).text, range->max);
        bool open = !memchr(span.text, '-', span.length);
        if (open) last = range->max;
    }
    for (int value = first; value <= last; value += step) *set |= (uint64_t)1 << value;
    return true;
}

static bool set_read(const struct field *field, const struct range *range, struct piece list,
                     uint64_t *set)
{
    for (struct piece rest = list; rest.text;) {
        struct piece piece = piece_until(&rest, ',');
        if (!element_read(field, range, piece, set)) return false;
    }
    return true;
}

// ---- All five fields --------------------------------------------------------

// Splits the text at blanks. Returns the number of fields, even if there are more than five.
static int fields_split(const char *text, struct piece *pieces)
{
    int count = 0;
    for (const char *at = text; *(at += strspn(at, " \t"));) {
        size_t length = strcspn(at, " \t");
        if (count < FIELDS) pieces[count] = (struct piece){at, length};
        count++;
        at += length;
    }
    return count;
}

static void cron_put(struct calendar *calendar, const uint64_t *sets, const struct piece *pieces)
{
    const uint64_t sunday = 1 << 7, every_hour = (1 << 24) - 1;
    for (int minute = 0; minute < DAY_MINUTES; minute++)
        if (sets[HOUR] >> minute / 60 & sets[MINUTE] >> minute % 60 & 1)
            minute_set(calendar, minute);
    calendar->month_days = (uint32_t)sets[DAY];
    calendar->months = (uint32_t)sets[MONTH];
    calendar->week_days = (uint32_t)(sets[WEEK_DAY] & (sunday - 1));
    if (sets[WEEK_DAY] & sunday) calendar->week_days |= 1;
    calendar->either_day = *pieces[DAY].text != '*' && *pieces[WEEK_DAY].text != '*';
    calendar->beat = sets[HOUR] == every_hour;
}

static bool fields_read(const struct field *field, struct calendar *calendar)
{
    struct piece pieces[FIELDS];
    uint64_t sets[FIELDS] = {0};
    int count = fields_split(field->text, pieces);
    if (count != FIELDS)
        return field_refuse(field, field->text,
                            "%d fields instead of 5: minute, hour, "
                            "day of the month, month, day of the week",
                            count);
    for (int i = 0; i < FIELDS; i++)
        if (!set_read(field, &ranges[i], pieces[i], &sets[i])) return false;
    cron_put(calendar, sets, pieces);
    return true;
}

bool cron_parse(const struct field *field, struct calendar *calendar)
{
    struct piece whole = piece_whole(field->text);
    if (*whole.text != '@') return fields_read(field, calendar);
    for (size_t i = 0; i < sizeof nicknames / sizeof *nicknames; i++) {
        struct field meaning = {field->name, nicknames[i].meaning, field->error};
        if (piece_is(whole, nicknames[i].word)) return fields_read(&meaning, calendar);
    }
    return field_refuse(field, whole.text,
                        "unknown nickname %s (use @hourly, @daily, @weekly, @monthly or @yearly)",
                        piece_quote(whole).text);
}
