// fault_test.c - a disk that fails, fills up or loses power at every single operation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "both.h"
#include "fault_vfs.h"
#include "scene.h"
#include "seed.h"

static char path[128], ballast[160];
static bool ahead;

static struct scene scene_make(uint64_t ballast_bytes)
{
    struct scene scene = {.path = path, .ahead = ahead};
    scene.options = store_options_default();
    scene.options.vfs = fault_vfs_register();
    scene.options.ballast_bytes = ballast_bytes;
    scene.options.wal_pages = 24;  // small, so that the log is folded now and then
    return scene;
}

static void judge(const struct scene *scene, const char *what, uint64_t at)
{
    const char *wrong = scene_judge(scene);
    if (wrong) fail_msg("%s at operation %llu: %s", what, (unsigned long long)at, wrong);
}

static void at_every_operation_of(struct fault like, const char *what)
{
    uint64_t at = 1, seed = seed_take();
    for (bool happened = true; happened; at++) {
        struct scene scene = scene_make(0);
        like.at = at;
        like.seed = seed + at * 77;
        fault_begin(like);
        bool fine = scene_run(&scene);
        happened = fault.happened;
        if (fault_header_is_late) fail_msg("frames of a restarted log before its header");
        fault_power_returns();
        if (!happened && !fine) fail_msg("%s", scene.error.text);
        if (!fine && scene.tried) assert_int_equal(store_exit_status(&scene.error), 70);
        judge(&scene, what, at);
    }
    print_message("%s: %llu operations\n", what, (unsigned long long)at - 1);
    assert_true(at > 40);
    both_remove(path);
}

// The same story again and again, each time with the fault one operation later; on a disk like
// most, and on one where SQLite has to be more careful.
static void at_every_operation(struct fault like, const char *what)
{
    at_every_operation_of(like, what);
    like.harms = true;
    at_every_operation_of(like, what);
}

static void a_failed_operation_stops_the_store_and_loses_nothing(void **state)
{
    (void)state;
    at_every_operation((struct fault){.kind = FAULT_ERROR}, "an error");
}

static void acknowledged_turns_survive_a_crash(void **state)
{
    (void)state;
    at_every_operation((struct fault){.kind = FAULT_NO_POWER, .loss = LOSS_NONE}, "a crash");
}

static void acknowledged_turns_survive_if_no_unsynced_write_reached_the_disk(void **state)
{
    (void)state;
    at_every_operation((struct fault){.kind = FAULT_NO_POWER, .loss = LOSS_ALL}, "all lost");
}

static void acknowledged_turns_survive_torn_and_reordered_writes(void **state)
{
    (void)state;
    at_every_operation((struct fault){.kind = FAULT_NO_POWER, .loss = LOSS_SOME}, "some lost");
}

static void settled_turns_survive_while_later_turns_are_written(void **state)
{
    ahead = true;
    a_failed_operation_stops_the_store_and_loses_nothing(state);
    acknowledged_turns_survive_a_crash(state);
    acknowledged_turns_survive_if_no_unsynced_write_reached_the_disk(state);
    acknowledged_turns_survive_torn_and_reordered_writes(state);
    ahead = false;
}

static void a_full_disk_costs_the_ballast(bool harms)
{
    bool happened = true, ever = false;
    for (uint64_t at = 1; happened; at++) {
        struct scene scene = scene_make(1 << 16);
        fault_begin(
            (struct fault){.kind = FAULT_FULL, .at = at, .ballast = ballast, .harms = harms});
        bool fine = scene_run(&scene);
        happened = fault.happened;
        ever |= happened;
        fault_begin((struct fault){0});
        if (!fine && scene.tried)
            fail_msg("operation %llu: %s", (unsigned long long)at, scene.error.text);
        judge(&scene, "a full disk", at);
    }
    assert_true(ever);
    both_remove(path);
}

static void a_full_disk_costs_the_ballast_and_nothing_else(void **state)
{
    (void)state;
    a_full_disk_costs_the_ballast(false);
    a_full_disk_costs_the_ballast(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_operation_stops_the_store_and_loses_nothing),
        cmocka_unit_test(acknowledged_turns_survive_a_crash),
        cmocka_unit_test(acknowledged_turns_survive_if_no_unsynced_write_reached_the_disk),
        cmocka_unit_test(acknowledged_turns_survive_torn_and_reordered_writes),
        cmocka_unit_test(settled_turns_survive_while_later_turns_are_written),
        cmocka_unit_test(a_full_disk_costs_the_ballast_and_nothing_else),
    };
    snprintf(path, sizeof path, "%s/rota-fault-%ld", both_folder(), (long)getpid());
    snprintf(ballast, sizeof ballast, "%s-ballast", path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
