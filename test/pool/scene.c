// scene.c - helpers for tests of the pool.
#include "scene.h"

#include <time.h>

static _Atomic char names[256];  // by number of the task, in the job submitted last
static char text_out[4096];

struct rota_pool *scene_open(uint32_t threads)
{
    struct rota_pool_config config = rota_pool_config_default();
    config.threads = threads;
    struct rota_pool *pool;
    assert_int_equal(rota_pool_open(&config, &pool), ROTA_OK);
    for (uint32_t lane = 1; lane <= 3; lane++)
        assert_int_equal(rota_pool_lane(pool, lane, 0), ROTA_OK);
    return pool;
}

void scene_close(struct rota_pool *pool)
{
    rota_pool_check(pool);
    rota_pool_close(pool);
}

// ---- Jobs from text ------------------------------------------------------------------

static uint32_t number_of(char name)
{
    for (uint32_t number = 1; number < 256; number++)
        if (names[number] == name) return number;
    fail_msg("no such task: %c", name);
    return 0;
}

rota_task_id scene_task(uint32_t job, char name)
{
    return (rota_task_id){job, number_of(name)};
}

char scene_name(rota_task_id task)
{
    return names[task.task];
}

static void lane_read(const char *at, struct rota_pool_task *task)
{
    task->access = at[0] == 'r' ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE;
    task->lane = (uint32_t)(at[1] - '0');
    if (at[2] == '/') task->group = (uint32_t)(at[3] - '0');
}

uint32_t scene_submit(struct rota_pool *pool, uint64_t client, const char *text)
{
    return scene_run(pool, client, text, NULL, NULL);
}

uint32_t scene_run(struct rota_pool *pool, uint64_t client, const char *text,
                   rota_pool_function *function, void *argument)
{
    static struct rota_pool_task tasks[256];
    static uint32_t first[257], needs[2048];
    uint32_t count = 0, need = 0;
    memset(tasks, 0, sizeof tasks);
    for (uint32_t number = 0; number < 256; number++) names[number] = 0;
    for (const char *at = text; *at; at++)
        if ((at == text || at[-1] == ' ') && *at != ' ') names[++count] = *at;
    uint32_t task = 0;
    for (const char *at = text; *at; at++) {
        bool begins = at == text || at[-1] == ' ';
        if (begins) first[task++] = need;
        if (!begins && (at[-1] == '<' || at[-1] == ',')) needs[need++] = number_of(*at);
        if (at[0] == ':') lane_read(at + 1, &tasks[task - 1]);
    }
    first[task] = need;
    struct rota_pool_job job = {.client = client, .task_count = count, .function = function,
                                .argument = argument, .tasks = tasks, .need_first = first,
                                .needs = needs};
    rota_task_id id = {0, 0};
    enum rota_error error = rota_pool_submit(pool, &job, &id);
    if (error) fail_msg("refused: %s", rota_pool_reason(pool));
    assert_int_equal(id.task, 1);
    return id.job;
}

// ---- Lists as text -------------------------------------------------------------------

const char *scene_available(struct rota_pool *pool, uint32_t job)
{
    struct rota_pool_snapshot look;
    uint32_t length = 0;
    assert_int_equal(rota_pool_look(pool, &look), ROTA_OK);
    for (uint32_t i = 0; i < look.available_count; i++)
        if (look.available[i].job == job) text_out[length++] = names[look.available[i].task];
    text_out[length] = 0;
    rota_pool_snapshot_release(&look);
    return text_out;
}

const char *scene_blocked(struct rota_pool *pool, uint32_t job)
{
    struct rota_pool_snapshot look;
    int length = 0;
    text_out[0] = 0;
    assert_int_equal(rota_pool_look(pool, &look), ROTA_OK);
    for (uint32_t i = 0; i < look.blocked_count; i++) {
        if (look.blocked[i].task.job != job) continue;
        length += snprintf(text_out + length, sizeof text_out - (size_t)length, "%s%c:%c",
                           length ? " " : "", names[look.blocked[i].task.task],
                           names[look.blocked[i].blocker.task]);
    }
    rota_pool_snapshot_release(&look);
    return text_out;
}

const char *scene_confirmed(struct rota_pool *pool, uint64_t client, uint32_t count)
{
    static const char *const outcomes[] = {"none", "ok", "failed", "error", "aborted", "lost"};
    struct rota_pool_confirmation confirmed;
    int length = 0;
    text_out[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!rota_pool_confirmed(pool, client, &confirmed, 1, PATIENCE)) break;
        length += snprintf(text_out + length, sizeof text_out - (size_t)length, "%s%c=%s",
                           length ? " " : "", names[confirmed.task.task],
                           outcomes[confirmed.outcome]);
    }
    return text_out;
}

// ---- Handlers ------------------------------------------------------------------------

void fetches(struct rota_pool *pool, rota_task_id task)
{
    if (rota_pool_fetch(pool, 9, task, 0, 0, NULL)) fail_msg("%s", rota_pool_reason(pool));
}

void delivers(struct rota_pool *pool, rota_task_id task)
{
    if (rota_pool_deliver(pool, 9, task, 0)) fail_msg("%s", rota_pool_reason(pool));
}

void fails(struct rota_pool *pool, rota_task_id task)
{
    if (rota_pool_fail(pool, 9, task, 0, 3)) fail_msg("%s", rota_pool_reason(pool));
}

int32_t lane_counter(struct rota_pool *pool, uint32_t lane)
{
    int32_t counter = 0;
    uint32_t count;
    rota_pool_lane_look(pool, lane, &counter, NULL, 0, &count);
    return counter;
}

uint32_t lane_groups(struct rota_pool *pool, uint32_t lane)
{
    int32_t counter;
    uint32_t count = 0;
    rota_pool_lane_look(pool, lane, &counter, NULL, 0, &count);
    return count;
}

// ---- A gate ----------------------------------------------------------------------------

void gate_open(struct gate *gate)
{
    *gate = (struct gate){0};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->change, NULL);
}

void gate_close(struct gate *gate)
{
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->change);
}

int gate_function(void *argument, struct rota_pool_call *call)
{
    struct gate *gate = argument;
    char name = names[rota_pool_call_task(call).task];
    pthread_mutex_lock(&gate->lock);
    gate->began[gate->count++] = name;
    rota_pool_call_started(call);
    pthread_cond_broadcast(&gate->change);
    while (!(gate->passes >> (name & 63) & 1)) pthread_cond_wait(&gate->change, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return 0;
}

static void pass(struct gate *gate, uint64_t which)
{
    pthread_mutex_lock(&gate->lock);
    gate->passes |= which;
    pthread_cond_broadcast(&gate->change);
    pthread_mutex_unlock(&gate->lock);
}

void gate_pass(struct gate *gate, char name)
{
    pass(gate, 1ull << (name & 63));
}

void gate_pass_all(struct gate *gate)
{
    pass(gate, UINT64_MAX);
}

static int compare_names(const void *one, const void *other)
{
    return *(const char *)one - *(const char *)other;
}

void gate_has_all_of(struct gate *gate, const char *began)
{
    uint32_t all = (uint32_t)strlen(began);
    for (int i = 0; i < PATIENCE / 1000 && atomic_load(&gate->count) < all; i++) nap(1000);
    pthread_mutex_lock(&gate->lock);
    qsort(gate->began, gate->count, 1, compare_names);
    pthread_mutex_unlock(&gate->lock);
    gate_waits_for(gate, began);
}

void gate_waits_for(struct gate *gate, const char *began)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE / SECOND;
    int late = 0;
    pthread_mutex_lock(&gate->lock);
    while (gate->count < strlen(began) && !late)
        late = pthread_cond_timedwait(&gate->change, &gate->lock, &end);
    assert_string_equal(gate->began, began);
    pthread_mutex_unlock(&gate->lock);
}

// ---- Threads ---------------------------------------------------------------------------

void threads_run(uint32_t count, void *(*function)(void *), void *arguments, size_t size)
{
    pthread_t threads[256];
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, function, (char *)arguments + i * size), 0);
    for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

void nap(int64_t microseconds)
{
    nanosleep(&(struct timespec){microseconds / SECOND, microseconds % SECOND * 1000}, NULL);
}
