// connection.c - a connection that is waited for, and no longer than its user likes.
#define _GNU_SOURCE
#include "client/internal.h"
#include "os/os.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum rota_client_code client_say(struct rota_client *client, enum rota_client_code code,
                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(client->reason, sizeof client->reason, format, arguments);
    va_end(arguments);
    return code;
}

int64_t client_until(rota_time timeout)
{
    int64_t now = os_ticks();
    return timeout < ROTA_NEVER - now ? now + timeout : ROTA_NEVER;
}

static enum rota_client_code connection_check(struct rota_client *client)
{
    if (!client->link || client->link->state != LINK_OPEN)
        return client_say(client, ROTA_CLIENT_GONE, "there is no connection");
    if (client->follows)
        return client_say(client, ROTA_CLIENT_WRONG, "this connection is for events");
    return ROTA_CLIENT_OK;
}

enum rota_client_code client_ready(struct rota_client *client)
{
    enum rota_client_code code = connection_check(client);
    if (code || client->role != ROTA_CLIENT_ROLE_HANDLER) return code;
    return client_say(client, ROTA_CLIENT_DENIED, "a handler can only fetch and end tasks");
}

enum rota_client_code handler_ready(struct rota_client *client)
{
    enum rota_client_code code = connection_check(client);
    if (code || client->role != ROTA_CLIENT_ROLE_CLIENT) return code;
    return client_say(client, ROTA_CLIENT_DENIED, "only a handler or an admin fetches tasks");
}

static enum rota_client_code gone(struct rota_client *client)
{
    const char *reason = client->link->reason ? client->link->reason : "the connection is gone";
    bool memory = client->link->out.failed;
    return client_say(client, memory ? ROTA_CLIENT_NO_MEMORY : ROTA_CLIENT_GONE, "%s", reason);
}

bool client_wait(struct rota_client *client, int64_t until)
{
    int64_t left = until == ROTA_NEVER ? ROTA_NEVER : until - os_ticks();
    if (left < 0) left = 0;
    struct pollfd one = {.fd = client->link->file, .events = POLLIN};
    struct timespec time = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    if (client->link->wants_write) one.events |= POLLOUT;
    // A signal of the program's is its own business: the caller looks at the time, and waits on.
    bool came = ppoll(&one, 1, left == ROTA_NEVER ? NULL : &time, NULL) > 0;
    link_work(client->link);
    return came || until == ROTA_NEVER || os_ticks() < until;
}

// Takes in what comes meanwhile: a server that cannot get rid of it might not read.
enum rota_client_code client_send(struct rota_client *client, int64_t until)
{
    struct link *link = client->link;
    link_flush(link);
    while (link->state == LINK_OPEN && link->wants_write)
        if (!client_wait(client, until))
            return client_say(client, ROTA_CLIENT_TIMED_OUT, "the server takes nothing");
    return link->state == LINK_OPEN ? ROTA_CLIENT_OK : gone(client);
}

enum rota_client_code client_next(struct rota_client *client, struct wire_message *message,
                                  int64_t until)
{
    for (;;) {
        switch (wire_take(&client->link->in, message)) {
        case WIRE_GOT: return ROTA_CLIENT_OK;
        case WIRE_NO_MEMORY:
            return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for what came");
        case WIRE_BAD:
            link_close(client->link);
            client->link = NULL;
            return client_say(client, ROTA_CLIENT_GONE, "the server sent what is no message");
        case WIRE_MORE: break;
        }
        if (client->link->state == LINK_CLOSED) return gone(client);
        if (!client_wait(client, until))
            return client_say(client, ROTA_CLIENT_TIMED_OUT, "the server does not answer in time");
    }
}

static enum rota_client_code code_of(uint32_t code)
{
    static const uint8_t codes[] = {
        [WIRE_REFUSED_VERSION] = ROTA_CLIENT_REFUSED,  [WIRE_REFUSED_ROLE] = ROTA_CLIENT_DENIED,
        [WIRE_REFUSED_REQUEST] = ROTA_CLIENT_REFUSED,  [WIRE_REFUSED_STATE] = ROTA_CLIENT_NOT_NOW,
        [WIRE_REFUSED_NOT_FOUND] = ROTA_CLIENT_NOT_FOUND,
        [WIRE_REFUSED_CONFLICT] = ROTA_CLIENT_REFUSED, [WIRE_REFUSED_FULL] = ROTA_CLIENT_FULL,
        [WIRE_REFUSED_MEMORY] = ROTA_CLIENT_FULL,      [WIRE_REFUSED_FRAME] = ROTA_CLIENT_REFUSED,
        [WIRE_REFUSED_STALE] = ROTA_CLIENT_STALE,      [WIRE_REFUSED_NOTHING] = ROTA_CLIENT_NOTHING,
    };
    bool known = code && code < sizeof codes / sizeof *codes;
    return known ? (enum rota_client_code)codes[code] : ROTA_CLIENT_REFUSED;
}

enum rota_client_code client_refusal(struct rota_client *client, struct request request,
                                     const struct wire_message *message)
{
    if (message->kind != WIRE_REFUSE_MESSAGE) return ROTA_CLIENT_OK;
    const struct wire_refuse *refuse = &message->refuse;
    bool ours = refuse->high == request.high && refuse->low == request.low;
    if (!ours && (refuse->high || refuse->low)) return ROTA_CLIENT_OK;
    return client_say(client, code_of(refuse->code), "%s", refuse->reason.bytes);
}
