// handler.c - tasks for external workers: fetch one, renew its lease, report how it ended.
#include "client/internal.h"

#include <stdlib.h>

// ---- Fetching -----------------------------------------------------------------------------

// Holds the texts of a rota_client_grant, and the lists that point to them.
struct grant_memory {
    struct client_grant grant;
    const char *words[];  // of argv and of env, each with a null after it
};

static const char **words_write(const char **at, const wire_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) *at++ = texts->items[i].bytes;
    *at++ = NULL;
    return at;
}

// Takes ownership of `from`.
static enum rota_client_code grant_show(struct rota_client *client, struct client_grant *from,
                                        struct rota_client_grant *grant)
{
    const struct wire_run *run = &from->run;
    size_t count = (size_t)run->argv.count + run->env.count + 2;
    struct grant_memory *memory = calloc(1, sizeof *memory + count * sizeof *memory->words);
    if (!memory) {
        client_grant_release(from);
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the task");
    }
    memory->grant = *from;
    grant->memory = memory;
    grant->name = run->name.bytes ? run->name.bytes : "";
    grant->argv = memory->words;
    grant->env = words_write(memory->words, &run->argv);
    words_write((const char **)(uintptr_t)grant->env, &run->env);
    return ROTA_CLIENT_OK;
}

enum rota_client_code rota_client_fetch(struct rota_client *client, struct rota_client_wish *wish,
                                        struct rota_client_grant *grant)
{
    struct client_grant granted;
    struct request_id request = {wish->high, wish->low};
    *grant = (struct rota_client_grant){.token = 0};
    enum rota_client_code code = handler_ready(client);
    if (!code && (wish->lease < 0 || wish->wait < 0))
        code = client_say(client, ROTA_CLIENT_WRONG, "negative time");
    if (!code) code = request_make(client, &request);
    if (code) return code;
    wish->high = request.high;
    wish->low = request.low;
    struct client_query asked = {request, wish->task, wish->flags, wish->lease, wish->wait};
    rota_time most = ROTA_NEVER - client->patience;
    rota_time patience = wish->wait < most ? wish->wait + client->patience : ROTA_NEVER;
    code = client_fetch(client, &asked, client_until(patience), &granted);
    grant->task = granted.task;
    grant->attempt = granted.attempt;
    grant->token = granted.token;
    grant->lease = granted.lease;
    if (!code && granted.token) return grant_show(client, &granted, grant);
    client_grant_release(&granted);
    return code;
}

void rota_client_grant_release(struct rota_client_grant *grant)
{
    struct grant_memory *memory = grant->memory;
    if (memory) client_grant_release(&memory->grant);
    free(memory);
    *grant = (struct rota_client_grant){.token = 0};
}

// ---- Keeping and ending -----------------------------------------------------------------------

enum rota_client_code rota_client_renew(struct rota_client *client, struct rota_client_grant *grant)
{
    enum rota_client_code code = handler_ready(client);
    if (code) return code;
    return client_renew(client, grant->task, grant->token, client_until(client->patience),
                        &grant->lease);
}

static enum rota_client_code end_begin(struct rota_client *client, struct rota_client_grant *grant,
                                       struct client_end *end)
{
    struct request_id request = {grant->high, grant->low};
    enum rota_client_code code = handler_ready(client);
    if (!code) code = request_make(client, &request);
    if (code) return code;
    grant->high = request.high;
    grant->low = request.low;
    *end = (struct client_end){request, grant->task, grant->token, grant->flags, 0, NULL};
    return ROTA_CLIENT_OK;
}

enum rota_client_code rota_client_deliver(struct rota_client *client,
                                          struct rota_client_grant *grant, const char *reason)
{
    struct client_end end;
    enum rota_client_code code = end_begin(client, grant, &end);
    end.reason = reason;
    return code ? code : client_deliver(client, &end, client_until(client->patience));
}

enum rota_client_code rota_client_fail(struct rota_client *client, struct rota_client_grant *grant,
                                       const struct rota_client_failure *failure)
{
    struct client_end end;
    enum rota_client_code code = end_begin(client, grant, &end);
    if (code) return code;
    end.flags |= failure->give_back ? ROTA_GIVEN_BACK : 0u;
    end.status = failure->status;
    end.reason = failure->reason;
    return client_fail(client, &end, client_until(client->patience));
}
