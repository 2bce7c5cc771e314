// submit.c - a job file as a submission, with the files that go along.
#include "client/files/client.h"

#include <stdlib.h>

rota_object_id client_output(const struct client_submission *submission, uint32_t task,
                             uint32_t output)
{
    return submit_output(submission->high, submission->low, task, output);
}

static const struct submit_upload *upload_of(const void *context, const char *path)
{
    return client_upload_find(context, path);
}

void client_submit_put(struct client *client, const struct client_submission *given)
{
    const struct client_uploads *uploads = given->uploads;
    uint32_t count = uploads ? uploads->count : 0;
    struct wire_make *makes = run_allocate(count, sizeof *makes);
    rota_object_id *keys = client_keys(given);
    struct submit_job job = {.file = given->file, .folder = given->folder, .keys = keys};
    job.high = given->high;
    job.low = given->low;
    job.flags = given->flags;
    job.upload = uploads ? upload_of : NULL;
    job.context = uploads;
    job.uploads = makes;
    job.upload_count = count;
    for (uint32_t i = 0; i < count; i++)
        makes[i] = (struct wire_make){.object = uploads->items[i].become.object,
                                      .bytes = uploads->items[i].survey.entry.bytes};
    submit_put(&job, &client->link->out);
    if (client->link->out.failed) run_no_memory();
    free(keys);
    free(makes);
}

uint32_t client_accepted(struct client *client, uint64_t high, uint64_t low)
{
    struct wire_message message;
    while (client_next(client, &message, 0)) {
        if (message.kind == WIRE_ACCEPTED_MESSAGE && message.accepted.high == high
            && message.accepted.low == low)
            return message.accepted.job;
        if (message.kind != WIRE_REFUSE_MESSAGE) continue;
        client->code = (enum wire_code)message.refuse.code;
        client_fail(client, message.refuse.reason.bytes);
        return 0;
    }
    return 0;
}
