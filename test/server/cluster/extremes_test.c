// extremes_test.c - a server that plans ahead, with two workers: peers send random messages whose
// numbers are as small or large as they can be. Its state stays valid, and it starts again.
//
//     extremes_test [--seed N]
#include "scene.h"
#include "seed.h"

#include <limits.h>

enum { ROUNDS = 300, STEPS = 60, WORKERS = 2, JOBS = 4, TASKS_MAX = 6 };

static uint64_t state;
static struct played workers[WORKERS];
static uint64_t connection, request;

static uint32_t chance(uint32_t count)
{
    return random_below(&state, count);
}

static uint64_t any_u64(void)
{
    static const uint64_t numbers[]
        = {0, 1, 2, 7, 1000000, 100000, UINT32_MAX, UINT32_MAX / 2 + 1, INT64_MAX, UINT64_MAX};
    return numbers[chance(sizeof numbers / sizeof *numbers)];
}

static int64_t any_time(void)
{
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 5000000, INT64_MAX - 1, INT64_MAX};
    return numbers[chance(sizeof numbers / sizeof *numbers)];
}

// ---- Workers ------------------------------------------------------------------------------------

// A worker that was refused is replaced by a plain one.
static void worker_joins(uint32_t at)
{
    char name[] = {(char)('a' + at), 0};
    struct wire_message message;
    for (uint32_t i = 0; i < 2; i++) {
        if (workers[at].peer) played_close(&peers, &workers[at]);
        played_open(&peers, &workers[at], WIRE_WORKER);
        message = greet_of(WIRE_WORKER, name, ++connection);
        if (!played_says(&peers, &workers[at], &message)) continue;
        message = join_of(i || chance(2) ? 2 : (uint32_t)any_u64(), NULL, 0);
        if (!i && chance(4) == 0) message.join.memory_mib = (uint32_t)any_u64();
        if (played_says(&peers, &workers[at], &message)) return;
    }
}

static rota_object_id object_of(uint32_t job, uint32_t task)
{
    return (rota_object_id){job, task};
}

static void worker_answers(struct played *of)
{
    struct wire_message message, given;
    while (played_hears_kind(of, WIRE_RUN_MESSAGE, &given)) {
        if (chance(8) == 0) continue;
        struct wire_file output = {.kind = WIRE_FILE, .content = {.kind = 'f'}};
        output.object = object_of(given.run.task.job, given.run.task.task);
        output.name = output.path = wire_text_of("");
        output.bytes = any_u64();
        message = (struct wire_message){.kind = WIRE_FINISHED_MESSAGE};
        message.finished = (struct wire_finished){.task = given.run.task,
                                                  .attempt = given.run.attempt,
                                                  .token = given.run.token,
                                                  .end = chance(10),
                                                  .status = chance(4) == 0,
                                                  .began = any_time(),
                                                  .ended = any_time(),
                                                  .user = any_time(),
                                                  .system = any_time(),
                                                  .memory_bytes = any_u64(),
                                                  .log_bytes = any_u64(),
                                                  .outputs = {&output, 1},
                                                  .reason = wire_text_of("")};
        if (!played_says(&peers, of, &message)) return;
    }
}

static void worker_holds(struct played *of)
{
    struct wire_message message = {.kind = chance(2) ? WIRE_HELD_MESSAGE : WIRE_LOST_MESSAGE};
    struct wire_file file = {.kind = WIRE_FILE, .content = {.kind = 'f'}};
    file.object = object_of(1 + chance(JOBS), 1 + chance(TASKS_MAX));
    file.name = file.path = wire_text_of("");
    file.bytes = any_u64();
    if (message.kind == WIRE_HELD_MESSAGE)
        message.held.objects = (wire_files){&file, 1};
    else
        message.lost.objects = (wire_files){&file, 1};
    played_says(&peers, of, &message);
}

// ---- Clients ------------------------------------------------------------------------------------

// Tasks of which each may read what the one before it makes; or more tasks of a job, perhaps none.
static void client_submits(void)
{
    uint32_t job = chance(2) ? 0 : 1 + chance(JOBS), tasks = chance(TASKS_MAX), first = 1;
    struct wire_make makes[TASKS_MAX];
    struct wire_use uses[TASKS_MAX];
    struct wire_submit submit = {.low = ++request, .job = job, .flags = WIRE_SUBMIT_OPEN};
    while (job && rota_task_state(peers.server.rota, (rota_task_id){job, first})) first++;
    uint32_t number = job ? job : (uint32_t)peers.server.next_job.number;
    for (uint32_t i = 0; i < tasks; i++) {
        makes[i] = (struct wire_make){.task = first + i, .object = object_of(number, first + i)};
        makes[i].bytes = any_u64();
        uses[i] = (struct wire_use){.task = first + i + 1, .object = makes[i].object};
    }
    submit.outputs = (wire_makes){makes, tasks};
    submit.inputs = (wire_uses){uses, tasks ? tasks - 1 : 0};
    played_submits(&peers, &client, &submit, "true", tasks, chance(3));
}

static void client_closes(void)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    message.change.high = 1;
    message.change.low = ++request;
    message.change.verb = chance(2) ? WIRE_CLOSE : WIRE_CANCEL;
    message.change.task.job = 1 + chance(JOBS);
    played_says(&peers, &client, &message);
}

// ---- Rounds -------------------------------------------------------------------------------------

static void server_opens(void)
{
    peers_open(&peers, store);
    played_open(&peers, &client, WIRE_CLIENT);
    greets(&client, WIRE_CLIENT, "client", 0);
    for (uint32_t i = 0; i < WORKERS; i++) worker_joins(i);
}

static void server_closes(void)
{
    for (uint32_t i = 0; i < WORKERS; i++) played_close(&peers, &workers[i]);
    played_close(&peers, &client);
    peers_turn(&peers);
    peers_close(&peers);
}

static void step(void)
{
    struct played *of = &workers[chance(WORKERS)];
    switch (chance(12)) {
    case 0: case 1: case 2: client_submits(); break;
    case 3: if (chance(4) == 0) client_closes(); break;
    case 4: if (chance(4) == 0) worker_joins((uint32_t)(of - workers)); break;
    case 5: if (of->peer) worker_holds(of); break;
    case 6: if (chance(8) == 0) server_closes(), server_opens(); break;
    default: if (of->peer) worker_answers(of); break;
    }
    peers.now += chance(200000);
    peers_turn(&peers);
    rota_check(peers.server.rota);
}

static void a_server_survives_any_numbers(void **context)
{
    (void)context;
    uint64_t plans = 0, seed = seed_take();
    peers_plan = true;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        state = seed + round;
        store = store_open_memory();
        assert_non_null(store);
        server_opens();
        for (uint32_t i = 0; i < STEPS; i++) step();
        plans += peers.cluster.plans;
        server_closes();
        store_close(store);
    }
    print_message("%llu plans\n", (unsigned long long)plans);
    assert_true(plans > ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_server_survives_any_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
