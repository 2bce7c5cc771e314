// logs.c - `rota logs`: prints the output of a task, with -f as the task writes it.
#include "cli/query_options.h"
#include "os/os.h"
#include "worker/process/worker.h"
#include "os/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { PAUSE = 50000, LOOK = 4 };  // pauses between two queries to the database

// ---- Showing -----------------------------------------------------------------------------------

struct viewer {
    const char *name;
    uint32_t attempt;
    bool json, raw;
    struct plain_log log;
};

static bool part_show(void *context, const char *bytes, size_t count)
{
    struct viewer *viewer = context;
    if (!count) return true;
    if (viewer->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_string(&json, "task", viewer->name);
        json_number(&json, "attempt", "%u", viewer->attempt);
        json_bytes(&json, "text", bytes, count);
        json_line(&json);
        return true;
    }
    if (viewer->raw)
        fwrite(bytes, 1, count, stdout);
    else
        plain_log_add(&viewer->log, bytes, count);
    return !ferror(stdout);
}

static struct viewer viewer_make(const struct query_options *options, const char *name)
{
    return (struct viewer){.name = name,
                           .json = options->json,
                           .raw = options->raw || !os_is_terminal(1)};
}

static void viewer_end(struct viewer *viewer)
{
    plain_log_end(&viewer->log);
    fflush(stdout);
}

// ---- One attempt -----------------------------------------------------------------------------

static bool attempt_show(const struct query_options *options, uint32_t at, uint32_t number)
{
    const struct query_task *task = &options->query.tasks[at];
    struct viewer viewer = viewer_make(options, task->name);
    char path[8192];
    viewer.attempt = number;
    log_path(path, sizeof path, options->folder, task->id, number);
    bool fine = log_read(path, part_show, &viewer) || errno == ENOENT;  // no output
    viewer_end(&viewer);
    if (!fine) fprintf(stderr, "rota: %s: %s\n", path, strerror(errno));
    return fine;
}

static bool is_over(const struct query_task *task)
{
    static const char *const words[] = {"SUCCESS", "FAILED", "ABORTED", "FROZEN", "IDLE", "CLOSED"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(task->status, words[i]) == 0) return true;
    return false;
}

// ---- Following -------------------------------------------------------------------------------

struct follower {
    struct query_options *options;
    const char *name;
    struct viewer viewer;
    struct log_reader *reader;  // null: there is no log yet
};

static ssize_t more_show(struct follower *follower, rota_task_id id)
{
    char path[8192], bytes[16 << 10];
    log_path(path, sizeof path, follower->options->folder, id, follower->viewer.attempt);
    if (!follower->reader) follower->reader = log_open(path);
    if (!follower->reader) return errno == ENOENT ? 0 : -1;
    ssize_t count, sum = 0;
    while ((count = log_next(follower->reader, bytes, sizeof bytes)) > 0) {
        part_show(&follower->viewer, bytes, (size_t)count);
        sum += count;
    }
    fflush(stdout);
    return count < 0 ? -1 : sum;
}

static void attempt_next(struct follower *follower, uint32_t attempt)
{
    log_close(follower->reader);
    follower->reader = NULL;
    follower->viewer.attempt = attempt;
}

// A task writes its output before the database tells that it ended, so nothing is missed.
static int state_look(struct follower *follower, rota_task_id *id, bool *over)
{
    struct query_options *options = follower->options;
    uint32_t at;
    query_options_unload(options);
    int status = query_options_load(options);
    if (status) return status;
    if (!query_options_find(options, follower->name, &at)) return 2;
    const struct query_task *task = &options->query.tasks[at];
    *id = task->id;
    *over = is_over(task) || strcmp(task->status, "BLOCKED") == 0;
    if (!*over && !options->is_running) {
        fprintf(stderr, "rota: the task has not ended, but rota run is not running\n");
        *over = true;
    }
    more_show(follower, *id);
    if (task->attempt > follower->viewer.attempt)
        attempt_next(follower,
                     follower->viewer.attempt ? follower->viewer.attempt + 1 : task->attempt);
    else
        return 0;
    *over = false;  // a new attempt has its own log
    return 0;
}

static int task_follow(struct query_options *options, const char *name)
{
    struct follower follower = {.options = options, .name = name};
    rota_task_id id = {0};
    bool over = false;
    int status = 0;
    follower.viewer = viewer_make(options, name);
    follower.viewer.attempt = options->attempt;
    for (uint32_t i = 0; !over && !status; i++) {
        ssize_t count = id.task ? more_show(&follower, id) : 0;
        if (count < 0) {
            fprintf(stderr, "rota: the log of %s: %s\n", name, strerror(errno));
            status = 70;
        } else if (!count && i % LOOK == 0) {
            status = state_look(&follower, &id, &over);
        }
        if (!over && !status && !count && !os_sleep_until(os_now() + PAUSE)) break;
    }
    log_close(follower.reader);
    viewer_end(&follower.viewer);
    return status;
}

// ---- The command -----------------------------------------------------------------------------

static int task_show(struct query_options *options, const char *name)
{
    uint32_t at;
    if (!query_options_find(options, name, &at)) return 2;
    const struct query_task *task = &options->query.tasks[at];
    uint32_t number = options->attempt ? options->attempt : task->attempt;
    if (task->is_bundle || !number) {
        fprintf(stderr, "rota: %s %s\n", name,
                task->is_bundle ? "is a bundle" : "has not run yet");
        return 0;
    }
    if (number > task->attempt) {
        fprintf(stderr, "rota: %s: no such attempt: %u (the last one is %u)\n", name, number,
                task->attempt);
        return 2;
    }
    return attempt_show(options, at, number) ? 0 : 70;
}

static int all_show(struct query_options *options)
{
    bool headings = options->name_count > 1 && !options->json;
    int status = query_options_load(options);
    for (uint32_t i = 0; !status && i < options->name_count; i++) {
        if (headings) printf("%s==> %s <==\n", i ? "\n" : "", options->names[i]);
        status = options->follow ? task_follow(options, options->names[i])
                                 : task_show(options, options->names[i]);
    }
    return status;
}

static int logs(const struct command *command, int count, char **words)
{
    struct query_options options;
    int status = query_options_open(&options, command, count, words);
    if (status < 0) status = all_show(&options);
    query_options_close(&options);
    return status;
}

static const struct option_row rows[] = {
    {'f', "follow", "", "print new output until the task ends, through all its attempts",
     OPTION_FLAG, .at = offsetof(struct query_options, follow)},
    {0, "attempt", "N", "the number of the attempt", OPTION_NUMBER,
     .at = offsetof(struct query_options, attempt), .least = 1, .most = UINT32_MAX,
     .preset = "the last one"},
    {0, "raw", "", "print control characters on a terminal, too", OPTION_FLAG,
     .at = offsetof(struct query_options, raw)},
    QUERY_OPTION_ROWS,
    OPTION_ROWS_END};

const struct command logs_command = {
    .name = "logs",
    .summary = "print the output of a task",
    TASK_ARGUMENTS,
    .is_everyday = true,
    .run = logs,
    .remote = remote_logs,
    .options = rows,
    .text
    = "A task is given by its name or its number, such as 7.3. With --server only one task can "
      "be given, by its number. In JSON, each object has `task`, `attempt` and `text`.\n",
    .examples = "rota logs compile\tprint the output of the last attempt\n"
                "rota logs -f compile\tprint new output until the task ends\n"
                "rota logs --attempt 1 compile\tprint the output of the first attempt\n",
    .exits = TASK_EXITS "70\ta log cannot be read\n",
};
