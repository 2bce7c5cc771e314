// calendar_random_test.c - random calendars against a reference that walks minute by minute.
#include "almanac.h"
#include "seed.h"

#include <time.h>

enum { WEEK = 7, WALK_DAYS = 20, CALENDARS = 500, HOURS = 24, DAY = 24 * 60 };

// A calendar in its plainest form: the reference reads only this.
struct plan {
    char text[2048];
    enum calendar_kind kind;
    bool minute[60], hour[HOURS], month_day[32], month[13], week_day[WEEK];
    bool free_month_day, free_week_day;
    bool time[DAY];  // batch
    int open, close;
    // The zone: changes of its own, or a rule that the C library knows too.
    const char *rule;
    struct almanac_change changes[8];
    uint32_t change_count;
    int32_t first_offset;
};

static uint64_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice_state >> 33) % sides);
}

// ---- Making plans ----------------------------------------------------------

static void say(struct plan *plan, const char *format, ...)
{
    size_t length = strlen(plan->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plan->text + length, sizeof plan->text - length, format, arguments);
    va_end(arguments);
}

// A list of numbers, or a star for all of them. Returns whether it is a star.
static bool choose(struct plan *plan, bool *set, uint32_t min, uint32_t max, uint32_t most)
{
    bool all = dice(3) == 0;
    for (uint32_t i = min; all && i <= max; i++) set[i] = true;
    if (all) say(plan, "*");
    for (uint32_t i = 0, count = 1 + dice(most); !all && i < count; i++) {
        uint32_t value = min + dice(max - min + 1);
        set[value] = true;
        say(plan, "%s%u", i ? "," : "", value);
    }
    return all;
}

static void plan_cron(struct plan *plan)
{
    choose(plan, plan->minute, 0, 59, 3);
    say(plan, " ");
    choose(plan, plan->hour, 0, 23, 4);
    say(plan, " ");
    plan->free_month_day = choose(plan, plan->month_day, 1, 31, 3);
    say(plan, " ");
    choose(plan, plan->month, 1, 12, 8);
    say(plan, " ");
    plan->free_week_day = choose(plan, plan->week_day, 0, 6, 2);
}

static void plan_days(struct plan *plan)
{
    static const char *const names[] = {"su", "mo", "tu", "we", "th", "fr", "sa"};
    for (uint32_t i = 0, count = 1 + dice(4); i < count; i++) {
        uint32_t day = dice(WEEK);
        plan->week_day[day] = true;
        say(plan, "%s%s", i ? "," : "", names[day]);
    }
}

static uint32_t plan_time(struct plan *plan)
{
    uint32_t minute = dice(2) ? dice(DAY) : dice(5 * 60);  // clocks are set at night
    say(plan, "%02u:%02u", minute / 60, minute % 60);
    return minute;
}

static void plan_zone(struct plan *plan, rota_time around)
{
    static const char *const names[]
        = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago"};
    plan->rule = "";
    if (dice(2)) {
        plan->rule = almanac_rule(names[dice(4)]);
        return;
    }
    plan->first_offset = 1800 * ((int32_t)dice(49) - 24);
    int64_t second = around / 1000000 / 60 * 60 - 10 * 86400;
    for (plan->change_count = 0; plan->change_count < dice(8); plan->change_count++) {
        second += 60 * (1 + dice(5) * dice(2000));
        int32_t offset = 1800 * ((int32_t)dice(49) - 24);
        plan->changes[plan->change_count] = (struct almanac_change){second, offset};
    }
}

static struct calendar_fields plan_make(struct plan *plan, rota_time around, char parts[3][1024])
{
    struct calendar_fields fields = {0};
    memset(plan, 0, sizeof *plan);
    plan->kind = (enum calendar_kind)(CALENDAR_BATCH + dice(3));
    if (plan->kind == CALENDAR_CRON)
        plan_cron(plan);
    else
        plan_days(plan);
    snprintf(parts[0], 1024, "%.1000s", plan->text);
    plan->text[0] = 0;
    for (uint32_t i = 0; plan->kind == CALENDAR_BATCH && i < 3; i++) {
        say(plan, "%s", i ? "," : "");
        plan->time[plan_time(plan)] = true;
    }
    if (plan->kind == CALENDAR_WINDOW) {
        plan->open = (int)plan_time(plan);
        say(plan, "-");
        plan->close = (int)plan_time(plan);
    }
    snprintf(parts[1], 1024, "%.1000s", plan->text);
    plan->text[0] = 0;
    while (plan->kind == CALENDAR_WINDOW && choose(plan, plan->minute, 0, 59, 4)) {
        memset(plan->minute, 0, sizeof plan->minute);  // start_mins has no star
        plan->text[0] = 0;
    }
    snprintf(parts[2], 1024, "%.1000s", plan->text);
    if (plan->kind == CALENDAR_CRON)
        fields.cron = parts[0];
    else
        fields.run_days = parts[0];
    if (plan->kind == CALENDAR_BATCH) fields.start_times = parts[1];
    if (plan->kind == CALENDAR_WINDOW) {
        fields.run_window = parts[1];
        fields.start_mins = parts[2];
    }
    plan_zone(plan, around);
    return fields;
}

// ---- The reference ---------------------------------------------------------

static bool cron_says(const struct plan *plan, const struct tm *tm)
{
    bool month_day = plan->month_day[tm->tm_mday], week_day = plan->week_day[tm->tm_wday];
    bool day = plan->free_month_day || plan->free_week_day ? month_day && week_day
                                                           : month_day || week_day;
    return plan->minute[tm->tm_min] && plan->hour[tm->tm_hour] && plan->month[tm->tm_mon + 1]
           && day;
}

static bool window_says(const struct plan *plan, const struct tm *tm)
{
    int minute = tm->tm_hour * 60 + tm->tm_min, yesterday = (tm->tm_wday + 6) % WEEK;
    if (!plan->minute[tm->tm_min]) return false;
    if (plan->open <= plan->close)
        return plan->week_day[tm->tm_wday] && minute >= plan->open && minute <= plan->close;
    if (minute >= plan->open) return plan->week_day[tm->tm_wday];
    return minute <= plan->close && plan->week_day[yesterday];
}

static bool plan_says(const struct plan *plan, time_t local)
{
    struct tm tm;
    gmtime_r(&local, &tm);
    if (plan->kind == CALENDAR_CRON) return cron_says(plan, &tm);
    if (plan->kind == CALENDAR_WINDOW) return window_says(plan, &tm);
    return plan->week_day[tm.tm_wday] && plan->time[tm.tm_hour * 60 + tm.tm_min];
}

static bool plan_is_beat(const struct plan *plan)
{
    int hours = 0;
    for (int i = 0; i < HOURS; i++) hours += plan->hour[i];
    return plan->kind == CALENDAR_WINDOW || (plan->kind == CALENDAR_CRON && hours == HOURS);
}

static int32_t plan_offset(const struct plan *plan, time_t second)
{
    if (*plan->rule) {
        struct tm tm;
        localtime_r(&second, &tm);
        return (int32_t)tm.tm_gmtoff;
    }
    int32_t offset = plan->first_offset;
    for (uint32_t i = 0; i < plan->change_count && plan->changes[i].at <= second; i++)
        offset = plan->changes[i].offset;
    return offset;
}

// Walks through the minutes from days before `after`, and says what the clock passes for the first
// time. -1: nothing for a while.
static int64_t walk(const struct plan *plan, int64_t after)
{
    int64_t second = after - 5 * 86400, highest = 0;
    second -= second % 60;
    bool first = true, beat = plan_is_beat(plan);
    for (; second < after + (int64_t)WALK_DAYS * 86400; second += 60) {
        int64_t local = second + plan_offset(plan, second);
        if (first) highest = local;
        first = false;
        bool fires = false;
        for (int64_t passed = highest + 60; passed <= local; passed += 60)
            if (!beat || passed == local) fires |= plan_says(plan, passed);
        if (local > highest) highest = local;
        if (fires && second > after) return second;
    }
    return -1;
}

// ---- The comparison --------------------------------------------------------

static void compare(const struct plan *plan, const struct calendar *calendar, char parts[3][1024],
                    int64_t after, uint64_t seed)
{
    int64_t wanted = walk(plan, after);
    rota_time found = calendar_next(calendar, after * 1000000 + (rota_time)dice(1000000));
    bool far = found == ROTA_NEVER || found / 1000000 >= after + (int64_t)WALK_DAYS * 86400;
    if (wanted < 0 ? far : !far && found == wanted * 1000000) return;
    fail_msg("seed %llu: [%s] [%s] [%s] rule [%s] %u changes after %lld: %lld, should be %lld",
             (unsigned long long)seed, parts[0], parts[1], parts[2], plan->rule, plan->change_count,
             (long long)after, (long long)(found / 1000000), (long long)wanted);
}

static void compare_random(uint64_t seed)
{
    static const char *const moments[]
        = {"2026-03-29 01:00", "2026-10-25 01:00", "2026-03-08 07:00", "2026-11-01 06:00",
           "2026-04-05 03:00", "2026-09-06 04:00", "2028-02-29 00:00", "2040-12-31 23:00"};
    struct plan plan;
    struct calendar calendar;
    struct calendar_error error;
    char parts[3][1024];
    dice_state = seed * 0x9e3779b97f4a7c15u;
    rota_time around = at(moments[dice(8)]);
    struct calendar_fields fields = plan_make(&plan, around, parts);
    if (!calendar_parse(&fields, &calendar, &error)) {
        assert_string_equal(error.reason, "no minute is inside the window");
        return;
    }
    setenv("TZ", plan.rule, 1);
    tzset();
    struct zone *zone = almanac_zone(plan.changes, plan.change_count, plan.first_offset, plan.rule);
    calendar.zone = zone;
    int64_t after = around / 1000000 - (int64_t)dice(2 * 86400);
    for (int i = 0; i < 4; i++) {
        compare(&plan, &calendar, parts, after, seed);
        rota_time next = calendar_next(&calendar, after * 1000000);
        after = next == ROTA_NEVER || dice(3) == 0 ? after + dice(86400) : next / 1000000;
    }
    zone_close(zone);
}

static void random_calendars_fire_when_the_clock_gets_there(void **state)
{
    (void)state;
    uint64_t first = seed_take();
    for (uint64_t seed = first; seed < first + CALENDARS; seed++) compare_random(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calendars_fire_when_the_clock_gets_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
