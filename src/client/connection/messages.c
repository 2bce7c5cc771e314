// messages.c - one message at a time over a connection, with a time limit.
#define _GNU_SOURCE
#include "client/connection/connection.h"
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

bool client_is_open(const struct rota_client *client)
{
    return client->link && client->link->state == LINK_OPEN;
}

static enum rota_client_code gone(struct rota_client *client)
{
    const char *said = client->link->reason;
    const char *reason = said ? said : "the server closed the connection";
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
    // A signal is for the program to handle; the caller checks the time, and waits on.
    bool came = ppoll(&one, 1, left == ROTA_NEVER ? NULL : &time, NULL) > 0;
    link_work(client->link);
    return came || until == ROTA_NEVER || os_ticks() < until;
}

// Reads what arrives meanwhile: a server that cannot write may not read either.
enum rota_client_code client_send(struct rota_client *client, int64_t until)
{
    struct link *link = client->link;
    link_flush(link);
    while (link->state == LINK_OPEN && link->wants_write)
        if (!client_wait(client, until))
            return client_say(client, ROTA_CLIENT_TIMED_OUT, "the server does not read");
    return link->state == LINK_OPEN ? ROTA_CLIENT_OK : gone(client);
}

enum rota_client_code client_next(struct rota_client *client, struct wire_message *message,
                                  int64_t until)
{
    for (;;) {
        switch (wire_take(&client->link->in, message)) {
        case WIRE_GOT: return ROTA_CLIENT_OK;
        case WIRE_NO_MEMORY:
            return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for a message");
        case WIRE_BAD:
            client->link->state = LINK_CLOSED;
            client->link->reason = "the server sent an invalid message";
            return gone(client);
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

enum rota_client_code client_refusal(struct rota_client *client, struct request_id request,
                                     const struct wire_message *message)
{
    if (message->kind != WIRE_REFUSE_MESSAGE) return ROTA_CLIENT_OK;
    const struct wire_refuse *refuse = &message->refuse;
    bool ours = SAME_ID(*refuse, request);
    if (!ours && (refuse->high || refuse->low)) return ROTA_CLIENT_OK;
    client->refusal = (enum wire_code)refuse->code;
    return client_say(client, code_of(refuse->code), "%s", refuse->reason.bytes);
}
