// text.c - parses the schedule fields of a definition.
#include "job/calendar/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HOUR_MINUTES = 60, ALL_DAYS = (1 << 7) - 1, ALL_MONTHS = (1 << 13) - 2 };
#define ALL_MONTH_DAYS 0xfffffffeu

// The value of each field.
struct parts {
    struct calendar batch, cron;
    uint32_t days;
    int open, close;  // the window
    uint64_t starts;  // one bit per minute of the hour
};

// ---- Pieces of text --------------------------------------------------------

bool field_refuse(const struct field *field, const char *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    field->error->field = field->name;
    field->error->column = (uint32_t)(place - field->text) + 1;
    vsnprintf(field->error->reason, sizeof field->error->reason, format, arguments);
    va_end(arguments);
    return false;
}

struct quoted piece_quote(struct piece piece)
{
    struct quoted quoted;
    size_t length = piece.length, room = sizeof quoted.text - 6;
    if (length > room) {
        length = room;
        while (length && ((uint8_t)piece.text[length] & 0xc0) == 0x80) length--;
    }
    const char *rest = length < piece.length ? "..." : "";
    snprintf(quoted.text, sizeof quoted.text, "\"%.*s%s\"", (int)length, piece.text, rest);
    return quoted;
}

static char small_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool piece_is(struct piece piece, const char *word)
{
    size_t i = 0;
    while (i < piece.length && word[i] && small_letter(piece.text[i]) == word[i]) i++;
    return i == piece.length && !word[i];
}

bool piece_number(struct piece piece, int max, int *number)
{
    *number = 0;
    for (size_t i = 0; i < piece.length; i++) {
        char c = piece.text[i];
        if (c < '0' || c > '9') return false;
        *number = *number * 10 + (c - '0');
        if (*number > max) return false;
    }
    return piece.length > 0;
}

static struct piece piece_trim(struct piece piece)
{
    while (piece.length && is_blank(piece.text[piece.length - 1])) piece.length--;
    while (piece.length && is_blank(*piece.text)) {
        piece.text++;
        piece.length--;
    }
    return piece;
}

struct piece piece_whole(const char *text)
{
    return piece_trim((struct piece){text, strlen(text)});
}

// The piece up to the next separator or the end; `at` moves past it. False at the end.
static bool piece_take(const char **at, char separator, struct piece *piece)
{
    if (!*at) return false;
    const char *end = strchr(*at, separator);
    *piece = piece_trim((struct piece){*at, end ? (size_t)(end - *at) : strlen(*at)});
    *at = end ? end + 1 : NULL;
    return true;
}

// Splits "left-right". False: there is no dash.
static bool piece_split(struct piece piece, struct piece *left, struct piece *right)
{
    const char *dash = memchr(piece.text, '-', piece.length);
    *left = piece;
    if (!dash) return false;
    left->length = (size_t)(dash - piece.text);
    *right = piece_trim((struct piece){dash + 1, piece.length - left->length - 1});
    *left = piece_trim(*left);
    return true;
}

void minute_set(struct calendar *calendar, int minute)
{
    calendar->minutes[minute / 64] |= (uint64_t)1 << minute % 64;
}

// ---- Single fields ----------------------------------------------------------

static int week_day_named(struct piece piece)
{
    static const char *const names[] = {"su", "mo", "tu", "we", "th", "fr", "sa"};
    for (int i = 0; i < 7; i++)
        if (piece_is(piece, names[i])) return i;
    return -1;
}

// A day or a range of days, which may wrap around the end of the week.
static bool days_add(const struct field *field, struct piece piece, uint32_t *days)
{
    if (piece_is(piece, "all")) {
        *days |= ALL_DAYS;
        return true;
    }
    struct piece ends[2];
    int count = piece_split(piece, &ends[0], &ends[1]) ? 2 : 1, day[2];
    for (int i = 0; i < count; i++) {
        day[i] = week_day_named(ends[i]);
        if (day[i] < 0)
            return field_refuse(field, ends[i].text,
                                "unknown day %s (use mo, tu, we, th, fr, sa, su or all)",
                                piece_quote(ends[i]).text);
    }
    int last = day[count - 1];
    for (int i = day[0]; i != last; i = (i + 1) % 7) *days |= 1u << i;
    *days |= 1u << last;
    return true;
}

static bool days_parse(const struct field *field, struct parts *parts)
{
    struct piece piece;
    for (const char *at = field->text; piece_take(&at, ',', &piece);)
        if (!days_add(field, piece, &parts->days)) return false;
    return true;
}

static bool time_read(const struct field *field, struct piece piece, int *minute)
{
    const char *colon = memchr(piece.text, ':', piece.length);
    size_t digits = colon ? (size_t)(colon - piece.text) : 0;
    struct piece hours = {piece.text, digits}, rest = {piece.text, 0};
    if (colon) rest = (struct piece){colon + 1, piece.length - digits - 1};
    int hour;
    if (digits > 2 || rest.length != 2 || !piece_number(hours, 23, &hour)
        || !piece_number(rest, 59, minute))
        return field_refuse(field, piece.text, "invalid time %s (expected 00:00 to 23:59)",
                            piece_quote(piece).text);
    *minute += hour * HOUR_MINUTES;
    return true;
}

static bool times_parse(const struct field *field, struct parts *parts)
{
    struct piece piece;
    int minute;
    for (const char *at = field->text; piece_take(&at, ',', &piece);) {
        if (!time_read(field, piece, &minute)) return false;
        minute_set(&parts->batch, minute);
    }
    return true;
}

static bool window_parse(const struct field *field, struct parts *parts)
{
    struct piece whole = piece_whole(field->text), open, close;
    if (!piece_split(whole, &open, &close))
        return field_refuse(field, whole.text, "invalid window %s (example: 22:00-02:00)",
                            piece_quote(whole).text);
    return time_read(field, open, &parts->open) && time_read(field, close, &parts->close);
}

static bool starts_parse(const struct field *field, struct parts *parts)
{
    struct piece piece;
    int minute;
    for (const char *at = field->text; piece_take(&at, ',', &piece);) {
        if (!piece_number(piece, HOUR_MINUTES - 1, &minute))
            return field_refuse(field, piece.text, "invalid minute %s (expected 0 to 59)",
                                piece_quote(piece).text);
        parts->starts |= (uint64_t)1 << minute;
    }
    return true;
}

static bool zone_check(const struct field *field)
{
    if (zone_name_is_safe(field->text)) return true;
    return field_refuse(field, field->text, "invalid time zone %s (example: Europe/Berlin)",
                        piece_quote(piece_whole(field->text)).text);
}

// ---- All fields -------------------------------------------------------------

static bool is_given(const char *text)
{
    return text && *text;
}

static bool parts_read(const struct calendar_fields *fields, struct parts *parts,
                       struct calendar_error *error)
{
    const struct field days = {"run_days", fields->run_days, error};
    const struct field times = {"start_times", fields->start_times, error};
    const struct field window = {"run_window", fields->run_window, error};
    const struct field starts = {"start_mins", fields->start_mins, error};
    const struct field cron = {"cron", fields->cron, error};
    const struct field zone = {"zone", fields->zone, error};
    memset(parts, 0, sizeof *parts);
    memset(error, 0, sizeof *error);
    return (!is_given(days.text) || days_parse(&days, parts))
           && (!is_given(times.text) || times_parse(&times, parts))
           && (!is_given(window.text) || window_parse(&window, parts))
           && (!is_given(starts.text) || starts_parse(&starts, parts))
           && (!is_given(cron.text) || cron_parse(&cron, &parts->cron))
           && (!is_given(zone.text) || zone_check(&zone));
}

// Checks fields that need each other and fields that exclude each other.
static bool fields_agree(const struct calendar_fields *fields, struct calendar_error *error)
{
    const struct field days = {"run_days", fields->run_days, error};
    const struct field window = {"run_window", fields->run_window, error};
    const struct field starts = {"start_mins", fields->start_mins, error};
    const struct field cron = {"cron", fields->cron, error};
    bool batch = is_given(fields->start_times), opens = is_given(window.text);
    if (opens && batch)
        return field_refuse(&window, window.text, "cannot be combined with start_times");
    if (opens && !is_given(starts.text))
        return field_refuse(&window, window.text, "needs start_mins");
    if (is_given(starts.text) && !opens)
        return field_refuse(&starts, starts.text, "needs run_window");
    if (is_given(cron.text) && (batch || opens))
        return field_refuse(&cron, cron.text, "cannot be combined with %s",
                            batch ? "start_times" : "run_window");
    if (!is_given(days.text) || batch || opens) return true;
    if (is_given(cron.text)) return field_refuse(&days, days.text, "cannot be combined with cron");
    return field_refuse(&days, days.text, "needs start_times or run_window");
}

static bool window_put(const struct calendar_fields *fields, const struct parts *parts,
                       struct calendar *calendar, struct calendar_error *error)
{
    int length = (parts->close - parts->open + DAY_MINUTES) % DAY_MINUTES, found = 0;
    for (int i = 0; i <= length; i++) {
        int minute = (parts->open + i) % DAY_MINUTES;
        if (!(parts->starts >> minute % HOUR_MINUTES & 1)) continue;
        minute_set(calendar, minute);
        found++;
    }
    calendar->beat = true;
    if (parts->close < parts->open) calendar->carried = (uint32_t)parts->close + 1;
    const struct field starts = {"start_mins", fields->start_mins, error};
    return found || field_refuse(&starts, starts.text, "no minute is inside the window");
}

bool calendar_parse(const struct calendar_fields *fields, struct calendar *calendar,
                    struct calendar_error *error)
{
    struct parts parts;
    if (!parts_read(fields, &parts, error) || !fields_agree(fields, error)) return false;
    *calendar = is_given(fields->cron) ? parts.cron : parts.batch;
    if (is_given(fields->cron)) {
        calendar->kind = CALENDAR_CRON;
        return true;
    }
    calendar->week_days = parts.days ? parts.days : ALL_DAYS;
    calendar->month_days = ALL_MONTH_DAYS;
    calendar->months = ALL_MONTHS;
    if (is_given(fields->start_times)) calendar->kind = CALENDAR_BATCH;
    if (!is_given(fields->run_window)) return true;
    calendar->kind = CALENDAR_WINDOW;
    return window_put(fields, &parts, calendar, error);
}

bool calendar_check(const struct calendar_fields *fields, struct calendar_error *error)
{
    struct parts parts;
    return parts_read(fields, &parts, error);
}
