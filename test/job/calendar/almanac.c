// almanac.c - instants as text, zones made of bytes.
#define _GNU_SOURCE
#include "almanac.h"

#include <time.h>

#include "job/calendar/internal.h"

// ---- Zones -----------------------------------------------------------------

struct writer {
    uint8_t *bytes;
    size_t size;
};

static void put(struct writer *writer, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) writer->bytes[writer->size++] = (uint8_t)(value >> 8 * i);
}

static void put_head(struct writer *writer, uint32_t changes, uint32_t kinds)
{
    memcpy(writer->bytes + writer->size, "TZif2", 5);
    memset(writer->bytes + writer->size + 5, 0, 15);
    writer->size += 20;
    const uint32_t counts[] = {0, 0, 0, changes, kinds, 4};
    for (int i = 0; i < 6; i++) put(writer, counts[i], 4);
}

static void put_kind(struct writer *writer, int32_t offset)
{
    put(writer, (uint32_t)offset, 4);
    put(writer, 0, 2);
}

// One kind of local time for each change: simple, and allowed up to 255 changes.
size_t almanac_bytes(uint8_t *out, const struct almanac_change *changes, uint32_t count,
                     int32_t first_offset, const char *rule)
{
    struct writer writer = {out, 0};
    put_head(&writer, 0, 1);
    put_kind(&writer, 0);
    put(&writer, 0x414c4d00, 4);
    put_head(&writer, count, count + 1);
    for (uint32_t i = 0; i < count; i++) put(&writer, (uint64_t)changes[i].at, 8);
    for (uint32_t i = 0; i < count; i++) put(&writer, i + 1, 1);
    put_kind(&writer, first_offset);
    for (uint32_t i = 0; i < count; i++) put_kind(&writer, changes[i].offset);
    put(&writer, 0x414c4d00, 4);
    size_t length = strlen(rule);
    put(&writer, '\n', 1);
    memcpy(out + writer.size, rule, length);
    writer.size += length;
    put(&writer, '\n', 1);
    return writer.size;
}

struct zone *almanac_zone(const struct almanac_change *changes, uint32_t count,
                          int32_t first_offset, const char *rule)
{
    uint8_t *bytes = malloc(ALMANAC_SIZE);
    const char *reason = "";
    size_t size = almanac_bytes(bytes, changes, count, first_offset, rule);
    struct zone *zone = zone_parse(bytes, size, &reason);
    if (!zone) fail_msg("%s: %s", rule, reason);
    free(bytes);
    return zone;
}

const char *almanac_rule(const char *name)
{
    static const char *const rules[][2] = {
        {"Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"},
        {"America/New_York", "EST5EDT,M3.2.0,M11.1.0"},
        {"Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"},
        {"America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i][0], name)) return rules[i][1];
    fail_msg("no rule for %s", name);
    return "";
}

struct zone *almanac_named(const char *name)
{
    return strcmp(name, "UTC") ? almanac_zone(NULL, 0, 0, almanac_rule(name)) : NULL;
}

// ---- Instants --------------------------------------------------------------

rota_time at(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d %H:%M", &tm);
    if (!end || *end) fail_msg("\"%s\" is not an instant", text);
    return (rota_time)timegm(&tm) * 1000000;
}

int32_t zone_offset(const struct zone *zone, rota_time at)
{
    return zone_span_at(zone, floor_divide(at, SECOND_TIME)).offset;
}

const char *shown(const struct zone *zone, rota_time time, char out[40])
{
    snprintf(out, 40, "never");
    if (time == ROTA_NEVER) return out;
    int offset = zone_offset(zone, time), minutes = abs(offset) / 60;
    time_t local = (time_t)(time / 1000000) + offset;
    struct tm tm;
    gmtime_r(&local, &tm);
    size_t length = strftime(out, 40, "%Y-%m-%d %H:%M", &tm);
    snprintf(out + length, 40 - length, " %c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60,
             minutes % 60);
    return out;
}

// ---- Calendars -------------------------------------------------------------

static void field_put(struct almanac *almanac, const char *key, const char *value)
{
    const struct {
        const char *key, **place;
    } places[] = {
        {"run_days", &almanac->fields.run_days},
        {"start_times", &almanac->fields.start_times},
        {"run_window", &almanac->fields.run_window},
        {"start_mins", &almanac->fields.start_mins},
        {"cron", &almanac->fields.cron},
        {"zone", &almanac->fields.zone},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strcmp(places[i].key, key)) continue;
        *places[i].place = value;
        return;
    }
    fail_msg("no field is called %s", key);
}

void almanac_fields(struct almanac *almanac, const char *text)
{
    memset(almanac, 0, sizeof *almanac);
    assert_true(strlen(text) < sizeof almanac->text);
    memcpy(almanac->text, text, strlen(text) + 1);
    for (char *field = almanac->text; field && *field;) {
        char *end = strstr(field, "; ");
        if (end) *end = 0;
        char *value = strstr(field, ": ");
        if (!value) fail_msg("\"%s\" is not a field", field);
        *value = 0;
        field_put(almanac, field, value + 2);
        field = end ? end + 2 : NULL;
    }
}

void almanac_open(struct almanac *almanac, const char *text)
{
    struct calendar_error error;
    almanac_fields(almanac, text);
    if (!calendar_parse(&almanac->fields, &almanac->calendar, &error))
        fail_msg("%s: %s: %u: %s", text, error.field, error.column, error.reason);
    if (almanac->fields.zone) almanac->zone = almanac_named(almanac->fields.zone);
    almanac->calendar.zone = almanac->zone;
}

void almanac_close(struct almanac *almanac)
{
    zone_close(almanac->zone);
}
