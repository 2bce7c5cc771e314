// handler.c - `rota deliver`, `rota fail` and `rota renew`: reports about a fetched task.
#include "cli/handler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- Shared with other files -------------------------------------------------------------------

int handler_failed(const struct connection *connection)
{
    if (!connection->client.refusal) return connect_lost(connection);
    switch (connection->client.refusal) {
    case WIRE_REFUSED_NOTHING: return HANDLER_NOTHING;
    case WIRE_REFUSED_STATE:
    case WIRE_REFUSED_STALE:
        return connect_fail(connection, connection->client.reason, HANDLER_REFUSED);
    default: return connect_fail(connection, connection->client.reason, HANDLER_WRONG);
    }
}

// ---- Options -----------------------------------------------------------------------------------

struct handler {
    struct connection connection;
    struct client_end end;
    uint32_t status;
    bool keep, has_task, has_token;
};

static bool flag_take(void *values, uint32_t number, const char *value)
{
    (void)value;
    return ((struct handler *)values)->end.flags |= number;
}

static bool token_read(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && *text >= '0' && *text <= '9' && !*end;
}

static bool name_take(struct handler *handler, const char *word)
{
    if (!handler->has_task)
        return handler->has_task = word_is_id(ID_TASK, word, &handler->end.task);
    return handler->has_token = token_read(word, &handler->end.token);
}

// Returns -1, or the exit status.
static int arguments_read(struct handler *handler, const struct command *command,
                          const struct arguments *arguments)
{
    static const char *const expected[] = {"a task such as 7.3", "a token"};
    const char *task = getenv("ROTA_TASK"), *token = getenv("ROTA_TOKEN");
    for (uint32_t i = 0; i < arguments->count; i++)
        if (!name_take(handler, arguments->items[i]))
            return command_wrong(command, "expected %s, not '%s'", expected[i],
                                 arguments->items[i]);
    if (!arguments->count && task) name_take(handler, task);
    if (!arguments->count && handler->has_task && token) name_take(handler, token);
    if (!handler->has_task) return command_wrong(command, "missing argument TASK");
    if (handler->has_token || handler->end.flags & ROTA_NOFETCH_OK) return -1;
    return command_wrong(command, "missing argument TOKEN");
}

static int handler_begin(struct handler *handler, const struct command *command, int count,
                         char **words)
{
    struct arguments arguments;
    *handler = (struct handler){.status = 0};
    connect_init(&handler->connection, command->name);
    handler->connection.role = WIRE_HANDLER;
    int status = options_read(command, handler, flag_take, &arguments, count, words);
    if (status < 0) status = arguments_read(handler, command, &arguments);
    if (status >= 0) return status;
    handler->end.status = (int32_t)handler->status;
    status = connect_open(&handler->connection);
    if (status) return status;
    return request_make(&handler->connection.client, &handler->end.request)
               ? handler_failed(&handler->connection)
               : -1;
}

static int handler_finish(struct handler *handler, int status)
{
    connect_close(&handler->connection);
    return status;
}

// ---- The commands ------------------------------------------------------------------------------

static int end_run(const struct command *command, int count, char **words)
{
    struct handler handler;
    bool delivers = command == &deliver_command;
    int status = handler_begin(&handler, command, count, words);
    if (status < 0)
        status = (delivers ? client_deliver : client_fail)(&handler.connection.client, &handler.end,
                                                           ROTA_NEVER)
                     ? handler_failed(&handler.connection)
                     : 0;
    return handler_finish(&handler, status);
}

static int renew_run(const struct command *command, int count, char **words)
{
    struct handler handler;
    rota_time lease;
    int status = handler_begin(&handler, command, count, words);
    if (status < 0 && handler.keep)
        status = claim_keep(&handler.connection, handler.end.task, handler.end.token);
    else if (status < 0)
        status = client_renew(&handler.connection.client, handler.end.task, handler.end.token,
                              ROTA_NEVER, &lease)
                     ? handler_failed(&handler.connection)
                     : 0;
    return handler_finish(&handler, status);
}

// ---- Their pages -------------------------------------------------------------------------------

#define MESSAGE_ROW                                                                                \
    {0, "message", "TEXT", "a message to record with the task", OPTION_TEXT,                       \
     .at = offsetof(struct handler, end.reason)}
#define NOFETCH_ROW                                                                                \
    {0, "nofetch-ok", "", "accept that the task has not been fetched; it has no TOKEN then",       \
     OPTION_OTHER, .at = ROTA_NOFETCH_OK}

static const struct option_row deliver_rows[] = {
    MESSAGE_ROW,
    {0, "delivered-ok", "", "accept that the task has been delivered already", OPTION_OTHER,
     .at = ROTA_DELIVERED_OK},
    NOFETCH_ROW,
    CONNECT_ROWS(struct handler),
    OPTION_ROWS_END};

static const struct option_row fail_rows[] = {
    {0, "status", "N", "the exit status of the task", OPTION_NUMBER,
     .at = offsetof(struct handler, status), .least = 0, .most = INT32_MAX, .preset = "1"},
    MESSAGE_ROW,
    {0, "again", "", "give the task back, so that others may fetch it", OPTION_OTHER,
     .at = ROTA_GIVEN_BACK},
    NOFETCH_ROW,
    CONNECT_ROWS(struct handler),
    OPTION_ROWS_END};

static const struct option_row renew_rows[] = {
    {0, "keep", "", "renew again and again, until the command is ended or the lease is lost",
     OPTION_FLAG, .at = offsetof(struct handler, keep)},
    CONNECT_ROWS(struct handler),
    OPTION_ROWS_END};

#define PAGE_END                                                                                   \
    .group = GROUP_EXTERNAL, .argument = {ARGUMENT_NAME, "TASK", 0, 2},                            \
    .usage = "[OPTION...] [TASK TOKEN]\n",                                                         \
    .text = "TASK and TOKEN are those of rota fetch; the defaults are $ROTA_TASK and "             \
            "$ROTA_TOKEN. A key for HOST:PORT must be that of a worker or an admin.\n",            \
    .exits = "0\tdone\n2\tan option is wrong, or the task does not exist\n"                        \
             "3\trefused: the token is stale, or the task is in another state\n"                   \
             "4\tthe server cannot be reached\n"

const struct command deliver_command = {
    .name = "deliver",
    .summary = "report that a fetched task succeeded",
    .run = end_run,
    .options = deliver_rows,
    .examples = "rota deliver 7.3 1700000000000001\ttask 3 of job 7 succeeded\n",
    PAGE_END,
};

const struct command fail_command = {
    .name = "fail",
    .summary = "report that a fetched task failed, or give it back",
    .run = end_run,
    .options = fail_rows,
    .examples = "rota fail 7.3 1700000000000001\ttask 3 of job 7 failed\n"
                "rota fail --again 7.3 1700000000000001\tgive it back\n",
    PAGE_END,
};

const struct command renew_command = {
    .name = "renew",
    .summary = "renew the lease of a fetched task",
    .run = renew_run,
    .options = renew_rows,
    .examples = "rota renew 7.3 1700000000000001\trenew the lease once\n"
                "rota renew --keep\tkeep the lease of $ROTA_TASK\n",
    PAGE_END,
};
