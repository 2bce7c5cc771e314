// upload_test.c - how long the server's own store keeps uploads and copies.
#include "scene.h"

#include "net/wire/wire.h"
#include "server/cluster/objects.h"

static struct played object_store;
static const rota_time hour = 3600 * (rota_time)1000000;

static void object_store_has(rota_object_id object)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    struct wire_file file = {.kind = WIRE_FILE, .object = object, .bytes = 10};
    file.name = file.path = wire_text_of("");
    message.held.objects = (wire_files){&file, 1};
    assert_true(played_says(&peers, &object_store, &message));
}

// Whether the store is told to remove it within two hours, while the job that uses it exists: as an
// upload (task 0), or as the output of a task. In the core both are objects of the job.
static bool is_dropped(rota_object_id object, uint32_t task)
{
    struct wire_message message;
    played_open(&peers, &object_store, WIRE_WORKER);
    cluster_object_store_set(&peers.cluster, object_store.peer);
    object_store_has(object);
    struct wire_make make = {.task = task, .object = object, .bytes = 10};
    struct wire_submit submit = {.low = 7};
    submit.outputs = (wire_makes){&make, 1};
    greets(&client, WIRE_CLIENT, "client", 0);
    assert_true(played_submits(&peers, &client, &submit, "true", 1, 0));
    peers_turn(&peers);
    peers.now += 2 * hour;
    peers_turn(&peers);
    peers_turn(&peers);
    bool is_told = played_hears_kind(&object_store, WIRE_DROP_MESSAGE, &message);
    cluster_object_store_set(&peers.cluster, NULL);
    played_close(&peers, &object_store);
    return is_told;
}

static void an_upload_stays_as_long_as_its_job(void **state)
{
    (void)state;
    assert_false(is_dropped(wire_upload((struct request_id){1, 7}, 1), 0));
}

static void a_copy_of_an_output_goes(void **state)
{
    (void)state;
    assert_true(is_dropped((rota_object_id){1 ^ 7, 2ull << 32 | 1}, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_upload_stays_as_long_as_its_job, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_of_an_output_goes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
