// wait.c - `rota wait`: waits until jobs or tasks of a server end, all of them or the first.
#include "cli/handler.h"
#include "cli/show/end_text.h"
#include "os/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 64 };
enum wanted_state { WANTED_OPEN, WANTED_FINE, WANTED_BAD };

// The command watches a job first, and then asks for its state and that of the task. So if the job
// is running, the server reports every end; if the server has removed the job, it reports the end
// of the job before it answers.
struct wanted {
    rota_task_id id;         // task 0: the job
    enum wanted_state state;
    bool is_there;           // the task was seen
    bool is_over;            // its job has ended
    uint32_t tasks;          // of the job that ended
};

struct watcher {
    struct connection connection;
    struct wanted wanted[IDS_MAX];
    uint32_t count, unanswered;
    bool json, any;
};

enum { LOOK_TASK = 1, LOOK_JOB };  // `high` of a request id; `low` is the index

// Returns -1, or the exit status.
static int arguments_read(struct watcher *watcher, const struct command *command,
                          const struct arguments *arguments)
{
    if (!arguments->count && watcher->any) return 0;
    if (!arguments->count) return command_wrong(command, "missing argument ID");
    if (arguments->count > IDS_MAX)
        return command_wrong(command, "too many arguments: at most %d", IDS_MAX);
    int status = -1;
    for (uint32_t i = 0; i < arguments->count && status < 0; i++)
        status = word_id(command, ID_ANY, arguments->items[i],
                         &watcher->wanted[watcher->count++].id);
    return status;
}

// ---- Ends of jobs and tasks --------------------------------------------------------------------

static bool is_open(const struct wanted *wanted, uint32_t job)
{
    return wanted->state == WANTED_OPEN && wanted->id.job == job;
}

static void job_over(const struct watcher *watcher, struct wanted *wanted,
                     const struct wire_over *over)
{
    wanted->state = over_print(over, watcher->json) ? WANTED_BAD : WANTED_FINE;
}

// `end` says how a task failed, and is "" otherwise.
static void task_over(const struct watcher *watcher, struct wanted *wanted, const char *how,
                      int32_t status, const char *end)
{
    struct json json = {.out = stdout};
    wanted->state = strcmp(how, "ok") == 0 ? WANTED_FINE : WANTED_BAD;
    if (!watcher->json) {
        printf("task %u.%u: %s%s", wanted->id.job, wanted->id.task, how, *end ? ", " : "");
        plain_lines_write(stdout, end, strlen(end));
        putchar('\n');
        return;
    }
    json_open(&json, NULL, '{');
    json_string(&json, "event", "over");
    json_plain(&json, "task", "%u.%u", wanted->id.job, wanted->id.task);
    json_string(&json, "outcome", how);
    json_number(&json, "status", "%d", status);
    if (*end) json_string(&json, "end", end);
    json_line(&json);
}

static const char *outcome_word(uint32_t outcome)
{
    if (outcome == ROTA_OUTCOME_OK) return "ok";
    return outcome == ROTA_OUTCOME_ABORTED ? "aborted" : "failed";
}

static void on_ended(struct watcher *watcher, const struct wire_ended *ended)
{
    char text[END_TEXT] = "";
    const char *how = outcome_word(ended->outcome);
    if (strcmp(how, "failed") == 0)
        end_text((enum rota_outcome)ended->outcome, ended->status, ended->reason.bytes, text);
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        if (is_open(wanted, ended->task.job) && wanted->id.task == ended->task.task)
            task_over(watcher, wanted, how, ended->status, text);
    }
}

static void on_over(struct watcher *watcher, const struct wire_over *over)
{
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        if (!is_open(wanted, over->job)) continue;
        wanted->is_over = true;
        wanted->tasks = over->tasks;
        if (!wanted->id.task)
            job_over(watcher, wanted, over);
        else if (wanted->is_there)
            task_over(watcher, wanted, "blocked", 0, "");
    }
}

// The exit status; -1: keep waiting.
static int status_of(const struct watcher *watcher)
{
    bool bad = false, open = false;
    for (uint32_t i = 0; i < watcher->count; i++) {
        enum wanted_state state = watcher->wanted[i].state;
        if (watcher->any && state != WANTED_OPEN) return state == WANTED_FINE ? 0 : 1;
        bad |= state == WANTED_BAD;
        open |= state == WANTED_OPEN;
    }
    return open ? -1 : bad;
}

// ---- The server --------------------------------------------------------------------------------

static bool is_first_of_job(const struct watcher *watcher, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_open(&watcher->wanted[i], watcher->wanted[at].id.job)) return false;
    return true;
}

static void look_put(struct wire_out *out, uint32_t what, uint32_t at, rota_task_id id)
{
    struct wire_message message = {.kind = WIRE_LOOK_MESSAGE};
    message.look.high = what;
    message.look.low = at;
    message.look.task = id;
    wire_put(out, &message);
}

static void all_ask(struct watcher *watcher)
{
    struct wire_out *out = &watcher->connection.client.link->out;
    watcher->unanswered = 0;
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
        wanted->is_there = wanted->is_over = false;
        if (wanted->state != WANTED_OPEN) continue;
        message.watch.job = wanted->id.job;
        if (is_first_of_job(watcher, i)) wire_put(out, &message);
        if (wanted->id.task) look_put(out, LOOK_TASK, i, wanted->id);
        look_put(out, LOOK_JOB, i, (rota_task_id){wanted->id.job, 0});
        watcher->unanswered++;
    }
}

static int no_such(const struct watcher *watcher, rota_task_id id)
{
    char reason[80];
    if (id.task)
        snprintf(reason, sizeof reason, "no such task: %u.%u", id.job, id.task);
    else
        snprintf(reason, sizeof reason, "no such job: %u", id.job);
    return connect_fail(&watcher->connection, reason, 2);
}

// All tasks of a job that was removed have succeeded. Returns -1, or the exit status.
static int on_seen(struct watcher *watcher, const struct wire_seen *seen)
{
    struct wanted *wanted = &watcher->wanted[seen->low % IDS_MAX];
    if (seen->high == LOOK_TASK) wanted->is_there = true;
    if (seen->high != LOOK_JOB) return -1;
    watcher->unanswered--;
    if (wanted->state != WANTED_OPEN || !wanted->id.task) return -1;
    if (!wanted->is_there && (!wanted->is_over || wanted->id.task > wanted->tasks))
        return no_such(watcher, wanted->id);
    if (wanted->is_over) task_over(watcher, wanted, wanted->is_there ? "blocked" : "ok", 0, "");
    return -1;
}

// Returns -1, or the exit status.
static int on_refuse(const struct watcher *watcher, const struct wire_refuse *refuse)
{
    if (refuse->high == LOOK_TASK) return -1;
    if (refuse->code != WIRE_REFUSED_NOT_FOUND)
        return connect_fail(&watcher->connection, refuse->reason.bytes, 2);
    uint32_t job = refuse->high ? watcher->wanted[refuse->low % IDS_MAX].id.job
                                : (uint32_t)refuse->low;
    return no_such(watcher, (rota_task_id){job, 0});
}

// Returns the exit status, or -1 if the connection broke.
static int watch(struct watcher *watcher)
{
    struct rota_client *client = &watcher->connection.client;
    struct wire_message message;
    all_ask(watcher);
    while (!client_send(client, ROTA_NEVER) && !client_next(client, &message, ROTA_NEVER)) {
        int status = -1;
        switch (message.kind) {
        case WIRE_REFUSE_MESSAGE: status = on_refuse(watcher, &message.refuse); break;
        case WIRE_SEEN_MESSAGE: status = on_seen(watcher, &message.seen); break;
        case WIRE_ENDED_MESSAGE: on_ended(watcher, &message.ended); break;
        case WIRE_OVER_MESSAGE: on_over(watcher, &message.over); break;
        default: break;
        }
        if (status < 0 && !watcher->unanswered) status = status_of(watcher);
        if (status >= 0) return status;
    }
    return -1;
}

static int wait_run(const struct command *command, int count, char **words)
{
    struct watcher watcher = {.count = 0};
    struct arguments arguments;
    connect_init(&watcher.connection, "wait");
    int status = options_read(command, &watcher, NULL, &arguments, count, words);
    if (status < 0) status = arguments_read(&watcher, command, &arguments);
    if (status >= 0) return status;
    status = connect_patiently(&watcher.connection);
    if (!status) status = watch(&watcher);
    while (status < 0)
        status = connect_reopen(&watcher.connection) ? watch(&watcher)
                                                     : connect_lost(&watcher.connection);
    connect_close(&watcher.connection);
    return status;
}

static const struct option_row rows[] = {
    {0, "any", "", "wait for the first of the IDs, not for all", OPTION_FLAG,
     .at = offsetof(struct watcher, any)},
    JSON_LINES_ROW(struct watcher),
    CONNECT_ROWS(struct watcher),
    OPTION_ROWS_END};

const struct command wait_command = {
    .name = "wait",
    .summary = "wait until jobs or tasks of a server end",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_NAME, "ID", 0, ARGUMENTS_ANY},
    .run = wait_run,
    .options = rows,
    .usage = "[OPTION...] ID...\n",
    .text = "An ID is a job, such as 7, or a task, such as 7.3. Prints a line for each one that "
            "ended. If the server cannot be reached, rota tries again for 30 seconds; if the "
            "connection breaks later, for 5 minutes.\n",
    .examples = "rota wait 7\twait until job 7 ends\n"
                "rota wait 7.3\twait until task 3 of job 7 ends, or cannot run\n"
                "rota wait --any 7 8.1\twait for the first of both\n",
    .exits = "0\tall succeeded; with --any, the first one did\n1\tnot all succeeded\n"
             "2\tan option is wrong, or the job or task does not exist\n"
             "4\tthe server cannot be reached\n",
};
