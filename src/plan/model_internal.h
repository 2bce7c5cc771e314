// model_internal.h - internals of the model: workers, links between them, downloads.
#pragma once

#include "plan/plan.h"

#include <stdlib.h>

enum copy_state { COPY_WAITS, COPY_MOVES, COPY_THERE };
enum task_state { TASK_AWAY, TASK_GIVEN, TASK_READY, TASK_RUNS, TASK_OVER };

struct copy {
    uint32_t object, worker, link;
    uint32_t next;   // of the same object, plus one
    uint32_t state;  // enum copy_state
};

struct link {  // from a sending worker to a receiving one
    uint32_t source, worker;
    uint32_t next;  // of the receiver, plus one
    uint32_t moving, opening;
    uint32_t place;                     // index in active[], plus one
    uint32_t next_sent, next_received;  // while shares are computed
    double rate;
    struct plan_queue waiting;
};

struct model_worker {
    // moving: downloads, including those that are being set up
    uint32_t cores_free, moving, waiting;
    uint32_t memory_free, sending;  // sending: downloads from it, including those that wait
    uint32_t links;  // the first, plus one
    bool dirty, down;
    double disk_free;
    struct plan_queue ready;
};

struct model_task {
    uint32_t worker, missing;
    enum task_state state;
    double began, ends;
    double left;   // of a task that will fail, when its group stalled
    uint64_t run;  // identifies the end that belongs to this attempt
    double times;  // factor of the duration in this attempt; 0: 1
    bool fails;
    enum model_cut why;  // why it was cut off
};

struct model_group {    // stalls while one of its tasks does not run
    double ends, left;  // of its work; `left`: at the moment when it stalled
    uint32_t flows;     // active streams between workers
    bool begun, stands;
};

struct end {
    double at;
    uint64_t since;
    uint32_t task;
};

struct opening {  // a download whose first byte has not arrived
    double at;
    uint32_t copy;
};

struct port {  // the sending or receiving side of a worker
    double left, share;
    uint32_t links, first;
};

struct model {
    const struct plan_graph *graph;
    const struct plan_cluster *cluster;
    double now;
    uint64_t since;
    struct model_sums sums;

    struct model_task *tasks;
    struct plan_key *task_keys, *copy_keys;
    struct model_worker *workers;
    struct copy *copies;
    uint32_t *copy_of;  // by object: the first, plus one
    uint32_t copy_count, copy_capacity;
    struct link *links;
    uint32_t link_count, link_capacity;

    struct end *ends;  // a heap of the ends of running tasks
    uint32_t end_count, end_capacity;
    uint32_t *moving;  // active copies, with remaining MiB and rates
    double *left, *rate;
    uint32_t moving_count, moving_capacity;
    struct opening *openings;  // ordered by arrival of the first byte
    uint32_t opening_first, opening_count, opening_capacity;

    uint32_t *active;  // links with active downloads
    uint32_t active_count, active_capacity;
    bool is_changed;     // the active links, or the number of downloads on one
    struct port *ports;  // senders, then receivers
    uint32_t *busy;

    uint32_t *dirty;
    uint32_t dirty_count;
    uint32_t *ended, *started;
    uint32_t ended_count, started_count;
    struct model_arrival *arrived;
    uint32_t arrived_count, arrived_capacity;
    uint32_t *passed;  // ready tasks that do not fit
    struct model_arrival *broken;
    uint32_t broken_count, broken_capacity;

    struct model_group *groups;  // of tasks joined by streams
    bool *dropped;               // streams without readers in this attempt
    bool *gone;                  // objects that no longer exist where they were made
    uint32_t *cut, *cut_told;
    uint32_t cut_count;
};

void network_share(struct model *model);                 // computes all rates
void network_open(struct model *model, uint32_t copy);   // it starts after the latency
void network_opened(struct model *model);                // starts those whose latency has passed
void network_stop(struct model *model, uint32_t place);  // by its place in moving[]
struct link *network_link(struct model *model, uint32_t source, uint32_t worker, uint32_t *number);
void network_close(struct model *model, uint32_t copy);  // in any state
void model_touch(struct model *model, uint32_t worker);
void model_queue_remove(struct plan_queue *queue, struct plan_key *keys, uint32_t item);
void model_end_at(struct model *model, uint32_t task, double at);
struct end model_end_next(struct model *model);                  // removes it
double model_seconds(const struct model *model, uint32_t task);  // duration of its work
uint32_t model_copy_add(struct model *model, uint32_t object, uint32_t worker);
void model_ready(struct model *model, uint32_t task);
void model_free(struct model *model, uint32_t task);   // releases its cores and memory
void model_uncut(struct model *model, uint32_t task);  // clears the pending report
void model_cut_task(struct model *model, uint32_t task, enum model_cut why);
void room_open(struct model *model);
void room_close(struct model *model);
void room_reset(struct model *model);
bool room_take(struct model *model, uint32_t worker, double mib);  // false: no space
void room_give(struct model *model, uint32_t worker, double mib);
bool room_take_outputs(struct model *model, uint32_t task);
void room_forget_outputs(struct model *model, uint32_t task);  // they will be made again
void room_refuse(struct model *model, uint32_t copy);          // a download that does not fit
void room_crash(struct model *model, uint32_t worker);
// A stream is not fetched: its reader can start when it is being written.
bool model_flows(const struct model *model, uint32_t object);
void model_streams_open(struct model *model);
void model_streams_close(struct model *model);
void model_streams_reset(struct model *model);
void model_streams_started(struct model *model, uint32_t task);
void model_streams_flowed(struct model *model, uint32_t copy);
void model_streams_left(struct model *model, uint32_t task);  // before it was done
static inline void model_grow(void *items, uint32_t *capacity, uint32_t count, size_t size)
{
    if (!memory_reserve_raw(&memory_heap, items, capacity, (uint64_t)count + 1, size)) abort();
}
