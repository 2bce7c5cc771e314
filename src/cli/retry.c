// retry.c - `rota retry` and `rota cancel`: tell the rota run that is running, or else change its
// database.
#define _GNU_SOURCE
#include "cli/query_options.h"
#include "os/os.h"
#include "os/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- To a rota run that is running -------------------------------------------------------------

// Returns null, or the reason why it failed, which the caller frees.
static char *line_send(const struct query_options *options, const char *word, const char *name)
{
    char *path, *line, answer[4096], *reason = NULL;
    if (strchr(name, '\n')) return strdup("a name with a line break cannot be sent");
    if (asprintf(&path, "%s/socket", options->folder) < 0
        || asprintf(&line, "%s%s%s\n", word, *name ? " " : "", name) < 0)
        query_no_memory();
    if (!os_socket_ask(path, line, answer, sizeof answer))
        reason = strdup("rota run does not answer");
    else if (strncmp(answer, "error ", 6) == 0)
        reason = strndup(answer + 6, strcspn(answer + 6, "\n"));
    else if (strcmp(answer, "ok\n") != 0)
        reason = strdup("rota run sent an invalid answer");
    free(path);
    free(line);
    return reason;
}

// ---- To the database ---------------------------------------------------------------------------

static char *event_do(struct session *session, const char *word, rota_task_id task)
{
    struct rota_event event = {.kind = ROTA_EVENT_CANCEL, .task = {task}};
    if (strcmp(word, "retry") == 0) event.kind = ROTA_EVENT_RETRY;
    return server_step(&session->server, &event) ? strdup(session->server.reason) : NULL;
}

// ---- Both --------------------------------------------------------------------------------------

static int told(const struct query_options *options, const char *word, const char *name,
                char *reason)
{
    bool cancels = strcmp(word, "cancel") == 0, is_running = options->is_running;
    const char *done = cancels && is_running ? "is cancelled"
                       : cancels ? "is cancelled; the next rota run starts it again"
                       : is_running ? "runs again"
                                    : "runs again with the next rota run";
    char job[32];
    snprintf(job, sizeof job, "job %u", options->query.job.number);
    const char *whom = *name ? name : job;
    if (options->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_string(&json, word, whom);
        json_string(&json, "error", reason);
        json_line(&json);
    } else {
        FILE *out = reason ? stderr : stdout;
        if (reason) fputs("rota: ", out);
        if (*name || !reason) plain_write(out, whom, strlen(whom));
        if (*name || !reason) fputs(reason ? ": " : " ", out);
        fprintf(out, "%s\n", reason ? reason : done);
    }
    int status = reason ? 2 : 0;
    free(reason);
    return status;
}

static int tasks_send(const struct query_options *options, const char *word)
{
    int status = 0;
    if (!options->name_count) return told(options, word, "", line_send(options, word, ""));
    for (uint32_t i = 0; i < options->name_count; i++) {
        uint32_t at = query_find(&options->query, options->names[i]);
        const char *name = options->query.tasks[at].name;
        if (told(options, word, name, line_send(options, word, name))) status = 2;
    }
    return status;
}

static int tasks_write(const struct query_options *options, const char *word)
{
    struct session session;
    int status = session_open(&session, options->path, SESSION_THERE);
    if (!status) server_begin(&session.server, os_now());
    rota_task_id job = {options->query.job.number, 0};
    if (!status && !options->name_count)
        status = told(options, word, "", event_do(&session, word, job));
    for (uint32_t i = 0; !status && i < options->name_count; i++) {
        const struct query_task *task
            = &options->query.tasks[query_find(&options->query, options->names[i])];
        status = told(options, word, task->name, event_do(&session, word, task->id));
    }
    if (session.store && !server_commit(&session.server)) status = session_failed(&session);
    session_close(&session);
    return status;
}

// An unknown name changes nothing: all names are checked first.
static int names_check(const struct query_options *options)
{
    int status = 0;
    uint32_t at;
    for (uint32_t i = 0; i < options->name_count; i++)
        if (!query_options_find(options, options->names[i], &at)) status = 2;
    return status;
}

static int tell(struct query_options *options, const char *word)
{
    int status = query_options_load(options);
    if (!status) status = names_check(options);
    if (status) return status;
    return options->is_running ? tasks_send(options, word) : tasks_write(options, word);
}

static int retry(const struct command *command, int count, char **words)
{
    struct query_options options;
    int status = query_options_open(&options, command, count, words);
    if (status < 0) status = tell(&options, command->name);
    query_options_close(&options);
    return status;
}

static int cancel(const struct command *command, int count, char **words)
{
    struct query_options options;
    int status = query_options_open(&options, command, count, words);
    if (status < 0) {
        if (!options.name_count && !options.whole_job)
            status = command_wrong(command, "missing argument TASK, or option --job");
        else if (options.name_count && options.whole_job)
            status = command_wrong(command, "option --job and tasks exclude each other (to cancel "
                                            "one job, write --job=N)");
        else
            status = tell(&options, command->name);
    }
    query_options_close(&options);
    return status;
}

static const struct option_row retry_rows[] = {QUERY_OPTION_ROWS, OPTION_ROWS_END};

static const struct option_row cancel_rows[] = {
    {0, "job", "N", "cancel all tasks of this job", OPTION_OTHER, .value_optional = true,
     .preset = "the last one", .needs = "the number of a job"},
    JSON_LINES_ROW(struct query_options),
    QUERY_DATABASE_ROWS,
    OPTION_ROWS_END};

const struct command retry_command = {
    .name = "retry",
    .summary = "run a failed or cancelled task again",
    TASK_ARGUMENTS,
    .is_everyday = true,
    .run = retry,
    .remote = remote_change,
    .options = retry_rows,
    .text = "A rota run that is running starts the task at once; otherwise the next one does. With "
            "--server a task is given by its number, such as 7.3.\n",
    .examples = "rota retry compile\trun `compile` again\n"
                "rota retry --server host:7450 --key client.key 7.3\ttell a server\n",
    .exits = TASK_EXITS,
};

const struct command cancel_command = {
    .name = "cancel",
    .summary = "stop a task, or a whole job",
    .group = GROUP_INSPECT,
    .is_everyday = true,
    .argument = {ARGUMENT_TASK, "TASK", 0, ARGUMENTS_ANY},
    .run = cancel,
    .remote = remote_change,
    .options = cancel_rows,
    .usage = "[OPTION...] [FILE] TASK...\n"
             "[OPTION...] [FILE] --job[=N]\n",
    .text
    = "Tasks that depend on a cancelled task do not run. The next rota run starts cancelled tasks "
      "again: take a task out of the job file to leave it out. With --server a task is given by "
      "its number, such as 7.3, and a job by its number: 7 or --job=7.\n",
    .examples = "rota cancel compile\tstop one task\n"
                "rota cancel --job\tstop all tasks of the last job\n"
                "rota cancel --server host:7450 --key client.key 7\tstop job 7 of a server\n",
    .exits = TASK_EXITS,
};
