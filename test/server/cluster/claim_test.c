// claim_test.c - handlers: the tasks and leases they get, and refused requests.
#include "peers.h"
#include "store/sqlite/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct peers peers;
static struct played client, handler, other;
static struct store *store;
static char path[64];

static void stage_open(void)
{
    struct store_options options = store_options_default();
    struct store_error error;
    options.ballast_bytes = 0;
    store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    peers_open(&peers, store);
    played_open(&peers, &client, WIRE_CLIENT);
    played_open(&peers, &handler, WIRE_WORKER);
    played_open(&peers, &other, WIRE_CLIENT | WIRE_WORKER | WIRE_ADMIN);
}

static void stage_close(void)
{
    played_close(&peers, &client);
    played_close(&peers, &handler);
    played_close(&peers, &other);
    peers_turn(&peers);
    peers_close(&peers);
    store_close(store);
}

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/rota-claim-%d.db", (int)getpid());
    stage_open();
    return 0;
}

static int end(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char name[80];
    stage_close();
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
    return 0;
}

// ---- Messages of handlers -------------------------------------------------------------------

static void greets(struct played *played, enum wire_role role)
{
    struct wire_message message = greet_of(role, "somebody", 0);
    assert_true(played_says(&peers, played, &message));
    assert_true(played_hears_kind(played, WIRE_WELCOME_MESSAGE, &message));
}

static void submits(uint64_t low, uint32_t tasks, uint32_t outputs)
{
    struct wire_make make = {.task = 1, .object = {1, 2}, .flags = ROTA_OBJECT_KEEP};
    struct wire_submit submit = {.low = low, .policy = ROTA_POLICY_CLAIM};
    submit.outputs = (wire_makes){&make, outputs};
    assert_true(played_submits(&peers, &client, &submit, "true", tasks, 0));
    peers_turn(&peers);
}

static void claims(struct played *played, uint64_t low, rota_task_id task, rota_time wait)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.high = 5;
    message.claim.low = low;
    message.claim.task = task;
    message.claim.wait = wait;
    message.claim.lease = 1000000;
    assert_true(played_says(&peers, played, &message));
    peers_turn(&peers);
}

static void delivers(struct played *played, uint64_t low, rota_task_id task, uint64_t token)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    message.deliver.high = 6;
    message.deliver.low = low;
    message.deliver.task = task;
    message.deliver.token = token;
    message.deliver.reason = wire_text_of("");
    assert_true(played_says(&peers, played, &message));
    peers_turn(&peers);
}

static struct wire_granted granted(struct played *played)
{
    struct wire_message message;
    assert_true(played_hears_kind(played, WIRE_GRANTED_MESSAGE, &message));
    return message.granted;
}

static void is_refused(struct played *played, enum wire_code code)
{
    struct wire_message message;
    assert_true(played_hears_kind(played, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, code);
}

static bool renews(struct played *played, rota_task_id task, uint64_t token)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    message.renew.high = 7;
    message.renew.low = 7;
    message.renew.task = task;
    message.renew.token = token;
    assert_true(played_says(&peers, played, &message));
    peers_turn(&peers);
    if (played_hears(played, &message) == WIRE_RENEWED_MESSAGE) return true;
    assert_int_equal(message.kind, WIRE_REFUSE_MESSAGE);
    assert_int_equal(message.refuse.code, WIRE_REFUSED_STALE);
    return false;
}

static void passes(rota_time time)
{
    peers.now += time;
    peers_turn(&peers);
}

static const rota_task_id any = {0, 0}, first = {1, 1};

// ---- Tests -----------------------------------------------------------------------------------

static void a_grant_leaves_when_it_is_durable(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    submits(1, 1, 0);
    message.claim.low = 1;
    assert_true(played_says(&peers, &handler, &message));
    uint64_t turn = peers_write(&peers);
    assert_int_equal(played_hears(&handler, &message), WIRE_NONE);
    cluster_settled(&peers.cluster, turn);
    struct wire_granted grant = granted(&handler);
    assert_int_equal(grant.task.task, 1);
    assert_true(grant.token && grant.body.length && grant.lease == 1000000);
}

static void keys_of_clients_fetch_nothing(void **state)
{
    (void)state;
    struct wire_message message = greet_of(WIRE_HANDLER, "", 0);
    assert_false(played_says(&peers, &client, &message));
    is_refused(&client, WIRE_REFUSED_ROLE);
    greets(&other, WIRE_CLIENT);
    message = (struct wire_message){.kind = WIRE_CLAIM_MESSAGE};
    message.claim.low = 1;
    assert_false(played_says(&peers, &other, &message));
    greets(&handler, WIRE_HANDLER);
    message = (struct wire_message){.kind = WIRE_WATCH_MESSAGE};
    assert_false(played_says(&peers, &handler, &message));
}

static void an_admin_is_a_client_and_a_handler(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&other, WIRE_ADMIN);
    submits(1, 1, 0);
    claims(&other, 1, any, 0);
    delivers(&other, 1, first, granted(&other).token);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_SUCCEEDED);
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
    assert_true(played_says(&peers, &other, &message));
}

static void the_same_claim_again_is_the_same_grant(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    submits(1, 2, 0);
    claims(&handler, 1, any, 0);
    uint64_t token = granted(&handler).token;
    claims(&handler, 1, any, 0);
    assert_int_equal(granted(&handler).token, token);
    stage_close();
    stage_open();
    greets(&handler, WIRE_HANDLER);
    claims(&handler, 1, any, 0);
    struct wire_granted grant = granted(&handler);
    assert_int_equal(grant.token, token);
    assert_true(grant.body.length);
    claims(&handler, 2, any, 0);
    assert_true(granted(&handler).token > token);
    delivers(&handler, 3, first, token);
    claims(&handler, 1, any, 0);
    is_refused(&handler, WIRE_REFUSED_STALE);
}

static void an_expired_lease_is_not_renewed(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    submits(1, 1, 0);
    claims(&handler, 1, any, 0);
    uint64_t token = granted(&handler).token;
    passes(900000);
    assert_true(renews(&handler, first, token));
    passes(900000);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_RUNNING);
    passes(200000);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_OFFERED);
    assert_false(renews(&handler, first, token));
    delivers(&handler, 1, first, token);
    is_refused(&handler, WIRE_REFUSED_STALE);
    claims(&handler, 2, any, 0);
    struct wire_granted again = granted(&handler);
    assert_true(again.token > token && again.attempt == 2);
    delivers(&handler, 2, first, token);
    is_refused(&handler, WIRE_REFUSED_STALE);
    delivers(&handler, 3, first, again.token);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_SUCCEEDED);
}

static void after_a_restart_leases_begin_again(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    submits(1, 1, 0);
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.low = 1;
    message.claim.lease = 3000000;  // not the default of the server
    assert_true(played_says(&peers, &handler, &message));
    peers_turn(&peers);
    uint64_t token = granted(&handler).token;
    stage_close();
    stage_open();
    greets(&handler, WIRE_HANDLER);
    peers_turn(&peers);
    passes(2900000);
    assert_true(renews(&handler, first, token));
    passes(3100000);
    assert_false(renews(&handler, first, token));
}

// The server is started again with a shorter lease, and again when the longer one has expired.
static void a_handler_keeps_the_lease_it_was_granted(void **state)
{
    (void)state;
    stage_close();
    peers_lease = 10000000;
    stage_open();
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    submits(1, 1, 0);
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.low = 1;
    assert_true(played_says(&peers, &handler, &message));
    peers_turn(&peers);
    uint64_t token = granted(&handler).token;
    peers_lease = 1000000;
    for (int life = 0; life < 2; life++) {
        stage_close();
        stage_open();
        greets(&handler, WIRE_HANDLER);
        passes(9000000);
        assert_true(renews(&handler, first, token));
        passes(9000000);
        assert_true(renews(&handler, first, token));
    }
    passes(11000000);
    assert_false(renews(&handler, first, token));
}

static const char *gone = "";

static bool is_gone(void *context, const char *id)
{
    (void)context;
    return *gone && strcmp(id, gone) == 0;
}

// For a day, and the key of the handler is revoked; `other` has another key.
static uint64_t claims_and_is_revoked(bool is_restarted)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    peers.cluster.limits.key_is_gone = is_gone;
    memcpy(other.peer->id, "other", sizeof "other");
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    greets(&other, WIRE_HANDLER);
    submits(1, 1, 0);
    message.claim.low = 1;
    message.claim.lease = 86400000000;
    assert_true(played_says(&peers, &handler, &message));
    peers_turn(&peers);
    uint64_t token = granted(&handler).token;
    gone = "key";
    if (is_restarted) {
        stage_close();
        stage_open();
        peers.cluster.limits.key_is_gone = is_gone;
        memcpy(other.peer->id, "other", sizeof "other");
        greets(&other, WIRE_HANDLER);
    } else {
        played_close(&peers, &handler);
        cluster_claims_revoke(&peers.cluster);
    }
    peers_turn(&peers);
    return token;
}

static void a_revoked_key_delivers_nothing(void **state)
{
    (void)state;
    uint64_t token = claims_and_is_revoked(false);
    delivers(&other, 1, first, token);
    is_refused(&other, WIRE_REFUSED_STALE);
    assert_false(renews(&other, first, token));
    struct wire_message message = {.kind = WIRE_FAIL_MESSAGE};
    message.fail.low = 9;
    message.fail.task = first;
    message.fail.token = token;
    message.fail.reason = wire_text_of("");
    assert_true(played_says(&peers, &other, &message));
    peers_turn(&peers);
    is_refused(&other, WIRE_REFUSED_STALE);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_RUNNING);
    gone = "";
}

// The server's lease is a second.
static void a_revoked_key_loses_its_claims(void **state)
{
    (void)state;
    for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
        if (is_restarted) end(state), begin(state);
        claims_and_is_revoked(is_restarted);
        passes(900000);
        assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_RUNNING);
        passes(200000);
        assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_OFFERED);
        claims(&other, 2, any, 0);
        delivers(&other, 3, first, granted(&other).token);
        assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_SUCCEEDED);
        gone = "";
    }
}

static void a_waiting_handler_gets_a_new_task(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    greets(&other, WIRE_HANDLER);
    claims(&handler, 1, any, 0);
    is_refused(&handler, WIRE_REFUSED_NOTHING);
    claims(&handler, 2, any, 500000);
    claims(&other, 3, any, 500000);
    submits(1, 1, 0);
    assert_int_equal(granted(&handler).task.task, 1);
    struct wire_message message;
    assert_int_equal(played_hears(&other, &message), WIRE_NONE);
    passes(600000);
    is_refused(&other, WIRE_REFUSED_NOTHING);
}

static void a_repeated_claim_is_granted_once(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    greets(&other, WIRE_HANDLER);
    submits(1, 2, 0);
    message.claim.low = 1;
    assert_true(played_says(&peers, &handler, &message));
    assert_true(played_says(&peers, &other, &message));
    peers_turn(&peers);
    assert_int_equal(granted(&other).task.task, 1);
    assert_int_equal(played_hears(&handler, &message), WIRE_NONE);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 2}), ROTA_TASK_OFFERED);
}

static void a_waiting_handler_that_leaves_gets_no_task(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    greets(&handler, WIRE_HANDLER);
    greets(&other, WIRE_HANDLER);
    claims(&handler, 1, any, ROTA_NEVER);
    claims(&other, 2, any, ROTA_NEVER);
    played_close(&peers, &handler);
    submits(1, 1, 0);
    assert_int_equal(granted(&other).task.task, 1);
}

static void a_job_for_handlers_has_no_outputs(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT);
    submits(1, 1, 1);
    is_refused(&client, WIRE_REFUSED_REQUEST);
    assert_int_equal(rota_task_state(peers.server.rota, first), ROTA_TASK_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_grant_leaves_when_it_is_durable, begin, end),
        cmocka_unit_test_setup_teardown(keys_of_clients_fetch_nothing, begin, end),
        cmocka_unit_test_setup_teardown(an_admin_is_a_client_and_a_handler, begin, end),
        cmocka_unit_test_setup_teardown(the_same_claim_again_is_the_same_grant, begin, end),
        cmocka_unit_test_setup_teardown(an_expired_lease_is_not_renewed, begin, end),
        cmocka_unit_test_setup_teardown(after_a_restart_leases_begin_again, begin, end),
        cmocka_unit_test_setup_teardown(a_handler_keeps_the_lease_it_was_granted, begin, end),
        cmocka_unit_test_setup_teardown(a_revoked_key_delivers_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_revoked_key_loses_its_claims, begin, end),
        cmocka_unit_test_setup_teardown(a_waiting_handler_gets_a_new_task, begin, end),
        cmocka_unit_test_setup_teardown(a_repeated_claim_is_granted_once, begin, end),
        cmocka_unit_test_setup_teardown(a_waiting_handler_that_leaves_gets_no_task, begin, end),
        cmocka_unit_test_setup_teardown(a_job_for_handlers_has_no_outputs, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
