// fetch.c - `rota fetch`: fetches a task for an external worker.
#include "cli/handler.h"


struct fetcher {
    struct connection connection;
    struct client_query wish;
    bool json;
    char **command;  // null: print the task
};

enum { FETCH_FAILED_OK, FETCH_FETCHED_OK, FETCH_WAIT };

static bool option_take(void *values, uint32_t number, const char *value)
{
    struct client_query *wish = &((struct fetcher *)values)->wish;
    (void)value;
    if (number == FETCH_WAIT)
        wish->wait = ROTA_NEVER;
    else
        wish->flags |= number == FETCH_FAILED_OK ? ROTA_FAILED_OK : ROTA_FETCHED_OK;
    return true;
}

// Returns -1, or the exit status.
static int arguments_read(struct fetcher *fetcher, const struct command *command,
                          const struct arguments *arguments)
{
    struct client_query *wish = &fetcher->wish;
    if (arguments->count > arguments->before_dashes)
        fetcher->command = arguments->items + arguments->before_dashes;
    if (arguments->before_dashes > 1)
        return command_wrong(command, "unexpected argument '%s'", arguments->items[1]);
    int status = arguments->before_dashes
                     ? word_id(command, ID_ANY, arguments->items[0], &wish->task)
                     : -1;
    if (status >= 0 || !wish->flags || wish->task.task) return status;
    return command_wrong(command, "options --failed-ok and --fetched-ok need a task, JOB.TASK");
}

static int fetch(struct fetcher *fetcher)
{
    struct client_grant grant;
    struct rota_client *client = &fetcher->connection.client;
    int status = 0;
    enum rota_client_code code = request_make(client, &fetcher->wish.request);
    if (code) return connect_lost(&fetcher->connection);
    do {
        code = client_fetch(client, &fetcher->wish, ROTA_NEVER, &grant);
    } while (code && !client->refusal && fetcher->wish.wait
             && connect_reopen(&fetcher->connection));
    if (code)
        status = handler_failed(&fetcher->connection);
    else if (!grant.token)
        fprintf(stderr, "rota fetch: the task has been fetched already\n");
    else if (fetcher->command)
        status = grant_run(&fetcher->connection, &grant, fetcher->command);
    else if (fetcher->json)
        grant_print_json(stdout, &grant);
    else
        grant_print_shell(stdout, &grant);
    client_grant_release(&grant);
    return status;
}

// The words after "--" must end with a null pointer, as those of main() do.
static int fetch_run(const struct command *command, int count, char **words)
{
    struct fetcher fetcher = {.command = NULL};
    struct arguments arguments;
    connect_init(&fetcher.connection, "fetch");
    fetcher.connection.role = WIRE_HANDLER;
    int status = options_read(command, &fetcher, option_take, &arguments, count, words);
    if (status >= 0) return status;
    words[arguments.count] = NULL;
    status = arguments_read(&fetcher, command, &arguments);
    if (status >= 0) return status;
    status = connect_open(&fetcher.connection);
    if (!status) status = fetch(&fetcher);
    connect_close(&fetcher.connection);
    return status;
}

static const struct option_row rows[] = {
    {0, "wait", "", "wait until there is a task", OPTION_OTHER, .at = FETCH_WAIT},
    {0, "timeout", "SECONDS", "maximum time to wait for a task", OPTION_SECONDS,
     .at = offsetof(struct fetcher, wish.wait)},
    {0, "lease", "SECONDS", "time without renewal after which others may fetch the task",
     OPTION_SECONDS, .at = offsetof(struct fetcher, wish.lease), .preset = "as the server says"},
    {0, "failed-ok", "", "fetch JOB.TASK also if it failed or was cancelled", OPTION_OTHER,
     .at = FETCH_FAILED_OK},
    {0, "fetched-ok", "", "succeed also if JOB.TASK has been fetched already", OPTION_OTHER,
     .at = FETCH_FETCHED_OK},
    {0, "json", "", "print a JSON object instead of shell variables", OPTION_FLAG,
     .at = offsetof(struct fetcher, json)},
    CONNECT_ROWS(struct fetcher),
    OPTION_ROWS_END};

const struct command fetch_command = {
    .name = "fetch",
    .summary = "fetch a task from a server, and run a command for it",
    .group = GROUP_EXTERNAL,
    .argument = {ARGUMENT_NAME, "JOB", 0, ARGUMENTS_ANY},
    .run = fetch_run,
    .options = rows,
    .usage = "[OPTION...] [JOB | JOB.TASK] [-- COMMAND...]\n",
    .text
    = "Without COMMAND, prints the task as variables of the shell. COMMAND gets the variables "
      "in its environment and the JSON object on its standard input; rota renews the lease "
      "while it runs, then delivers the task or fails it. A key for HOST:PORT must be that of "
      "a worker or an admin.\n",
    .examples = "eval \"$(rota fetch)\"\tset shell variables from a task\n"
                "rota fetch --wait --json 7\twait for a task of job 7\n"
                "rota fetch --wait -- ./work\trun ./work for a task, and report how it ended\n",
    .exits = "0\tfetched, or delivered\n1\tthere is no task\n"
             "2\tan option is wrong, or the task does not exist\n"
             "3\trefused, or the lease was lost\n4\tthe server cannot be reached\n"
             "5\tCOMMAND failed, and so did the task\n",
};
