// request.c - requests of a program: changes, states, queries and logs.
#include "client/internal.h"

#include <stdio.h>

static enum rota_client_code ask(struct rota_client *client, struct wire_message *message)
{
    return client_ask(client, (struct request_id){0}, client_until(client->patience), message);
}

// ---- Changes ----------------------------------------------------------------------------------

static enum rota_client_code change(struct rota_client *client, enum wire_verb verb,
                                    rota_task_id task)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    enum rota_client_code code = client_ready(client);
    message.change.verb = verb;
    message.change.task = task;
    return code ? code : ask(client, &message);
}

enum rota_client_code rota_client_cancel(struct rota_client *client, rota_task_id task)
{
    return change(client, WIRE_CANCEL, task);
}

enum rota_client_code rota_client_retry(struct rota_client *client, rota_task_id task)
{
    return change(client, WIRE_RETRY, task);
}

enum rota_client_code rota_client_forget(struct rota_client *client, rota_job_id job)
{
    return change(client, WIRE_CLOSE, (rota_task_id){job.number, 0});
}

static enum rota_client_code rest(struct rota_client *client, enum wire_rest_how how,
                                  enum wire_part part, const char *name)
{
    struct wire_message message = {.kind = WIRE_REST_MESSAGE};
    enum rota_client_code code = client_ready(client);
    if (!code && part == WIRE_PART_WORKER && client->role != ROTA_CLIENT_ROLE_ADMIN)
        code = client_say(client, ROTA_CLIENT_DENIED, "only an admin may pause workers");
    if (!code && (!name || !name[0]))
        code = client_say(client, ROTA_CLIENT_WRONG, "the name is missing");
    if (code) return code;
    message.rest.how = how;
    message.rest.part = part;
    message.rest.name = wire_text_of(name);
    return ask(client, &message);
}

static enum rota_client_code job_rest(struct rota_client *client, enum wire_rest_how how,
                                      rota_job_id job)
{
    char name[16];
    snprintf(name, sizeof name, "%u", job.number);
    return rest(client, how, WIRE_PART_JOB, name);
}

enum rota_client_code rota_client_pause(struct rota_client *client, rota_job_id job)
{
    return job_rest(client, WIRE_PAUSE, job);
}

enum rota_client_code rota_client_resume(struct rota_client *client, rota_job_id job)
{
    return job_rest(client, WIRE_RESUME, job);
}

enum rota_client_code rota_client_lane_pause(struct rota_client *client, const char *lane)
{
    return rest(client, WIRE_PAUSE, WIRE_PART_LANE, lane);
}

enum rota_client_code rota_client_lane_resume(struct rota_client *client, const char *lane)
{
    return rest(client, WIRE_RESUME, WIRE_PART_LANE, lane);
}

enum rota_client_code rota_client_worker_pause(struct rota_client *client, const char *worker)
{
    return rest(client, WIRE_PAUSE, WIRE_PART_WORKER, worker);
}

enum rota_client_code rota_client_worker_resume(struct rota_client *client, const char *worker)
{
    return rest(client, WIRE_RESUME, WIRE_PART_WORKER, worker);
}

enum rota_client_code rota_client_worker_drain(struct rota_client *client, const char *worker)
{
    return rest(client, WIRE_DRAIN_AND_QUIT, WIRE_PART_WORKER, worker);
}

// ---- States of jobs and tasks ------------------------------------------------------------------

enum rota_client_code rota_client_look(struct rota_client *client, rota_task_id task,
                                       struct rota_client_view *view)
{
    struct wire_message message = {.kind = WIRE_LOOK_MESSAGE};
    const struct wire_seen *seen = &message.seen;
    *view = (struct rota_client_view){.state = ROTA_TASK_NONE};
    enum rota_client_code code = client_ready(client);
    message.look.task = task;
    if (!code) code = ask(client, &message);
    if (code) return code;
    view->state = (enum rota_task_state)seen->state;
    view->outcome = (enum rota_outcome)seen->outcome;
    view->status = seen->status;
    view->attempt = seen->attempt;
    view->sum = (struct rota_client_sum){seen->tasks, seen->succeeded, seen->failed, seen->aborted};
    view->running = seen->running;
    view->is_over = seen->flags & WIRE_SEEN_OVER;
    view->is_paused = seen->flags & WIRE_SEEN_PAUSED;
    snprintf(view->name, sizeof view->name, "%s", seen->name.bytes);
    snprintf(view->worker, sizeof view->worker, "%s", seen->worker.bytes);
    return ROTA_CLIENT_OK;
}

// ---- Questions and logs -------------------------------------------------------------------------

enum rota_client_code text_begin(struct rota_client *client)
{
    enum rota_client_code code = client_ready(client);
    if (code || client_text_begin(client)) return code;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the answer");
}

enum rota_client_code rota_client_ask(struct rota_client *client, const char *const *words,
                                      const char **text)
{
    enum { WORDS_MAX = 64 };
    wire_text texts[WORDS_MAX];
    uint32_t count = 0;
    uint32_t status;
    enum rota_client_code code = text_begin(client);
    *text = "";
    while (!code && words[count]) {
        if (count == WORDS_MAX)
            return client_say(client, ROTA_CLIENT_WRONG, "a query has 1 to 64 words");
        texts[count] = wire_text_of(words[count]);
        count++;
    }
    if (code) return code;
    code = question_ask(client, texts, count, client_until(client->patience), &status);
    *text = client->text ? client->text : "";
    if (code || !status) return code;
    return client_say(client, ROTA_CLIENT_REFUSED, "%.400s",
                      client->text_length ? client->text : "the server cannot answer this");
}

enum rota_client_code rota_client_log(struct rota_client *client, rota_task_id task,
                                      uint64_t offset, const char **text, size_t *length)
{
    return rota_client_log_of(client, task, 0, offset, text, length);
}

enum rota_client_code rota_client_log_of(struct rota_client *client, rota_task_id task,
                                         uint32_t attempt, uint64_t offset, const char **text,
                                         size_t *length)
{
    struct wire_log log = {.task = task, .attempt = attempt, .offset = offset};
    struct wire_message message;
    enum rota_client_code code = text_begin(client);
    *text = "";
    *length = 0;
    if (!code) code = client_log(client, &log, client_until(client->patience), &message);
    if (code) return code;
    if (!client_text_add(client, message.logged.bytes.bytes, message.logged.bytes.length))
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the log");
    *text = client->text;
    *length = client->text_length;
    return ROTA_CLIENT_OK;
}
