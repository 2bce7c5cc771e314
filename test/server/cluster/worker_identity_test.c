// worker_identity_test.c - which worker may use a name, while another one may still run.
#include "scene.h"

#include <string.h>

enum { FOLDER = 7, PLACE = 70, OTHER_PLACE = 71 };

static const char *name = "vm";

static struct wire_message greeting(uint64_t boot, uint64_t folder, uint64_t place)
{
    struct wire_message message = greet_of(WIRE_WORKER, name, boot);
    message.greet.boot = boot;
    message.greet.folder = folder;
    message.greet.place = place;
    return message;
}

// The code of the refusal; 0: it is accepted.
static uint32_t comes(struct played *played, uint64_t boot, uint64_t folder, uint64_t place)
{
    struct wire_message message = greeting(boot, folder, place);
    played_open(&peers, played, WIRE_WORKER);
    bool welcome = played_says(&peers, played, &message);
    assert_true(played_hears_kind(played, welcome ? WIRE_WELCOME_MESSAGE : WIRE_REFUSE_MESSAGE,
                                  &message));
    return welcome ? 0 : message.refuse.code;
}

static void beats(struct played *played)
{
    struct wire_message message = {.kind = WIRE_BEAT_MESSAGE, .beat = {.sent = 5}};
    assert_true(played_says(&peers, played, &message));
}

// A worker with one task, of a lane or not.
static void a_worker_with_a_task(const char *flagged)
{
    greets(&client, WIRE_CLIENT, "client", 0);
    played_close(&peers, &worker);
    assert_int_equal(comes(&worker, 1, FOLDER, PLACE), 0);
    joins(&worker, NULL, 0);
    command = flagged;
    submits(7, 1, 0, 0);
    command = "true";
    peers_turn(&peers);
    given(&worker);
}

static void another_folder_is_refused(void **state)
{
    (void)state;
    struct played other;
    a_worker_with_a_task("true");
    assert_int_equal(comes(&other, 2, FOLDER + 1, PLACE), WIRE_REFUSED_NAME);
    played_close(&peers, &other);
    played_close(&peers, &worker);  // within its lease
    assert_int_equal(comes(&other, 2, FOLDER + 1, PLACE), WIRE_REFUSED_NAME);
    played_close(&peers, &other);
    peers_turn(&peers);
    peers.now += 2500000;
    peers_turn(&peers);
    assert_int_equal(comes(&worker, 2, FOLDER + 1, PLACE), 0);
}

// Its old process is gone, so tasks of a lane do not delay it either.
static void the_same_lock_takes_over(void **state)
{
    (void)state;
    a_worker_with_a_task("exclusive");
    played_close(&peers, &worker);
    peers_turn(&peers);
    assert_int_equal(comes(&worker, 2, FOLDER, PLACE), 0);
}

// The connection of the old process is still open: it may be cut off, and run the task.
static void the_same_lock_waits_for_an_open_connection(void **state)
{
    (void)state;
    struct played other;
    a_worker_with_a_task("exclusive");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(comes(&other, 2, FOLDER, PLACE), WIRE_REFUSED_STATE);
        assert_false(worker.peer->closing);
        played_close(&peers, &other);
        peers_turn(&peers);
        peers.now += i ? 2500000 : 1500000;  // three heartbeats, then its lease has expired
        peers_turn(&peers);
    }
    assert_int_equal(comes(&other, 2, FOLDER, PLACE), 0);
    played_close(&peers, &other);
}

// Two virtual machines were resumed from one snapshot: boot id, device and inode are the same.
static void a_live_worker_is_not_replaced_by_one_of_the_same_place(void **state)
{
    (void)state;
    struct wire_message message;
    struct played other;
    a_worker_with_a_task("exclusive");
    for (int is_renamed = 0; is_renamed < 2; is_renamed++) {
        name = is_renamed ? "copy" : "vm";
        assert_int_equal(comes(&other, 2, FOLDER, PLACE), WIRE_REFUSED_STATE);
        played_close(&peers, &other);
        peers_turn(&peers);
        assert_true(played_hears_kind(&worker, WIRE_PROBE_MESSAGE, &message));
        beats(&worker);
        peers_turn(&peers);
        assert_int_equal(comes(&other, 2, FOLDER, PLACE), WIRE_REFUSED_NAME);
        played_close(&peers, &other);
        peers_turn(&peers);
        assert_false(worker.peer->closing);
        for (int i = 0; i < 8; i++) {  // the check has ended
            peers.now += 200000;
            beats(&worker);
            peers_turn(&peers);
        }
    }
    name = "vm";
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_ASSIGNED);
}

// It answers the probe, so there are two.
static void a_copy_is_refused_when_the_first_answers(void **state)
{
    (void)state;
    struct wire_message message;
    struct played other;
    a_worker_with_a_task("true");
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), WIRE_REFUSED_STATE);
    played_close(&peers, &other);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_PROBE_MESSAGE, &message));
    beats(&worker);
    peers_turn(&peers);
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), WIRE_REFUSED_NAME);
    played_close(&peers, &other);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_ASSIGNED);
}

// The copy joined while the first worker was silent, with a name of its own. The first continues on
// its old connection, so the copy is refused when it is started again.
static void a_copy_that_was_welcome_is_refused_when_it_starts_again(void **state)
{
    (void)state;
    struct wire_message message;
    struct played other;
    a_worker_with_a_task("true");
    peers.now += 1500000;  // three heartbeats
    peers_turn(&peers);
    name = "copy";
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), 0);
    peers_turn(&peers);
    beats(&worker);
    played_close(&peers, &other);
    peers_turn(&peers);
    assert_int_equal(comes(&other, 3, FOLDER, OTHER_PLACE), WIRE_REFUSED_STATE);
    played_close(&peers, &other);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_PROBE_MESSAGE, &message));
    beats(&worker);
    peers_turn(&peers);
    assert_int_equal(comes(&other, 3, FOLDER, OTHER_PLACE), WIRE_REFUSED_NAME);
    played_close(&peers, &other);
    name = "vm";
}

// The connection is half open: the probe is not answered. Without tasks of a lane no one has to
// wait.
static void a_machine_that_started_again_takes_over(void **state)
{
    (void)state;
    struct played other;
    a_worker_with_a_task("true");
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), WIRE_REFUSED_STATE);
    played_close(&peers, &other);
    peers.now += 1500000;  // three heartbeats
    peers_turn(&peers);
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), 0);
    played_close(&peers, &other);
}

static void a_duplicate_waits_for_the_lease_of_exclusive_tasks(void **state)
{
    (void)state;
    struct played other;
    a_worker_with_a_task("exclusive");
    peers.now += 1500000;
    peers_turn(&peers);
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), WIRE_REFUSED_STATE);
    played_close(&peers, &other);
    peers_turn(&peers);
    peers.now += 2500000;  // its lease has expired
    peers_turn(&peers);
    assert_int_equal(comes(&other, 2, FOLDER, OTHER_PLACE), 0);
    played_close(&peers, &other);
}

// The database is of a rota that did not record the owner of a name.
static void forget_who_it_is(void)
{
    struct cluster_worker *known = worker.peer->worker;
    played_close(&peers, &worker);
    known->who = (struct cluster_identity){.is_loaded = true};
    known->boot = 0;
}

static void after_an_upgrade_a_worker_takes_over(void **state)
{
    (void)state;
    a_worker_with_a_task("true");
    forget_who_it_is();
    assert_int_equal(comes(&worker, 2, FOLDER, PLACE), 0);
    struct played other;
    assert_int_equal(comes(&other, 3, FOLDER + 1, PLACE), WIRE_REFUSED_NAME);
    played_close(&peers, &other);
}

static void after_an_upgrade_tasks_of_a_lane_wait_for_the_lease(void **state)
{
    (void)state;
    struct played other;
    a_worker_with_a_task("exclusive");
    forget_who_it_is();
    assert_int_equal(comes(&other, 2, FOLDER, PLACE), WIRE_REFUSED_STATE);
    played_close(&peers, &other);
    peers_turn(&peers);
    peers.now += 2500000;
    peers_turn(&peers);
    assert_int_equal(comes(&worker, 2, FOLDER, PLACE), 0);
}

// Reports about its objects do not add it to the core again: the core would not know its capacity,
// nor that it is paused.
static void a_lost_worker_must_join_again(void **state)
{
    (void)state;
    struct wire_file file = {.kind = WIRE_RESULT, .object = {5, 6}, .bytes = 5};
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    struct rota_worker_view view;
    a_worker_with_a_task("true");
    rota_worker_id id = worker.peer->worker->id;
    for (int i = 0; i < 2; i++) {  // silent, then its lease has expired
        peers.now += 2500000;
        peers_turn(&peers);
    }
    assert_false(rota_worker_look(peers.server.rota, id, &view));
    file.name = file.path = wire_text_of("");
    message.held.objects = (wire_files){&file, 1};
    assert_false(played_says(&peers, &worker, &message));
    peers_turn(&peers);
    assert_false(rota_worker_look(peers.server.rota, id, &view));
}

static void a_name_belongs_to_a_key(void **state)
{
    (void)state;
    struct played other;
    struct wire_message message = greeting(2, FOLDER, PLACE);
    assert_int_equal(comes(&other, 1, FOLDER, PLACE), 0);
    played_close(&peers, &other);
    played_open(&peers, &other, WIRE_WORKER);
    memcpy(other.peer->id, "another", sizeof "another");
    assert_false(played_says(&peers, &other, &message));
    assert_true(played_hears_kind(&other, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, WIRE_REFUSED_NAME);
    assert_non_null(strstr(message.refuse.reason.bytes, "rota worker forget vm"));
    played_close(&peers, &other);
}

// A batch system kills it after it has announced to leave, and starts it again within its lease.
static void a_requeue_costs_no_retry(void **state)
{
    (void)state;
    a_worker_with_a_task("true");
    for (uint32_t boot = 2; boot < 4 + CLUSTER_LOSSES; boot++) {
        struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
        assert_true(played_says(&peers, &worker, &message));
        peers_turn(&peers);
        played_close(&peers, &worker);
        peers_turn(&peers);
        assert_int_equal(comes(&worker, boot, FOLDER, PLACE), 0);
        joins(&worker, NULL, 0);
        peers_turn(&peers);
        assert_int_equal(given(&worker).attempt, boot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_folder_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(the_same_lock_takes_over, begin, end),
        cmocka_unit_test_setup_teardown(the_same_lock_waits_for_an_open_connection, begin, end),
        cmocka_unit_test_setup_teardown(a_live_worker_is_not_replaced_by_one_of_the_same_place,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_copy_is_refused_when_the_first_answers, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_that_was_welcome_is_refused_when_it_starts_again,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_machine_that_started_again_takes_over, begin, end),
        cmocka_unit_test_setup_teardown(a_duplicate_waits_for_the_lease_of_exclusive_tasks, begin,
                                        end),
        cmocka_unit_test_setup_teardown(after_an_upgrade_a_worker_takes_over, begin, end),
        cmocka_unit_test_setup_teardown(after_an_upgrade_tasks_of_a_lane_wait_for_the_lease, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_lost_worker_must_join_again, begin, end),
        cmocka_unit_test_setup_teardown(a_name_belongs_to_a_key, begin, end),
        cmocka_unit_test_setup_teardown(a_requeue_costs_no_retry, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
