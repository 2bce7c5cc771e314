// plan.h - schedules made ahead of time, and what they would come to.
//
// A schedule says for each task where it runs and how urgent it is. Here schedules are made
// (list_schedule.c, greedy.c), tried out in a model of workers and their network (model.c,
// replay.c), and the best of many is kept (search.c). Nothing here knows the core, a clock or a
// file: the same input gives the same schedule, whatever the machine, because effort is counted in
// steps.
//
// Seconds and MiB are doubles. Every operation on them is a single rounding in a fixed order.
// Without memory the program ends.
#pragma once

#include "base/base.h"

#define PLAN_NONE UINT32_MAX

// ---- graph.c: what is to be done -------------------------------------------------------------

struct plan_task {
    uint32_t cores;
    uint32_t input, input_count;    // inputs[input ... input + input_count)
    uint32_t output, output_count;  // objects[output ... output + output_count)
};

struct plan_object {
    uint32_t producer;         // PLAN_NONE: there from the beginning, everywhere
    uint32_t user, user_count;  // users[user ... user + user_count), none twice
};

struct plan_graph {
    struct plan_task *tasks;
    struct plan_object *objects;
    uint32_t *inputs, *users;
    double *seconds, *mib;  // by task, by object
    uint32_t *memory_mib;   // by task; null: nobody wants any
    uint32_t *sorted;       // tasks, producers first
    bool *streams;          // by object: read while it is written, by one; null: none is
    // Tasks that streams join, if there are streams: the group of each from 1 on, 0 for most; the
    // group g is grouped[group_first[g] ... group_first[g + 1]), writers first.
    uint32_t *group, *group_first, *grouped;
    uint32_t group_count;
    uint32_t task_count, object_count, input_count;
};

// Fills in users, producers, the order and groups; false: there is a cycle.
bool plan_graph_finish(struct plan_graph *graph);
void plan_graph_release(struct plan_graph *graph);

static inline bool plan_is_stream(const struct plan_graph *graph, uint32_t object)
{
    return graph->streams && graph->streams[object];
}

// ---- stream_groups.c: tasks that run together ---------------------------------------------------

bool plan_graph_join(struct plan_graph *graph);  // false: they wait for each other
double plan_lasts(const struct plan_graph *graph, uint32_t task);  // with those it is joined with

struct plan_cluster {
    const uint32_t *cores;  // by worker
    uint32_t worker_count;
    uint32_t slots, slots_each;  // downloads at a time: of a worker, and from the same source
    double bandwidth;            // MiB a second, of each worker, in either direction
    bool shared;                 // false: each download has the whole bandwidth
    double latency;              // seconds before the first byte of a download
    double loss;                 // share of packets that have to be sent again
    double flow_most;            // MiB a second of one download; 0: no limit
    bool any_source;             // copies are sources too, not only who made it
    const double *speed;         // by worker: seconds of work done in one; null: 1
    const uint32_t *memory_mib;  // by worker; null: no limit
    const double *disk_mib;      // by worker: what all objects there may have; null: no limit
};

static inline double plan_speed(const struct plan_cluster *cluster, uint32_t worker)
{
    return cluster->speed ? cluster->speed[worker] : 1;
}

// What is lost is sent again, and takes the room of something else.
static inline double plan_goodput(const struct plan_cluster *cluster)
{
    return cluster->bandwidth * (1 - cluster->loss);
}

// What one download gets at most.
static inline double plan_bandwidth(const struct plan_cluster *cluster)
{
    double most = plan_goodput(cluster), limit = cluster->flow_most;
    return limit > 0 && limit < most ? limit : most;
}

static inline double plan_transfer(const struct plan_cluster *cluster, double mib)
{
    return mib / plan_bandwidth(cluster) + cluster->latency;
}

static inline bool plan_fits(const struct plan_graph *graph, const struct plan_cluster *cluster,
                             uint32_t task, uint32_t worker)
{
    if (graph->tasks[task].cores > cluster->cores[worker]) return false;
    if (!graph->memory_mib || !cluster->memory_mib) return true;
    return graph->memory_mib[task] <= cluster->memory_mib[worker];
}

struct plan_schedule {
    uint32_t *worker;
    uint32_t *order;  // higher goes first; no two are equal
};

void *plan_take(size_t count, size_t size);  // zeroed; free() gives it back
struct plan_schedule plan_schedule_take(uint32_t task_count);
void plan_schedule_release(struct plan_schedule *schedule);
void plan_schedule_copy(struct plan_schedule *to, const struct plan_schedule *from,
                        uint32_t task_count);

// ---- rank_heap.c: who goes first ----------------------------------------------------------------

struct plan_key {
    double urgency;  // higher goes first,
    uint64_t since;  // then what came first
    uint32_t place;  // in its queue, plus one; 0: in none
};

struct plan_queue {
    uint32_t *items;
    uint32_t count, capacity;
};

void plan_queue_push(struct plan_queue *queue, struct plan_key *keys, uint32_t item);
void plan_queue_raise(struct plan_queue *queue, struct plan_key *keys, uint32_t item);  // it did
uint32_t plan_queue_pop(struct plan_queue *queue, struct plan_key *keys);

// ---- model.c: workers that run tasks and fetch objects ---------------------------------------
// The rules of data/README.md: one instant is completions, then downloads, then tasks by urgency.

struct model;

struct model *model_open(const struct plan_graph *graph, const struct plan_cluster *cluster);
void model_close(struct model *model);
void model_reset(struct model *model);

// A worker is given a task: it starts when its inputs are there and cores are free.
void model_assign(struct model *model, uint32_t task, uint32_t worker, double urgency);
bool model_retract(struct model *model, uint32_t task);  // false: it runs, or is over
void model_request(struct model *model, uint32_t object, uint32_t worker, double urgency);
bool model_call_off(struct model *model, uint32_t object, uint32_t worker);  // false: it moves
void model_settle(struct model *model);  // downloads and tasks start, as far as they can

// Goes on to the next completions, at most to `until`, and applies them. False: nothing is under
// way.
bool model_advance(struct model *model, double until);
void model_wait(struct model *model, double until);  // while nothing is under way
double model_now(const struct model *model);

uint32_t model_started(const struct model *model, const uint32_t **tasks);  // when it settled last

// What was completed last.
struct model_arrival {
    uint32_t object, worker;
};
uint32_t model_ended(const struct model *model, const uint32_t **tasks);
uint32_t model_arrived(const struct model *model, const struct model_arrival **arrivals);
bool model_has(const struct model *model, uint32_t object, uint32_t worker);
bool model_is_under_way(const struct model *model, uint32_t object, uint32_t worker);
bool model_runs(const struct model *model, uint32_t task);
double model_began(const struct model *model, uint32_t task);
double model_ends(const struct model *model, uint32_t task);  // when it will, or did
uint32_t model_worker(const struct model *model, uint32_t task);

// ---- model_faults.c: what goes wrong ---------------------------------------------------------

// Of a task that was assigned and has not started: it takes so many times as long, and may come to
// nothing. It holds for this once.
void model_fate(struct model *model, uint32_t task, double times, bool fails);
bool model_failed(const struct model *model, uint32_t task);  // of those that ended last
void model_kill(struct model *model, uint32_t task);  // it runs no longer, or not at all
// A worker loses all it has, and what comes from it breaks off: lists those downloads. Until it is
// back what it is told is lost.
uint32_t model_crash(struct model *model, uint32_t worker, const struct model_arrival **broken);
void model_come_back(struct model *model, uint32_t worker);
bool model_is_down(const struct model *model, uint32_t worker);

// ---- model_streams.c: tasks that are joined ----------------------------------------------------

// Nobody reads on: who writes it comes to nothing, if it still does.
void model_cut(struct model *model, uint32_t object, uint32_t worker);
// Tasks that were ended by others, or for want of an input, since it was asked last.
enum model_cut { MODEL_CUT_READER, MODEL_CUT_WRITER, MODEL_CUT_INPUT };
uint32_t model_cut_off(struct model *model, const uint32_t **tasks);
enum model_cut model_why(const struct model *model, uint32_t task);

// ---- model_disk.c: disks that fill up ----------------------------------------------------------

// It is not needed there any more.
void model_drop(struct model *model, uint32_t object, uint32_t worker);

struct model_sums {
    uint64_t transfers, steps;
    double mib;
};
struct model_sums model_sums(const struct model *model);

// ---- replay.c: a schedule, executed as it is -------------------------------------------------

// The finish of the last task, or `limit` if that is later.
double plan_replay(struct model *model, const struct plan_graph *graph,
                   const struct plan_schedule *schedule, double limit);

// ---- lower_bound.c: what no schedule can beat ---------------------------------------------------

double plan_longest_path(const struct plan_graph *graph);
double plan_lower_bound(const struct plan_graph *graph, const struct plan_cluster *cluster);

// ---- list_schedule.c, greedy.c: one schedule ----------------------------------------------------

struct plan_rule {
    double carried;    // how much of a transfer the rank of a task counts, 0: durations only
    double penalty;    // for bytes moved, in transfer times
    double noise;      // of ranks
    bool free_network;  // transfers do not hinder each other
    bool greedy;       // idle cores take what is ready, by rank
    bool few;          // look at few workers only
    bool homing;       // outputs should be early where others of their readers' inputs are
    bool together;     // who hands much to whom goes to the same worker (family.c)
    uint32_t part;     // use one of so many workers; 0: all
    bool by_start;     // urgent is what is planned to start first, not what was planned first
    uint64_t seed;     // of the noise
};

struct planner;

struct planner *planner_open(const struct plan_graph *graph, const struct plan_cluster *cluster);
void planner_close(struct planner *planner);

// What is known when planning starts: all zero at the beginning of a run.
enum plan_stage { PLAN_OPEN, PLAN_RUNS, PLAN_DONE };
void planner_clear(struct planner *planner);
void planner_set_done(struct planner *planner, uint32_t task, uint32_t worker);
void planner_set_running(struct planner *planner, uint32_t task, uint32_t worker, double left);
// Cores that something else has for so long; at most all of them.
void planner_set_busy(struct planner *planner, uint32_t worker, uint32_t cores, double left);
void planner_set_copy(struct planner *planner, uint32_t object, uint32_t worker, double left);
void planner_set_place(struct planner *planner, uint32_t task, uint32_t worker);  // bound there
// It lies there already, and is so many times as loyal.
void planner_set_queued(struct planner *planner, uint32_t task, uint32_t worker, uint8_t times);

// Plans what is open, at most so many tasks; returns when all of that is expected to be done.
double planner_plan(struct planner *planner, const struct plan_rule *rule,
                    struct plan_schedule *schedule, uint32_t tasks_max);
void planner_set_loyalty(struct planner *planner, double seconds);  // to where tasks are bound
uint64_t planner_steps(const struct planner *planner);
uint64_t planner_planned(const struct planner *planner);  // tasks, in all plans

// ---- rolling.c: a plan that follows what happens ---------------------------------------------

// Told what happens, it learns durations and sizes, and plans again when something was not as
// expected. The graph's seconds and MiB are estimates, and are changed as the truth comes out.
struct rolling;

struct rolling *rolling_open(struct plan_graph *graph, const struct plan_cluster *cluster,
                             char *const *kinds);  // of tasks; tasks of a kind are alike
void rolling_close(struct rolling *rolling);
void rolling_bind(struct rolling *rolling, const struct plan_schedule *schedule);
void rolling_started(struct rolling *rolling, uint32_t task, uint32_t worker, double now);
void rolling_made(struct rolling *rolling, uint32_t object, double mib);
void rolling_ended(struct rolling *rolling, uint32_t task, double now);
void rolling_asked(struct rolling *rolling, uint32_t object, uint32_t worker, double now);
void rolling_called_off(struct rolling *rolling, uint32_t object, uint32_t worker);
void rolling_arrived(struct rolling *rolling, uint32_t object, uint32_t worker);
void rolling_opened(struct rolling *rolling, uint32_t task);  // it is to run, perhaps once more
void rolling_worker_lost(struct rolling *rolling, uint32_t worker);  // and all it had
void rolling_worker_back(struct rolling *rolling, uint32_t worker);
bool rolling_is_surprised(const struct rolling *rolling);
// The tasks that have a new place or order, and how many; the schedule has both. What is too far
// ahead has no place any more (PLAN_NONE).
uint32_t rolling_plan(struct rolling *rolling, double now, const struct plan_schedule **schedule,
                      const uint32_t **tasks);
uint64_t rolling_planned(const struct rolling *rolling);

// ---- search.c: the best of many --------------------------------------------------------------

struct plan_search {
    uint64_t steps_max;  // effort; one rule is tried in any case
    double steps_each;   // no more than so many for each second that the run takes
    uint64_t seed;
    uint32_t plans;      // tried
    uint64_t steps;      // spent
    struct plan_rule rule;  // of the best
    double seconds;      // it comes to
};

// Leaves the best schedule that was found in `best`.
void plan_search(struct plan_search *search, const struct plan_graph *graph,
                 const struct plan_cluster *cluster, struct plan_schedule *best);
