// restore_test.c - the records of a restored core.
#include "story.h"

// The last records of workers: orders[id] is the place of a worker, 0 if it was removed.
static void orders_read(struct rota *rota, uint32_t *orders)
{
    struct rota_effects effects;
    do {
        effects = rota_take(rota);
        for (uint32_t i = 0; i < effects.record_count; i++) {
            const struct rota_record *record = &effects.records[i];
            if (record->kind != ROTA_RECORD_WORKER) continue;
            orders[record->worker.id.number] = record->gone ? 0 : record->worker.order;
        }
    } while (effects.more);
}

static void a_worker_that_joins_after_a_restore_is_last_in_order(void **state)
{
    (void)state;
    struct rota_config config = rota_config_default();
    struct rota_record records[2] = {{.kind = ROTA_RECORD_WORKER}, {.kind = ROTA_RECORD_WORKER}};
    struct rota_event restore = {.kind = ROTA_EVENT_RESTORE};
    struct rota_event joined = {.kind = ROTA_EVENT_WORKER_JOINED};
    struct rota *rota = NULL;
    uint32_t orders[8] = {0};
    for (uint32_t i = 0; i < 2; i++) {  // the first to join has already left
        records[i].worker.id.number = 5 + i;
        records[i].worker.cores = 1;
        records[i].worker.order = orders[5 + i] = 2 + i;
        records[i].worker.silent_since = ROTA_NEVER;
    }
    restore.restore.records = records;
    restore.restore.count = 2;
    assert_int_equal(rota_open(&config, &rota), ROTA_OK);
    assert_int_equal(rota_step(rota, &restore), ROTA_OK);
    joined.worker.id.number = 1;
    joined.worker.cores = 1;
    assert_int_equal(rota_step(rota, &joined), ROTA_OK);
    orders_read(rota, orders);
    assert_true(orders[5] < orders[6]);
    assert_true(orders[6] < orders[1]);
    rota_close(rota);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_joins_after_a_restore_is_last_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
