// calendar_test.c - when calendars fire, and which ones are refused.
#include "almanac.h"

// The firings after an instant, in local time, with ", " between them.
static void fires(const char *fields, const char *after, const char *expected)
{
    struct almanac almanac;
    char text[400] = "", one[40];
    almanac_open(&almanac, fields);
    rota_time time = at(after);
    while (strlen(text) < strlen(expected)) {
        time = calendar_next(&almanac.calendar, time);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "",
                 shown(almanac.zone, time, one));
        if (time == ROTA_NEVER) break;
    }
    assert_string_equal(text, expected);
    almanac_close(&almanac);
}

// Whether it fires in that minute.
static bool due(const char *fields, const char *minute)
{
    struct almanac almanac;
    almanac_open(&almanac, fields);
    bool answer = calendar_next(&almanac.calendar, at(minute) - 1) < at(minute) + MINUTE;
    almanac_close(&almanac);
    return answer;
}

// ---- Times of the day ------------------------------------------------------

static void the_last_minute_of_the_day_fires(void **state)
{
    (void)state;
    assert_true(due("start_times: 23:59", "2026-11-16 23:59"));
    assert_false(due("start_times: 23:59", "2026-11-16 23:58"));
    assert_false(due("start_times: 23:59", "2026-11-17 00:00"));
    fires("start_times: 23:59", "2026-11-16 23:58",
          "2026-11-16 23:59 +00:00, 2026-11-17 23:59 +00:00");
}

static void a_window_across_midnight_fires_on_both_sides(void **state)
{
    (void)state;
    const char *window = "run_window: 22:00-02:00; start_mins: 0,20,40";
    assert_true(due(window, "2026-11-17 01:20"));
    assert_true(due(window, "2026-11-16 22:00"));
    assert_true(due(window, "2026-11-17 02:00"));
    assert_false(due(window, "2026-11-17 02:20"));
    assert_false(due(window, "2026-11-16 21:40"));
    assert_false(due(window, "2026-11-17 01:21"));
    fires(window, "2026-11-17 01:40",
          "2026-11-17 02:00 +00:00, 2026-11-17 22:00 +00:00, 2026-11-17 22:20 +00:00");
}

static void monday_is_not_tuesday(void **state)
{
    (void)state;
    assert_true(due("run_days: mo; start_times: 10:00", "2026-11-16 10:00"));
    assert_false(due("run_days: mo; start_times: 10:00", "2026-11-17 10:00"));
    fires("run_days: mo; start_times: 10:00", "2026-11-16 10:00", "2026-11-23 10:00 +00:00");
}

static void a_minute_fires_once(void **state)
{
    (void)state;
    struct almanac almanac;
    almanac_open(&almanac, "start_times: 10:00,10:00, 10:01");
    rota_time first = at("2026-11-16 10:00");
    assert_int_equal(calendar_next(&almanac.calendar, first - 1), first);
    assert_int_equal(calendar_next(&almanac.calendar, first), first + MINUTE);
    assert_int_equal(calendar_next(&almanac.calendar, first + MINUTE - 1), first + MINUTE);
    almanac_close(&almanac);
}

// ---- Days ------------------------------------------------------------------

static void a_window_belongs_to_the_day_on_which_it_opened(void **state)
{
    (void)state;
    const char *friday = "run_days: fr; run_window: 23:00-00:30; start_mins: 0,30";
    fires(friday, "2026-11-18 00:00",
          "2026-11-20 23:00 +00:00, 2026-11-20 23:30 +00:00, 2026-11-21 00:00 +00:00, "
          "2026-11-21 00:30 +00:00, 2026-11-27 23:00 +00:00");
    assert_false(due(friday, "2026-11-20 00:30"));
}

static void days_are_lists_ranges_and_all(void **state)
{
    (void)state;
    fires("run_days: sa-mo,We; start_times: 00:00", "2026-11-16 00:00",
          "2026-11-18 00:00 +00:00, 2026-11-21 00:00 +00:00, 2026-11-22 00:00 +00:00, "
          "2026-11-23 00:00 +00:00, 2026-11-25 00:00 +00:00");
    fires("run_days: all; start_times: 6:05", "2026-11-16 07:00",
          "2026-11-17 06:05 +00:00, 2026-11-18 06:05 +00:00");
}

static void without_a_schedule_nothing_fires(void **state)
{
    (void)state;
    fires("", "2026-11-16 00:00", "never");
    fires("zone: Europe/Berlin", "2026-11-16 00:00", "never");
}

// ---- Cron ------------------------------------------------------------------

static void cron_has_lists_ranges_steps_and_names(void **state)
{
    (void)state;
    fires("cron: */20 6-8/2,23 * * *", "2026-11-16 06:30",
          "2026-11-16 06:40 +00:00, 2026-11-16 08:00 +00:00, 2026-11-16 08:20 +00:00, "
          "2026-11-16 08:40 +00:00, 2026-11-16 23:00 +00:00");
    fires("cron: 5/25 0 1 JAN-feb *", "2026-11-16 00:00",
          "2027-01-01 00:05 +00:00, 2027-01-01 00:30 +00:00, 2027-01-01 00:55 +00:00, "
          "2027-02-01 00:05 +00:00");
    fires("cron: 0 12 * * mon-wed", "2026-11-17 13:00",
          "2026-11-18 12:00 +00:00, 2026-11-23 12:00 +00:00");
    fires("cron: 0 12 * * 5-7", "2026-11-21 00:00",
          "2026-11-21 12:00 +00:00, 2026-11-22 12:00 +00:00, 2026-11-27 12:00 +00:00");
}

static void one_of_two_days_is_enough_for_cron(void **state)
{
    (void)state;
    fires("cron: 0 0 13 * fri", "2026-11-01 00:00",
          "2026-11-06 00:00 +00:00, 2026-11-13 00:00 +00:00, 2026-11-20 00:00 +00:00, "
          "2026-11-27 00:00 +00:00, 2026-12-04 00:00 +00:00, 2026-12-11 00:00 +00:00, "
          "2026-12-13 00:00 +00:00");
    fires("cron: 0 0 */10 * fri", "2026-11-01 00:00", "2026-12-11 00:00 +00:00");
    fires("cron: 0 0 13 * *", "2026-11-01 00:00", "2026-11-13 00:00 +00:00");
}

static void cron_has_nicknames(void **state)
{
    (void)state;
    fires("cron: @hourly", "2026-11-16 10:30", "2026-11-16 11:00 +00:00, 2026-11-16 12:00 +00:00");
    fires("cron: @daily", "2026-11-16 10:30", "2026-11-17 00:00 +00:00");
    fires("cron: @weekly", "2026-11-16 10:30", "2026-11-22 00:00 +00:00");
    fires("cron: @monthly", "2026-11-16 10:30", "2026-12-01 00:00 +00:00");
    fires("cron: @yearly", "2026-11-16 10:30", "2027-01-01 00:00 +00:00");
}

static void rare_days_are_found_and_impossible_ones_are_not(void **state)
{
    (void)state;
    fires("cron: 0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00 +00:00");
    fires("cron: 0 0 29 2 */7", "2088-03-01 00:00", "2128-02-29 00:00 +00:00");
    fires("cron: 0 0 30 2 *", "2026-01-01 00:00", "never");
    fires("cron: 0 0 31 4,6,9,11 *", "2026-01-01 00:00", "never");
}

// ---- Clocks that are set ---------------------------------------------------

static void a_time_in_the_gap_fires_after_it(void **state)
{
    (void)state;
    fires("start_times: 02:30,02:45; zone: Europe/Berlin", "2026-03-28 12:00",
          "2026-03-29 03:00 +02:00, 2026-03-30 02:30 +02:00, 2026-03-30 02:45 +02:00");
    fires("cron: 30 2 * * *; zone: America/New_York", "2026-03-07 12:00",
          "2026-03-08 03:00 -04:00, 2026-03-09 02:30 -04:00");
    fires("run_days: su; start_times: 00:10; zone: America/Santiago", "2026-09-01 00:00",
          "2026-09-06 01:00 -03:00, 2026-09-13 00:10 -03:00");
}

static void a_repeated_time_fires_once(void **state)
{
    (void)state;
    fires("start_times: 02:30; zone: Europe/Berlin", "2026-10-24 12:00",
          "2026-10-25 02:30 +02:00, 2026-10-26 02:30 +01:00");
    fires("cron: 30 1 * * *; zone: America/New_York", "2026-10-31 12:00",
          "2026-11-01 01:30 -04:00, 2026-11-02 01:30 -05:00");
    fires("start_times: 01:45; zone: Australia/Lord_Howe", "2026-04-04 00:00",
          "2026-04-05 01:45 +11:00, 2026-04-06 01:45 +10:30");
    fires("start_times: 23:30; zone: America/Santiago", "2026-04-04 12:00",
          "2026-04-04 23:30 -03:00, 2026-04-05 23:30 -04:00");
}

static void an_interval_skips_the_hour_that_the_clock_skips(void **state)
{
    (void)state;
    fires("run_window: 01:00-03:30; start_mins: 20,40; zone: Europe/Berlin", "2026-03-28 23:00",
          "2026-03-29 01:20 +01:00, 2026-03-29 01:40 +01:00, 2026-03-29 03:20 +02:00");
    fires("run_window: 01:00-03:30; start_mins: 0,40; zone: Europe/Berlin", "2026-03-29 00:10",
          "2026-03-29 01:40 +01:00, 2026-03-29 03:00 +02:00");
    fires("cron: 7 * * * *; zone: Europe/Berlin", "2026-03-29 00:00",
          "2026-03-29 01:07 +01:00, 2026-03-29 03:07 +02:00");
    fires("run_window: 02:00-02:59; start_mins: 30; zone: Europe/Berlin", "2026-03-28 12:00",
          "2026-03-30 02:30 +02:00");
}

static void a_beat_does_not_repeat_an_hour(void **state)
{
    (void)state;
    fires("run_window: 01:00-03:30; start_mins: 20; zone: Europe/Berlin", "2026-10-24 23:00",
          "2026-10-25 01:20 +02:00, 2026-10-25 02:20 +02:00, 2026-10-25 03:20 +01:00");
    fires("cron: @hourly; zone: Europe/Berlin", "2026-10-24 23:30",
          "2026-10-25 02:00 +02:00, 2026-10-25 03:00 +01:00");
}

static void a_day_that_is_left_out_fires_at_its_end(void **state)
{
    (void)state;
    // As in Samoa, which went from Thursday the 29th to Saturday the 31st.
    struct almanac_change change = {at("2011-12-30 10:00") / 1000000, 14 * 3600};
    struct almanac almanac;
    char text[40];
    almanac_open(&almanac, "run_days: fr; start_times: 08:00,20:00");
    almanac.calendar.zone = almanac.zone = almanac_zone(&change, 1, -10 * 3600, "");
    rota_time first = calendar_next(&almanac.calendar, at("2011-12-26 00:00"));
    assert_string_equal(shown(almanac.zone, first, text), "2011-12-31 00:00 +14:00");
    first = calendar_next(&almanac.calendar, first);
    assert_string_equal(shown(almanac.zone, first, text), "2012-01-06 08:00 +14:00");
    almanac_close(&almanac);
}

static void offsets_may_have_seconds(void **state)
{
    (void)state;
    struct almanac almanac;
    almanac_open(&almanac, "start_times: 12:00");
    almanac.calendar.zone = almanac.zone = almanac_zone(NULL, 0, 1172, "");
    rota_time noon = at("1930-05-01 12:00") - (rota_time)1172 * 1000000;
    assert_int_equal(calendar_next(&almanac.calendar, noon - 1), noon);
    almanac_close(&almanac);
}

static void the_ends_of_time_break_nothing(void **state)
{
    (void)state;
    struct almanac almanac;
    almanac_open(&almanac, "start_times: 12:00; zone: Europe/Berlin");
    assert_true(calendar_next(&almanac.calendar, CALENDAR_NONE) < at("1970-01-01 00:00"));
    assert_true(calendar_next(&almanac.calendar, ROTA_NEVER) == ROTA_NEVER);
    assert_true(calendar_next(&almanac.calendar, ROTA_NEVER - MINUTE) == ROTA_NEVER);
    almanac_close(&almanac);
}

// ---- Mistakes --------------------------------------------------------------

static const char *const mistakes[][2] = {
    {"start_times: 23:59,24:10",
     "start_times: column 7: invalid time \"24:10\" (expected 00:00 to 23:59)"},
    {"start_times: 23:60",
     "start_times: column 1: invalid time \"23:60\" (expected 00:00 to 23:59)"},
    {"start_times: 1000", "start_times: column 1: invalid time \"1000\" (expected 00:00 to 23:59)"},
    {"start_times: 10:0", "start_times: column 1: invalid time \"10:0\" (expected 00:00 to 23:59)"},
    {"start_times: 010:00",
     "start_times: column 1: invalid time \"010:00\" (expected 00:00 to 23:59)"},
    {"start_times: 10:00,", "start_times: column 7: invalid time \"\" (expected 00:00 to 23:59)"},
    {"run_days: mo, dy; start_times: 10:00",
     "run_days: column 5: unknown day \"dy\" (use mo, tu, we, th, fr, sa, su or all)"},
    {"run_days: mo-; start_times: 10:00",
     "run_days: column 4: unknown day \"\" (use mo, tu, we, th, fr, sa, su or all)"},
    {"run_window: 22:00; start_mins: 0",
     "run_window: column 1: invalid window \"22:00\" (example: 22:00-02:00)"},
    {"run_window: 22:00 - 2:0; start_mins: 0",
     "run_window: column 9: invalid time \"2:0\" (expected 00:00 to 23:59)"},
    {"run_window: 22:00-02:00; start_mins: 0,60",
     "start_mins: column 3: invalid minute \"60\" (expected 0 to 59)"},
    {"run_window: 22:00-02:00", "run_window: column 1: needs start_mins"},
    {"start_mins: 0", "start_mins: column 1: needs run_window"},
    {"run_window: 10:05-10:10; start_mins: 0",
     "start_mins: column 1: no minute is inside the window"},
    {"start_times: 10:00; run_window: 10:00-11:00; start_mins: 0",
     "run_window: column 1: cannot be combined with start_times"},
    {"start_times: 10:00; cron: @daily", "cron: column 1: cannot be combined with start_times"},
    {"run_window: 10:00-11:00; start_mins: 0; cron: @daily",
     "cron: column 1: cannot be combined with run_window"},
    {"run_days: mo; cron: @daily", "run_days: column 1: cannot be combined with cron"},
    {"run_days: mo", "run_days: column 1: needs start_times or run_window"},
    {"cron: * * * *", "cron: column 1: 4 fields instead of 5: minute, hour, day of the month, "
                      "month, day of the week"},
    {"cron: * 24 * * *", "cron: column 3: \"24\" is not an hour (0 to 23)"},
    {"cron: * * 0 * *", "cron: column 5: \"0\" is not a day of the month (1 to 31)"},
    {"cron: * * * foo *", "cron: column 7: \"foo\" is not a month (1 to 12)"},
    {"cron: * * * * fri-mon", "cron: column 9: the range \"fri-mon\" is reversed"},
    {"cron: */0 * * * *", "cron: column 3: \"0\" is not a step (expected 1 to 59)"},
    {"cron: 1, * * * *", "cron: column 3: \"\" is not a minute (0 to 59)"},
    {"cron: @never",
     "cron: column 1: unknown nickname \"@never\""
     " (use @hourly, @daily, @weekly, @monthly or @yearly)"},
    {"zone: ../passwd; cron: @daily", "zone: column 1: invalid time zone \"../passwd\" "
                                      "(example: Europe/Berlin)"},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct almanac almanac;
        struct calendar_error error;
        char text[256];
        almanac_fields(&almanac, mistakes[i][0]);
        assert_false(calendar_parse(&almanac.fields, &almanac.calendar, &error));
        snprintf(text, sizeof text, "%s: column %u: %s", error.field, error.column, error.reason);
        assert_string_equal(text, mistakes[i][1]);
    }
}

static void a_part_of_a_calendar_is_checked_by_itself(void **state)
{
    (void)state;
    struct almanac almanac;
    struct calendar_error error;
    almanac_fields(&almanac, "run_days: mo; start_mins: 0");
    assert_true(calendar_check(&almanac.fields, &error));
    almanac_fields(&almanac, "run_days: mo; start_mins: 70");
    assert_false(calendar_check(&almanac.fields, &error));
    assert_string_equal(error.field, "start_mins");
}

static void long_mistakes_are_cut(void **state)
{
    (void)state;
    struct almanac almanac;
    struct calendar_error error;
    almanac_fields(&almanac, "start_times: x\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                             "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                             "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
    assert_false(calendar_parse(&almanac.fields, &almanac.calendar, &error));
    assert_non_null(strstr(error.reason, "\xc3\xa4...\" (expected"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_minute_of_the_day_fires),
        cmocka_unit_test(a_window_across_midnight_fires_on_both_sides),
        cmocka_unit_test(monday_is_not_tuesday),
        cmocka_unit_test(a_minute_fires_once),
        cmocka_unit_test(a_window_belongs_to_the_day_on_which_it_opened),
        cmocka_unit_test(days_are_lists_ranges_and_all),
        cmocka_unit_test(without_a_schedule_nothing_fires),
        cmocka_unit_test(cron_has_lists_ranges_steps_and_names),
        cmocka_unit_test(one_of_two_days_is_enough_for_cron),
        cmocka_unit_test(cron_has_nicknames),
        cmocka_unit_test(rare_days_are_found_and_impossible_ones_are_not),
        cmocka_unit_test(a_time_in_the_gap_fires_after_it),
        cmocka_unit_test(a_repeated_time_fires_once),
        cmocka_unit_test(an_interval_skips_the_hour_that_the_clock_skips),
        cmocka_unit_test(a_beat_does_not_repeat_an_hour),
        cmocka_unit_test(a_day_that_is_left_out_fires_at_its_end),
        cmocka_unit_test(offsets_may_have_seconds),
        cmocka_unit_test(the_ends_of_time_break_nothing),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_part_of_a_calendar_is_checked_by_itself),
        cmocka_unit_test(long_mistakes_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
