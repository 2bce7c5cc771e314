// server.c - `rota server`: opens what a server needs, and closes it again.
#include "cli/handler.h"
#include "server/loop/loop.h"
#include "server/cluster/tokens.h"
#include "os/os.h"
#include "store/sqlite/snapshot.h"
#include "worker/process/worker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[]
    = "usage: rota server [OPTION...]\n\n"
      "    rota server --listen /run/user/1000/rota.sock\n"
      "    rota server --db state.db --listen 10.0.0.1:7450 --keys server.keys\n\n"
      "    --listen ADDRESS  where to be found: the path of a socket, or HOST:PORT; may be said\n"
      "                      several times ($XDG_RUNTIME_DIR/rota/server.sock)\n"
      "    --db FILE         where everything is kept ($XDG_STATE_HOME/rota/server.db)\n"
      "    --data DIR        where files lie that clients bring (the database's name and '.data')\n"
      "    --restored        the database is a backup that was restored: tokens begin above all\n"
      "                      that were given out since, and workers join when a lease is over\n"
      "    --memory          keep nothing: all is forgotten when it ends\n"
      "    --keys FILE       who may connect to HOST:PORT ('rota keys'), or a certificate\n"
      "    --socket-role [USER=]ROLE[,ROLE]   what USER may do at a Unix socket: client, worker\n"
      "                      or admin; may be repeated (the server's own user and root: all;\n"
      "                      others: nothing)\n"
      "    --audit FILE      note who asked for what, in the database and here\n"
      "    --lease SECONDS   a worker that is silent for so long is lost (60)\n"
      "    --ahead N         tasks a worker is given beyond what it can run at a time (16, or\n"
      "                      two for each of its cores if they read nothing)\n"
      "    --no-plan         place tasks when they are ready, near their inputs, and not before\n"
      "    --by-rank         pull: of a worker's queues the task with most behind it, not by lot\n"
      "    --pull-cache SECONDS   pull: how long a task waits for a worker that has its result\n"
      "                      (0.01), and no longer than for its inputs\n"
      "    --pull-inputs SECONDS  pull: how long it then waits for one that has an input, before\n"
      "                      it is for everybody (0.1); both 0: for everybody at once\n"
      "    --connections N   at a time; more are refused, clients first, then workers (10000)\n"
      "    --key-connections N  of one client's key at a time (half of --connections)\n"
      "    --key-queries N   of one key that are answered at a time; more wait (8)\n"
      "    --key-memory MIB  of one client's key for messages that are not complete, and as much\n"
      "                      for answers that are not read; more of them wait (32; at least 16)\n"
      "    --key-submissions MIB  of one key for submissions that are not complete (128)\n"
      "    --tasks N         of all jobs that are not forgotten; what has no room is refused\n\n"
      "INT or TERM: what has come is made durable and answered, then it ends; workers go on with\n"
      "what they run. HUP: keys are read again, and the audit log opened anew.\n"
      "Sockets of systemd take the place of --listen.\n"
      "Exit status: 0, 2 an option or file is wrong, 70 the disk failed.\n";

enum { LEASE = 60, LEASE_MIN = 2, LEASE_MAX = 86400 };
enum { AHEAD = 16, AHEAD_CORES = 2, AHEAD_MAX = 100000 };
enum { PULL_CACHE = 10000, PULL_INPUTS = 100000, PULL_UNSAID = -1, PULL_MAX = 86400 };
enum { CONNECTIONS = 10000, CONNECTIONS_MAX = 1000000, CONNECTIONS_FEW = 64, FILES_OF_OURS = 64 };
enum { KEY_READS = 4 * HUB_READS_MAX };
enum { KEY_QUERIES = 8, KEY_QUERIES_MAX = 12, KEY_MIB = 32, SUBMISSION_MIB = 128, MIB_MAX = 3072 };

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

// Of one key: connections, queries, and bytes in MiB.
static bool share_take(struct serve_options *options, const char *word, const char *value)
{
    uint64_t *shares = options->shares;
    long number;
    if (strcmp(word, "--key-connections") == 0 && number_read(value, 1, CONNECTIONS_MAX, &number))
        return (shares[HUB_SHARE_CONNECTIONS] = (uint64_t)number) > 0;
    if (strcmp(word, "--key-queries") == 0 && number_read(value, 1, KEY_QUERIES_MAX, &number))
        return (shares[HUB_SHARE_QUERIES] = (uint64_t)number) > 0;
    if (strcmp(word, "--key-submissions") == 0 && number_read(value, 1, MIB_MAX, &number))
        return (shares[HUB_SHARE_SUBMISSIONS] = (uint64_t)number << 20) > 0;
    if (strcmp(word, "--key-memory") != 0 || !number_read(value, 1, MIB_MAX, &number))
        return false;
    shares[HUB_SHARE_INPUT] = shares[HUB_SHARE_OUTPUT] = (uint64_t)number << 20;
    return true;
}

// Returns false when the word or its value is not understood.
static bool option_take(struct serve_options *options, const char *word, const char *value,
                        int *used)
{
    long number;
    *used = 0;
    if (strcmp(word, "--memory") == 0) return (options->database = NULL, options->forgets = true);
    if (strcmp(word, "--restored") == 0) return options->restored = true;
    if (strcmp(word, "--no-plan") == 0) return options->no_plan = true;
    if (strcmp(word, "--by-rank") == 0) return options->by_rank = true;
    *used = 1;
    if (!value) return false;
    if (strcmp(word, "--db") == 0) return (options->database = value) != NULL;
    if (strcmp(word, "--data") == 0) return (options->data = value) != NULL;
    if (strcmp(word, "--keys") == 0) return (options->keys = value) != NULL;
    if (strcmp(word, "--socket-role") == 0) return serve_role_read(&options->users, value);
    if (strcmp(word, "--audit") == 0) return (options->audit = value) != NULL;
    if (strcmp(word, "--listen") == 0) {
        if (options->address_count == SERVE_LISTENERS) return false;
        options->addresses[options->address_count++] = value;
        return true;
    }
    if (strcmp(word, "--lease") == 0 && number_read(value, LEASE_MIN, LEASE_MAX, &number))
        return (options->lease = number * 1000000) > 0;
    if (strcmp(word, "--ahead") == 0 && number_read(value, 0, AHEAD_MAX, &number)) {
        options->ahead = (uint32_t)number;
        options->ahead_cores = 0;
        return true;
    }
    if (strcmp(word, "--pull-cache") == 0) return wait_read(value, &options->pull_cache);
    if (strcmp(word, "--pull-inputs") == 0) return wait_read(value, &options->pull_inputs);
    if (strcmp(word, "--connections") == 0 && number_read(value, 1, CONNECTIONS_MAX, &number)) {
        options->connections = (uint32_t)number;
        return true;
    }
    if (share_take(options, word, value)) return true;
    if (strcmp(word, "--tasks") == 0 && number_read(value, 1, INT32_MAX, &number)) {
        options->tasks = (uint32_t)number;
        return true;
    }
    return false;
}

// Of two waits of which one was said, the other does not contradict it.
static bool waits_settle(struct serve_options *options)
{
    rota_time *cache = &options->pull_cache, *inputs = &options->pull_inputs;
    bool both = *cache != PULL_UNSAID && *inputs != PULL_UNSAID;
    if (*inputs == PULL_UNSAID) *inputs = *cache > PULL_INPUTS ? *cache : PULL_INPUTS;
    if (*cache == PULL_UNSAID) *cache = *inputs < PULL_CACHE ? *inputs : PULL_CACHE;
    if (!both || *cache <= *inputs) return true;
    fprintf(stderr,
            "rota server: --pull-cache %g is longer than --pull-inputs %g; a task would wait\n"
            "longer for a result that spares it than for the inputs it needs\n",
            (double)*cache * 1e-6, (double)*inputs * 1e-6);
    return false;
}

// A message that can never have its room would wait for ever.
static bool memory_holds_a_message(const struct serve_options *options)
{
    if (options->shares[HUB_SHARE_INPUT] >= WIRE_FRAME_MAX) return true;
    fprintf(stderr, "rota server: option --key-memory needs at least %d: one message can be %d MiB"
            " long\n", WIRE_FRAME_MAX >> 20, WIRE_FRAME_MAX >> 20);
    return false;
}

int serve_options_read(struct serve_options *options, int count, char **words)
{
    *options = (struct serve_options){.lease = LEASE * 1000000ll,
                                      .ahead = AHEAD,
                                      .ahead_cores = AHEAD_CORES,
                                      .pull_cache = PULL_UNSAID,
                                      .pull_inputs = PULL_UNSAID,
                                      .connections = CONNECTIONS};
    options->shares[HUB_SHARE_QUERIES] = KEY_QUERIES;
    options->shares[HUB_SHARE_READS] = KEY_READS;
    options->shares[HUB_SHARE_INPUT] = options->shares[HUB_SHARE_OUTPUT] = KEY_MIB << 20;
    options->shares[HUB_SHARE_SUBMISSIONS] = SUBMISSION_MIB << 20;
    options->data_max = WORKER_CACHE_MAX;
    for (int i = 0, used; i < count; i += 1 + used) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (option_take(options, words[i], i + 1 < count ? words[i + 1] : NULL, &used)) continue;
        bool is_told = strcmp(words[i], "--socket-role") == 0 && i + 1 < count;
        if (!is_told)
            fprintf(stderr,
                    "rota server: '%s' is not understood here; 'rota server --help' says more\n",
                    words[i]);
        return 2;
    }
    if (!waits_settle(options) || !memory_holds_a_message(options)) return 2;
    if (options->restored && options->forgets) {
        fprintf(stderr, "rota server: --restored needs a database, and --memory has none\n");
        return 2;
    }
    if (!options->database && !options->forgets)
        options->database = default_database(options->default_database);
    if (!options->data && options->database) {
        int length = snprintf(options->default_data, PLACE_MAX, "%s.data", options->database);
        if (length < PLACE_MAX) options->data = options->default_data;
    }
    return -1;
}

// ---- Opening -----------------------------------------------------------------------------------

// SQLite would play the log of the lost database into the backup. A backup has no log of its own.
static bool backup_is_whole(const char *name)
{
    char log[PATH_MAX + 8], database[PATH_MAX];
    struct stat about;
    if (!realpath(name, database)) {
        fprintf(stderr, "rota server: --restored: %s: %s\n", name, strerror(errno));
        return false;
    }
    if (store_is_held(database)) return true;  // its log is in use, and the store will say so
    snprintf(log, sizeof log, "%s-wal", database);
    if (stat(log, &about) != 0 || !about.st_size) return true;
    fprintf(stderr,
            "rota server: --restored: %s belongs to the database that was lost; remove it and"
            " %s-shm, and start again. If a server ran on the backup already, start without"
            " --restored\n",
            log, database);
    return false;
}

static int store_begin_at(struct serve *serve)
{
    struct store_error error = {0};
    if (!serve->options.database) {
        serve->store = store_open_memory();
        if (!serve->store) hub_no_memory();
        return 0;
    }
    struct store_options options = store_options_default();
    if (serve->options.restored && !backup_is_whole(serve->options.database)) return 2;
    if (!os_parents_make(serve->options.database)) {
        fprintf(stderr, "rota server: %s: %s\n", serve->options.database, strerror(errno));
        return 2;
    }
    serve->store = store_open_sqlite(serve->options.database, &options, &error);
    if (serve->store) return 0;
    fprintf(stderr, "rota server: %s\n", error.text);
    return store_exit_status(&error);
}

static void hour_write(rota_time at, char out[HUB_HOUR])
{
    time_t seconds = (time_t)(at / 1000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(out, HUB_HOUR, "%H:%M", &parts)) out[0] = 0;
}

// Certificates are not in the list of keys: a name stays with the subject of its certificate.
static bool key_is_gone(void *context, const char *id)
{
    const struct serve *serve = context;
    for (uint32_t i = 0; i < serve->keys.count; i++)
        if (serve->keys.items[i].pem || strcmp(serve->keys.items[i].id, id) == 0) return false;
    return *id && serve->keys.count;
}

// What a worker believes ends a quarter before what we do: clocks differ, and killing takes time.
static struct hub_limits limits_of(const struct serve_options *options)
{
    rota_time lease = options->lease, margin = lease / 4;
    struct hub_limits limits = {
        .lease = lease - margin, .beat = (lease - margin) / 5, .random = os_random,
        .stopwatch = os_ticks, .restored = options->restored};
    memcpy(limits.shares, options->shares, sizeof limits.shares);
    if (!limits.shares[HUB_SHARE_CONNECTIONS])
        limits.shares[HUB_SHARE_CONNECTIONS]
            = options->connections < CONNECTIONS_FEW ? options->connections
                                                     : options->connections / 2;
    if (options->connections < CONNECTIONS_FEW) return limits;
    uint64_t most = options->connections - options->connections / 8;
    uint64_t of_key = limits.shares[HUB_SHARE_CONNECTIONS];
    limits.connections = options->connections;
    limits.clients = (uint32_t)most;
    limits.shares[HUB_SHARE_KEY] = of_key > most ? of_key : most;
    return limits;
}

static void pause_before_opening(struct server *server)
{
    rota_time now = os_now(), left = hub_opens_at(server, now) - now;
    struct timespec time = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

static int hub_begin_at(struct serve *serve)
{
    struct rota_config config = rota_config_default();
    struct hub_limits limits = limits_of(&serve->options);
    limits.key_is_gone = key_is_gone;
    limits.context = serve;
    limits.hour = hour_write;
    config.lease = hub_lease(serve->store, &limits, serve->options.lease);
    config.overbook = config.bound_max = serve->options.ahead;
    config.overbook_cores = serve->options.ahead_cores;
    config.told_is_begun = true;
    config.pull_by_rank = serve->options.by_rank;
    config.cached_wait = serve->options.pull_cache;
    config.inputs_wait = serve->options.pull_inputs;
    if (serve->options.tasks) config.tasks_max = serve->options.tasks;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    struct guide *guide = serve->options.no_plan ? NULL : guide_open();
    bool open = server_open_telling(&serve->server, serve->store, &config,
                                    guide ? hub_ahead_restored : NULL, guide);
    if (open) pause_before_opening(&serve->server);
    open = open && hub_open(&serve->hub, &serve->server, &limits, os_now(), os_ticks());
    if (open) hub_ahead_begin(&serve->hub, guide);
    if (open && config.lease > serve->options.lease)
        printf("workers may still rely on a longer lease of %.0f s: silent ones are given up after"
               " that time; --lease counts again when the server is started later than that\n",
               (double)config.lease * 1e-6);
    if (open && serve->hub.quiet_until > serve->hub.ticks)
        printf("the database was restored: workers can join in %.0f s\n",
               (double)(serve->hub.quiet_until - serve->hub.ticks) * 1e-6);
    if (open) return 0;
    guide_close(guide);
    const struct store_error *error = store_error(serve->store);
    fprintf(stderr, "rota server: %s\n", error->fault ? error->text : serve->server.reason);
    return server_exit_status(&serve->server);
}

// What is kept in memory only is durable at once, and there is nothing to watch.
static int settled_watch(struct serve *serve)
{
    serve->settled = store_settled_event(serve->store);
    bool watched
        = serve->settled >= 0 && os_loop_add(serve->loop, serve->settled, &serve->settled);
    if (watched || serve->options.forgets) return 0;
    fprintf(stderr, "rota server: what becomes durable cannot be watched\n");
    return 70;
}

static int keys_read(struct serve *serve)
{
    struct link_error error;
    bool fine
        = !serve->options.keys || link_keys_read(&serve->keys, serve->options.keys, &error);
    if (!fine) fprintf(stderr, "rota server: %s\n", error.text);
    return fine ? 0 : 2;
}

// Any user can make a folder in /tmp, and its owner decides which socket lies there.
static bool default_folder_is_ours(const char *address)
{
    char folder[PLACE_MAX];
    struct stat about;
    if (strncmp(address, "/tmp/", 5) != 0) return true;
    int length = (int)(strrchr(address, '/') - address);
    snprintf(folder, sizeof folder, "%.*s", length, address);
    if (lstat(folder, &about) != 0) return true;  // the listener says what is wrong
    if (S_ISDIR(about.st_mode) && about.st_uid == geteuid()) return true;
    fprintf(stderr,
            "rota server: %s belongs to another user, or is no folder; set XDG_RUNTIME_DIR, or"
            " start with --listen PATH\n",
            folder);
    return false;
}

// At an address, or at a socket that was handed over.
static int listener_add(struct serve *serve, const char *address, int file)
{
    struct link_error error;
    struct link_listener *listener = &serve->listeners[serve->listener_count];
    const struct link_keys *keys = serve->options.keys ? &serve->keys : NULL;
    if (address && link_address_is_local(address)) os_parents_make(address);
    if (address == serve->options.default_address && !default_folder_is_ours(address)) return 2;
    bool listens = address ? link_listen(listener, address, keys, &error)
                           : link_listen_over(listener, file, keys, &error);
    if (!listens) {
        fprintf(stderr, "rota server: %s\n", error.text);
        return 2;
    }
    if (serve->options.users.count) listener->users = &serve->options.users;
    if (address && !serve_role_open(listener)) {
        fprintf(stderr, "rota server: %s: %s\n", listener->address, strerror(errno));
        link_listener_close(listener);
        return 2;
    }
    serve->listener_count++;
    os_loop_add(serve->loop, listener->file, listener);
    printf("listening at %s\n", listener->address);
    return 0;
}

static int listen_at(struct serve *serve)
{
    struct serve_options *options = &serve->options;
    int status = 0;
    uint32_t given = serve->service.file_count;
    if (given > SERVE_LISTENERS - options->address_count)
        given = SERVE_LISTENERS - options->address_count;
    if (!options->address_count && !given)
        options->addresses[options->address_count++] = default_address(options->default_address);
    for (uint32_t i = 0; i < given && !status; i++)
        status = listener_add(serve, NULL, serve->service.files[i]);
    for (uint32_t i = 0; i < options->address_count && !status; i++)
        status = listener_add(serve, options->addresses[i], -1);
    fflush(stdout);
    if (!status) serve_say_ready(serve);
    return status;
}

// Each connection is a file, and so are some things of our own.
static void files_reserve(struct serve *serve)
{
    uint32_t listeners = serve->options.address_count + serve->service.file_count + 1;
    uint32_t files = os_files_raise(), ours = FILES_OF_OURS + listeners * LINK_OPENING_MAX;
    uint32_t most = files > 2 * ours ? files - ours : files / 2;
    if (files && serve->options.connections > most) serve->options.connections = most;
}

static void serve_close(struct serve *serve, int status)
{
    for (uint32_t i = 0; i < serve->listener_count; i++) link_listener_close(&serve->listeners[i]);
    serve_questions_drop(serve, NULL);
    struct serve_peer *next;
    for (struct serve_peer *peer = serve->peers; peer; peer = next) {
        next = peer->next;
        link_close(peer->link);
        free(peer);
    }
    serve_data_close(serve, status);
    hub_close(&serve->hub);
    server_close(&serve->server);
    store_close(serve->store);
    link_keys_release(&serve->keys);
    serve_audit_close(serve);
    if (serve->loop >= 0) close(serve->loop);
    if (serve->signals >= 0) close(serve->signals);
}

int command_server(int count, char **words)
{
    struct serve serve = {.loop = -1, .signals = -1, .settled = -1, .audit.file = -1};
    serve.last_input = &serve.inputs;
    int status = serve_options_read(&serve.options, count, words);
    if (status >= 0) return status;
    umask(0077);  // it makes nothing that is for others
    os_service_read(&serve.service);
    files_reserve(&serve);
    serve.loop = os_loop_open();
    signal(SIGHUP, SIG_DFL);  // nohup ignores it, but here it is an order to read the keys again
    serve.signals = os_signals_open();
    if (serve.loop < 0 || serve.signals < 0) {
        fprintf(stderr, "rota server: %s\n", strerror(errno));
        return 70;
    }
    os_loop_add(serve.loop, serve.signals, &serve.signals);
    status = store_begin_at(&serve);
    if (!status) status = hub_begin_at(&serve);
    if (!status) status = settled_watch(&serve);
    if (!status) status = keys_read(&serve);
    if (!status) status = serve_audit_open(&serve);
    if (!status) status = serve_data_open(&serve);
    if (!status) status = listen_at(&serve);
    if (!status) status = serve_loop(&serve);
    serve_close(&serve, status);
    return status;
}
