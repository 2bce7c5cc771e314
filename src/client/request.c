// request.c - requests and their answers: changes, how things are, and what commands print.
#include "client/internal.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- A request and its answer --------------------------------------------------------------

enum rota_client_code request_make(struct rota_client *client, uint64_t *high, uint64_t *low)
{
    uint64_t words[2];
    if (*high || *low) return ROTA_CLIENT_OK;
    if (!os_random(words, sizeof words))
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "the system has no random numbers");
    *high = words[0] >> 1;  // the highest ones are the server's own
    *low = words[1] | 1;
    return ROTA_CLIENT_OK;
}

// All of these begin with the id of their request.
static bool is_answer(const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_ACCEPTED_MESSAGE:
    case WIRE_DONE_MESSAGE:
    case WIRE_GRANTED_MESSAGE:
    case WIRE_RENEWED_MESSAGE:
    case WIRE_SEEN_MESSAGE: return true;
    default: return false;
    }
}

enum rota_client_code client_answer(struct rota_client *client, struct request request,
                                    int64_t until, struct wire_message *answer)
{
    enum rota_client_code code = client_send(client, until);
    while (!code && !(code = client_next(client, answer, until))) {
        code = client_refusal(client, request, answer);
        if (is_answer(answer) && answer->done.high == request.high
            && answer->done.low == request.low)
            break;
    }
    return code;
}

enum rota_client_code client_ask(struct rota_client *client, const struct wire_message *question,
                                 int64_t until, struct wire_message *answer)
{
    struct request request = {question->change.high, question->change.low};
    wire_put(&client->link->out, question);
    return client_answer(client, request, until, answer);
}

// ---- Changes ----------------------------------------------------------------------------------

static enum rota_client_code change(struct rota_client *client, enum wire_verb verb,
                                    rota_task_id task)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    enum rota_client_code code = client_ready(client);
    if (!code) code = request_make(client, &message.change.high, &message.change.low);
    message.change.verb = verb;
    message.change.task = task;
    return code ? code : client_ask(client, &message, client_until(client->patience), &message);
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
        code = client_say(client, ROTA_CLIENT_DENIED, "only an admin pauses workers");
    if (!code && (!name || !name[0]))
        code = client_say(client, ROTA_CLIENT_WRONG, "a name is missing");
    if (!code) code = request_make(client, &message.rest.high, &message.rest.low);
    if (code) return code;
    message.rest.how = how;
    message.rest.part = part;
    message.rest.name = wire_text_of(name);
    return client_ask(client, &message, client_until(client->patience), &message);
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

// ---- How things are -----------------------------------------------------------------------------

enum rota_client_code rota_client_look(struct rota_client *client, rota_task_id task,
                                       struct rota_client_view *view)
{
    struct wire_message message = {.kind = WIRE_LOOK_MESSAGE};
    const struct wire_seen *seen = &message.seen;
    *view = (struct rota_client_view){.state = ROTA_TASK_NONE};
    enum rota_client_code code = client_ready(client);
    if (!code) code = request_make(client, &message.look.high, &message.look.low);
    message.look.task = task;
    if (!code) code = client_ask(client, &message, client_until(client->patience), &message);
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

// ---- What commands print ------------------------------------------------------------------------

bool client_text_add(struct rota_client *client, const char *bytes, uint32_t length)
{
    uint64_t need = (uint64_t)client->text_length + length + 1;
    if (need > client->text_capacity) {
        uint64_t capacity = need < UINT32_MAX / 2 ? need * 2 : need;
        char *text = capacity <= UINT32_MAX ? realloc(client->text, capacity) : NULL;
        if (!text) return false;
        client->text = text;
        client->text_capacity = (uint32_t)capacity;
    }
    if (length) memcpy(client->text + client->text_length, bytes, length);
    client->text_length += length;
    client->text[client->text_length] = 0;
    return true;
}

enum rota_client_code client_text_begin(struct rota_client *client)
{
    enum rota_client_code code = client_ready(client);
    client->text_length = 0;
    client->questions++;
    if (!code && !client_text_add(client, "", 0))
        code = client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for the answer");
    return code;
}

static enum rota_client_code answer_take(struct rota_client *client, int64_t until)
{
    struct wire_message message;
    struct request request = {0, client->questions};
    bool whole = true;
    for (;;) {
        enum rota_client_code code = client_next(client, &message, until);
        if (!code) code = client_refusal(client, request, &message);
        if (code) return code;
        if (message.kind == WIRE_ANSWER_MESSAGE && message.answer.request == request.low)
            whole = whole && client_text_add(client, message.answer.bytes.bytes,
                                             message.answer.bytes.length);
        if (message.kind != WIRE_ANSWERED_MESSAGE || message.answered.request != request.low)
            continue;
        if (!whole) return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for the answer");
        if (!message.answered.status) return ROTA_CLIENT_OK;
        return client_say(client, ROTA_CLIENT_REFUSED, "%.400s",
                          client->text_length ? client->text : "it cannot be answered");
    }
}

enum rota_client_code rota_client_ask(struct rota_client *client, const char *const *words,
                                      const char **text)
{
    enum { WORDS_MAX = 64 };
    wire_text texts[WORDS_MAX];
    uint32_t count = 0;
    struct wire_message message = {.kind = WIRE_ASK_MESSAGE};
    enum rota_client_code code = client_text_begin(client);
    *text = "";
    while (!code && words[count]) {
        if (count == WORDS_MAX)
            return client_say(client, ROTA_CLIENT_WRONG, "a question has 1 to 64 words");
        texts[count] = wire_text_of(words[count]);
        count++;
    }
    if (code) return code;
    int64_t until = client_until(client->patience);
    message.ask.request = client->questions;
    message.ask.words = (wire_texts){texts, count};
    wire_put(&client->link->out, &message);
    code = client_send(client, until);
    if (!code) code = answer_take(client, until);
    *text = client->text;
    return code;
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
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE};
    int64_t until = client_until(client->patience);
    enum rota_client_code code = client_text_begin(client);
    *text = "";
    *length = 0;
    if (code) return code;
    struct request request = {0, client->questions};
    message.log.request = request.low;
    message.log.task = task;
    message.log.attempt = attempt;
    message.log.offset = offset;
    wire_put(&client->link->out, &message);
    code = client_send(client, until);
    while (!code) {
        code = client_next(client, &message, until);
        if (!code) code = client_refusal(client, request, &message);
        if (!code && message.kind == WIRE_LOGGED_MESSAGE && message.logged.request == request.low)
            break;
    }
    if (code) return code;
    if (!client_text_add(client, message.logged.bytes.bytes, message.logged.bytes.length))
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for the log");
    *text = client->text;
    *length = client->text_length;
    return ROTA_CLIENT_OK;
}
