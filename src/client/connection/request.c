// request.c - requests, and the answers to them.
//
// Every request has an id: most of them 128 random bits, so that the server recognizes one that is
// sent again over another connection. A question or a log request has a number that is unique on
// its connection, a watch the number of its job; as an id these are {0, number}.
#include "client/connection/connection.h"
#include "os/os.h"

bool request_draw(struct request_id *request)
{
    if (!os_random(request, sizeof *request)) return false;
    request->high >>= 1;  // the upper half is for the server's own requests
    request->low |= 1;
    return true;
}

enum rota_client_code request_make(struct rota_client *client, struct request_id *request)
{
    if (request->high || request->low || request_draw(request)) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "cannot read random bytes from the system");
}

static bool has_number(struct request_id request, uint64_t number)
{
    return !request.high && request.low == number;
}

// A FETCH names its object, and no request. `object` is null if the caller asked for none.
static bool is_answer(const struct wire_message *message, struct request_id request,
                      const rota_object_id *object)
{
    switch (message->kind) {
    case WIRE_ACCEPTED_MESSAGE:
    case WIRE_DONE_MESSAGE:
    case WIRE_GRANTED_MESSAGE:
    case WIRE_RENEWED_MESSAGE:
    case WIRE_SEEN_MESSAGE:  // all of these begin with the id of their request
        return SAME_ID(message->done, request);
    case WIRE_ANSWER_MESSAGE: return has_number(request, message->answer.request);
    case WIRE_ANSWERED_MESSAGE: return has_number(request, message->answered.request);
    case WIRE_LOGGED_MESSAGE: return has_number(request, message->logged.request);
    case WIRE_OVER_MESSAGE: return has_number(request, message->over.job);
    case WIRE_FETCH_MESSAGE:
        return object && SAME_ID(message->fetch.object, *object);
    default: return false;
    }
}

static enum rota_client_code answer_wait(struct rota_client *client, struct request_id request,
                                         const rota_object_id *object, int64_t until,
                                         struct wire_message *answer)
{
    client->refusal = 0;
    enum rota_client_code code = client_send(client, until);
    while (!code && !(code = client_next(client, answer, until))) {
        code = client_refusal(client, request, answer);
        if (is_answer(answer, request, object)) break;
    }
    return code;
}

enum rota_client_code client_answer(struct rota_client *client, struct request_id request,
                                    int64_t until, struct wire_message *answer)
{
    return answer_wait(client, request, NULL, until, answer);
}

// All requests with a random id begin with it.
static enum rota_client_code ask(struct rota_client *client, struct request_id request,
                                 const rota_object_id *object, int64_t until,
                                 struct wire_message *message)
{
    enum rota_client_code code = request_make(client, &request);
    if (code) return code;
    message->change.high = request.high;
    message->change.low = request.low;
    wire_put(&client->link->out, message);
    return answer_wait(client, request, object, until, message);
}

enum rota_client_code client_ask(struct rota_client *client, struct request_id request,
                                 int64_t until, struct wire_message *message)
{
    return ask(client, request, NULL, until, message);
}

enum rota_client_code client_locate(struct rota_client *client, enum wire_data_verb verb,
                                    rota_object_id object, int64_t until,
                                    struct wire_message *message)
{
    *message = (struct wire_message){.kind = WIRE_DATA_MESSAGE};
    message->data.verb = verb;
    message->data.object = object;
    return ask(client, (struct request_id){0}, &object, until, message);
}

enum rota_client_code client_keep(struct rota_client *client, enum wire_data_verb verb,
                                  rota_object_id object, int64_t until)
{
    struct wire_message message = {.kind = WIRE_DATA_MESSAGE};
    message.data.verb = verb;
    message.data.object = object;
    return client_ask(client, (struct request_id){0}, until, &message);
}

enum rota_client_code client_accepted(struct rota_client *client, struct request_id request,
                                      int64_t until, uint32_t *job)
{
    struct wire_message message;
    *job = 0;
    enum rota_client_code code = client_answer(client, request, until, &message);
    if (code) return code;
    if (message.kind != WIRE_ACCEPTED_MESSAGE)
        return client_say(client, ROTA_CLIENT_REFUSED, "the server sent an unexpected answer");
    *job = message.accepted.job;
    return ROTA_CLIENT_OK;
}

enum rota_client_code client_log(struct rota_client *client, const struct wire_log *log,
                                 int64_t until, struct wire_message *piece)
{
    struct request_id request = {0, ++client->questions};
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE, .log = *log};
    message.log.request = request.low;
    wire_put(&client->link->out, &message);
    enum rota_client_code code;
    do code = client_answer(client, request, until, piece);
    while (!code && piece->kind != WIRE_LOGGED_MESSAGE);
    return code;
}
