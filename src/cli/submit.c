// submit.c - `rota submit FILE`: a job file goes to a server.
#include "cli/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota submit [OPTION...] FILE\n\n"
      "    rota submit build.yaml          hand it to the server, and print the number of the job\n"
      "    rota submit --wait build.yaml   and wait until all of it is over\n"
      "    rota submit --attach build.yaml and show what happens, as 'rota run' does\n\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a key of the server, for HOST:PORT ($ROTA_KEY)\n"
      "    --policy POLICY   who runs it: plan, pull (workers) or claim (handlers: rota fetch),\n"
      "                      whatever the file says\n"
      "    --wait            exit with 0 if all succeeded, else with 1; what is kept is put\n"
      "                      beside the file, as 'rota run' does\n"
      "    --attach          the same, with a line of progress and all that failing tasks print;\n"
      "                      Ctrl-C leaves the job to the server, twice stops it\n"
      "    --shared          the workers see your files under the same names: send none\n"
      "    --json            one object a line\n\n"
      "Files that tasks read and none makes are sent along, unless the server has them.\n"
      "A server that cannot be reached is tried again for 30 s; one that goes away later is\n"
      "waited for, up to five minutes.\n"
      "Exit status: 0 accepted, or all is done, 1 a task failed, 2 the file or an option is "
      "wrong,\n"
      "4 the server cannot be reached or refuses, 130 it was left to go on (--attach).\n";

struct submit_options {
    const char *path;
    enum rota_policy policy;  // DEFAULT: as the file says
    bool wait, attach, shared, json;
    bool came_back;  // the connection of the submission is gone, and its watch with it
    struct reach reach;
    uint8_t *told;  // by task: the outcome that was printed, plus one
};

struct submitting {
    struct submit_options *options;
    struct client *client;
    struct client_place place;
    struct client_submission job;
    struct client_uploads uploads;
};

static bool policy_read(const char *word, enum rota_policy *policy)
{
    static const char *const words[] = {[ROTA_POLICY_CLAIM] = "claim",
                                        [ROTA_POLICY_PULL] = "pull",
                                        [ROTA_POLICY_PLAN] = "plan"};
    for (int i = ROTA_POLICY_CLAIM; i <= ROTA_POLICY_PLAN; i++)
        if (strcmp(word, words[i]) == 0) *policy = (enum rota_policy)i;
    return *policy != ROTA_POLICY_DEFAULT;
}

static int options_read(struct submit_options *options, int count, char **words)
{
    *options = (struct submit_options){.path = NULL};
    reach_init(&options->reach, "submit");
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        const char *word = words[i];
        taken = reach_take(&options->reach, count - i, words + i);
        if (taken > 0) continue;
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--wait") == 0) {
            options->wait = true;
        } else if (strcmp(word, "--attach") == 0) {
            options->attach = true;
        } else if (strcmp(word, "--shared") == 0) {
            options->shared = true;
        } else if (strcmp(word, "--json") == 0) {
            options->json = true;
        } else if (strcmp(word, "--policy") == 0 && i + 1 < count
                   && policy_read(words[i + 1], &options->policy)) {
            taken = 2;
        } else if (word[0] != '-' && !options->path) {
            options->path = word;
        } else {
            fprintf(stderr, "rota submit: '%s' is not understood here\n%s", word, usage);
            return 2;
        }
    }
    if (options->path) return -1;
    fputs(usage, stderr);
    return 2;
}

// ---- What is sent along ------------------------------------------------------------------------

// The exit status of a refusal. A server that is busy has refused nothing for good.
static int refused(const struct client *client)
{
    return client->code && client->code != WIRE_REFUSED_BUSY ? 2 : REACH_FAILED;
}

static int uploads_collect(struct submitting *submitting)
{
    struct client_fault fault;
    const struct client_submission *job = &submitting->job;
    if (client_uploads_collect(&submitting->uploads, job->file, job->folder, job->high, job->low,
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
    struct reach *reach = &submitting->options->reach;
    struct client_put *puts = run_allocate(uploads->count, sizeof *puts);
    struct client_sent sent = {0};
    for (uint32_t i = 0; i < uploads->count; i++)
        puts[i] = (struct client_put){&uploads->items[i].survey, uploads->items[i].become.object};
    bool fine = !uploads->count
                || client_put_all(submitting->client, &submitting->place, puts, uploads->count,
                                  &sent);
    free(puts);
    if (!fine)
        return reach_fail(reach, reach->client.error, refused(&reach->client));
    if (uploads->count && submitting->options->json)
        printf("{\"event\":\"sent\",\"inputs\":%u,\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
               uploads->count, sent.files, sent.bytes);
    return 0;
}

// ---- What comes back ---------------------------------------------------------------------------

static bool output_get(struct submitting *submitting, uint32_t task, uint32_t output)
{
    const char *name = submitting->job.file->tasks[task].outputs[output].name;
    char *path = run_path_in(submitting->job.folder, name);
    rota_object_id object = client_output(&submitting->job, task, output);
    bool fine = client_get(submitting->client, &submitting->place, object, path);
    if (!fine) fprintf(stderr, "rota submit: %s: %s\n", name, submitting->client->error);
    free(path);
    return fine;
}

// Returns the exit status: that of the job, unless something does not come. A job that fails as a
// whole has let go of what it made.
static int outputs_get(struct submitting *submitting, int status)
{
    const struct jobfile *file = submitting->job.file;
    if (status && file->on_failure == ROTA_FAILURE_FAIL_JOB) return status;
    for (uint32_t i = 0; submitting->job.uploads && i < file->task_count; i++)
        for (uint32_t k = 0; k < file->tasks[i].output_count; k++) {
            const struct jobfile_output *output = &file->tasks[i].outputs[k];
            if (submitting->options->told[i] != ROTA_OUTCOME_OK + 1) break;
            bool is_kept = output->keep && output->kind != JOBFILE_STREAM;
            if (is_kept && !output_get(submitting, i, k)) status = REACH_FAILED;
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
    if (options->json) {
        printf("{\"event\":\"ended\",\"task\":");
        json_text(stdout, name);
        printf(",\"ok\":%s,\"status\":%d", fine ? "true" : "false", ended->status);
        if (ended->reason.length) printf(",\"reason\":"), json_text(stdout, ended->reason.bytes);
        puts("}");
    } else if (!fine && ended->reason.length) {
        printf("FAILED %s: ", name);
        plain_lines_write(stdout, ended->reason.bytes, ended->reason.length);
        putchar('\n');
    } else if (!fine) {
        printf("FAILED %s: status %d\n", name, ended->status);
    }
}

static int over_print(const struct submit_options *options, const struct wire_over *over)
{
    const char *format = options->json ? "{\"event\":\"over\",\"job\":%u,\"ok\":%u,"
                                         "\"failed\":%u,\"aborted\":%u}\n"
                                       : "job %u: %u ok, %u failed, %u aborted\n";
    printf(format, over->job, over->succeeded, over->failed, over->aborted);
    return over->succeeded == over->tasks ? 0 : 1;
}

// -1: the connection is gone; else the exit status.
static int job_watch(struct submitting *submitting, uint32_t job)
{
    const struct jobfile *file = submitting->job.file;
    struct wire_message message;
    struct submit_options *options = submitting->options;
    while (client_next(submitting->client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&options->reach, message.refuse.reason.bytes, REACH_FAILED);
        if (message.kind == WIRE_ENDED_MESSAGE && message.ended.task.job == job)
            ended_print(options, file, &message.ended);
        if (message.kind == WIRE_OVER_MESSAGE && message.over.job == job)
            return outputs_get(submitting, over_print(submitting->options, &message.over));
    }
    return -1;
}

// Who comes back is told again what has ended meanwhile, and before.
static int job_watch_again(struct submitting *submitting, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = job}};
    wire_put(&submitting->client->link->out, &message);
    return client_send(submitting->client) ? job_watch(submitting, job) : -1;
}

static int job_wait(struct submitting *submitting, uint32_t job)
{
    struct submit_options *options = submitting->options;
    options->told = run_allocate((size_t)submitting->job.file->task_count + 1, 1);
    int status = options->came_back ? job_watch_again(submitting, job)
                                    : job_watch(submitting, job);
    while (status < 0) {
        bool there = reach_again(&options->reach);
        status = there ? job_watch_again(submitting, job) : reach_lost(&options->reach);
    }
    free(options->told);
    return status;
}

static int job_attach(struct submitting *submitting, struct attach *attach, uint32_t job)
{
    uint8_t *told = run_allocate((size_t)submitting->job.file->task_count + 1, 1);
    submitting->options->told = attach->told = told;
    attach->job = job;
    int status = attach_run(attach);
    if (status == 0 || status == 1) status = outputs_get(submitting, status);
    free(told);
    return status;
}

// ---- The command -------------------------------------------------------------------------------

// Whether to send the job again: the server is busy, or was gone and is back.
static bool is_sent_again(struct submitting *submitting, struct reach_patience *patience)
{
    struct reach *reach = &submitting->options->reach;
    if (submitting->client->code == WIRE_REFUSED_BUSY) return reach_pause(reach, patience);
    if (submitting->client->code || !reach_again(reach)) return false;
    return submitting->options->came_back = true;
}

static int job_hand_in(struct submitting *submitting)
{
    struct reach_patience patience = {0};
    struct submit_options *options = submitting->options;
    struct client *client = submitting->client;
    const struct client_submission *given = &submitting->job;
    struct attach attach = {.reach = &options->reach,
                            .file = given->file,
                            .path = options->path,
                            .folder = given->folder,
                            .json = options->json};
    uint32_t job;
    if (options->attach && !attach_begin(&attach)) return REACH_FAILED;
    do {  // the same request twice is carried out once
        client->code = 0;
        client_submit_put(client, given);
        job = client_send(client) ? client_accepted(client, given->high, given->low) : 0;
    } while (!job && is_sent_again(submitting, &patience));
    if (!job) return reach_fail(&options->reach, client->error, refused(client));
    if (options->json)
        printf("{\"event\":\"accepted\",\"job\":%u}\n", job);
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
    if (!status) status = reach_keys(&options->reach);
    submitting->place = (struct client_place){options->reach.server, options->reach.keys.items,
                                              options->reach.name};
    if (!status) status = reach_patiently(&options->reach);
    if (!status && submitting->uploads.count) {
        client_close(submitting->client);  // files go over a connection of their own
        status = uploads_send(submitting);
        if (!status) status = reach_patiently(&options->reach);
    }
    if (!status) status = job_hand_in(submitting);
    reach_close(&options->reach);
    if (!options->shared) client_uploads_release(&submitting->uploads);
    return status;
}

static int file_submit(struct submit_options *options, const struct jobfile *file)
{
    struct submitting submitting = {.options = options, .client = &options->reach.client};
    char *path = realpath(options->path, NULL);
    if (!path) {
        fprintf(stderr, "%s: %s\n", options->path, strerror(errno));
        return 2;
    }
    submitting.job.file = file;
    submitting.job.folder = dirname(path);
    submitting.job.flags = options->wait ? WIRE_SUBMIT_WATCH : 0;
    client_request_id(&submitting.job.high, &submitting.job.low);
    int status = job_submit(&submitting);
    free(path);
    return status;
}

int command_submit(int count, char **words)
{
    struct submit_options options;
    struct jobfile file;
    int status = options_read(&options, count, words);
    if (status >= 0) return status;
    status = 2;
    if (jobfile_load(&file, options.path)) {
        if (options.policy) file.policy = options.policy;
        if (file.policy == ROTA_POLICY_CLAIM) options.shared = true;  // handlers hold no objects
        status = file_submit(&options, &file);
    }
    jobfile_release(&file);
    return status;
}
