// decide_test.c - whether a firing stages its task: overlaps, downtimes, clocks that jump.
#include "almanac.h"
#include "seed.h"

struct scene {
    struct almanac almanac;
    struct calendar_state state;
    struct calendar_rules rules;
    rota_time ended;
    bool active;
    struct calendar_decision last;
};

static void scene_open(struct scene *scene, const char *fields, const char *defined)
{
    memset(scene, 0, sizeof *scene);
    almanac_open(&scene->almanac, fields);
    scene->state = (struct calendar_state){at(defined), CALENDAR_NONE};
    scene->ended = CALENDAR_NONE;
}

// Decides at that second of a minute, and stores the new state.
static enum calendar_verdict look(struct scene *scene, const char *minute, int seconds)
{
    struct calendar_situation situation = {.now = at(minute) + (rota_time)seconds * 1000000,
                                           .ended = scene->ended,
                                           .active = scene->active};
    rota_time settled = scene->state.settled;
    scene->last
        = calendar_decide(&scene->almanac.calendar, &scene->state, &scene->rules, &situation);
    scene->state = scene->last.state;
    assert_true(scene->state.settled >= settled);
    if (scene->last.verdict == CALENDAR_STAGE) scene->active = true;
    return scene->last.verdict;
}

static void ends(struct scene *scene, const char *minute, int seconds)
{
    scene->active = false;
    scene->ended = at(minute) + (rota_time)seconds * 1000000;
}

#define expect(scene, minute, seconds, verdict)                                                    \
    assert_int_equal(look(scene, minute, seconds), CALENDAR_##verdict)

static void a_firing_is_staged_once_in_its_minute(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:00");
    expect(&scene, "2026-11-16 11:59", 59, NOTHING);
    assert_int_equal(scene.last.look_at, at("2026-11-16 12:00"));
    expect(&scene, "2026-11-16 12:00", 0, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:00"));
    assert_int_equal(scene.last.look_at, at("2026-11-17 12:00"));
    expect(&scene, "2026-11-16 12:00", 2, NOTHING);
    ends(&scene, "2026-11-16 12:00", 3);
    expect(&scene, "2026-11-16 12:00", 4, NOTHING);
    expect(&scene, "2026-11-16 12:00", 59, NOTHING);
    expect(&scene, "2026-11-16 12:01", 0, NOTHING);
    expect(&scene, "2026-11-17 12:00", 0, STAGE);
    almanac_close(&scene.almanac);
}

static void a_definition_made_in_its_minute_waits_for_the_next(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 12:00");
    scene.state.settled += 1;
    expect(&scene, "2026-11-16 12:00", 30, NOTHING);
    scene.state.settled = CALENDAR_NONE;  // a row that another program wrote
    expect(&scene, "2026-11-16 12:00", 30, STAGE);
    ends(&scene, "2026-11-16 12:00", 40);
    scene.state.settled = CALENDAR_NONE;
    expect(&scene, "2026-11-16 13:00", 0, NOTHING);
    assert_true(scene.last.missed == CALENDAR_NONE);
    almanac_close(&scene.almanac);
}

static void an_active_definition_skips(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "cron: * * * * *", "2026-11-16 11:59");
    expect(&scene, "2026-11-16 12:00", 0, STAGE);
    expect(&scene, "2026-11-16 12:01", 0, NOTHING);
    ends(&scene, "2026-11-16 12:01", 30);
    expect(&scene, "2026-11-16 12:01", 30, NOTHING);
    expect(&scene, "2026-11-16 12:02", 0, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:02"));
    almanac_close(&scene.almanac);
}

static void an_active_definition_queues_one(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00,12:05,12:10", "2026-11-16 11:59");
    scene.rules.overlap = CALENDAR_OVERLAP_QUEUE;
    expect(&scene, "2026-11-16 12:00", 0, STAGE);
    expect(&scene, "2026-11-16 12:05", 0, REMEMBER);
    expect(&scene, "2026-11-16 12:05", 30, NOTHING);
    expect(&scene, "2026-11-16 12:10", 0, NOTHING);
    ends(&scene, "2026-11-16 12:20", 20);
    expect(&scene, "2026-11-16 12:20", 20, NOTHING);
    assert_int_equal(scene.last.look_at, at("2026-11-16 12:21"));
    expect(&scene, "2026-11-16 12:21", 0, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:05"));
    ends(&scene, "2026-11-16 12:22", 0);
    expect(&scene, "2026-11-16 12:23", 0, NOTHING);
    almanac_close(&scene.almanac);
}

static void a_remembered_firing_precedes_a_new_one(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00,12:05,12:10", "2026-11-16 11:59");
    scene.rules.overlap = CALENDAR_OVERLAP_QUEUE;
    expect(&scene, "2026-11-16 12:00", 0, STAGE);
    expect(&scene, "2026-11-16 12:05", 0, REMEMBER);
    ends(&scene, "2026-11-16 12:09", 59);
    expect(&scene, "2026-11-16 12:10", 0, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:05"));
    assert_int_equal(scene.state.remembered, at("2026-11-16 12:10"));
    ends(&scene, "2026-11-16 12:11", 0);
    expect(&scene, "2026-11-16 12:12", 0, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:10"));
    almanac_close(&scene.almanac);
}

static void the_minute_of_the_last_end_holds_a_firing_up(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:50");
    ends(&scene, "2026-11-16 12:00", 1);
    expect(&scene, "2026-11-16 12:00", 2, NOTHING);
    expect(&scene, "2026-11-16 12:01", 0, NOTHING);
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:50");
    scene.rules.overlap = CALENDAR_OVERLAP_QUEUE;
    ends(&scene, "2026-11-16 12:00", 1);
    expect(&scene, "2026-11-16 12:00", 2, REMEMBER);
    expect(&scene, "2026-11-16 12:01", 0, STAGE);
    almanac_close(&scene.almanac);
}

// ---- Downtimes -------------------------------------------------------------

static void missed_firings_are_skipped(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:00");
    expect(&scene, "2026-11-19 09:00", 0, NOTHING);
    assert_int_equal(scene.last.missed, at("2026-11-16 12:00"));
    expect(&scene, "2026-11-19 09:00", 1, NOTHING);
    assert_true(scene.last.missed == CALENDAR_NONE);
    scene.rules.catch_up = CALENDAR_CATCH_UP_ONCE;  // too late for those
    expect(&scene, "2026-11-19 09:01", 0, NOTHING);
    expect(&scene, "2026-11-19 12:00", 0, STAGE);
    almanac_close(&scene.almanac);
}

static void one_run_makes_up_for_all_that_was_missed(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:00");
    scene.rules.catch_up = CALENDAR_CATCH_UP_ONCE;
    expect(&scene, "2026-11-19 09:00", 10, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-16 12:00"));
    ends(&scene, "2026-11-19 09:00", 20);
    expect(&scene, "2026-11-19 09:05", 0, NOTHING);
    expect(&scene, "2026-11-19 12:00", 0, STAGE);
    almanac_close(&scene.almanac);
}

static void one_firing_replaces_the_missed_ones(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "start_times: 12:00", "2026-11-16 11:00");
    scene.rules.catch_up = CALENDAR_CATCH_UP_ONCE;
    expect(&scene, "2026-11-19 12:00", 10, STAGE);
    assert_int_equal(scene.last.firing, at("2026-11-19 12:00"));
    assert_int_equal(scene.last.missed, at("2026-11-16 12:00"));
    ends(&scene, "2026-11-19 12:10", 0);
    expect(&scene, "2026-11-19 12:11", 0, NOTHING);
    almanac_close(&scene.almanac);
}

// ---- Clocks that jump (G19) --------------------------------------------------

static void a_clock_set_back_fires_nothing_again(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, "cron: */5 * * * *", "2026-11-16 11:58");
    expect(&scene, "2026-11-16 12:00", 0, STAGE);
    ends(&scene, "2026-11-16 12:02", 0);
    expect(&scene, "2026-11-16 12:05", 0, STAGE);
    ends(&scene, "2026-11-16 12:06", 0);
    expect(&scene, "2026-11-16 11:55", 0, NOTHING);
    assert_int_equal(scene.last.look_at, at("2026-11-16 12:10"));
    expect(&scene, "2026-11-16 12:00", 0, NOTHING);
    expect(&scene, "2026-11-16 12:05", 10, NOTHING);
    expect(&scene, "2026-11-16 12:10", 0, STAGE);
    almanac_close(&scene.almanac);
}

static void a_random_clock_fires_each_minute_at_most_once(void **state)
{
    (void)state;
    struct scene scene;
    uint64_t dice = seed_take();
    int staged = 0;
    rota_time before = CALENDAR_NONE, now = at("2026-11-16 12:00");
    scene_open(&scene, "cron: */3 * * * *", "2026-11-16 11:58");
    for (int i = 0; i < 200000; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        int64_t jump = (int64_t)(dice >> 33) % 101 - 40;
        now += jump * 1000000 * (i % 97 ? 1 : 50);
        struct calendar_situation situation = {now, scene.ended, false};
        struct calendar_decision decision
            = calendar_decide(&scene.almanac.calendar, &scene.state, &scene.rules, &situation);
        if (decision.verdict == CALENDAR_STAGE) {
            assert_true(decision.firing > before);
            before = decision.firing;
            scene.ended = now + 1;
            staged++;
        }
        scene.state = decision.state;
    }
    assert_true(staged > 1000);
    almanac_close(&scene.almanac);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_firing_is_staged_once_in_its_minute),
        cmocka_unit_test(a_definition_made_in_its_minute_waits_for_the_next),
        cmocka_unit_test(an_active_definition_skips),
        cmocka_unit_test(an_active_definition_queues_one),
        cmocka_unit_test(a_remembered_firing_precedes_a_new_one),
        cmocka_unit_test(the_minute_of_the_last_end_holds_a_firing_up),
        cmocka_unit_test(missed_firings_are_skipped),
        cmocka_unit_test(one_run_makes_up_for_all_that_was_missed),
        cmocka_unit_test(one_firing_replaces_the_missed_ones),
        cmocka_unit_test(a_clock_set_back_fires_nothing_again),
        cmocka_unit_test(a_random_clock_fires_each_minute_at_most_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
