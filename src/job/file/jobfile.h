// jobfile.h - parses job files in YAML, JSON or JSON Lines.
//
//     struct jobfile file;
//     if (!jobfile_parse(&file, "night.yaml", JOBFILE_YAML, bytes, size)) ... file.errors
//     ...
//     jobfile_release(&file);
//
// All texts are UTF-8 and end with a zero. Tasks, lanes and outputs are identified by their index
// plus one, as in the core; 0 means none. "Index" without "plus one" counts from 0. Running out of
// memory is reported as an error of the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rota_types.h"

enum {
    JOBFILE_SIZE_MAX = 256 << 20,  // bytes of a file
    JOBFILE_TASKS_MAX = 1000000,
    JOBFILE_NEEDS_MAX = 10000000,  // of all tasks together
    JOBFILE_NAME_MAX = 255,        // bytes
    JOBFILE_WORDS_MAX = 128 << 10, // bytes of a command and its environment
    JOBFILE_ERRORS_MAX = 20,
};

struct jobfile_place {
    uint32_t line, column;  // from 1, columns in characters; 0: the entire file
};

struct jobfile_error {
    struct jobfile_place place;
    const char *reason;
};

// ---- The data of a task -------------------------------------------------------------

enum jobfile_kind { JOBFILE_FILE, JOBFILE_DIRECTORY, JOBFILE_STREAM };

struct jobfile_output {
    const char *name;  // relative, without "..", "." and doubled slashes
    enum jobfile_kind kind;
    bool keep;
    bool is_again;     // an additional stream of the previous output, for another reader
    uint32_t readers;  // number of readers of a stream
};

struct jobfile_input {
    const char *name;   // relative path that the task sees
    const char *path;   // the name of an output, or a file of the user
    // The task that makes it; 0: a file of the user, relative to the file's folder.
    uint32_t producer;
    uint32_t output;    // outputs[output - 1] of the producer
};

struct jobfile_retries {
    uint32_t max;
    uint32_t factor_percent;  // growth of the delay per retry; 100: constant
    rota_time backoff;        // the first delay
    const int32_t *codes;     // retry only after these exit codes; none: after any failure
    uint32_t code_count;
};

// ---- A task -------------------------------------------------------------------------

struct jobfile_task {
    const char *name;
    const char *family;       // common name of the tasks expanded from one; null: not expanded
    const char *command;      // as text
    char **argv, **env;       // end with null; env is "NAME=VALUE", sorted by name
    const char *group, *machine, *cwd, *stdin_path;  // null: none
    const uint32_t *needs;    // indexes, no duplicates, no bundles; includes the producers of
                              // inputs, except of streams, which are read while they run
    const uint32_t *members;  // of a bundle, likewise
    const struct rota_clause *clauses;  // `when`, and su(B) for each bundle B in `needs`
    struct jobfile_input *inputs;
    struct jobfile_output *outputs;
    struct jobfile_retries retries;
    rota_time timeout, grace;  // 0: none; -1: not set
    uint32_t argc, env_count, need_count, member_count, clause_count, input_count, output_count;
    uint32_t bundle, lane;
    uint32_t stdin_input;      // inputs[stdin_input - 1] is its standard input
    uint32_t cores, memory_mib;
    int16_t priority;
    uint8_t access;            // enum rota_access
    bool is_bundle, shell, cache;
    struct jobfile_place place;
};

struct jobfile_lane {
    const char *name;
    bool strict, submit_order;
};

enum { JOBFILE_SCHEDULE = 7 };

// The texts of the file, null: not set. Only the calendar interprets them.
struct jobfile_schedule {
    const char *run_days, *start_times, *run_window, *start_mins, *cron, *zone, *overlap;
    struct jobfile_place places[JOBFILE_SCHEDULE];  // of the fields above, in this order
};

// ---- A file -------------------------------------------------------------------------

struct jobfile_block;

struct jobfile {
    const char *path, *folder;  // relative paths start at `folder`
    const char *name;           // null: not set
    struct jobfile_schedule schedule;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    struct jobfile_task *tasks;  // including bundles
    struct jobfile_lane *lanes;
    uint32_t task_count, lane_count, bundle_count, need_count;
    struct jobfile_error errors[JOBFILE_ERRORS_MAX];
    uint32_t error_count;
    bool has_globs;  // the tasks depend on which files exist
    bool lacks_memory;  // which is the last error

    uint32_t task_capacity, lane_capacity;
    struct jobfile_block *memory;  // owns everything above
    uint64_t memory_size;
};

// Reads a job file from memory, where foreach with a glob is an error; the path is only used in
// messages. (disk.h reads a file on disk.) False: there are errors. Release it in either case.
enum jobfile_format { JOBFILE_YAML, JOBFILE_JSON, JOBFILE_JSON_LINES };
bool jobfile_parse(struct jobfile *file, const char *path, enum jobfile_format format,
                   const char *bytes, size_t size);
void jobfile_release(struct jobfile *file);

// Iterates over the dependencies of a task, of any kind: pass 0 first, then the return value, until
// it is 0. `other` is an index in `tasks`.
uint32_t jobfile_waits(const struct jobfile_task *task, uint32_t at, uint32_t *other);

// ---- count.c: totals of all tasks --------------------------------------------------

struct jobfile_counts {
    size_t edges, clauses, inputs, outputs;
};
struct jobfile_counts jobfile_counts(const struct jobfile *file);
