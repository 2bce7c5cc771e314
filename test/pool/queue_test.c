// queue_test.c - queues shared by threads.
#include "scene.h"

#include "rota_queue.h"

#include <assert.h>

static void first_in_first_out(void **state)
{
    (void)state;
    struct rota_queue *queue;
    static char items[100];
    void *item = NULL;
    assert_int_equal(rota_queue_open(0, &queue), ROTA_OK);
    assert_int_equal(rota_queue_take(queue, &item, 0), ROTA_NOT_NOW);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rota_queue_put(queue, &items[i], 0), ROTA_OK);
        if (i % 3 == 0) {  // so that the ring turns
            assert_int_equal(rota_queue_take(queue, &item, 0), ROTA_OK);
            assert_ptr_equal(item, &items[i / 3]);
        }
    }
    for (int i = 34; i < 100; i++) {
        assert_int_equal(rota_queue_count(queue), (uint32_t)(100 - i));
        assert_int_equal(rota_queue_take(queue, &item, 0), ROTA_OK);
        assert_ptr_equal(item, &items[i]);
    }
    rota_queue_close(queue);
    rota_queue_close(NULL);
}

static void a_bound_holds(void **state)
{
    (void)state;
    struct rota_queue *queue;
    int thing;
    void *item;
    assert_int_equal(rota_queue_open(2, &queue), ROTA_OK);
    assert_int_equal(rota_queue_put(queue, &thing, 0), ROTA_OK);
    assert_int_equal(rota_queue_put(queue, &thing, 0), ROTA_OK);
    assert_int_equal(rota_queue_put(queue, &thing, 0), ROTA_NOT_NOW);
    assert_int_equal(rota_queue_put(queue, &thing, 1000), ROTA_NOT_NOW);
    assert_int_equal(rota_queue_take(queue, &item, 0), ROTA_OK);
    assert_int_equal(rota_queue_put(queue, &thing, 0), ROTA_OK);
    rota_queue_end(queue);
    assert_false(rota_queue_has_ended(queue));
    assert_int_equal(rota_queue_put(queue, &thing, ROTA_NEVER), ROTA_NOT_NOW);
    assert_int_equal(rota_queue_take(queue, &item, ROTA_NEVER), ROTA_OK);
    assert_int_equal(rota_queue_take(queue, &item, ROTA_NEVER), ROTA_OK);
    assert_int_equal(rota_queue_take(queue, &item, ROTA_NEVER), ROTA_NOT_NOW);
    assert_true(rota_queue_has_ended(queue));
    rota_queue_close(queue);
}

// ---- Many threads: each item arrives once, those of one thread in order ----------------------

enum { EACH = 3000, THREADS = 4 };

struct side {
    struct rota_queue *queue;
    uint32_t number, count;
    bool puts, broken;
};

static uint32_t items[THREADS][EACH];

static void *use(void *argument)
{
    struct side *side = argument;
    uint32_t last[THREADS] = {0};
    void *item;
    for (uint32_t i = 0; side->puts && i < EACH; i++) {
        items[side->number][i] = side->number * EACH + i;
        enum rota_error error = rota_queue_put(side->queue, &items[side->number][i], ROTA_NEVER);
        assert(error == ROTA_OK);
    }
    while (!side->puts && rota_queue_take(side->queue, &item, ROTA_NEVER) == ROTA_OK) {
        uint32_t number = *(uint32_t *)item;
        side->broken |= number % EACH < last[number / EACH];
        last[number / EACH] = number % EACH;
        side->count++;
    }
    return NULL;
}

static void *end_it(void *argument)
{
    struct side *sides = argument;
    threads_run(THREADS, use, sides, sizeof *sides);
    rota_queue_end(sides->queue);
    return NULL;
}

static void every_item_arrives_once_and_in_order(void **state)
{
    (void)state;
    for (uint32_t bound = 0; bound < 8; bound += 7) {
        struct side sides[2 * THREADS];
        struct rota_queue *queue;
        assert_int_equal(rota_queue_open(bound, &queue), ROTA_OK);
        for (uint32_t i = 0; i < 2 * THREADS; i++)
            sides[i] = (struct side){queue, i % THREADS, 0, i < THREADS, false};
        pthread_t ender;
        assert_int_equal(pthread_create(&ender, NULL, end_it, sides), 0);
        threads_run(THREADS, use, sides + THREADS, sizeof *sides);
        pthread_join(ender, NULL);
        uint32_t sum = 0;
        for (uint32_t i = THREADS; i < 2 * THREADS; i++) {
            assert_false(sides[i].broken);
            sum += sides[i].count;
        }
        assert_int_equal(sum, THREADS * EACH);
        rota_queue_close(queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(a_bound_holds),
        cmocka_unit_test(every_item_arrives_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
