// zone_test.c - time zones from bytes, rules and real files, and broken ones.
#include "almanac.h"

#include <time.h>
#include <unistd.h>

#include "job/calendar/internal.h"

static void seconds_are_utc_without_a_zone(void **state)
{
    (void)state;
    assert_int_equal(zone_offset(NULL, at("2026-07-01 12:00")), 0);
    assert_int_equal(zone_reach(NULL, 86400), 86400);
    assert_int_equal(zone_highest(NULL, 86400), 86400);
}

static void dates_and_days_agree(void **state)
{
    (void)state;
    int64_t day = date_to_day((struct date){-401, 12, 31});
    struct date before = {-401, 12, 31};
    assert_int_equal(date_to_day((struct date){1970, 1, 1}), 0);
    assert_int_equal(date_to_day((struct date){2000, 3, 1}), 11017);
    for (int i = 0; i < 2 * 146097; i++) {
        struct date date = date_from_day(++day);
        assert_int_equal(date_to_day(date), day);
        bool next_day = date.day == before.day + 1 && date.month == before.month;
        bool next_month = date.day == 1 && before.day == date_month_days(before.year, before.month);
        assert_true(next_day || next_month);
        before = date;
    }
    assert_int_equal(date_week_day(0), 4);
    assert_int_equal(date_week_day(-5), 6);
    assert_int_equal(date_week_day(date_to_day((struct date){2026, 11, 16})), 1);
}

static void changes_of_a_file_count_until_its_rule_does(void **state)
{
    (void)state;
    const struct almanac_change changes[] = {{1000, 3600}, {2000, -7200}, {3000, 1800}};
    struct zone *zone = almanac_zone(changes, 3, -50, "AAA-5");
    struct zone *bare = almanac_zone(changes, 3, -50, "");
    const struct {
        int64_t second;
        int32_t offset, bare;
    } points[] = {{-1, -50, -50},     {999, -50, -50},      {1000, 3600, 3600},
                  {1999, 3600, 3600}, {2000, -7200, -7200}, {3000, 18000, 1800}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        assert_int_equal(zone_offset(zone, points[i].second * 1000000), points[i].offset);
        assert_int_equal(zone_offset(bare, points[i].second * 1000000), points[i].bare);
    }
    struct zone_span span = zone_span_at(zone, 1500);
    assert_true(span.from == 1000 && span.to == 2000);
    span = zone_span_at(zone, 5000);
    assert_true(span.from == 3000 && span.to == ZONE_FAR);
    zone_close(zone);
    zone_close(bare);
}

static void times_are_reached_once(void **state)
{
    (void)state;
    struct zone *zone = almanac_named("Europe/Berlin");
    int64_t spring = at("2026-03-29 01:00") / 1000000, autumn = at("2026-10-25 01:00") / 1000000;
    int64_t midnight = at("2026-03-29 00:00") / 1000000;
    assert_int_equal(zone_reach(zone, midnight + 7200 - 1), spring - 1);
    assert_int_equal(zone_reach(zone, midnight + 7200), spring);
    assert_int_equal(zone_reach(zone, midnight + 9000), spring);
    assert_int_equal(zone_reach(zone, midnight + 10860), spring + 60);
    assert_int_equal(zone_highest(zone, autumn - 1), autumn + 7200 - 1);
    assert_int_equal(zone_highest(zone, autumn + 1800), autumn + 7200 - 1);
    assert_int_equal(zone_highest(zone, autumn + 3600), autumn + 7200);
    assert_int_equal(zone_reach(zone, autumn + 3600), autumn - 3600);
    zone_close(zone);
}

// ---- Rules -----------------------------------------------------------------

static void offsets_agree(const struct zone *zone, const char *name, int64_t from, int64_t to,
                          uint32_t count)
{
    setenv("TZ", name, 1);
    tzset();
    for (uint32_t i = 0; i < count; i++) {
        time_t second = from + (to - from) / count * i;
        struct tm tm;
        localtime_r(&second, &tm);
        int offset = zone_offset(zone, (rota_time)second * 1000000);
        if (offset != tm.tm_gmtoff)
            fail_msg("%s at %lld: %d, should be %ld", name, (long long)second, offset,
                     tm.tm_gmtoff);
    }
}

static void rules_agree_with_the_c_library(void **state)
{
    (void)state;
    const char *const rules[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT,M3.2.0,M11.1.0",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
        "UTC0",
        "IST-5:30",
        "AAA3BBB,J60/1,J300/4:30",
        "AAA-3BBB-4:30,59/1,300/4:30:15",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct zone *zone = almanac_zone(NULL, 0, 0, rules[i]);
        offsets_agree(zone, rules[i], at("1975-01-01 00:00") / 1000000,
                      at("2075-01-01 00:00") / 1000000, 40009);
        offsets_agree(zone, rules[i], at("2023-12-01 00:00") / 1000000,
                      at("2025-02-01 00:00") / 1000000, 40009);
        zone_close(zone);
    }
}

static void summer_may_last_all_year_or_begin_in_another(void **state)
{
    (void)state;
    struct zone *always = almanac_zone(NULL, 0, 0, "XXX3EDT4,0/0,J365/23");
    struct zone *late = almanac_zone(NULL, 0, 0, "AAA0BBB,J365/167,J100/-167");
    for (int64_t second = 0; second < 40LL * 365 * 86400; second += 3000)
        assert_int_equal(zone_offset(always, second * 1000000), -4 * 3600);
    assert_int_equal(zone_offset(late, at("2026-01-06 22:00")), 0);
    assert_int_equal(zone_offset(late, at("2026-01-06 23:00")), 3600);
    assert_int_equal(zone_offset(late, at("2026-04-02 23:59")), 3600);
    assert_int_equal(zone_offset(late, at("2026-04-03 00:00")), 0);
    zone_close(always);
    zone_close(late);
}

static void broken_rules_are_refused(void **state)
{
    (void)state;
    const char *const rules[] = {
        "C",
        "CET",
        "CE-1",
        "CET-25",
        "CET-1:60",
        "CET-1CEST",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J365",
        "CET-1CEST,J1,J366",
        "CET-1CEST,0,366",
        "CET-1CEST,M3.5.0/168,1",
        "CET-1CEST,M3.5.0,M10.5.0 ",
        "<CET-1",
        "<>-1",
        "CET-1CEST,M3.5.0,M10.5.0/",
        "CET-0001",
    };
    struct zone_rule rule;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (zone_rule_parse(rules[i], strlen(rules[i]), &rule)) fail_msg("%s", rules[i]);
}

// ---- Broken files ----------------------------------------------------------

static void refused(const uint8_t *bytes, size_t size, const char *expected)
{
    const char *reason = NULL;
    uint8_t *copy = malloc(size ? size : 1);  // so that a sanitizer sees every byte read past it
    memcpy(copy, bytes, size);
    assert_null(zone_parse(copy, size, &reason));
    assert_non_null(strstr(reason, expected));
    free(copy);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    const struct almanac_change changes[] = {{1000, 3600}, {2000, -7200}};
    uint8_t good[512], bad[512];
    size_t size = almanac_bytes(good, changes, 2, 0, "AAA-5"), second = 44 + 6 + 4;
    for (size_t cut = 0; cut < size; cut++) refused(good, cut, "");
    const struct {
        size_t place;
        uint8_t value;
        const char *reason;
    } faults[] = {
        {0, 'X', "not a TZif"},
        {4, '1', "version 1"},
        {4, 0, "version 1"},
        {32, 1, "truncated"},
        {second, 'X', "truncated"},
        {second + 23, 1, "header counts contradict"},
        {second + 31, 1, "truncated"},
        {second + 39, 0, "no local time types"},
        {second + 44 + 6, 0xff, "not in order"},
        {second + 44, 0x7f, "too far"},
        {second + 44 + 16, 3, "invalid local time type"},
        {second + 44 + 18, 1, "local time type is invalid"},
        {second + 44 + 18 + 4, 2, "local time type is invalid"},
        {second + 44 + 18 + 5, 4, "local time type is invalid"},
        {size - 7, ' ', "footer is missing"},
        {size - 1, ' ', "footer is truncated"},
        {size - 2, 'x', "rule"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        memcpy(bad, good, size);
        bad[faults[i].place] = faults[i].value;
        refused(bad, size, faults[i].reason);
    }
}

static void leap_seconds_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[512];
    size_t size = almanac_bytes(bytes, NULL, 0, 0, ""), second = 44 + 6 + 4;
    bytes[second + 31] = 1;
    memset(bytes + size, 0, 12);
    refused(bytes, size + 12, "leap seconds");
}

// ---- Real files ------------------------------------------------------------

static struct zone *zone_of_file(const char *name)
{
    static uint8_t bytes[ALMANAC_SIZE];
    char path[300];
    const char *reason = "";
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct zone *zone = zone_parse(bytes, size, &reason);
    if (!zone) fail_msg("%s: %s", name, reason);
    return zone;
}

static void real_zones_agree_with_the_c_library(void **state)
{
    (void)state;
    const char *const names[] = {
        "Europe/Berlin", "Europe/Dublin",     "America/New_York", "America/Sao_Paulo",
        "Asia/Kolkata",  "Africa/Casablanca", "Pacific/Apia",     "Australia/Lord_Howe",
        "Asia/Tehran",   "Etc/GMT+5",         "America/Nuuk",     "Africa/Cairo",
    };
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK)) skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct zone *zone = zone_of_file(names[i]);
        if (!zone) continue;
        offsets_agree(zone, names[i], at("1900-01-01 00:00") / 1000000,
                      at("2100-01-01 00:00") / 1000000, 100003);
        offsets_agree(zone, names[i], at("2020-01-01 00:00") / 1000000,
                      at("2030-01-01 00:00") / 1000000, 100003);
        zone_close(zone);
    }
}

static void names_cannot_lead_out_of_the_folder(void **state)
{
    (void)state;
    const char *const good[]
        = {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "GMT-0"};
    const char *const bad[] = {"",        "/etc/passwd", "../x", "Europe/../../x", "Europe//Berlin",
                               "Europe/", "a b",         "a.b",  "M\xc3\xbcnchen"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(zone_name_is_safe(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(zone_name_is_safe(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_utc_without_a_zone),
        cmocka_unit_test(dates_and_days_agree),
        cmocka_unit_test(changes_of_a_file_count_until_its_rule_does),
        cmocka_unit_test(times_are_reached_once),
        cmocka_unit_test(rules_agree_with_the_c_library),
        cmocka_unit_test(summer_may_last_all_year_or_begin_in_another),
        cmocka_unit_test(broken_rules_are_refused),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(leap_seconds_are_refused),
        cmocka_unit_test(real_zones_agree_with_the_c_library),
        cmocka_unit_test(names_cannot_lead_out_of_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
