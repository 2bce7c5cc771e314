// submit_text.c - submits the text of a job file.
#include "client/internal.h"
#include "job/file/jobfile.h"
#include "job/message/submission.h"

#include <stdio.h>
#include <string.h>

struct reading {
    struct rota_client *client;
    struct rota_client_text *options;
    struct jobfile file;
    uint32_t mistakes;
};

// ---- Mistakes ------------------------------------------------------------------------------

// The same lines as those of `rota check`; the first one is the reason, too.
static void mistake_add(struct reading *reading, struct jobfile_place place, const char *reason)
{
    struct rota_client *client = reading->client;
    char head[300];
    const char *path = reading->options->path ? reading->options->path : "job";
    if (place.line)
        snprintf(head, sizeof head, "%.250s:%u:%u: ", path, place.line, place.column);
    else
        snprintf(head, sizeof head, "%.250s: ", path);
    if (!reading->mistakes++) client_say(client, ROTA_CLIENT_WRONG, "%s%s", head, reason);
    bool fine = client_text_add(client, head, (uint32_t)strlen(head))
                && client_text_add(client, reason, (uint32_t)strlen(reason));
    if (fine) client_text_add(client, "\n", 1);
}

static void file_refuse(struct reading *reading, const struct jobfile_task *task, const char *path)
{
    char reason[600];
    snprintf(reason, sizeof reason,
             "an input of %.60s: no task produces %.400s, and this call sends no files",
             task->name, path);
    mistake_add(reading, task->place, reason);
}

// Without a folder, tasks can read only the outputs of other tasks.
static void files_check(struct reading *reading)
{
    const struct jobfile *file = &reading->file;
    for (uint32_t i = 0; i < file->task_count && reading->mistakes < JOBFILE_ERRORS_MAX; i++) {
        const struct jobfile_task *task = &file->tasks[i];
        for (uint32_t k = 0; k < task->input_count; k++)
            if (!task->inputs[k].producer) file_refuse(reading, task, task->inputs[k].path);
        if (task->stdin_path && !task->stdin_input) file_refuse(reading, task, task->stdin_path);
        if (task->cwd && task->cwd[0] != '/')
            mistake_add(reading, task->place,
                        "cwd is not an absolute path, and the job has no folder");
    }
}

static enum rota_client_code text_parse(struct reading *reading, const char *text, size_t length)
{
    static const enum jobfile_format formats[] = {JOBFILE_YAML, JOBFILE_JSON, JOBFILE_JSON_LINES};
    const struct rota_client_text *options = reading->options;
    const struct jobfile *file = &reading->file;
    bool fine = jobfile_parse(&reading->file, "job", formats[options->format], text, length);
    if (file->lacks_memory)
        return client_say(reading->client, ROTA_CLIENT_NO_MEMORY, "out of memory for the job");
    for (uint32_t i = 0; i < file->error_count; i++)
        mistake_add(reading, file->errors[i].place, file->errors[i].reason);
    if (fine && !options->folder) files_check(reading);
    return reading->mistakes ? ROTA_CLIENT_WRONG : ROTA_CLIENT_OK;
}

// ---- Sending -----------------------------------------------------------------------------------

static const struct submit_upload *upload_none(const void *context, const char *path)
{
    (void)context;
    (void)path;
    return NULL;
}

static enum rota_client_code job_send(struct reading *reading, rota_job_id *id)
{
    struct rota_client *client = reading->client;
    const struct rota_client_text *options = reading->options;
    struct wire_out frames = {0};
    struct submit_job job = {.file = &reading->file, .request = {options->high, options->low}};
    job.folder = options->folder ? options->folder : "";
    job.upload = options->folder ? NULL : upload_none;
    submit_put(&job, &frames);
    bool fine = !frames.failed;
    if (fine) wire_out_append(&client->link->out, frames.bytes, frames.length);
    wire_out_release(&frames);
    if (!fine) return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the job");
    return client_accepted(client, job.request, client_until(client->patience), &id->number);
}

static enum rota_client_code options_check(struct rota_client *client,
                                           const struct rota_client_text *options)
{
    if ((unsigned)options->format > ROTA_CLIENT_JSON_LINES)
        return client_say(client, ROTA_CLIENT_WRONG, "unknown format");
    if (options->folder && options->folder[0] != '/')
        return client_say(client, ROTA_CLIENT_WRONG, "the folder is not an absolute path");
    return text_begin(client);
}

enum rota_client_code rota_client_submit_text(struct rota_client *client, const char *text,
                                              size_t length, struct rota_client_text *options,
                                              rota_job_id *id)
{
    struct reading reading = {.client = client, .options = options};
    *id = (rota_job_id){0};
    options->mistakes = "";
    struct request_id request = {options->high, options->low};
    enum rota_client_code code = options_check(client, options);
    if (!code) code = request_make(client, &request);
    if (code) return code;
    options->high = request.high;
    options->low = request.low;
    code = text_parse(&reading, text, length);
    if (options->policy) reading.file.policy = options->policy;
    if (!code) code = job_send(&reading, id);
    jobfile_release(&reading.file);
    options->mistakes = client->text;
    return code;
}
