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

static struct viewer viewer_make(const struct asker *asker, const char *name)
{
    return (struct viewer){.name = name,
                           .json = asker->json,
                           .raw = asker->raw || !os_is_terminal(1)};
}

static void viewer_end(struct viewer *viewer)
{
    plain_log_end(&viewer->log);
    fflush(stdout);
}

// ---- One attempt -----------------------------------------------------------------------------

static bool attempt_show(const struct asker *asker, uint32_t at, uint32_t number)
{
    const struct ask_task *task = &asker->ask.tasks[at];
    struct viewer viewer = viewer_make(asker, task->name);
    char path[8192];
    viewer.attempt = number;
    log_path(path, sizeof path, asker->folder, task->id, number);
    bool fine = log_read(path, part_show, &viewer) || errno == ENOENT;  // no output
    viewer_end(&viewer);
    if (!fine) fprintf(stderr, "rota: %s: %s\n", path, strerror(errno));
    return fine;
}

static bool is_over(const struct ask_task *task)
{
    static const char *const words[] = {"SUCCESS", "FAILED", "ABORTED", "FROZEN", "IDLE", "CLOSED"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(task->status, words[i]) == 0) return true;
    return false;
}

// ---- Following -------------------------------------------------------------------------------

struct follower {
    struct asker *asker;
    const char *name;
    struct viewer viewer;
    struct log_reader *reader;  // null: there is no log yet
};

static ssize_t more_show(struct follower *follower, rota_task_id id)
{
    char path[8192], bytes[16 << 10];
    log_path(path, sizeof path, follower->asker->folder, id, follower->viewer.attempt);
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
    struct asker *asker = follower->asker;
    uint32_t at;
    asker_unload(asker);
    int status = asker_load(asker);
    if (status) return status;
    if (!asker_find(asker, follower->name, &at)) return 2;
    const struct ask_task *task = &asker->ask.tasks[at];
    *id = task->id;
    *over = is_over(task) || strcmp(task->status, "BLOCKED") == 0;
    if (!*over && !asker->is_running) {
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

static int task_follow(struct asker *asker, const char *name)
{
    struct follower follower = {.asker = asker, .name = name};
    rota_task_id id = {0};
    bool over = false;
    int status = 0;
    follower.viewer = viewer_make(asker, name);
    follower.viewer.attempt = asker->attempt;
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

static int task_show(struct asker *asker, const char *name)
{
    uint32_t at;
    if (!asker_find(asker, name, &at)) return 2;
    const struct ask_task *task = &asker->ask.tasks[at];
    uint32_t number = asker->attempt ? asker->attempt : task->attempt;
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
    return attempt_show(asker, at, number) ? 0 : 70;
}

static int all_show(struct asker *asker)
{
    bool headings = asker->name_count > 1 && !asker->json;
    int status = asker_load(asker);
    for (uint32_t i = 0; !status && i < asker->name_count; i++) {
        if (headings) printf("%s==> %s <==\n", i ? "\n" : "", asker->names[i]);
        status = asker->follow ? task_follow(asker, asker->names[i])
                               : task_show(asker, asker->names[i]);
    }
    return status;
}

static int logs(const struct command *command, int count, char **words)
{
    struct asker asker;
    int status = asker_open(&asker, command, count, words);
    if (status < 0) status = all_show(&asker);
    asker_close(&asker);
    return status;
}

static const struct option_row rows[] = {
    {'f', "follow", "", "print new output until the task ends, through all its attempts",
     OPTION_FLAG, .at = offsetof(struct asker, follow)},
    {0, "attempt", "N", "the number of the attempt", OPTION_NUMBER,
     .at = offsetof(struct asker, attempt), .least = 1, .most = UINT32_MAX,
     .preset = "the last one"},
    {0, "raw", "", "print control characters on a terminal, too", OPTION_FLAG,
     .at = offsetof(struct asker, raw)},
    ASKER_ROWS,
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
