// submit.c - submits a job, and waits until it has finished.
#include "client/internal.h"

static enum rota_client_code job_check(struct rota_client *client,
                                       const struct rota_client_job *job)
{
    if (job->has_failed)
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "%s", job->reason);
    if (!job->task_count) return client_say(client, ROTA_CLIENT_WRONG, "the job has no tasks");
    return client_ready(client);
}

enum rota_client_code rota_client_submit(struct rota_client *client,
                                         const struct rota_client_job *job, rota_job_id *id)
{
    enum rota_client_code code = job_check(client, job);
    *id = (rota_job_id){0};
    if (code) return code;
    wire_out_append(&client->link->out, job->frames.bytes, job->frames.length);
    job_piece_put(job, &client->link->out, &(struct wire_submit){0}, 0);
    return client_accepted(client, job->request, client_until(client->patience), &id->number);
}

enum rota_client_code rota_client_wait(struct rota_client *client, rota_job_id job,
                                       rota_time timeout, struct rota_client_sum *sum)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = job.number}};
    enum rota_client_code code = client_ready(client);
    if (!code && (!job.number || timeout < 0))
        code = client_say(client, ROTA_CLIENT_WRONG, "invalid job or timeout");
    if (code) return code;
    wire_put(&client->link->out, &message);
    int64_t until = client_until(timeout);
    do code = client_answer(client, (struct request_id){0, job.number}, until, &message);
    while (!code && message.kind != WIRE_OVER_MESSAGE);
    if (code == ROTA_CLIENT_TIMED_OUT) client_say(client, code, "the job has not finished");
    if (code || !sum) return code;
    // OVER may not count the blocked tasks yet; LOOK counts all of them.
    struct rota_client_view view;
    code = rota_client_look(client, (rota_task_id){job.number, 0}, &view);
    *sum = view.sum;
    return code;
}
