// zone_fuzz.c - libFuzzer writes a zone file; any accepted zone gives consistent times.
#include <assert.h>

#include "job/calendar/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void span_check(const struct zone *zone, int64_t second)
{
    struct zone_span span = zone_span_at(zone, second);
    assert(span.from <= second);
    assert(span.to > second);
    int64_t highest = zone_highest(zone, second);
    assert(highest >= second + span.offset);
    assert(zone_reach(zone, highest) <= second);
    assert(zone_reach(zone, highest + 1) > second);
}

static void calendar_follow(const struct zone *zone, const char *cron, rota_time after)
{
    const struct calendar_fields fields = {.cron = cron};
    struct calendar calendar;
    struct calendar_error error;
    bool good = calendar_parse(&fields, &calendar, &error);
    assert(good);
    calendar.zone = zone;
    for (int i = 0; i < 8 && after != ROTA_NEVER; i++) {
        rota_time next = calendar_next(&calendar, after);
        assert(next > after);
        after = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *reason = "";
    struct zone *zone = zone_parse(data, size, &reason);
    assert(!zone == !!reason);
    if (!zone) return 0;
    int64_t second = -ZONE_FAR / 2;
    for (int i = 0; i < 64 && second < ZONE_FAR / 2; i++) {
        span_check(zone, second);
        second = zone_span_at(zone, second).to;
    }
    for (int year = 1900; year < 2200; year += 7)
        span_check(zone, date_to_day((struct date){year, 1 + year % 12, 1}) * DAY_SECONDS);
    calendar_follow(zone, "30 2 * * *", 0);
    calendar_follow(zone, "*/7 * * * *", (rota_time)1774746000 * SECOND_TIME);
    zone_close(zone);
    return 0;
}
