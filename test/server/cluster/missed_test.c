// missed_test.c - objects that cannot be fetched, or that have no hash.
#include "server/cluster/replicas.h"
#include "scene.h"

enum { ROUNDS = 40 };

static const rota_object_id object = {5, 1};

static struct wire_file file_of(void)
{
    struct wire_file file = {.kind = WIRE_FILE, .object = object, .bytes = 10};
    file.content = (struct rota_content){.kind = 'f', .hash = {1}};
    file.name = wire_text_of("made");
    file.path = wire_text_of("");
    return file;
}

static void joins_at(struct played *played, const char *address)
{
    struct wire_message message = join_of(1, NULL, 0);
    message.join.address = wire_text_of(address);
    assert_true(played_says(&peers, played, &message));
}

// Task 1 makes what task 2 reads.
static void submits_both(void)
{
    struct wire_use use = {.task = 2, .object = object};
    struct wire_make make = {.task = 1, .object = object};
    struct wire_submit submit = {.low = 7};
    submit.inputs = (wire_uses){&use, 1};
    submit.outputs = (wire_makes){&make, 1};
    assert_true(played_submits(&peers, &client, &submit, "true", 2, 0));
}

static void finishes(struct played *played, const struct wire_run *run, struct wire_file *file)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    message.finished.task = run->task;
    message.finished.attempt = run->attempt;
    message.finished.token = run->token;
    message.finished.reason = wire_text_of("");
    message.finished.end = WIRE_EXITED;
    message.finished.outputs = (wire_files){file, 1};
    assert_true(played_says(&peers, played, &message));
}

static void misses(struct played *played)
{
    struct wire_message message = {.kind = WIRE_MISSED_MESSAGE};
    message.missed.object = object;
    message.missed.reason = wire_text_of("");
    assert_true(played_says(&peers, played, &message));
}

// How often it was made: the attempts since the last turn, and their end.
static uint32_t works(struct played *played)
{
    struct wire_message message;
    uint32_t made = 0;
    while (played_hears_kind(played, WIRE_RUN_MESSAGE, &message)) {
        if (message.run.task.task != 1) continue;
        struct wire_file file = file_of();
        finishes(played, &message.run, &file);
        made++;
    }
    return made;
}

static void refuses_bytes(struct played *played)
{
    struct wire_message message = {.kind = WIRE_FORGED_MESSAGE};
    message.forged.object = object;
    message.forged.address = wire_text_of("maker:1");
    message.forged.reason = wire_text_of("");
    assert_true(played_says(&peers, played, &message));
}

enum fault { MISSES, REFUSES_FIRST };

// How often it is made in total.
static uint32_t made_in_all(enum fault fault)
{
    struct played other;
    uint32_t made = 0;
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "maker", 1);
    joins_at(&worker, "maker:1");
    submits_both();
    peers_turn(&peers);
    made += works(&worker);
    peers_turn(&peers);
    assert_int_equal(made, 1);
    played_open(&peers, &other, WIRE_WORKER);
    greets(&other, WIRE_WORKER, "reader", 1);
    joins_at(&other, "reader:1");
    if (fault == REFUSES_FIRST) refuses_bytes(&other);
    for (int i = 0; i < ROUNDS; i++) {
        misses(&other);
        peers_turn(&peers);
        made += works(&worker) + works(&other);
        peers_turn(&peers);
    }
    played_close(&peers, &other);
    return made;
}

static void an_unfetchable_object_is_produced_again_three_times(void **state)
{
    (void)state;
    assert_int_equal(made_in_all(MISSES), 1 + CLUSTER_REMADE_MAX);
}

static void an_object_with_refused_bytes_is_produced_again(void **state)
{
    (void)state;
    assert_int_equal(made_in_all(REFUSES_FIRST), 1 + 1 + CLUSTER_REMADE_MAX);
}

static void a_file_without_a_hash_fails(void **state)
{
    (void)state;
    struct wire_message message;
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "maker", 1);
    joins_at(&worker, "maker:1");
    submits_both();
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_RUN_MESSAGE, &message));
    struct wire_run run = message.run;
    struct wire_file file = file_of();
    file.content = (struct rota_content){0};
    finishes(&worker, &run, &file);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_NOW_RECORDED);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_unfetchable_object_is_produced_again_three_times, begin,
                                        end),
        cmocka_unit_test_setup_teardown(an_object_with_refused_bytes_is_produced_again, begin, end),
        cmocka_unit_test_setup_teardown(a_file_without_a_hash_fails, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
