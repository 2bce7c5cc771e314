// rota_queue.h - a queue that threads share: first in, first out, bounded or not.
//
// Any number of threads may put and take. What is put is a pointer that the queue never looks at.
#pragma once

#include "rota_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_queue;

// bound: so many items at most, and whoever puts one more waits; 0: no bound.
enum rota_error rota_queue_open(uint32_t bound, struct rota_queue **out);

// Nobody may be using the queue any more. Items that are left are the caller's. Null is fine.
void rota_queue_close(struct rota_queue *queue);

// Waits for room, or for an item, so long at most (microseconds; 0: not at all, ROTA_NEVER: for
// ever). ROTA_NOT_NOW: there was none in that time, or the queue has ended; ROTA_NO_MEMORY: an
// unbounded queue could not grow.
enum rota_error rota_queue_put(struct rota_queue *queue, void *item, rota_time timeout);
enum rota_error rota_queue_take(struct rota_queue *queue, void **item, rota_time timeout);

// No more is put. What is there can be taken; then, and if there is nothing, takers are told so.
void rota_queue_end(struct rota_queue *queue);
bool rota_queue_has_ended(struct rota_queue *queue);  // and nothing is left to take
uint32_t rota_queue_count(struct rota_queue *queue);

#ifdef __cplusplus
}
#endif
