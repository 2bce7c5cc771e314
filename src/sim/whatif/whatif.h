// whatif.h - what a job would come to on workers that are not there.
//
// A job comes from a file (read_*.c), is run by the real core in virtual time (trial.c) or by a
// fixed schedule (plan/replay.c), and leaves a course (timeline.c) that can be shown (show_*.c).
#pragma once

#include "job/disk/document.h"
#include "plan/plan.h"
#include "rota.h"

// ---- job.c: a job with what the world knows and what somebody would have guessed ----------

struct lab_job {
    char *name;
    struct plan_graph graph;  // true durations and sizes
    double *guess_seconds, *guess_mib;  // a user's; below 0: none
    char **names, **kinds;    // of tasks; a kind is what tasks alike have in common
};

// Takes memory for a graph; the numbers are to be filled in.
void lab_job_init(struct lab_job *job, const char *name, uint32_t tasks, uint32_t objects,
                  uint32_t inputs);
void lab_job_release(struct lab_job *job);
char *lab_text(const char *text);
void lab_memory_set(struct lab_job *job, uint32_t task, double mib);  // while it runs
void lab_stream_set(struct lab_job *job, uint32_t object);  // it is read while it is written
char *lab_kind(const char *name);  // "map_ID0000147" and "map_ID0000148" are of one kind
void lab_guess_by_kind(struct lab_job *job);  // as the mean of those of a kind is

enum lab_info { LAB_EXACT, LAB_USER, LAB_MEAN };
// The same graph with durations and sizes as the planner is told them.
struct plan_graph lab_graph_seen(const struct lab_job *job, enum lab_info info);
void lab_graph_forget(struct plan_graph *seen);

// ---- read.c, read_graph.c, read_workflow.c, read_job.c: from files -------------------------

// Graphs in the format tg-1, WfFormat 1.5, or a job file; false: told on stderr. Release it in
// either case.
bool lab_read(struct lab_job *job, const char *path, double seconds_each);
bool lab_read_graph(struct lab_job *job, struct document *document);
bool lab_read_workflow(struct lab_job *job, struct document *document);
bool lab_read_job(struct lab_job *job, const struct jobfile *file, double seconds_each);

// ---- edges.c: from who waits for whom to objects -------------------------------------------

struct lab_edge {
    uint32_t from, to;  // tasks
    double mib;
    const char *file;   // the same text for one object of `from`; null: they only wait
    bool stream;        // of one reader
};
// Gives the job its objects and inputs; sorts the edges. False: there is a circle.
bool lab_edges_join(struct lab_job *job, struct lab_edge *edges, uint32_t count);

// ---- read_schedule.c -----------------------------------------------------------------------

struct lab_setting {
    uint32_t *cores, *memory_mib;  // by worker
    double *speed, *disk_mib;
    struct plan_cluster cluster;
};

// The schedule for that cluster in a file of them; false: told on stderr.
bool lab_read_schedule(struct plan_schedule *schedule, const char *path, const struct lab_job *job,
                       const struct lab_setting *setting);

// ---- trial.c: run by the core ----------------------------------------------------------------

struct lab_faults {
    double crashes;    // of each worker, an hour
    double back;       // seconds until it is there again, with nothing; below 0: never
    double lease;      // seconds until what it ran counts as lost
    double failures;   // share of attempts that fail, somewhere on their way
    double slow, slow_times;  // share of attempts that take so many times as long
    double loss;       // share of packets that are lost, of messages too
    uint32_t retries;  // how often an attempt that failed or was lost is repeated
};

struct lab_options {
    enum rota_policy policy;  // plan or pull
    enum lab_info info;
    double delay;      // least seconds between two decisions
    double patience;   // pull: how long a task waits for a worker that has an input
    bool by_rank;      // pull: the highest rank of a queue, not any of it
    uint64_t steps_max;  // of looking for a plan; 0: the core decides alone
    uint64_t seed;
    struct lab_faults faults;
    double (*seconds_now)(void);  // to say what deciding took; decides nothing
};

struct lab_course {
    uint32_t *worker;  // by task, and when it began and ended
    double *began, *ended;
    double makespan, mib;
    double predicted;  // makespan, by the first plan; 0: there was none
    uint64_t transfers, events, moves;
    uint64_t crashes, failed;  // of workers; attempts
    uint64_t no_room;  // attempts that did not start, because an input had no room on a disk
    double core_seconds, search_seconds, seconds;  // of this machine, not of the world
    double plan_seconds;  // of `planned` tasks in single plans
    uint64_t planned;
    uint32_t plans, replans;  // tried before it began; made on the way
    double replan_seconds;
};

// Packets are lost there; the latency is known by then.
void lab_setting_lose(struct lab_setting *setting, double loss);
struct lab_course lab_course_take(uint32_t task_count);
void lab_course_release(struct lab_course *course);
// False: some tasks never ran, or the job failed.
bool lab_run(const struct lab_job *job, const struct lab_setting *setting,
             const struct lab_options *options, struct lab_course *course);
// False: some never ran, because others had the room that they were to run in at the same time.
bool lab_replay(const struct lab_job *job, const struct lab_setting *setting,
                const struct plan_schedule *schedule, struct lab_course *course);

// ---- show.c, show_files.c, show_workflow.c ---------------------------------------------------

enum lab_wait { LAB_FIRST, LAB_TASK, LAB_TRANSFER, LAB_CORE, LAB_LATER, LAB_STREAM };
struct lab_stage {
    uint32_t task;
    enum lab_wait waited;  // for the task before it: its end, objects, core; or not only; a stream
};
// The tasks on the way to the last end, each waiting for the one before; how many there are.
uint32_t lab_critical_path(const struct lab_job *job, const struct lab_course *course,
                           struct lab_stage *stages);
void lab_cores(const struct lab_job *job, const struct lab_setting *setting,
               const struct lab_course *course, uint32_t *core);
void lab_chart(const struct lab_job *job, const struct lab_setting *setting,
               const struct lab_course *course, FILE *out);
void lab_svg(const struct lab_job *job, const struct lab_setting *setting,
             const struct lab_course *course, FILE *out);
void lab_perfetto(const struct lab_job *job, const struct lab_setting *setting,
                  const struct lab_course *course, FILE *out);
void lab_schedule(const struct lab_job *job, const struct lab_course *course, FILE *out);
void lab_workflow(const struct lab_job *job, const struct lab_setting *setting,
                  const struct lab_course *course, FILE *out);
