// events.c - subscribes to the events of a server, from any position in its journal.
#include "client/internal.h"

enum { TOPICS_MAX = 64 };

enum rota_client_code rota_client_follow(struct rota_client *client,
                                         const struct rota_client_place *place,
                                         const char *const *topics)
{
    struct wire_message message = {.kind = WIRE_FOLLOW_MESSAGE};
    wire_text texts[TOPICS_MAX];
    uint32_t count = 0;
    enum rota_client_code code = client_ready(client);
    if (code) return code;
    for (; topics && topics[count]; count++) {
        if (count == TOPICS_MAX)
            return client_say(client, ROTA_CLIENT_WRONG, "too many topics: 64 are allowed");
        texts[count] = wire_text_of(topics[count]);
    }
    message.follow.flags = place ? 0 : WIRE_FOLLOW_FROM_NOW;
    if (place) message.follow.sequence = place->sequence;
    if (place) message.follow.place = place->place;
    message.follow.topics = (wire_texts){texts, count};
    wire_put(&client->link->out, &message);
    code = client_send(client, client_until(client->patience));
    client->follows = !code;
    return code;
}

enum rota_client_code rota_client_event(struct rota_client *client, rota_time timeout,
                                        struct rota_client_event *event)
{
    struct wire_message message;
    int64_t until = client_until(timeout);
    *event = (struct rota_client_event){.state = ""};
    if (!client->link || !client->follows)
        return client_say(client, client->link ? ROTA_CLIENT_WRONG : ROTA_CLIENT_GONE,
                          "rota_client_follow() was not called on this connection");
    do {
        enum rota_client_code code = client_next(client, &message, until);
        if (code == ROTA_CLIENT_TIMED_OUT) client_say(client, code, "no event came in time");
        if (!code) code = client_refusal(client, (struct request_id){0}, &message);
        if (code) return code;
    } while (message.kind != WIRE_EVENT_MESSAGE);
    const struct wire_event *told = &message.event;
    event->place = (struct rota_client_place){told->sequence, told->place};
    event->kind = (enum rota_client_event_kind)told->kind;
    event->at = told->at;
    event->task = told->task;
    event->state = told->state.bytes;
    event->name = told->name.bytes;
    event->lane = told->lane.bytes;
    event->worker = told->worker.bytes;
    event->status = told->status;
    event->attempt = told->attempt;
    return ROTA_CLIENT_OK;
}
