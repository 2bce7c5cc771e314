// client.c - news for clients: confirmations of tasks, and the end of jobs.
#include "pool/pool.h"

#include <string.h>

static struct client *client_find(const struct rota_pool *pool, uint64_t number)
{
    uint32_t index = map_find(&pool->client_by_number, number);
    return index ? &pool->clients[index - 1] : NULL;
}

static struct client *client_add(struct rota_pool *pool, uint64_t number)
{
    bool there
        = ARRAY_MORE(&pool->memory, pool->clients, pool->client_count, pool->client_capacity);
    if (!there || !map_reserve(&pool->memory, &pool->client_by_number, 1)) return NULL;
    struct client *client = &pool->clients[pool->client_count++];
    *client = (struct client){.number = number};
    map_put(&pool->client_by_number, number, pool->client_count);
    return client;
}

// Entries after the first are moved to the end of the larger ring.
static bool ring_reserve(struct rota_pool *pool, struct client *client, uint64_t need)
{
    uint32_t before = client->capacity;
    bool there = ARRAY_RESERVE(&pool->memory, client->ring, client->capacity, need);
    if (!there || client->capacity == before || !client->count) return there;
    uint32_t moved = before - client->first, first = client->capacity - moved;
    memmove(&client->ring[first], &client->ring[client->first], moved * sizeof *client->ring);
    client->first = first;
    return true;
}

bool client_reserve(struct rota_pool *pool, uint64_t number, uint32_t more)
{
    if (!number) return true;
    struct client *client = client_find(pool, number);
    if (!client) client = client_add(pool, number);
    return client
           && ring_reserve(pool, client, (uint64_t)client->count + client->expected + more);
}

void client_expect(struct rota_pool *pool, uint64_t number, uint32_t more)
{
    if (number) client_find(pool, number)->expected += more;
}

void client_tell(struct rota_pool *pool, const struct rota_action *action)
{
    if (!action->confirm.client) return;
    struct client *client = client_find(pool, action->confirm.client);
    assert(client->expected > 0);
    client->expected--;
    uint32_t place = (uint32_t)((client->first + (uint64_t)client->count++) % client->capacity);
    client->ring[place] = (struct rota_pool_confirmation){
        action->confirm.task, action->confirm.outcome, action->confirm.status};
    pthread_cond_broadcast(&pool->news);
}

void client_release_all(struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->client_count; i++) {
        ARRAY_RELEASE(&pool->memory, pool->clients[i].ring, pool->clients[i].capacity);
    }
    ARRAY_RELEASE(&pool->memory, pool->clients, pool->client_capacity);
    map_release(&pool->memory, &pool->client_by_number);
}

// ---- Waiting -----------------------------------------------------------------------

// While a server thread processes several tasks at once it may know of ends that the core does not;
// then this checks again after a millisecond.
static bool wait_for_news(struct rota_pool *pool, rota_time deadline)
{
    if (!pool->batching) {
        pool->clients_asleep++;
        bool woken = wait_until(&pool->news, &pool->lock, deadline);
        pool->clients_asleep--;
        return woken;
    }
    rota_time soon = deadline_after(1000);
    bool last = deadline <= soon;
    return wait_until(&pool->news, &pool->lock, last ? deadline : soon) || !last;
}

static uint32_t take_confirmations(struct client *client, struct rota_pool_confirmation *out,
                                   uint32_t max)
{
    uint32_t count = client && client->count < max ? client->count : client ? max : 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = client->ring[client->first];
        client->first = (client->first + 1) % client->capacity;
    }
    if (client) client->count -= count;
    return count;
}

uint32_t rota_pool_confirmed(struct rota_pool *pool, uint64_t client,
                             struct rota_pool_confirmation *out, uint32_t max, rota_time timeout)
{
    rota_time deadline = deadline_after(timeout);
    pool_enter(pool);
    uint32_t count = 0;
    bool more = max > 0;
    while (more) {
        turn_gather(pool);
        count = take_confirmations(client_find(pool, client), out, max);
        bool open = pool->stage == STAGE_OPEN || (pool->stage == STAGE_SHUT && pool->live);
        more = !count && open && wait_for_news(pool, deadline);
    }
    pool_leave(pool);
    return count;
}

enum rota_error rota_pool_wait(struct rota_pool *pool, rota_job_id number, rota_time timeout,
                               struct rota_pool_sum *sum)
{
    rota_time deadline = deadline_after(timeout);
    enum rota_error error = ROTA_OK;
    pool_enter(pool);
    for (bool more = true; more;) {
        turn_gather(pool);
        struct job *job = pool_job_find(pool, number.number);
        more = job && !job->over && pool->stage != STAGE_QUIT && wait_for_news(pool, deadline);
        if (more) continue;
        if (!job)
            error = pool_refuse(pool, ROTA_NOT_FOUND, "no such job");
        else if (!job->over)
            error = pool_refuse(pool, ROTA_NOT_NOW, "the job has not ended");
        else if (sum) *sum = job->sum;
    }
    pool_leave(pool);
    return error;
}

bool pool_wait_all(struct rota_pool *pool, rota_time deadline)
{
    for (turn_gather(pool); pool->live; turn_gather(pool))
        if (pool->stage == STAGE_QUIT || !wait_for_news(pool, deadline)) return !pool->live;
    return true;
}

enum rota_error rota_pool_wait_all(struct rota_pool *pool, rota_time timeout)
{
    rota_time deadline = deadline_after(timeout);
    pool_enter(pool);
    enum rota_error error = ROTA_OK;
    if (!pool_wait_all(pool, deadline))
        error = pool_refuse(pool, ROTA_NOT_NOW, "there are jobs that have not ended");
    pool_leave(pool);
    return error;
}
