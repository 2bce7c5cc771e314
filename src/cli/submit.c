// submit.c - `rota submit FILE`: sends a job file to a server.
#include "cli/attach.h"
#include "cli/show/end_text.h"
#include "os/json.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLICY_OF_FILE = UINT32_MAX };

struct submit_options {
    const char *path;
    uint32_t policy;          // its place in plan|pull|claim
    bool wait, attach, shared, json;
    bool came_back;  // the connection of the submission broke, and its watch ended
    struct connection connection;
    uint8_t *told;  // by task: 1 + the outcome that was printed
};

struct submitting {
    struct submit_options *options;
    struct rota_client *client;
    struct client_place place;
    struct client_submission job;
    struct client_uploads uploads;
};

// ---- Uploads ------------------------------------------------------------------------

// The exit status of a refusal. A busy server may accept the job later.
static int refused(const struct rota_client *client)
{
    return client->refusal && client->refusal != WIRE_REFUSED_BUSY ? 2 : CONNECT_FAILED;
}

static int uploads_collect(struct submitting *submitting)
{
    struct client_fault fault;
    const struct client_submission *job = &submitting->job;
    if (client_uploads_collect(&submitting->uploads, job->file, job->folder, job->request,
                               &fault)) {
        submitting->job.uploads = &submitting->uploads;
        return 0;
    }
    fprintf(stderr, "%s:%u:%u: %s\n", submitting->options->path, fault.place.line,
            fault.place.column, fault.text);
    return 2;
}

static int uploads_send(struct submitting *submitting)
{
    const struct client_uploads *uploads = &submitting->uploads;
    struct connection *connection = &submitting->options->connection;
    struct client_put *puts = os_allocate(uploads->count, sizeof *puts);
    struct client_sent sent = {0};
    for (uint32_t i = 0; i < uploads->count; i++)
        puts[i] = (struct client_put){&uploads->items[i].survey, uploads->items[i].become.object};
    bool fine = !uploads->count
                || !client_put_all(submitting->client, &submitting->place, puts, uploads->count,
                                   &sent);
    free(puts);
    if (!fine)
        return connect_fail(connection, connection->client.reason, refused(&connection->client));
    if (uploads->count && submitting->options->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_string(&json, "event", "sent");
        json_number(&json, "inputs", "%u", uploads->count);
        json_number(&json, "files", "%" PRIu64, sent.files);
        json_number(&json, "bytes", "%" PRIu64, sent.bytes);
        json_line(&json);
    }
    return 0;
}

// ---- Outputs ---------------------------------------------------------------------------

static bool output_get(struct submitting *submitting, uint32_t task, uint32_t output)
{
    const char *name = submitting->job.file->tasks[task].outputs[output].name;
    char *path = client_path_in(submitting->job.folder, name);
    rota_object_id object = client_output(&submitting->job, task, output);
    bool fine = !client_get(submitting->client, &submitting->place, object, path);
    if (!fine) fprintf(stderr, "rota submit: %s: %s\n", name, submitting->client->reason);
    free(path);
    return fine;
}

// Returns the exit status: that of the job, unless an output cannot be copied. A job with
// on_failure: fail_job has released its outputs.
static int outputs_get(struct submitting *submitting, int status)
{
    const struct jobfile *file = submitting->job.file;
    if (status && file->on_failure == ROTA_FAILURE_FAIL_JOB) return status;
    for (uint32_t i = 0; submitting->job.uploads && i < file->task_count; i++)
        for (uint32_t k = 0; k < file->tasks[i].output_count; k++) {
            const struct jobfile_output *output = &file->tasks[i].outputs[k];
            if (submitting->options->told[i] != ROTA_OUTCOME_OK + 1) break;
            bool is_kept = output->keep && output->kind != JOBFILE_STREAM;
            if (is_kept && !output_get(submitting, i, k)) status = CONNECT_FAILED;
        }
    return status;
}

// ---- Waiting -----------------------------------------------------------------------------------

static void ended_print(const struct submit_options *options, const struct jobfile *file,
                        const struct wire_ended *ended)
{
    uint32_t at = ended->task.task - 1;
    if (at >= file->task_count || options->told[at] == ended->outcome + 1) return;
    options->told[at] = (uint8_t)(ended->outcome + 1);
    const char *name = file->tasks[at].name;
    bool fine = ended->outcome == ROTA_OUTCOME_OK;
    char text[END_TEXT];
    end_text((enum rota_outcome)ended->outcome, ended->status, ended->reason.bytes, text);
    if (options->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_string(&json, "event", "ended");
        json_string(&json, "task", name);
        json_bool(&json, "ok", fine);
        json_number(&json, "status", "%d", ended->status);
        json_string(&json, "end", text);
        if (ended->reason.length) json_string(&json, "reason", ended->reason.bytes);
        json_line(&json);
    } else if (!fine) {
        printf("FAILED %s: ", name);
        plain_lines_write(stdout, text, strlen(text));
        putchar('\n');
    }
}

int over_print(const struct wire_over *over, bool is_json)
{
    int status = over->succeeded == over->tasks ? 0 : 1;
    struct json json = {.out = stdout};
    if (!is_json) {
        printf("job %u: %u ok, %u failed, %u aborted\n", over->job, over->succeeded, over->failed,
               over->aborted);
        return status;
    }
    json_open(&json, NULL, '{');
    json_string(&json, "event", "over");
    json_number(&json, "job", "%u", over->job);
    json_number(&json, "ok", "%u", over->succeeded);
    json_number(&json, "failed", "%u", over->failed);
    json_number(&json, "aborted", "%u", over->aborted);
    json_line(&json);
    return status;
}

static void accepted_print(uint32_t job)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "event", "accepted");
    json_number(&json, "job", "%u", job);
    json_line(&json);
}

// Returns the exit status, or -1 if the connection broke.
static int job_watch(struct submitting *submitting, uint32_t job)
{
    const struct jobfile *file = submitting->job.file;
    struct wire_message message;
    struct submit_options *options = submitting->options;
    while (!client_next(submitting->client, &message, ROTA_NEVER)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return connect_fail(&options->connection, message.refuse.reason.bytes, CONNECT_FAILED);
        if (message.kind == WIRE_ENDED_MESSAGE && message.ended.task.job == job)
            ended_print(options, file, &message.ended);
        if (message.kind == WIRE_OVER_MESSAGE && message.over.job == job)
            return outputs_get(submitting, over_print(&message.over, submitting->options->json));
    }
    return -1;
}

// The server reports all tasks that have ended again on a new connection.
static int job_watch_again(struct submitting *submitting, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = job}};
    wire_put(&submitting->client->link->out, &message);
    return client_send(submitting->client, ROTA_NEVER) ? -1 : job_watch(submitting, job);
}

static int job_wait(struct submitting *submitting, uint32_t job)
{
    struct submit_options *options = submitting->options;
    options->told = os_allocate((size_t)submitting->job.file->task_count + 1, 1);
    int status = options->came_back ? job_watch_again(submitting, job)
                                    : job_watch(submitting, job);
    while (status < 0) {
        bool there = connect_reopen(&options->connection);
        status = there ? job_watch_again(submitting, job) : connect_lost(&options->connection);
    }
    free(options->told);
    return status;
}

static int job_attach(struct submitting *submitting, struct attach *attach, uint32_t job)
{
    uint8_t *told = os_allocate((size_t)submitting->job.file->task_count + 1, 1);
    submitting->options->told = attach->told = told;
    attach->job = job;
    int status = attach_run(attach);
    if (status == 0 || status == 1 || status == ATTACH_STOPPED)
        status = outputs_get(submitting, status);
    free(told);
    return status;
}

// ---- The command -------------------------------------------------------------------------------

// Whether to send the job again: the server is busy, or was gone and is back.
static bool is_sent_again(struct submitting *submitting, struct connect_patience *patience)
{
    struct connection *connection = &submitting->options->connection;
    if (submitting->client->refusal == WIRE_REFUSED_BUSY)
        return connect_pause(connection, patience);
    if (submitting->client->refusal || !connect_reopen(connection)) return false;
    return submitting->options->came_back = true;
}

static int job_hand_in(struct submitting *submitting)
{
    struct connect_patience patience = {0};
    struct submit_options *options = submitting->options;
    struct rota_client *client = submitting->client;
    const struct client_submission *given = &submitting->job;
    struct attach attach = {.connection = &options->connection,
                            .file = given->file,
                            .path = options->path,
                            .folder = given->folder,
                            .json = options->json};
    uint32_t job;
    enum rota_client_code code;
    if (options->attach && !attach_begin(&attach)) return CONNECT_FAILED;
    do code = client_submit(client, given, &job);  // the same request twice is carried out once
    while (code && is_sent_again(submitting, &patience));
    if (code) return connect_fail(&options->connection, client->reason, refused(client));
    if (options->json)
        accepted_print(job);
    else
        printf("job %u\n", job);
    fflush(stdout);
    if (options->attach) return job_attach(submitting, &attach, job);
    return options->wait ? job_wait(submitting, job) : 0;
}

static int job_submit(struct submitting *submitting)
{
    struct submit_options *options = submitting->options;
    int status = options->shared ? 0 : uploads_collect(submitting);
    if (!status) status = connect_keys(&options->connection);
    submitting->place = (struct client_place){
        options->connection.server, options->connection.keys.items, options->connection.name};
    if (!status) status = connect_patiently(&options->connection);
    if (!status && submitting->uploads.count) {
        client_leave(submitting->client);  // files go over a connection of their own
        status = uploads_send(submitting);
        if (!status) status = connect_patiently(&options->connection);
    }
    if (!status) status = job_hand_in(submitting);
    connect_close(&options->connection);
    if (!options->shared) client_uploads_release(&submitting->uploads);
    return status;
}

static int file_submit(struct submit_options *options, const struct jobfile *file)
{
    struct submitting submitting = {.options = options, .client = &options->connection.client};
    char *path = realpath(options->path, NULL);
    if (!path) {
        fprintf(stderr, "%s: %s\n", options->path, strerror(errno));
        return 2;
    }
    submitting.job.file = file;
    submitting.job.folder = dirname(path);
    submitting.job.flags = options->wait ? WIRE_SUBMIT_WATCH : 0;
    int status = request_make(submitting.client, &submitting.job.request)
                     ? connect_lost(&options->connection)
                     : job_submit(&submitting);
    free(path);
    return status;
}

static int submit(const struct command *command, int count, char **words)
{
    static const enum rota_policy policies[] = {ROTA_POLICY_PLAN, ROTA_POLICY_PULL,
                                                ROTA_POLICY_CLAIM};
    struct submit_options options = {.policy = POLICY_OF_FILE};
    struct arguments arguments;
    struct jobfile file;
    connect_init(&options.connection, "submit");
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    options.path = arguments.items[0];
    status = 2;
    if (jobfile_load(&file, options.path)) {
        if (options.policy != POLICY_OF_FILE) file.policy = policies[options.policy];
        if (file.policy == ROTA_POLICY_CLAIM) options.shared = true;  // handlers hold no objects
        status = file_submit(&options, &file);
    }
    jobfile_release(&file);
    return status;
}

static const struct option_row rows[]
    = {
    {0, "wait", "", "wait until the job ends, and copy the outputs that it keeps to the folder of "
     "the job file", OPTION_FLAG, .at = offsetof(struct submit_options, wait)},
    {0, "attach", "", "wait, and show progress and the output of failed tasks like rota run; "
     "Ctrl-C detaches from the job, a second Ctrl-C within 2 seconds cancels it", OPTION_FLAG,
     .at = offsetof(struct submit_options, attach)},
    {0, "policy", "plan|pull|claim", "how tasks get to workers: planned ahead, pulled by idle "
     "workers, or fetched by external workers", OPTION_CHOICE,
     .at = offsetof(struct submit_options, policy), .preset = "as the job file says"},
    {0, "shared", "", "send no files: the workers see them under the same paths", OPTION_FLAG,
     .at = offsetof(struct submit_options, shared)},
    JSON_LINES_ROW(struct submit_options),
    CONNECT_ROWS(struct submit_options),
    OPTION_ROWS_END};

const struct command submit_command = {
    .name = "submit",
    .summary = "submit a job file to a server",
    .group = GROUP_CLUSTER,
    .is_everyday = true,
    .argument = {ARGUMENT_FILE, "FILE", 1, 1},
    .run = submit,
    .options = rows,
    .usage = "[OPTION...] FILE\n",
    .text = "Input files that no task produces are uploaded, unless the server has them already. "
            "If the server cannot be reached, rota tries again for 30 seconds; if the connection "
            "breaks later, for 5 minutes.\n",
    .examples = "rota submit build.yaml\tprint the number of the job\n"
                "rota submit --wait build.yaml\twait until the job ends\n"
                "rota submit --attach build.yaml\tshow progress, like rota run\n",
    .exits = "0\tthe job was accepted, or all its tasks succeeded\n1\ta task failed\n"
             "2\tthe job file or an option is wrong\n"
             "3\ttasks were cancelled, and none failed (--attach)\n"
             "4\tthe server cannot be reached, or refuses the job\n"
             "130\tdetached from the job (--attach)\n",
};
