// history_test.c - random histories through both stores: the same rows, the same core.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "both.h"
#include "model/history.h"
#include "seed.h"

enum { HISTORIES = 30 };

static void bytes_fill(uint8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void a_file_has_the_same_rows_as_memory(void **state)
{
    (void)state;
    static uint8_t bytes[HISTORY_BYTES];
    static struct history_stats stats;
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    assert_non_null(history);
    assert_non_null(model);
    uint32_t first = (uint32_t)seed_take();
    for (uint32_t seed = first; seed < first + HISTORIES; seed++) {
        struct history_setup setup = {.bytes = bytes, .size = sizeof bytes, .stats = &stats};
        bytes_fill(bytes, sizeof bytes, seed);
        bool agreed = history_run(history, model, &setup);
        if (*both_difference()) fail_msg("seed %u: %s", seed, both_difference());
        if (!agreed) fail_msg("seed %u: %s", seed, model->difference);
    }
    print_message("%llu turns\n", (unsigned long long)both_turns());
    assert_true(both_turns() > 1000);
    free(history);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_the_same_rows_as_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
