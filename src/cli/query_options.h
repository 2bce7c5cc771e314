// query_options.h - commands that inspect or control a run: what they share.
#pragma once

#include "query/query.h"
#include "cli/cli.h"

// ---- query_options.c: options, the database and the job ----------------------------------------

struct query_options {
    const struct command *command;
    const char *db, *file, *out;  // as given; null: not given
    const char *server, *key;
    const char *planned, *waits;  // a server gives these to the command that answers a query
    const char *content;          // a content key, or a task that has one
    uint32_t job, attempt;        // 0: not given
    bool all, follow, raw, whole_job, json;
    bool mark_server;             // a client will replace QUERY_SERVER_MARK by its --server
    char **names;                 // of tasks
    uint32_t name_count;

    char *path, *folder;          // of the database; the folder has the logs, too
    rota_time now;
    bool is_running;              // a rota run or a server has the database open
    struct store *store;
    struct query query;
};

// A byte that no other text of an answer has: names are printed without control characters.
enum { QUERY_SERVER_MARK = 0x1f };

// Options of every such command.
#define QUERY_OPTION_ROWS                                                                          \
    QUERY_JSON_ROW("print JSON, an object on each line"), QUERY_JOB_ROWS
#define QUERY_OUTPUT_ROW(file)                                                                     \
    {'o', "output", "FILE", "write to this file", OPTION_PATH,                                     \
     .at = offsetof(struct query_options, out),                                                    \
     .preset = "the standard output; " file " if that is a terminal"}
#define QUERY_JSON_ROW(text)                                                                       \
    {0, "json", "", text, OPTION_FLAG, .at = offsetof(struct query_options, json), .in_query = true}
#define QUERY_JOB_ROWS                                                                             \
    {0, "job", "N", "the number of the job", OPTION_NUMBER,                                        \
     .at = offsetof(struct query_options, job), .least = 1, .most = UINT32_MAX,                    \
     .preset = "the last one", .in_query = true},                                                  \
    QUERY_DATABASE_ROWS
#define QUERY_DATABASE_ROWS                                                                        \
    {0, "db", "FILE", "the database", OPTION_PATH, .at = offsetof(struct query_options, db),       \
     .preset = ".rota/rota.db"},                                                                   \
    {0, "server", "ADDRESS", "send the command to a server: a Unix socket or HOST:PORT",           \
     OPTION_PATH, .at = offsetof(struct query_options, server), .needs = NEEDS_ADDRESS},           \
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,                        \
     .at = offsetof(struct query_options, key), .preset = "$ROTA_KEY"}

// Commands about a job, and about tasks of a job: what their rows in the table share.
#define JOB_QUERY                                                                                  \
    .group = GROUP_INSPECT, .query = QUERY_PLAIN, .argument = {ARGUMENT_FILE, "FILE", 0, 1},       \
    .remote = remote_query, .usage = "[OPTION...] [FILE]\n"
#define JOB_EXITS                                                                                  \
    "0\tdone\n2\tan option is wrong, or the database or job does not exist\n"                      \
    "4\tthe server cannot be reached\n"
#define TASK_ARGUMENTS                                                                             \
    .group = GROUP_INSPECT, .argument = {ARGUMENT_TASK, "TASK", 1, ARGUMENTS_ANY},                 \
    .usage = "[OPTION...] [FILE] TASK...\n"
#define TASK_EXITS                                                                                 \
    "0\tdone\n2\tan option is wrong, or the task, job or database does not exist\n"                \
    "4\tthe server cannot be reached\n"

// Parses the words. Returns -1 or the exit status. Close it in either case.
int query_options_open(struct query_options *options, const struct command *command, int count,
                       char **words);
// Opens the database and the job. Returns the exit status; prints why it is not 0.
int query_options_load(struct query_options *options);
// Says that nothing has been run here. Returns the exit status.
int query_database_missing(const char *path);
void query_options_unload(struct query_options *options);  // before the next query_options_load()
void query_options_close(struct query_options *options);
// Runs a command that shows a job: parses the words, opens the job, and calls `show` for the
// exit status.
int query_command_run(const struct command *command, int count, char **words,
                      int (*show)(struct query_options *options));
// The scheduler's state. Null: `status` is set, and the reason was printed.
struct rota *query_options_core(struct query_options *options, int *status);
// Finds a task; prints an error with the nearest name if there is no such task.
bool query_options_find(const struct query_options *options, const char *name, uint32_t *task);

// Output that goes to -o FILE, or to the standard output; on a terminal it goes to a file with the
// name that the command has for it. The output is collected in memory first. Returns the exit
// status.
struct output_file {
    FILE *out;
    char *bytes;
    size_t size;
};
void output_file_open(struct output_file *file);
// `path` is the value of -o, or null. With --json the default name ends in .json.
int output_file_close(struct output_file *file, const struct command *command, const char *path,
                      bool is_json);
