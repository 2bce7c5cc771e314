// attempt_text_test.c - one text for the end of an attempt, wherever it is shown.
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
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
