// submit.c - a job goes to the server, and is waited for.
#include "client/internal.h"

static enum rota_client_code job_check(struct rota_client *client,
                                       const struct rota_client_job *job)
{
    if (job->has_failed)
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "%s", job->reason);
    if (!job->task_count) return client_say(client, ROTA_CLIENT_WRONG, "a job has a task");
    return client_ready(client);
}

enum rota_client_code rota_client_submit(struct rota_client *client,
                                         const struct rota_client_job *job, rota_job_id *id)
{
    struct wire_message message;
    enum rota_client_code code = job_check(client, job);
    *id = (rota_job_id){0};
    if (code) return code;
    wire_out_append(&client->link->out, job->frames.bytes, job->frames.length);
    job_piece_put(job, &client->link->out, &(struct wire_submit){0}, 0);
    code = client_answer(client, job->request, client_until(client->patience), &message);
    if (code) return code;
    if (message.kind != WIRE_ACCEPTED_MESSAGE)
        return client_say(client, ROTA_CLIENT_REFUSED, "the server answers something else");
    *id = (rota_job_id){message.accepted.job};
    return ROTA_CLIENT_OK;
}

static enum rota_client_code over_take(struct rota_client *client, rota_job_id job,
                                       rota_time timeout, struct wire_message *message)
{
    int64_t until = client_until(timeout);
    struct request request = {0, job.number};
    enum rota_client_code code = client_send(client, client_until(client->patience));
    while (!code && !(code = client_next(client, message, until))) {
        code = client_refusal(client, request, message);
        if (message->kind == WIRE_OVER_MESSAGE && message->over.job == job.number) break;
    }
    return code;
}

enum rota_client_code rota_client_wait(struct rota_client *client, rota_job_id job,
                                       rota_time timeout, struct rota_client_sum *sum)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = job.number}};
    enum rota_client_code code = client_ready(client);
    if (!code && (!job.number || timeout < 0))
        code = client_say(client, ROTA_CLIENT_WRONG, "there is no such job or time");
    if (code) return code;
    wire_put(&client->link->out, &message);
    code = over_take(client, job, timeout, &message);
    if (code == ROTA_CLIENT_TIMED_OUT) client_say(client, code, "it is not over");
    if (code || !sum) return code;
    // What is blocked may be counted by now, or not: a look counts all.
    struct rota_client_view view;
    code = rota_client_look(client, (rota_task_id){job.number, 0}, &view);
    *sum = view.sum;
    return code;
}
