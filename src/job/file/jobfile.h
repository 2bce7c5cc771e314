// jobfile.h - job files, in YAML, JSON or JSON Lines, as plain data.
//
//     struct jobfile file;
//     if (!jobfile_read(&file, "night.yaml")) jobfile_errors_write(&file, stderr);
//     ...
//     jobfile_release(&file);
//
// All texts end with a zero, are UTF-8 and have none inside. Tasks, lanes and outputs are named by
// their place in the array plus one, as in the core; 0 means no task, lane or output. Where it says
// "places in the array", they are not plus one. A lack of memory is a mistake like others.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
    uint32_t line, column;  // from 1, columns in characters; 0: the file as a whole
};

struct jobfile_error {
    struct jobfile_place place;
    const char *reason;
};

// ---- What a task reads and makes ----------------------------------------------------

enum jobfile_kind { JOBFILE_FILE, JOBFILE_DIRECTORY, JOBFILE_STREAM };

struct jobfile_output {
    const char *name;  // relative, without "..", "." and doubled slashes
    enum jobfile_kind kind;
    bool keep;
    bool is_again;     // a stream of an output before, for another reader
    uint32_t readers;  // of a stream
};

struct jobfile_input {
    const char *name;   // what the task sees; relative like that of an output
    const char *path;   // the name of an output, or a file of the user
    uint32_t producer;  // the task that makes it; 0: the user's, relative to the folder of the file
    uint32_t output;    // outputs[output - 1] of the producer
};

struct jobfile_retries {
    uint32_t max;
    uint32_t factor_percent;  // what the pause grows by each time; 100: stays
    rota_time backoff;        // the first pause
    const int32_t *codes;     // only after these exit codes; none: after any failure
    uint32_t code_count;
};

// ---- A task -------------------------------------------------------------------------

struct jobfile_task {
    const char *name;
    const char *family;       // what stands for all that were made of one; null: it was made alone
    const char *command;      // for people
    char **argv, **env;       // end with null; env is "NAME=VALUE", by name
    const char *group, *machine, *cwd, *stdin_path;  // null: none
    const uint32_t *needs;    // places in the array of tasks, none twice, no bundles. The maker of
                              // its inputs is among them; streams flow meanwhile and are not.
    const uint32_t *members;  // of a bundle, likewise
    const struct rota_clause *clauses;  // `when`, and su(B) for each bundle B in `needs`
    struct jobfile_input *inputs;
    struct jobfile_output *outputs;
    struct jobfile_retries retries;
    rota_time timeout, grace;  // 0: none; -1: not said
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

// Texts as they stand there, null: not said; only the calendar knows what they mean.
struct jobfile_schedule {
    const char *run_days, *start_times, *run_window, *start_mins, *cron, *zone, *overlap;
    struct jobfile_place places[JOBFILE_SCHEDULE];  // of those, in this order
};

// ---- A file -------------------------------------------------------------------------

struct jobfile_block;

struct jobfile {
    const char *path, *folder;  // folder: what relative paths are relative to
    const char *name;           // null: not said
    struct jobfile_schedule schedule;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    struct jobfile_task *tasks;  // bundles too
    struct jobfile_lane *lanes;
    uint32_t task_count, lane_count, bundle_count, need_count;
    struct jobfile_error errors[JOBFILE_ERRORS_MAX];
    uint32_t error_count;
    bool has_globs;  // which tasks there are depends on which files there are
    bool lacks_memory;  // that is the last of the errors

    uint32_t task_capacity, lane_capacity;
    struct jobfile_block *memory;  // where all that is above lies
    uint64_t memory_size;
};

// The format follows the name: .json, .jsonl (or .ndjson), else YAML; "-" is YAML from the standard
// input. False: there are errors. Release it in either case.
bool jobfile_read(struct jobfile *file, const char *path);
void jobfile_release(struct jobfile *file);

// The same from memory; foreach with a glob is refused there. The path only stands in errors.
enum jobfile_format { JOBFILE_YAML, JOBFILE_JSON, JOBFILE_JSON_LINES };
bool jobfile_parse(struct jobfile *file, const char *path, enum jobfile_format format,
                   const char *bytes, size_t size);

// job/disk/errors.c: "path:line:column: reason", a line each.
void jobfile_errors_write(const struct jobfile *file, FILE *out);

// The dependencies of a task, of any kind: pass 0 first, then the return value, until it is 0.
// `other` is a place in the array of tasks.
uint32_t jobfile_waits(const struct jobfile_task *task, uint32_t at, uint32_t *other);

// ---- count.c: how many there are of all tasks together -----------------------------

struct jobfile_counts {
    size_t edges, clauses, inputs, outputs;
};
struct jobfile_counts jobfile_counts(const struct jobfile *file);

// ---- cli/show/job_json.c: as JSON ---------------------------------------------------------------

void jobfile_json_write(const struct jobfile *file, FILE *out);  // one object, a task a line

// ---- cli/show/job_dot.c, cli/show/job_draw.c: what waits for what -------------------------------

void jobfile_dot_write(const struct jobfile *file, FILE *out);    // for Graphviz
void jobfile_graph_write(const struct jobfile *file, FILE *out);  // as JSON
void jobfile_draw(const struct jobfile *file, FILE *out);         // layer by layer, for people
