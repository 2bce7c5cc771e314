// rota_queue.h - a queue that threads share: first in, first out, bounded or not.
//
// Any number of threads may put and take. An item is a pointer that the queue does not follow.
#pragma once

#include "rota_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_queue;

// bound: the largest number of items; rota_queue_put() waits for room. 0: no bound.
enum rota_error rota_queue_open(uint32_t bound, struct rota_queue **out);

// No thread may use the queue any more. The caller still owns the items in it. Null is fine.
void rota_queue_close(struct rota_queue *queue);

// Waits for room, or for an item, up to the timeout (microseconds; 0: does not wait, ROTA_NEVER: no
// limit). ROTA_NOT_NOW: the timeout expired, or the queue has ended; ROTA_NO_MEMORY: an unbounded
// queue could not grow.
enum rota_error rota_queue_put(struct rota_queue *queue, void *item, rota_time timeout);
enum rota_error rota_queue_take(struct rota_queue *queue, void **item, rota_time timeout);

// No further items can be put. The remaining ones can be taken; then takers get ROTA_NOT_NOW.
void rota_queue_end(struct rota_queue *queue);
bool rota_queue_has_ended(struct rota_queue *queue);  // and is empty
uint32_t rota_queue_count(struct rota_queue *queue);

#ifdef __cplusplus
}
#endif
