// server_options.c - `rota server`: its options.
#include "cli/cli.h"
#include "server/loop/loop.h"
#include "server/cluster/objects.h"
#include "worker/process/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEASE = 60, LEASE_MIN = 2, LEASE_MAX = 86400 };
enum { AHEAD = 16, AHEAD_CORES = 2, AHEAD_MAX = 100000 };
enum { PULL_CACHE = 10000, PULL_INPUTS = 100000, PULL_UNSAID = -1, PULL_MAX = 86400 };
enum { CONNECTIONS = 10000, CONNECTIONS_MAX = 1000000, KEY_READS = 4 * CLUSTER_READS_MAX };
enum { KEY_QUERIES = 8, KEY_QUERIES_MAX = 12, KEY_MIB = 32, SUBMISSION_MIB = 128, MIB_MAX = 3072 };
enum { COMMANDS_MIB = 256, COMMANDS_MIB_MAX = 1 << 20, COMMANDS_SHARE = 16 };

enum { SERVE_MEMORY, SERVE_SOCKET_ROLE, SERVE_LISTEN, SERVE_LEASE, SERVE_AHEAD, SERVE_PULL_CACHE,
       SERVE_PULL_INPUTS, SERVE_SHARE };  // SERVE_SHARE + a kind of share

static bool number_read(const char *text, long least, long most, long *number)
{
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return !errno && *text && !*end && *number >= least && *number <= most;
}

static bool wait_read(const char *text, rota_time *wait)
{
    return seconds_read(text, wait) && *wait <= (rota_time)PULL_MAX * 1000000;
}

// Limits for one key: connections, queries, and memory in MiB.
static bool share_read(struct serve_options *options, uint32_t kind, const char *value)
{
    uint64_t *shares = options->shares;
    bool counts = kind == CLUSTER_SHARE_CONNECTIONS || kind == CLUSTER_SHARE_QUERIES;
    long number, most = kind == CLUSTER_SHARE_CONNECTIONS ? CONNECTIONS_MAX
                        : kind == CLUSTER_SHARE_QUERIES   ? KEY_QUERIES_MAX
                                                          : MIB_MAX;
    if (!number_read(value, 1, most, &number)) return false;
    shares[kind] = counts ? (uint64_t)number : (uint64_t)number << 20;
    if (kind == CLUSTER_SHARE_INPUT) shares[CLUSTER_SHARE_OUTPUT] = shares[kind];
    return true;
}

static bool option_take(void *values, uint32_t number, const char *value)
{
    struct serve_options *options = values;
    long amount;
    switch (number) {
    case SERVE_MEMORY: options->database = NULL; return options->forgets = true;
    case SERVE_SOCKET_ROLE: return serve_role_read(&options->users, value);
    case SERVE_LISTEN:
        if (options->address_count == SERVE_LISTENERS) return false;
        options->addresses[options->address_count++] = value;
        return true;
    case SERVE_LEASE:
        if (!number_read(value, LEASE_MIN, LEASE_MAX, &amount)) return false;
        return (options->lease = amount * 1000000);
    case SERVE_AHEAD:
        if (!number_read(value, 0, AHEAD_MAX, &amount)) return false;
        options->ahead = (uint32_t)amount;
        options->ahead_cores = 0;
        return true;
    case SERVE_PULL_CACHE: return wait_read(value, &options->pull_cache);
    case SERVE_PULL_INPUTS: return wait_read(value, &options->pull_inputs);
    default: return share_read(options, number - SERVE_SHARE, value);
    }
}

// If only one of the two waits is given, the other one is set to fit.
static bool waits_settle(struct serve_options *options)
{
    rota_time *cache = &options->pull_cache, *inputs = &options->pull_inputs;
    bool both = *cache != PULL_UNSAID && *inputs != PULL_UNSAID;
    if (*inputs == PULL_UNSAID) *inputs = *cache > PULL_INPUTS ? *cache : PULL_INPUTS;
    if (*cache == PULL_UNSAID) *cache = *inputs < PULL_CACHE ? *inputs : PULL_CACHE;
    if (!both || *cache <= *inputs) return true;
    fprintf(stderr,
            "rota server: option --pull-cache needs at most the time of --pull-inputs (%g), not "
            "%g\n",
            (double)*inputs * 1e-6, (double)*cache * 1e-6);
    return false;
}

// A message that is larger than the limit would never be read.
static bool memory_holds_a_message(const struct serve_options *options)
{
    if (options->shares[CLUSTER_SHARE_INPUT] >= WIRE_FRAME_MAX) return true;
    fprintf(stderr, "rota server: option --key-memory needs at least %d: one message can be %d MiB"
            " long\n", WIRE_FRAME_MAX >> 20, WIRE_FRAME_MAX >> 20);
    return false;
}

static void options_init(struct serve_options *options)
{
    *options = (struct serve_options){.query_fault = server_query_fault,
                                      .lease = LEASE * 1000000ll,
                                      .ahead = AHEAD,
                                      .ahead_cores = AHEAD_CORES,
                                      .pull_cache = PULL_UNSAID,
                                      .pull_inputs = PULL_UNSAID,
                                      .connections = CONNECTIONS,
                                      .commands_mib = COMMANDS_MIB};
    options->shares[CLUSTER_SHARE_QUERIES] = KEY_QUERIES;
    options->shares[CLUSTER_SHARE_READS] = KEY_READS;
    options->shares[CLUSTER_SHARE_INPUT] = options->shares[CLUSTER_SHARE_OUTPUT] = KEY_MIB << 20;
    options->shares[CLUSTER_SHARE_SUBMISSIONS] = SUBMISSION_MIB << 20;
    options->data_max = WORKER_CACHE_MAX;
}

int serve_options_read(struct serve_options *options, const struct command *command, int count,
                       char **words)
{
    struct arguments arguments;
    options_init(options);
    int status = options_read(command, options, option_take, &arguments, count, words);
    if (status >= 0) return status;
    options->shares[CLUSTER_SHARE_COMMANDS]
        = (uint64_t)options->commands_mib * COMMANDS_SHARE << 20;
    if (!waits_settle(options) || !memory_holds_a_message(options)) return 2;
    if (options->restored && options->forgets)
        return command_wrong(command, "options --restored and --memory exclude each other");
    if (!options->database && !options->forgets)
        options->database = default_database(options->default_database);
    if (!options->data && options->database) {
        int length = snprintf(options->default_data, OS_PATH_BYTES, "%s.data", options->database);
        if (length < OS_PATH_BYTES) options->data = options->default_data;
    }
    return -1;
}

#define AT(field) offsetof(struct serve_options, field)

const struct option_row server_rows[] = {
    {0, "listen", "ADDRESS", "where to listen: a Unix socket or HOST:PORT; can be repeated",
     OPTION_OTHER, .at = SERVE_LISTEN, .preset = "$XDG_RUNTIME_DIR/rota/server.sock",
     .needs = "at most 8 addresses"},
    {0, "db", "FILE", "the database", OPTION_PATH, .at = AT(database),
     .preset = "$XDG_STATE_HOME/rota/server.db"},
    {0, "data", "DIR", "the folder of the object store", OPTION_PATH, .at = AT(data),
     .preset = "the path of the database and .data"},
    {0, "memory", "", "use no database: everything is lost when the server ends", OPTION_OTHER,
     .at = SERVE_MEMORY},
    {0, "restored", "", "the database is a restored backup: use tokens above those given out "
     "since, and admit workers after one lease", OPTION_FLAG, .at = AT(restored)},
    {0, "keys", "FILE", "the keys that may connect to HOST:PORT (rota keys), or a certificate",
     OPTION_PATH, .at = AT(keys)},
    {0, "socket-role", "[USER=]ROLE[,ROLE]", "the roles of a user at Unix sockets: client, worker "
     "or admin; can be repeated", OPTION_OTHER, .at = SERVE_SOCKET_ROLE,
     .needs = "[USER=]ROLE[,ROLE]", .preset = "all for the server's user and root, none for others",
     .prints_errors = true},
    {0, "audit", "FILE", "record every request, in the database and in this file", OPTION_PATH,
     .at = AT(audit)},
    {0, "lease", "SECONDS", "time without a heartbeat after which a worker is lost", OPTION_OTHER,
     .at = SERVE_LEASE, .preset = "60", .needs = "a number from 2 to 86400"},
    {0, "ahead", "N", "number of tasks a worker gets in addition to those it can run at once",
     OPTION_OTHER, .at = SERVE_AHEAD, .preset = "16, or 2 for each core if they have no inputs",
     .needs = "a number from 0 to 100000"},
    {0, "no-plan", "", "make no plan: place tasks near their inputs when they are ready",
     OPTION_FLAG, .at = AT(no_plan)},
    {0, "by-rank", "", "pull: take the task with the longest path of dependents, not a random one",
     OPTION_FLAG, .at = AT(by_rank)},
    {0, "pull-cache", "SECONDS", "pull: how long a task waits for a worker that has its result",
     OPTION_OTHER, .at = SERVE_PULL_CACHE, .preset = "0.01", .needs = "a number of seconds up to "
     "86400"},
    {0, "pull-inputs", "SECONDS", "pull: how long a task waits for a worker that has an input",
     OPTION_OTHER, .at = SERVE_PULL_INPUTS, .preset = "0.1", .needs = "a number of seconds up to "
     "86400"},
    {0, "connections", "N", "number of connections; more are refused, those of clients first",
     OPTION_NUMBER, .at = AT(connections), .least = 1, .most = CONNECTIONS_MAX, .preset = "10000"},
    {0, "key-connections", "N", "number of connections of one client's key", OPTION_OTHER,
     .at = SERVE_SHARE + CLUSTER_SHARE_CONNECTIONS, .preset = "half of --connections",
     .needs = "a number from 1 to 1000000"},
    {0, "key-queries", "N", "number of queries of one key to answer in parallel", OPTION_OTHER,
     .at = SERVE_SHARE + CLUSTER_SHARE_QUERIES, .preset = "8", .needs = "a number from 1 to 12"},
    {0, "key-memory", "MIB", "memory for incomplete messages of one client's key, and as much for "
     "unread answers; at least 16. A worker's key has 32 times as much", OPTION_OTHER,
     .at = SERVE_SHARE + CLUSTER_SHARE_INPUT, .preset = "32", .needs = "a number from 16 to 3072"},
    {0, "key-submissions", "MIB", "memory for incomplete submissions of one key", OPTION_OTHER,
     .at = SERVE_SHARE + CLUSTER_SHARE_SUBMISSIONS, .preset = "128",
     .needs = "a number from 1 to 3072"},
    {0, "commands-mib", "MIB", "memory for commands of jobs without running tasks; the database "
     "has 16 times as much for a key", OPTION_NUMBER, .at = AT(commands_mib), .least = 1,
     .most = COMMANDS_MIB_MAX, .preset = "256"},
    {0, "tasks", "N", "number of tasks of all jobs that are not removed; further jobs are refused",
     OPTION_NUMBER, .at = AT(tasks), .least = 1, .most = INT32_MAX, .preset = "no limit"},
    OPTION_ROWS_END};
