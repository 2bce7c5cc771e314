// submit.c - submits a job file whose input files are uploaded.
#include "client/files/files.h"

#include <stdlib.h>

rota_object_id client_output(const struct client_submission *submission, uint32_t task,
                             uint32_t output)
{
    return submit_output(submission->request, task, output);
}

static const struct submit_upload *upload_of(const void *context, const char *path)
{
    return client_upload_find(context, path);
}

static void submission_put(const struct client_submission *given, struct wire_out *out)
{
    const struct client_uploads *uploads = given->uploads;
    uint32_t count = uploads ? uploads->count : 0;
    struct wire_make *makes = os_allocate(count, sizeof *makes);
    rota_object_id *keys = client_keys(given);
    struct submit_job job = {.file = given->file, .folder = given->folder, .keys = keys};
    job.request = given->request;
    job.flags = given->flags;
    job.upload = uploads ? upload_of : NULL;
    job.context = uploads;
    job.uploads = makes;
    job.upload_count = count;
    for (uint32_t i = 0; i < count; i++)
        makes[i] = (struct wire_make){.object = uploads->items[i].become.object,
                                      .bytes = uploads->items[i].survey.entry.bytes};
    submit_put(&job, out);
    if (out->failed) os_out_of_memory();
    free(keys);
    free(makes);
}

enum rota_client_code client_submit(struct rota_client *client,
                                    const struct client_submission *given, uint32_t *job)
{
    submission_put(given, &client->link->out);
    return client_accepted(client, given->request, ROTA_NEVER, job);
}
