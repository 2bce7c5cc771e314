// fetch_run.c - runs a command for a fetched task, and renews the lease meanwhile.
//
// The command is a child in its own process group. If the lease cannot be renewed in time, the
// child is killed, because another worker may have the task then. A lost connection is opened
// again; the end is reported with one request id, so that the server counts it once.
#define _GNU_SOURCE
#include "cli/handler.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE = 300000, PATIENCE_MIN = 100000, PATIENCE_MAX = 1000000 };

// `renewed` is when the last answered renewal was sent: the server's lease runs from then on, or a
// little later. The task is given up after three quarters of it.
struct keep {
    struct connection *connection;
    rota_task_id task;
    uint64_t token;
    rota_time lease;
    int64_t renewed, tried;  // ticks
    bool is_ours, is_connected, was_told;
    int signals;
    uint32_t interrupts;
};

static int64_t patience_of(const struct keep *keep)
{
    int64_t patience = keep->lease / 10;
    if (patience < PATIENCE_MIN) return PATIENCE_MIN;
    return patience < PATIENCE_MAX ? patience : PATIENCE_MAX;
}

static int64_t next_try(const struct keep *keep)
{
    return keep->is_connected ? keep->renewed + keep->lease / 3 : keep->tried + PAUSE;
}

static int64_t fence_at(const struct keep *keep)
{
    return keep->renewed + keep->lease / 4 * 3;
}

// Printed once, and again only after a renewal has succeeded.
static void trouble_tell(struct keep *keep)
{
    if (!keep->was_told)
        fprintf(stderr, "rota %s: %s; trying again\n", keep->connection->name,
                keep->connection->client.reason);
    keep->was_told = true;
}

static bool connect_again(struct keep *keep)
{
    keep->tried = os_ticks();
    if (!keep->is_connected)
        keep->is_connected = connect_quickly(keep->connection, patience_of(keep));
    if (!keep->is_connected) trouble_tell(keep);
    return keep->is_connected;
}

static void renew(struct keep *keep)
{
    struct rota_client *client = &keep->connection->client;
    if (!connect_again(keep)) return;
    int64_t sent = os_ticks();
    if (!client_renew(client, keep->task, keep->token, client_until(patience_of(keep)),
                      &keep->lease)) {
        keep->renewed = sent;
        keep->was_told = false;
    } else if (client->refusal) {
        keep->is_ours = false;
    } else {
        keep->is_connected = false;
        trouble_tell(keep);
    }
}

// Waits for the end of the command, a signal, which is counted, or the time of the next renewal.
static void wait(struct keep *keep, int ended, bool *has_ended)
{
    struct os_watch watches[] = {{.file = keep->signals}, {.file = ended}};
    int64_t until = next_try(keep), fence = fence_at(keep);
    *has_ended = false;
    os_wait(watches, ended >= 0 ? 2 : 1, until < fence ? until : fence);
    while (watches[0].can_read && os_signal_next(keep->signals)) keep->interrupts++;
    *has_ended = ended >= 0 && watches[1].can_read;
}

static bool keep_open(struct keep *keep, struct connection *connection, rota_task_id task,
                      uint64_t token, rota_time lease)
{
    *keep = (struct keep){.connection = connection, .task = task, .token = token, .lease = lease};
    keep->is_ours = keep->is_connected = true;
    keep->renewed = keep->tried = os_ticks();
    keep->signals = os_signals_open();
    return keep->signals >= 0;
}

// Renews when it is time. False: the lease is lost.
static bool keep_look(struct keep *keep)
{
    if (os_ticks() >= next_try(keep)) renew(keep);
    if (keep->is_ours && os_ticks() < fence_at(keep)) return true;
    if (keep->is_ours)
        client_say(&keep->connection->client, ROTA_CLIENT_STALE, "the lease has expired");
    keep->is_ours = false;
    return false;
}

int claim_keep(struct connection *connection, rota_task_id task, uint64_t token)
{
    struct keep keep;
    bool ended;
    rota_time lease = 0;
    if (client_renew(&connection->client, task, token, ROTA_NEVER, &lease))
        return handler_failed(connection);
    if (!keep_open(&keep, connection, task, token, lease))
        return connect_fail(connection, strerror(errno), 70);
    while (keep_look(&keep) && !keep.interrupts) wait(&keep, -1, &ended);
    close(keep.signals);
    return keep.is_ours ? 0 : connect_fail(connection, connection->client.reason, HANDLER_REFUSED);
}

// ---- A command ---------------------------------------------------------------------------------

// Waits for the end of the child, and returns its status. Forwards a first interruption as TERM; a
// second one, or the loss of the lease, kills the child.
static int child_wait(struct keep *keep, int child, int ended)
{
    bool has_ended = false, was_killed = false;
    uint32_t passed_on = 0;
    while (!has_ended) {
        bool kill = !keep_look(keep) || keep->interrupts > 1;
        if (kill && !was_killed) os_command_stop(child, OS_STOP_KILL);
        was_killed |= kill;
        if (keep->interrupts && !passed_on++) os_command_stop(child, OS_STOP_TERM);
        if (was_killed) break;
        wait(keep, ended, &has_ended);
    }
    int status = os_child_end(child);
    os_command_stop(child, OS_STOP_KILL);  // kills processes that the command left
    return status;
}

static int child_run(struct keep *keep, const struct client_grant *grant, char **words,
                     int *status)
{
    struct os_command command = {.words = words};
    char *payload = NULL;
    FILE *out = open_memstream(&payload, &command.input_size);
    char **environment = grant_environment(grant);
    int ended = -1, child = 0;
    if (out) grant_print_json(out, grant);
    if (out && fclose(out) == 0 && environment) {
        command.input = payload;
        command.environment = environment;
        child = os_command_start(&command, &ended);
    }
    int error = errno;
    if (child) *status = child_wait(keep, child, ended);
    if (ended >= 0) close(ended);
    grant_environment_free(environment);
    free(payload);
    return child ? 0 : error ? error : ENOMEM;
}

// Repeats the request over new connections until it is answered, or a signal comes.
static bool end_tell(struct keep *keep, const struct client_end *end, bool delivers)
{
    struct rota_client *client = &keep->connection->client;
    uint32_t before = keep->interrupts;
    for (;;) {
        bool done = connect_again(keep)
                    && !(delivers ? client_deliver(client, end, ROTA_NEVER)
                                  : client_fail(client, end, ROTA_NEVER));
        if (done || (keep->is_connected && client->refusal)) return done;
        if (keep->is_connected) trouble_tell(keep);
        keep->is_connected = false;
        struct os_watch watch = {.file = keep->signals};
        os_wait(&watch, 1, os_ticks() + PAUSE);
        while (os_signal_next(keep->signals)) keep->interrupts++;
        if (keep->interrupts > before) return false;
    }
}

static int run_and_tell(struct keep *keep, const struct client_grant *grant, char **words)
{
    int status = 0;
    struct client_end end = {.task = grant->task, .token = grant->token};
    struct rota_client *client = &keep->connection->client;
    int error = child_run(keep, grant, words, &status);
    bool again = error || keep->interrupts;
    if (error) fprintf(stderr, "rota fetch: %s: %s\n", words[0], strerror(error));
    if (!keep->is_ours) return connect_fail(keep->connection, client->reason, HANDLER_REFUSED);
    bool delivers = !again && !status;
    end.flags = again ? ROTA_GIVEN_BACK : delivers ? ROTA_DELIVERED_OK : 0;
    end.status = status;
    if (request_make(client, &end.request)) return connect_lost(keep->connection);
    if (!end_tell(keep, &end, delivers)) return handler_failed(keep->connection);
    if (error) return HANDLER_WRONG;
    return delivers ? 0 : HANDLER_TASK_FAILED;
}

int grant_run(struct connection *connection, const struct client_grant *grant, char **words)
{
    struct keep keep;
    if (!keep_open(&keep, connection, grant->task, grant->token, grant->lease))
        return connect_fail(connection, strerror(errno), 70);
    int status = run_and_tell(&keep, grant, words);
    close(keep.signals);
    return status;
}
