// read_test.c - a client that asks for several objects at once.
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"
#include "scene.h"

enum { GOOD = 1, BAD };

static rota_object_id object_of(uint32_t task)
{
    return (rota_object_id){1, task};
}

// The first task makes the good object, the second one the bad one.
static void job_of_two(void)
{
    struct wire_make outputs[] = {{.task = 1, .object = object_of(GOOD), .flags = ROTA_OBJECT_KEEP},
                                  {.task = 2, .object = object_of(BAD), .flags = ROTA_OBJECT_KEEP}};
    struct wire_submit submit = {.low = 7, .outputs = {outputs, 2}};
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "one", 1);
    struct wire_message join = join_of(2, NULL, 0);
    join.join.address = wire_text_of("/a/socket");
    assert_true(played_says(&peers, &worker, &join));
    peers_turn(&peers);
    assert_true(played_submits(&peers, &client, &submit, command, 2, 0));
    assert_int_not_equal(accepted(), 0);
    client.peer->id[0] = 0;  // it is on this machine
}

static void asks(uint64_t low, uint32_t task, enum wire_data_verb verb)
{
    struct wire_message message = {.kind = WIRE_DATA_MESSAGE};
    message.data.high = 1;
    message.data.low = low;
    message.data.verb = verb;
    message.data.object = object_of(task);
    assert_true(played_says(&peers, &client, &message));
}

static const struct rota_content content = {.kind = 'f', .hash = {1}};

static void ends(uint32_t task, int32_t status)
{
    struct wire_run run = given(&worker);
    struct wire_file made = {.kind = WIRE_FILE, .object = object_of(task), .bytes = 5};
    made.content = content;
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    made.name = made.path = wire_text_of("");
    message.finished.task = run.task;
    message.finished.attempt = run.attempt;
    message.finished.token = run.token;
    message.finished.end = WIRE_EXITED;
    message.finished.status = status;
    message.finished.reason = wire_text_of("");
    message.finished.outputs = (wire_files){&made, status == 0};
    assert_int_equal(run.task.task, task);
    assert_true(played_says(&peers, &worker, &message));
}

static void is_refused(uint64_t low)
{
    struct wire_message message;
    assert_int_equal(played_hears(&client, &message), WIRE_REFUSE_MESSAGE);
    assert_int_equal(message.refuse.low, low);
}

static void is_sent(uint32_t task)
{
    struct wire_message message;
    assert_int_equal(played_hears(&client, &message), WIRE_FETCH_MESSAGE);
    assert_int_equal(message.fetch.object.low, task);
}

static void each_request_has_its_own_answer(void **state)
{
    (void)state;
    struct wire_message message;
    job_of_two();
    asks(50, BAD, WIRE_DATA_READ);
    asks(51, GOOD, WIRE_DATA_READ);
    ends(GOOD, 0);
    peers_turn(&peers);
    is_sent(GOOD);
    ends(BAD, 3);
    peers_turn(&peers);
    is_refused(50);
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
}

static void the_same_object_may_be_asked_for_twice(void **state)
{
    (void)state;
    job_of_two();
    asks(50, GOOD, WIRE_DATA_READ);
    asks(51, BAD, WIRE_DATA_READ);
    asks(52, BAD, WIRE_DATA_READ);
    asks(53, GOOD, WIRE_DATA_READ);
    ends(GOOD, 0);
    ends(BAD, 3);
    peers_turn(&peers);
    struct wire_message message;
    uint64_t refused = 0, sent = 0;
    for (enum wire_kind kind; (kind = played_hears(&client, &message)) != WIRE_NONE;) {
        if (kind == WIRE_REFUSE_MESSAGE) refused += message.refuse.low;
        sent += kind == WIRE_FETCH_MESSAGE;
    }
    assert_int_equal(refused, 51 + 52);
    assert_int_equal(sent, 2);
}

// A client that cannot reach a worker says so for this object, and for no other.
static void a_read_through_the_server_is_for_one_object(void **state)
{
    (void)state;
    job_of_two();
    asks(50, GOOD, WIRE_DATA_READ);
    asks(51, BAD, WIRE_DATA_THROUGH);
    ends(GOOD, 0);
    ends(BAD, 0);
    peers_turn(&peers);
    is_refused(51);  // there is no object store here that it could use
    is_sent(GOOD);
}

static void too_many_waiting_reads_are_refused(void **state)
{
    (void)state;
    struct wire_message message;
    job_of_two();
    for (uint64_t i = 0; i < CLUSTER_READS_MAX; i++) asks(100 + i, GOOD, WIRE_DATA_READ);
    peers_turn(&peers);
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
    asks(50, GOOD, WIRE_DATA_READ);
    is_refused(50);
    ends(GOOD, 0);
    peers_turn(&peers);
    for (uint64_t i = 0; i < CLUSTER_READS_MAX; i++) is_sent(GOOD);
    asks(51, GOOD, WIRE_DATA_READ);
    peers_turn(&peers);
    is_sent(GOOD);
}

static uint32_t refusal_of(struct played *played, uint64_t low)
{
    struct wire_message message = {.kind = WIRE_DATA_MESSAGE};
    message.data.high = 1;
    message.data.low = low;
    message.data.verb = WIRE_DATA_READ;
    message.data.object = object_of(GOOD);
    assert_true(played_says(&peers, played, &message));
    return played_hears(played, &message) == WIRE_REFUSE_MESSAGE ? message.refuse.code : 0;
}

// All connections of a key count, and other keys are not affected.
static void each_key_has_a_limit_of_waiting_reads(void **state)
{
    (void)state;
    struct played second, other;
    job_of_two();
    peers.cluster.limits.shares[CLUSTER_SHARE_READS] = 5;
    played_open(&peers, &second, WIRE_CLIENT);
    played_open(&peers, &other, WIRE_CLIENT);
    cluster_peer_own(&peers.cluster, other.peer, "another");
    greets(&second, WIRE_CLIENT, "client", 0);
    greets(&other, WIRE_CLIENT, "client", 0);
    for (uint64_t i = 0; i < 3; i++) asks(100 + i, GOOD, WIRE_DATA_READ);
    for (uint64_t i = 0; i < 2; i++) assert_int_equal(refusal_of(&second, 200 + i), 0);
    assert_int_equal(refusal_of(&second, 210), WIRE_REFUSED_BUSY);
    assert_int_equal(refusal_of(&client, 110), WIRE_REFUSED_BUSY);
    for (uint64_t i = 0; i < 5; i++) assert_int_equal(refusal_of(&other, 300 + i), 0);
    played_close(&peers, &second);  // its share is free for others of its key
    for (uint64_t i = 0; i < 2; i++) assert_int_equal(refusal_of(&client, 120 + i), 0);
    assert_int_equal(refusal_of(&client, 130), WIRE_REFUSED_BUSY);
    played_close(&peers, &other);  // the last one of the list is another one now
    peers_turn(&peers);
    ends(GOOD, 0);
    peers_turn(&peers);
    for (int i = 0; i < 5; i++) is_sent(GOOD);
    assert_int_equal(client.peer->share->used[CLUSTER_SHARE_READS], 0);
}

static void a_client_that_left_gets_no_answer(void **state)
{
    (void)state;
    struct wire_message message;
    job_of_two();
    asks(50, GOOD, WIRE_DATA_READ);
    peers_turn(&peers);
    played_close(&peers, &client);
    played_open(&peers, &client, WIRE_CLIENT);
    greets(&client, WIRE_CLIENT, "client", 0);
    ends(GOOD, 0);
    peers_turn(&peers);
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
    assert_null(peers.cluster.readers);
}

// ---- Sources --------------------------------------------------------------------------------

enum { MANY = 12 };

static struct played holders[MANY];

static void all_hold_it(void)
{
    static const char letters[] = "abcdefghijkl";
    for (uint32_t i = 0; i < MANY; i++) {
        struct wire_file file = {.kind = WIRE_FILE, .object = object_of(GOOD), .bytes = 5};
        file.content = content;
        struct wire_message held = {.kind = WIRE_HELD_MESSAGE};
        char name[] = {letters[i], 0}, address[] = {'/', letters[i], 0};
        struct wire_message join = join_of(1, NULL, 0);
        join.join.address = wire_text_of(address);
        file.name = file.path = wire_text_of("");
        held.held.objects = (wire_files){&file, 1};
        played_open(&peers, &holders[i], WIRE_WORKER);
        greets(&holders[i], WIRE_WORKER, name, 1);
        assert_true(played_says(&peers, &holders[i], &join));
        assert_true(played_says(&peers, &holders[i], &held));
    }
}

static bool holds_it(const struct played *played)
{
    return cluster_is_held(&peers.cluster, object_of(GOOD), played->peer->worker->id);
}

// The receiver of false bytes reports it; then that worker is no longer trusted.
static void a_source_of_false_content_is_not_asked_again(void **state)
{
    (void)state;
    struct wire_message forged = {.kind = WIRE_FORGED_MESSAGE};
    struct wire_file file = {.kind = WIRE_FILE, .object = object_of(GOOD), .bytes = 5};
    struct wire_message held = {.kind = WIRE_HELD_MESSAGE};
    job_of_two();
    ends(GOOD, 0);
    peers_turn(&peers);
    all_hold_it();
    peers_turn(&peers);
    assert_true(holds_it(&holders[0]) && holds_it(&holders[1]));
    forged.forged.object = object_of(GOOD);
    forged.forged.address = wire_text_of("/a");
    forged.forged.reason = wire_text_of("");
    assert_true(played_says(&peers, &holders[1], &forged));
    peers_turn(&peers);
    assert_true(!holds_it(&holders[0]) && holds_it(&holders[1]));
    file.content = content;
    file.name = file.path = wire_text_of("");
    held.held.objects = (wire_files){&file, 1};
    assert_true(played_says(&peers, &holders[0], &held));
    peers_turn(&peers);
    assert_false(holds_it(&holders[0]));
    for (uint32_t i = 0; i < MANY; i++) played_close(&peers, &holders[i]);
}

// Each of these clients is on a connection of its own.
static char first_address(uint64_t low)
{
    struct wire_message message;
    played_close(&peers, &client);
    played_open(&peers, &client, WIRE_CLIENT);
    client.peer->id[0] = 0;
    greets(&client, WIRE_CLIENT, "client", 0);
    asks(low, GOOD, WIRE_DATA_READ);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_FETCH_MESSAGE, &message));
    assert_int_equal(message.fetch.addresses.count, CLUSTER_SOURCES);
    return message.fetch.addresses.items[0].bytes[1];
}

static void no_holder_serves_all_readers(void **state)
{
    (void)state;
    uint32_t first[128] = {0}, different = 0;
    job_of_two();
    ends(GOOD, 0);
    all_hold_it();
    peers_turn(&peers);
    for (uint64_t i = 0; i < 60; i++) different += first[(uint8_t)first_address(50 + i)]++ == 0;
    assert_in_range(different, CLUSTER_SOURCES + 1, MANY + 1);
    for (uint32_t i = 0; i < MANY; i++) played_close(&peers, &holders[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_request_has_its_own_answer, begin, end),
        cmocka_unit_test_setup_teardown(the_same_object_may_be_asked_for_twice, begin, end),
        cmocka_unit_test_setup_teardown(a_read_through_the_server_is_for_one_object, begin, end),
        cmocka_unit_test_setup_teardown(too_many_waiting_reads_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(each_key_has_a_limit_of_waiting_reads, begin, end),
        cmocka_unit_test_setup_teardown(a_source_of_false_content_is_not_asked_again, begin, end),
        cmocka_unit_test_setup_teardown(a_client_that_left_gets_no_answer, begin, end),
        cmocka_unit_test_setup_teardown(no_holder_serves_all_readers, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
