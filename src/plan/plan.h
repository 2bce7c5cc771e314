// plan.h - schedules computed ahead of time, and estimates of their duration.
//
// A schedule assigns each task a worker and an urgency. Schedules are computed by list_schedule.c
// and greedy.c, tried in a model of workers and their network (model.c, replay.c), and search.c
// keeps the best of many. Nothing here uses the core, a clock or a file: the same input gives the
// same schedule on every machine, because effort is counted in steps.
//
// Seconds and MiB are doubles. Every operation on them is a single rounding in a fixed order. If
// memory runs out, the program ends.
#pragma once

#include "base/base.h"

#define PLAN_NONE UINT32_MAX

// ---- graph.c: tasks and objects -------------------------------------------------------------

struct plan_task {
    uint32_t cores;
    uint32_t input, input_count;    // inputs[input ... input + input_count)
    uint32_t output, output_count;  // objects[output ... output + output_count)
};

struct plan_object {
    uint32_t producer;          // PLAN_NONE: it exists from the beginning, everywhere
    uint32_t user, user_count;  // users[user ... user + user_count), without duplicates
};

struct plan_graph {
    struct plan_task *tasks;
    struct plan_object *objects;
    uint32_t *inputs, *users;
    double *seconds, *mib;  // by task, by object
    uint32_t *memory_mib;   // by task; null: no task needs memory
    uint32_t *sorted;       // tasks, producers first
    bool *streams;          // by object: read while it is written, by one task; null: no streams
    // Tasks joined by streams, if there are any: the group of each task from 1 on, 0 for none;
    // group g is grouped[group_first[g] ... group_first[g + 1]), writers first.
    uint32_t *group, *group_first, *grouped;
    uint32_t group_count;
    uint32_t task_count, object_count, input_count;
};

// Computes users, producers, order and groups; false: the graph has a cycle.
bool plan_graph_finish(struct plan_graph *graph);
void plan_graph_release(struct plan_graph *graph);

static inline bool plan_is_stream(const struct plan_graph *graph, uint32_t object)
{
    return graph->streams && graph->streams[object];
}

// ---- stream_groups.c: tasks joined by streams -----------------------------------------------

bool plan_graph_join(struct plan_graph *graph);                    // false: a cycle between groups
double plan_lasts(const struct plan_graph *graph, uint32_t task);  // with the tasks of its group

struct plan_cluster {
    const uint32_t *cores;  // by worker
    uint32_t worker_count;
    uint32_t slots, slots_each;  // parallel downloads: of a worker, and from the same source
    double bandwidth;            // MiB per second, of each worker, in either direction
    bool shared;                 // false: each download has the full bandwidth
    double latency;              // seconds before the first byte of a download
    double loss;                 // share of packets that have to be sent again
    double flow_most;            // MiB per second of one download; 0: no limit
    bool any_source;             // copies can be sources, not only the producer
    const double *speed;         // by worker: seconds of work done in one second; null: 1
    const uint32_t *memory_mib;  // by worker; null: no limit
    const double *disk_mib;      // by worker: space for all objects; null: no limit
};

static inline double plan_speed(const struct plan_cluster *cluster, uint32_t worker)
{
    return cluster->speed ? cluster->speed[worker] : 1;
}

// Lost packets are sent again, and take capacity.
static inline double plan_goodput(const struct plan_cluster *cluster)
{
    return cluster->bandwidth * (1 - cluster->loss);
}

// The highest rate of one download.
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
    uint32_t *order;  // higher is more urgent; all are different
};

void *plan_take(size_t count, size_t size);  // zeroed; release it with free()
struct plan_schedule plan_schedule_take(uint32_t task_count);
void plan_schedule_release(struct plan_schedule *schedule);
void plan_schedule_copy(struct plan_schedule *to, const struct plan_schedule *from,
                        uint32_t task_count);

// ---- rank_heap.c: a queue by urgency --------------------------------------------------------

struct plan_key {
    double urgency;  // higher is first,
    uint64_t since;  // then the oldest
    uint32_t place;  // in its queue, plus one; 0: in no queue
};

struct plan_queue {
    uint32_t *items;
    uint32_t count, capacity;
};

void plan_queue_push(struct plan_queue *queue, struct plan_key *keys, uint32_t item);
// its urgency has risen
void plan_queue_raise(struct plan_queue *queue, struct plan_key *keys, uint32_t item);
uint32_t plan_queue_pop(struct plan_queue *queue, struct plan_key *keys);

// ---- model.c: workers that run tasks and fetch objects --------------------------------------
// doc/simulation.md, The model: an event is completions, then downloads, then tasks by urgency.

struct model;

struct model *model_open(const struct plan_graph *graph, const struct plan_cluster *cluster);
void model_close(struct model *model);
void model_reset(struct model *model);

// Assigns a task to a worker: it starts when its inputs are there and cores are free.
void model_assign(struct model *model, uint32_t task, uint32_t worker, double urgency);
bool model_retract(struct model *model, uint32_t task);  // false: it runs, or has ended
void model_request(struct model *model, uint32_t object, uint32_t worker, double urgency);
// false: it has started
bool model_call_off(struct model *model, uint32_t object, uint32_t worker);
void model_settle(struct model *model);  // starts downloads and tasks that can start

// Advances to the next completions, at most to `until`, and applies them. False: nothing is
// running.
bool model_advance(struct model *model, double until);
void model_wait(struct model *model, double until);  // while nothing is running
double model_now(const struct model *model);

// tasks started by the last settle
uint32_t model_started(const struct model *model, const uint32_t **tasks);

// The last completions.
struct model_arrival {
    uint32_t object, worker;
};
uint32_t model_ended(const struct model *model, const uint32_t **tasks);
uint32_t model_arrived(const struct model *model, const struct model_arrival **arrivals);
bool model_has(const struct model *model, uint32_t object, uint32_t worker);
bool model_is_under_way(const struct model *model, uint32_t object, uint32_t worker);
double model_began(const struct model *model, uint32_t task);
double model_ends(const struct model *model, uint32_t task);  // when it will end, or has ended
uint32_t model_worker(const struct model *model, uint32_t task);

// ---- model_faults.c: faults -----------------------------------------------------------------

// For a task that was assigned and has not started: the factor of its duration, and whether it
// fails. Applies to this attempt only.
void model_fate(struct model *model, uint32_t task, double times, bool fails);
bool model_failed(const struct model *model, uint32_t task);  // of the tasks that ended last
void model_kill(struct model *model, uint32_t task);          // it no longer runs or waits
// A worker loses all its tasks and objects, and downloads from it fail: lists those downloads.
// Until it returns, orders to it are lost.
uint32_t model_crash(struct model *model, uint32_t worker, const struct model_arrival **broken);
void model_come_back(struct model *model, uint32_t worker);
bool model_is_down(const struct model *model, uint32_t worker);

// ---- model_streams.c: tasks joined by streams -----------------------------------------------

// No reader is left: its writer fails, if it still runs.
void model_cut(struct model *model, uint32_t object, uint32_t worker);
// Tasks that were ended by others, or by a missing input, since the last call.
enum model_cut { MODEL_CUT_READER, MODEL_CUT_WRITER, MODEL_CUT_INPUT };
uint32_t model_cut_off(struct model *model, const uint32_t **tasks);
enum model_cut model_why(const struct model *model, uint32_t task);

// ---- model_disk.c: limited disks ------------------------------------------------------------

// The object is no longer needed there.
void model_drop(struct model *model, uint32_t object, uint32_t worker);

struct model_sums {
    uint64_t transfers, steps;
    double mib;
};
struct model_sums model_sums(const struct model *model);

// ---- replay.c: executes a given schedule ----------------------------------------------------

// The end of the last task, or `limit` if that is later.
double plan_replay(struct model *model, const struct plan_graph *graph,
                   const struct plan_schedule *schedule, double limit);

// ---- lower_bound.c: a lower bound of every schedule -----------------------------------------

double plan_longest_path(const struct plan_graph *graph);
double plan_lower_bound(const struct plan_graph *graph, const struct plan_cluster *cluster);

// ---- list_schedule.c, greedy.c: computing a schedule ----------------------------------------

struct plan_rule {
    double carried;     // share of transfer times in the rank of a task; 0: durations only
    double penalty;     // for moved bytes, as a factor of transfer times
    double noise;       // random change of ranks
    bool free_network;  // transfers do not slow each other down
    bool greedy;        // idle cores take ready tasks, by rank
    bool few;           // consider only few workers
    bool homing;        // prefer workers near the other inputs of the task's readers
    bool together;      // tasks that exchange much data go to the same worker (task_groups.c)
    uint32_t part;     // use one of this many workers; 0: all
    bool by_start;     // urgency by planned start instead of order of planning
    uint64_t seed;     // for the noise
};

struct planner;

struct planner *planner_open(const struct plan_graph *graph, const struct plan_cluster *cluster);
void planner_close(struct planner *planner);

// The state when planning starts: all zero at the beginning of a run.
enum plan_stage { PLAN_OPEN, PLAN_RUNS, PLAN_DONE };
void planner_clear(struct planner *planner);
void planner_set_done(struct planner *planner, uint32_t task, uint32_t worker);
void planner_set_running(struct planner *planner, uint32_t task, uint32_t worker, double left);
// Cores that are occupied by something else for some time; at most all of them.
void planner_set_busy(struct planner *planner, uint32_t worker, uint32_t cores, double left);
void planner_set_copy(struct planner *planner, uint32_t object, uint32_t worker, double left);
// bound to the worker
void planner_set_place(struct planner *planner, uint32_t task, uint32_t worker);
// The task is queued on the worker, and needs `times` the gain to move.
void planner_set_queued(struct planner *planner, uint32_t task, uint32_t worker, uint8_t times);

// Plans open tasks, at most `most` of them; returns when they are expected to end.
double planner_plan(struct planner *planner, const struct plan_rule *rule,
                    struct plan_schedule *schedule, uint32_t tasks_max);
// seconds that a bound task must gain to move
void planner_set_loyalty(struct planner *planner, double seconds);
uint64_t planner_steps(const struct planner *planner);
uint64_t planner_planned(const struct planner *planner);  // tasks, in all plans

// ---- rolling.c: a plan that is updated while the tasks run ----------------------------------

// It is told about all events, learns durations and sizes, and plans again after a deviation. The
// seconds and MiB of the graph are estimates, and are replaced by measured values.
struct rolling;

struct rolling *rolling_open(struct plan_graph *graph, const struct plan_cluster *cluster,
                             // names of tasks; tasks of the same kind are similar
                             char *const *kinds);
void rolling_close(struct rolling *rolling);
void rolling_bind(struct rolling *rolling, const struct plan_schedule *schedule);
void rolling_started(struct rolling *rolling, uint32_t task, uint32_t worker, double now);
void rolling_made(struct rolling *rolling, uint32_t object, double mib);
void rolling_ended(struct rolling *rolling, uint32_t task, double now);
void rolling_asked(struct rolling *rolling, uint32_t object, uint32_t worker, double now);
void rolling_called_off(struct rolling *rolling, uint32_t object, uint32_t worker);
void rolling_arrived(struct rolling *rolling, uint32_t object, uint32_t worker);
void rolling_opened(struct rolling *rolling, uint32_t task);  // it has to run, perhaps again
// with all its tasks and objects
void rolling_worker_lost(struct rolling *rolling, uint32_t worker);
void rolling_worker_back(struct rolling *rolling, uint32_t worker);
bool rolling_is_surprised(const struct rolling *rolling);
// Returns the tasks with a new worker or order, and their number; the schedule has both. Tasks too
// far ahead lose their worker (PLAN_NONE).
uint32_t rolling_plan(struct rolling *rolling, double now, const struct plan_schedule **schedule,
                      const uint32_t **tasks);
uint64_t rolling_planned(const struct rolling *rolling);

// ---- search.c: the best of many schedules ---------------------------------------------------

struct plan_search {
    uint64_t steps_max;  // limit of effort; one rule is tried in any case
    double steps_each;   // limit for each second of the run
    uint64_t seed;
    uint32_t plans;         // schedules tried
    uint64_t steps;         // effort spent
    struct plan_rule rule;  // of the best schedule
    double seconds;         // duration of the best schedule
};

// Writes the best schedule found into `best`.
void plan_search(struct plan_search *search, const struct plan_graph *graph,
                 const struct plan_cluster *cluster, struct plan_schedule *best);
