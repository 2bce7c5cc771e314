// queue.c - a queue shared by threads.
#include "pool/pool.h"
#include "rota_queue.h"

#include <stdlib.h>

struct rota_queue {
    pthread_mutex_t lock;
    pthread_cond_t item, room;
    void **ring;
    uint32_t bound, first, count, capacity;
    bool ended;
};

enum rota_error rota_queue_open(uint32_t bound, struct rota_queue **out)
{
    struct rota_queue *queue = calloc(1, sizeof *queue);
    *out = NULL;
    if (!queue) return ROTA_NO_MEMORY;
    queue->bound = bound;
    bool item = condition_open(&queue->item);
    bool room = item && condition_open(&queue->room);
    if (room && !pthread_mutex_init(&queue->lock, NULL)) {
        *out = queue;
        return ROTA_OK;
    }
    if (room) pthread_cond_destroy(&queue->room);
    if (item) pthread_cond_destroy(&queue->item);
    free(queue);
    return ROTA_NO_MEMORY;
}

void rota_queue_close(struct rota_queue *queue)
{
    if (!queue) return;
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->item);
    pthread_cond_destroy(&queue->room);
    free(queue->ring);
    free(queue);
}

// The ring is rotated so that its first item is at the start of the larger one.
static bool queue_reserve(struct rota_queue *queue)
{
    if (queue->count < queue->capacity) return true;
    uint64_t wanted = (uint64_t)queue->capacity * 2 + 16;
    void **ring = wanted <= UINT32_MAX ? calloc(wanted, sizeof *ring) : NULL;
    if (!ring) return false;
    for (uint32_t i = 0; i < queue->count; i++)
        ring[i] = queue->ring[(queue->first + (uint64_t)i) % queue->capacity];
    free(queue->ring);
    queue->ring = ring;
    queue->first = 0;
    queue->capacity = (uint32_t)wanted;
    return true;
}

static bool is_full(const struct rota_queue *queue)
{
    return queue->bound && queue->count == queue->bound;
}

static enum rota_error put_locked(struct rota_queue *queue, void *item, rota_time deadline)
{
    while (is_full(queue) && !queue->ended)
        if (!wait_until(&queue->room, &queue->lock, deadline)) break;
    if (is_full(queue) || queue->ended) return ROTA_NOT_NOW;
    if (!queue_reserve(queue)) return ROTA_NO_MEMORY;
    queue->ring[(queue->first + (uint64_t)queue->count++) % queue->capacity] = item;
    pthread_cond_signal(&queue->item);
    return ROTA_OK;
}

enum rota_error rota_queue_put(struct rota_queue *queue, void *item, rota_time timeout)
{
    rota_time deadline = deadline_after(timeout);
    pthread_mutex_lock(&queue->lock);
    enum rota_error error = put_locked(queue, item, deadline);
    pthread_mutex_unlock(&queue->lock);
    return error;
}

static enum rota_error take_locked(struct rota_queue *queue, void **item, rota_time deadline)
{
    while (!queue->count && !queue->ended)
        if (!wait_until(&queue->item, &queue->lock, deadline)) break;
    if (!queue->count) return ROTA_NOT_NOW;
    *item = queue->ring[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    pthread_cond_signal(&queue->room);
    return ROTA_OK;
}

enum rota_error rota_queue_take(struct rota_queue *queue, void **item, rota_time timeout)
{
    rota_time deadline = deadline_after(timeout);
    pthread_mutex_lock(&queue->lock);
    enum rota_error error = take_locked(queue, item, deadline);
    pthread_mutex_unlock(&queue->lock);
    return error;
}

void rota_queue_end(struct rota_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->ended = true;
    pthread_cond_broadcast(&queue->item);
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->lock);
}

bool rota_queue_has_ended(struct rota_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool ended = queue->ended && !queue->count;
    pthread_mutex_unlock(&queue->lock);
    return ended;
}

uint32_t rota_queue_count(struct rota_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint32_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
