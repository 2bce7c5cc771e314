// whatif.h - predicts how a job would run on workers that do not exist.
//
// A job is read from a file (read_*.c), run by the real core in virtual time (trial.c) or by a
// fixed schedule (plan/replay.c), and gives a result (timeline.c) that can be shown (show_*.c).
#pragma once

#include "job/disk/document.h"
#include "job/file/jobfile.h"
#include "plan/plan.h"
#include "rota.h"

// ---- job.c: a job with its real durations and sizes, and guessed ones ---------------------------

struct whatif_job {
    char *name;
    struct plan_graph graph;  // true durations and sizes
    double *guess_seconds, *guess_mib;  // a user's guess; below 0: none
    char **names, **kinds;    // of tasks; similar tasks have the same kind
};

// Allocates memory for a graph; the caller fills in the numbers.
void whatif_job_init(struct whatif_job *job, const char *name, uint32_t tasks, uint32_t objects,
                  uint32_t inputs);
void whatif_job_release(struct whatif_job *job);
char *whatif_text(const char *text);
void whatif_memory_set(struct whatif_job *job, uint32_t task, double mib);  // while the task runs
void whatif_stream_set(struct whatif_job *job, uint32_t object);  // it is read while it is written
char *whatif_kind(const char *name);  // "map_ID0000147" and "map_ID0000148" have the same kind
void whatif_guess_by_kind(struct whatif_job *job);  // the mean of the tasks of a kind

enum whatif_info { WHATIF_EXACT, WHATIF_USER, WHATIF_MEAN };
// The same graph with durations and sizes as the planner knows them.
struct plan_graph whatif_graph_seen(const struct whatif_job *job, enum whatif_info info);
void whatif_graph_forget(struct plan_graph *seen);

// ---- read.c, read_graph.c, read_workflow.c, read_job.c: from files -------------------------

// Reads a graph in the format tg-1, WfFormat 1.5, or a job file. False: the error is on stderr.
// Release it in either case.
bool whatif_read(struct whatif_job *job, const char *path, double seconds_each);
bool whatif_read_graph(struct whatif_job *job, struct document *document);
bool whatif_read_workflow(struct whatif_job *job, struct document *document);
bool whatif_read_job(struct whatif_job *job, const struct jobfile *file, double seconds_each);

// ---- edges.c: from dependencies to objects ------------------------------------------------------

struct whatif_edge {
    uint32_t from, to;  // tasks
    double mib;
    const char *file;   // the same text for one object of `from`; null: `to` only waits
    bool stream;        // with one reader
};
// Gives the job its objects and inputs; sorts the edges. False: there is a cycle.
bool whatif_edges_join(struct whatif_job *job, struct whatif_edge *edges, uint32_t count);

// ---- read_schedule.c -----------------------------------------------------------------------

struct whatif_setting {
    uint32_t *cores, *memory_mib;  // by worker
    double *speed, *disk_mib;
    struct plan_cluster cluster;
};

// The schedule for that cluster in a file of schedules. False: the error is on stderr.
bool whatif_read_schedule(struct plan_schedule *schedule, const char *path,
                          const struct whatif_job *job, const struct whatif_setting *setting);

// ---- trial.c: run by the core ----------------------------------------------------------------

struct whatif_faults {
    double crashes;    // of each worker, per hour
    double back;       // seconds until it is back, without its objects; below 0: never
    double lease;      // seconds until its tasks count as lost
    double failures;   // share of attempts that fail, at some time
    double slow, slow_times;  // share of attempts that take slow_times as long
    double loss;       // share of packets that are lost, also of messages
    uint32_t retries;  // how often a failed or lost attempt is repeated
};

struct whatif_options {
    enum rota_policy policy;  // plan or pull
    enum whatif_info info;
    double delay;      // minimum seconds between two decisions
    double patience;   // pull: how long a task waits for a worker that has an input
    bool by_rank;      // pull: the highest rank of a queue, not a random task
    uint64_t steps_max;  // of searching a plan; 0: the core decides alone
    uint64_t seed;
    struct whatif_faults faults;
    double (*seconds_now)(void);  // measures the time of decisions; no decision depends on it
};

struct whatif_course {
    uint32_t *worker;  // by task, and when it began and ended
    double *began, *ended;
    double makespan, mib;
    double predicted;  // makespan of the first plan; 0: there is no plan
    uint64_t transfers, events, moves;
    uint64_t crashes, failed;  // of workers; of attempts
    uint64_t no_room;  // attempts that did not start, because a disk had no room for an input
    double core_seconds, search_seconds, seconds;  // of this machine, not simulated
    double plan_seconds;  // of `planned` tasks in single plans
    uint64_t planned;
    uint32_t plans, replans;  // tried before the run; made during the run
    double replan_seconds;
};

// Sets the loss of packets; the latency must be set before.
void whatif_setting_lose(struct whatif_setting *setting, double loss);
struct whatif_course whatif_course_take(uint32_t task_count);
void whatif_course_release(struct whatif_course *course);
// False: some tasks never ran, or the job failed.
bool whatif_run(const struct whatif_job *job, const struct whatif_setting *setting,
             const struct whatif_options *options, struct whatif_course *course);
// False: some tasks never ran, because other tasks had the room in which they had to run together.
bool whatif_replay(const struct whatif_job *job, const struct whatif_setting *setting,
                const struct plan_schedule *schedule, struct whatif_course *course);

// ---- show.c, show_files.c, show_workflow.c ---------------------------------------------------

enum whatif_wait {
    WHATIF_FIRST,
    WHATIF_TASK,
    WHATIF_TRANSFER,
    WHATIF_CORE,
    WHATIF_LATER,
    WHATIF_STREAM
};
struct whatif_stage {
    uint32_t task;
    enum whatif_wait
        waited;  // for the task before it: its end, objects, core; or for more; a stream
};
// The tasks on the critical path, each waiting for the one before it; returns their number.
uint32_t whatif_critical_path(const struct whatif_job *job, const struct whatif_course *course,
                           struct whatif_stage *stages);
void whatif_cores(const struct whatif_job *job, const struct whatif_setting *setting,
               const struct whatif_course *course, uint32_t *core);
void whatif_chart(const struct whatif_job *job, const struct whatif_setting *setting,
               const struct whatif_course *course, FILE *out);
void whatif_svg(const struct whatif_job *job, const struct whatif_setting *setting,
             const struct whatif_course *course, FILE *out);
void whatif_perfetto(const struct whatif_job *job, const struct whatif_setting *setting,
                  const struct whatif_course *course, FILE *out);
void whatif_schedule(const struct whatif_job *job, const struct whatif_course *course, FILE *out);
void whatif_workflow(const struct whatif_job *job, const struct whatif_setting *setting,
                  const struct whatif_course *course, FILE *out);
