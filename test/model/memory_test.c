// memory_test.c - memory may be refused at any time: the step changes nothing, and can be repeated.
//
// Histories with all features run with an allocator that refuses the k-th request, for every k
// until a run has no request to refuse, or for some k if there are very many. Core and model must
// agree all the time, and the end is the same, except for the numbers of turns if a plan had to
// continue in another turn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "history.h"
#include "seed.h"

enum { REFUSALS_MAX = 150 };

struct allocator {
    uint64_t requests, refuse_at;  // refuse_at 0: never
    size_t bytes;                  // allocated and not freed
};

static void *allocator_resize(void *context, void *old, size_t old_size, size_t new_size)
{
    struct allocator *allocator = context;
    if (new_size == 0) {
        allocator->bytes -= old_size;
        free(old);
        return NULL;
    }
    if (++allocator->requests == allocator->refuse_at) return NULL;
    void *new = realloc(old, new_size);
    if (new) allocator->bytes = allocator->bytes - old_size + new_size;
    return new;
}

// A choice stream with every feature on; the rest comes from the seed.
static void bytes_fill(uint8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (size_t i = 0; i < FEATURES; i++) bytes[i] = 1;
}

static uint64_t run(struct history *history, struct model *model, const uint8_t *bytes, size_t size,
                    struct allocator *allocator)
{
    static struct history_stats stats;
    struct history_setup setup = {.bytes = bytes,
                                  .size = size,
                                  .stats = &stats,
                                  .resize = allocator_resize,
                                  .resize_context = allocator};
    if (!history_run(history, model, &setup)) {
        fail_msg("request %llu refused: %s", (unsigned long long)allocator->refuse_at,
                 model->difference);
    }
    if (allocator->bytes) fail_msg("%zu bytes were not given back", allocator->bytes);
    return history->digest;
}

static void memory_may_be_refused_at_any_moment(void **state)
{
    (void)state;
    static uint8_t bytes[HISTORY_BYTES];
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    assert_non_null(history);
    assert_non_null(model);
    uint64_t refused = 0;
    uint32_t first = (uint32_t)seed_take();
    for (uint32_t seed = first; seed < first + 3; seed++) {
        bytes_fill(bytes, sizeof bytes, seed);
        struct allocator allocator = {0};
        uint64_t digest = run(history, model, bytes, sizeof bytes, &allocator);
        assert_int_equal(history->refusals, 0);
        uint64_t requests = allocator.requests;
        uint32_t turns = history->turns;
        uint64_t step = 1 + requests / REFUSALS_MAX;  // some histories ask for a lot
        for (uint64_t at = 1 + first % step; at <= requests; at += step) {
            allocator = (struct allocator){.refuse_at = at};
            uint64_t end = run(history, model, bytes, sizeof bytes, &allocator);
            if (end != digest && history->turns == turns) {
                fail_msg("seed %u, request %llu: another end", seed, (unsigned long long)at);
            }
            refused += history->refusals;
        }
    }
    print_message("%llu steps were refused memory\n", (unsigned long long)refused);
    assert_true(refused > 0);
    free(history);
    free(model);
}

static void a_core_that_cannot_open_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t at = 1;; at++) {
        struct allocator allocator = {.refuse_at = at};
        struct rota_config config = rota_config_default();
        config.resize = allocator_resize;
        config.resize_context = &allocator;
        struct rota *rota = NULL;
        enum rota_error error = rota_open(&config, &rota);
        rota_close(rota);
        assert_int_equal(allocator.bytes, 0);
        if (error == ROTA_OK) break;
        assert_int_equal(error, ROTA_NO_MEMORY);
    }
    rota_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_that_cannot_open_leaves_nothing),
        cmocka_unit_test(memory_may_be_refused_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
