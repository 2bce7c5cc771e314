// submit.c - `rota submit FILE`: a job file goes to a server.
#include "cli/reach.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota submit [OPTION...] FILE\n\n"
      "    rota submit build.yaml          hand it to the server, and print the number of the job\n"
      "    rota submit --wait build.yaml   and wait until all of it is over\n\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a key of the server, for HOST:PORT ($ROTA_KEY)\n"
      "    --wait            exit with 0 if all succeeded, else with 1\n"
      "    --json            one object a line\n\n"
      "Relative paths are relative to the file; the workers must find them under the same names.\n"
      "A server that goes away meanwhile is waited for, up to five minutes.\n"
      "Exit status: 0 accepted, or all is done, 1 a task failed, 2 the file or an option is "
      "wrong,\n"
      "4 the server cannot be reached or refuses.\n";

struct submit_options {
    const char *path;
    bool wait, json;
    bool came_back;  // the connection of the submission is gone, and its watch with it
    struct reach reach;
    uint8_t *told;  // by task: the outcome that was printed, plus one
};

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
        } else if (strcmp(word, "--json") == 0) {
            options->json = true;
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
        printf(",\"ok\":%s,\"status\":%d}\n", fine ? "true" : "false", ended->status);
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
static int job_watch(struct submit_options *options, const struct jobfile *file, uint32_t job)
{
    struct wire_message message;
    while (client_next(&options->reach.client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&options->reach, message.refuse.reason.bytes, REACH_FAILED);
        if (message.kind == WIRE_ENDED_MESSAGE && message.ended.task.job == job)
            ended_print(options, file, &message.ended);
        if (message.kind == WIRE_OVER_MESSAGE && message.over.job == job)
            return over_print(options, &message.over);
    }
    return -1;
}

// Who comes back is told again what has ended meanwhile, and before.
static int job_watch_again(struct submit_options *options, const struct jobfile *file, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = job}};
    struct client *client = &options->reach.client;
    wire_put(&client->link->out, &message);
    return client_send(client) ? job_watch(options, file, job) : -1;
}

static int job_wait(struct submit_options *options, const struct jobfile *file, uint32_t job)
{
    options->told = calloc((size_t)file->task_count + 1, sizeof *options->told);
    if (!options->told) return reach_fail(&options->reach, "no memory", 70);
    int status = options->came_back ? job_watch_again(options, file, job)
                                    : job_watch(options, file, job);
    while (status < 0) {
        bool there = reach_again(&options->reach);
        status = there ? job_watch_again(options, file, job) : reach_lost(&options->reach);
    }
    free(options->told);
    return status;
}

// ---- The command -------------------------------------------------------------------------------

static int job_hand_in(struct submit_options *options, const struct jobfile *file,
                       const char *folder)
{
    struct client *client = &options->reach.client;
    uint64_t high, low;
    uint32_t job, flags = options->wait ? WIRE_SUBMIT_WATCH : 0;
    client_request_id(&high, &low);
    do {  // the same request twice is carried out once
        client_submit_put(client, file, folder, high, low, flags);
        job = client_send(client) ? client_accepted(client, high, low) : 0;
    } while (!job && !client->code && (options->came_back = reach_again(&options->reach)));
    if (!job) return reach_fail(&options->reach, client->error, client->code ? 2 : REACH_FAILED);
    if (options->json)
        printf("{\"event\":\"accepted\",\"job\":%u}\n", job);
    else
        printf("job %u\n", job);
    fflush(stdout);
    return options->wait ? job_wait(options, file, job) : 0;
}

static int file_submit(struct submit_options *options, const struct jobfile *file)
{
    char *path = realpath(options->path, NULL);
    if (!path) {
        fprintf(stderr, "%s: %s\n", options->path, strerror(errno));
        return 2;
    }
    int status = reach_open(&options->reach);
    if (!status) status = job_hand_in(options, file, dirname(path));
    reach_close(&options->reach);
    free(path);
    return status;
}

int command_submit(int count, char **words)
{
    struct submit_options options;
    struct jobfile file;
    int status = options_read(&options, count, words);
    if (status >= 0) return status;
    if (jobfile_read(&file, options.path)) {
        status = file_submit(&options, &file);
    } else {
        jobfile_errors_write(&file, stderr);
        status = 2;
    }
    jobfile_release(&file);
    return status;
}
