// almanac.h - helpers for tests of the calendar: instants as text, zones made of bytes.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/calendar/calendar.h"

enum { MINUTE = 60 * 1000000, ALMANAC_SIZE = 65536 };

struct almanac_change {
    int64_t at;  // seconds
    int32_t offset;
};

// The bytes of a TZif file with these changes of the clock, and a rule or "" after them.
size_t almanac_bytes(uint8_t *out, const struct almanac_change *changes, uint32_t count,
                     int32_t first_offset, const char *rule);
struct zone *almanac_zone(const struct almanac_change *changes, uint32_t count,
                          int32_t first_offset, const char *rule);

// Some zones by rule, valid for all times: Europe/Berlin, America/New_York, Australia/Lord_Howe,
// America/Santiago (it changes at midnight). Null is UTC.
const char *almanac_rule(const char *name);
struct zone *almanac_named(const char *name);

int32_t zone_offset(const struct zone *zone, rota_time at);  // seconds to add to UTC

// "2026-03-29 01:00", in UTC.
rota_time at(const char *text);
// "2026-03-29 03:00 +02:00": what the zone's clock shows; "never".
const char *shown(const struct zone *zone, rota_time time, char out[40]);

// "run_days: mo; start_times: 06:30; zone: Europe/Berlin".
struct almanac {
    char text[256];
    struct calendar_fields fields;
    struct calendar calendar;
    struct zone *zone;
};
void almanac_fields(struct almanac *almanac, const char *text);  // only cut
void almanac_open(struct almanac *almanac, const char *text);    // and parsed; must be right
void almanac_close(struct almanac *almanac);
