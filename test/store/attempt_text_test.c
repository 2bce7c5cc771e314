// attempt_text_test.c - the text for the end of an attempt, which all commands share.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/store.h"

static void expect(struct store_attempt_end end, const char *wanted)
{
    char text[80];
    store_attempt_text(&end, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void every_end_has_its_text(void **state)
{
    (void)state;
    expect((struct store_attempt_end){.end = "exit", .status = 2}, "exit 2");
    expect((struct store_attempt_end){.end = "signal", .status = 9}, "signal 9 (Killed)");
    expect((struct store_attempt_end){.end = "signal", .status = 11, .flags = STORE_CORE_DUMPED},
           "signal 11 (Segmentation fault, core dumped)");
    expect((struct store_attempt_end){.end = "timeout", .status = 15}, "timed out");
    expect((struct store_attempt_end){.end = "memory"}, "out of memory");
    expect((struct store_attempt_end){.end = "stopped"}, "stopped");
    expect((struct store_attempt_end){.end = "", .otherwise = "LOST"}, "LOST");
}

static void a_reason_follows_or_stands_alone(void **state)
{
    (void)state;
    expect((struct store_attempt_end){.end = "exit", .status = 1, .reason = "it is late"},
           "exit 1: it is late");
    expect((struct store_attempt_end){.end = "not_started", .reason = "no such command"},
           "no such command");
    expect((struct store_attempt_end){.end = "exit", .status = 1, .reason = ""}, "exit 1");
}

static void a_number_keeps_the_kind_of_an_end(void **state)
{
    (void)state;
    static const char *const ends[] = {"exit", "signal", "timeout", "memory", "not_started",
                                       "output", "input"};
    static const char *const texts[]
        = {"exit 9", "signal 9 (Killed)", "timed out", "out of memory", "not started",
           "an output is missing or invalid", "an input is missing or invalid"};
    for (int32_t i = 0; i < 7; i++) {
        int32_t number = store_status_make(ends[i], 9);
        assert_int_equal(number, 256 * i + 9);
        expect(store_status_read(number), texts[i]);
    }
    assert_int_equal(store_status_make("stopped", 9), 9);
    expect(store_status_read(-1), "exit -1");
    expect(store_status_read(1 << 20), "exit 1048576");
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    (void)state;
    char text[8];
    struct store_attempt_end end = {.end = "exit", .status = 100, .reason = "too long"};
    store_attempt_text(&end, text, sizeof text);
    assert_string_equal(text, "exit 10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_has_its_text),
        cmocka_unit_test(a_reason_follows_or_stands_alone),
        cmocka_unit_test(a_number_keeps_the_kind_of_an_end),
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
