// model_internal.h - the inside of the model: workers, links between them, copies on their way.
#pragma once

#include "plan/plan.h"

enum copy_state { COPY_WAITS, COPY_MOVES, COPY_THERE };
enum task_state { TASK_AWAY, TASK_GIVEN, TASK_READY, TASK_RUNS, TASK_OVER };

struct copy {
    uint32_t object, worker, link;
    uint32_t next;   // of the same object, plus one
    uint32_t state;  // enum copy_state
};

struct link {  // from a worker that sends to one that receives
    uint32_t source, worker;
    uint32_t next;  // of the receiver, plus one
    uint32_t moving, opening;
    uint32_t place;  // among the active, plus one
    uint32_t next_sent, next_received;  // while shares are found
    double rate;
    struct plan_queue waiting;
};

struct model_worker {
    uint32_t cores_free, moving, waiting;  // moving: downloads, also those that only open yet
    uint32_t memory_free, sending;  // sending: downloads from it, also those that wait
    uint32_t links;  // the first, plus one
    bool dirty, down;
    double disk_free;
    struct plan_queue ready;
};

struct model_task {
    uint32_t worker, missing;
    enum task_state state;
    double began, ends;
    double left;     // of one that is to fail, when its group came to stand still
    uint64_t run;    // which of the ends is its own
    double times;    // as long as usual, in this attempt; 0: once
    bool fails;
    enum model_cut why;  // it was cut off
};

struct model_group {  // while somebody of it is missing it stands still
    double ends, left;  // of its work; what was left when it came to stand still
    uint32_t flows;     // between workers, on their way
    bool begun, stands;
};

struct end {
    double at;
    uint64_t since;
    uint32_t task;
};

struct opening {  // a download whose first byte has not come
    double at;
    uint32_t copy;
};

struct port {  // a worker sending, or receiving
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

    struct end *ends;  // a heap of those that run
    uint32_t end_count, end_capacity;
    uint32_t *moving;  // copies on their way, with what is left of them and how fast
    double *left, *rate;
    uint32_t moving_count, moving_capacity;
    struct opening *openings;  // the first that comes is first
    uint32_t opening_first, opening_count, opening_capacity;

    uint32_t *active;  // links with something on its way
    uint32_t active_count, active_capacity;
    bool is_changed;     // the links that are active, or how many share one
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

    struct model_group *groups;  // of tasks that streams join
    bool *dropped;               // streams that nobody reads, this time
    bool *gone;                  // objects that are no longer where they were made
    uint32_t *cut, *cut_told;
    uint32_t cut_count;
};

void network_share(struct model *model);  // finds all rates
void network_open(struct model *model, uint32_t copy);  // it starts when the latency is over
void network_opened(struct model *model);  // those for which that is now
void network_stop(struct model *model, uint32_t place);  // in moving[]
struct link *network_link(struct model *model, uint32_t source, uint32_t worker, uint32_t *number);
void network_close(struct model *model, uint32_t copy);  // whatever it was at
void model_touch(struct model *model, uint32_t worker);
void model_queue_remove(struct plan_queue *queue, struct plan_key *keys, uint32_t item);
uint32_t model_memory_of(const struct plan_cluster *cluster, uint32_t worker);
uint32_t model_memory_wanted(const struct model *model, uint32_t task);
void model_end_at(struct model *model, uint32_t task, double at);
struct end model_end_next(struct model *model);  // takes it out
double model_seconds(const struct model *model, uint32_t task);  // of work
uint32_t model_copy_add(struct model *model, uint32_t object, uint32_t worker);
void model_ready(struct model *model, uint32_t task);
void model_free(struct model *model, uint32_t task);  // what it had of its worker
void model_uncut(struct model *model, uint32_t task);  // nothing is to be told of it any more
void model_cut_task(struct model *model, uint32_t task, enum model_cut why);
void room_open(struct model *model);
void room_close(struct model *model);
void room_reset(struct model *model);
bool room_take(struct model *model, uint32_t worker, double mib);  // false: there is no room
void room_give(struct model *model, uint32_t worker, double mib);
bool room_take_outputs(struct model *model, uint32_t task);
void room_forget_outputs(struct model *model, uint32_t task);  // they will be made again
void room_refuse(struct model *model, uint32_t copy);  // a download that was to begin
void room_crash(struct model *model, uint32_t worker);
// A stream is not fetched: who reads it can begin when it is written.
bool model_flows(const struct model *model, uint32_t object);
void streams_open(struct model *model);
void streams_close(struct model *model);
void streams_reset(struct model *model);
void streams_started(struct model *model, uint32_t task);
void streams_flowed(struct model *model, uint32_t copy);
void streams_left(struct model *model, uint32_t task);  // before it was done
void model_grow(void **items, uint32_t *capacity, uint32_t count, size_t size);
