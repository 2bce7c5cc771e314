// server.c - `rota server`: reads the options, opens what the server needs, and closes it.
#include "cli/cli.h"
#include "plan/live/live.h"
#include "store/sqlite/open.h"
#include "server/loop/loop.h"
#include "server/cluster/tokens.h"
#include "os/os.h"
#include "store/sqlite/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_FEW = 64, FILES_OF_OURS = 64 };

// ---- Opening -----------------------------------------------------------------------------------

// SQLite would apply the log of the lost database to the backup, which has no log of its own.
static bool backup_is_whole(const char *name)
{
    char log[PATH_MAX + 8], database[PATH_MAX];
    struct stat about;
    if (!realpath(name, database)) {
        fprintf(stderr, "rota server: --restored: %s: %s\n", name, strerror(errno));
        return false;
    }
    if (store_is_held(database)) return true;  // the store reports that it is in use
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
        if (!serve->store) cluster_no_memory();
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

static void hour_write(rota_time at, char out[CLUSTER_HOUR])
{
    time_t seconds = (time_t)(at / 1000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(out, CLUSTER_HOUR, "%H:%M", &parts)) out[0] = 0;
}

// A worker name bound to a certificate stays bound: only keys can be removed from the list.
static bool key_is_gone(void *context, const char *id)
{
    const struct serve *serve = context;
    for (uint32_t i = 0; i < serve->keys.count; i++)
        if (serve->keys.items[i].pem || strcmp(serve->keys.items[i].id, id) == 0) return false;
    return *id && serve->keys.count;
}

// The lease of a worker ends a quarter earlier than for the server: clocks differ, and killing
// tasks takes time.
static struct cluster_limits limits_of(const struct serve_options *options)
{
    rota_time lease = options->lease, margin = lease / 4;
    struct cluster_limits limits = {
        .lease = lease - margin, .beat = (lease - margin) / 5, .random = os_random,
        .stopwatch = os_ticks, .restored = options->restored};
    memcpy(limits.shares, options->shares, sizeof limits.shares);
    if (!options->forgets) limits.commands = (uint64_t)options->commands_mib << 20;
    if (!limits.shares[CLUSTER_SHARE_CONNECTIONS])
        limits.shares[CLUSTER_SHARE_CONNECTIONS]
            = options->connections < CONNECTIONS_FEW ? options->connections
                                                     : options->connections / 2;
    if (options->connections < CONNECTIONS_FEW) return limits;
    uint64_t most = options->connections - options->connections / 8;
    uint64_t of_key = limits.shares[CLUSTER_SHARE_CONNECTIONS];
    limits.connections = options->connections;
    limits.clients = (uint32_t)most;
    limits.shares[CLUSTER_SHARE_KEY] = of_key > most ? of_key : most;
    return limits;
}

static void pause_before_opening(struct server *server)
{
    rota_time now = os_now(), left = cluster_opens_at(server, now) - now;
    struct timespec time = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

static int cluster_begin_at(struct serve *serve)
{
    struct rota_config config = rota_config_default();
    struct cluster_limits limits = limits_of(&serve->options);
    limits.key_is_gone = key_is_gone;
    limits.context = serve;
    limits.hour = hour_write;
    config.lease = cluster_lease(serve->store, &limits, serve->options.lease);
    config.overbook = config.bound_max = serve->options.ahead;
    config.overbook_cores = serve->options.ahead_cores;
    config.told_is_begun = true;
    config.pull_by_rank = serve->options.by_rank;
    config.cached_wait = serve->options.pull_cache;
    config.inputs_wait = serve->options.pull_inputs;
    if (serve->options.tasks) config.tasks_max = serve->options.tasks;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    struct live *live = serve->options.no_plan ? NULL : live_open();
    bool open = server_open_telling(&serve->server, serve->store, &config,
                                    live ? cluster_ahead_restored : NULL, live);
    if (open) pause_before_opening(&serve->server);
    open = open && cluster_open(&serve->cluster, &serve->server, &limits, os_now(), os_ticks());
    if (open) cluster_ahead_begin(&serve->cluster, live);
    if (open && config.lease > serve->options.lease)
        printf("workers may still rely on a longer lease of %.0f s: the server waits that time for"
               " silent workers until it is restarted later\n",
               (double)config.lease * 1e-6);
    if (open && serve->cluster.quiet_until > serve->cluster.ticks)
        printf("the database was restored: workers can join in %.0f s\n",
               (double)(serve->cluster.quiet_until - serve->cluster.ticks) * 1e-6);
    if (open) return 0;
    live_close(live);
    const struct store_error *error = store_error(serve->store);
    fprintf(stderr, "rota server: %s\n", error->fault ? error->text : serve->server.reason);
    return server_exit_status(&serve->server);
}

// With --memory, everything counts as durable at once, and there is nothing to watch.
static int settled_watch(struct serve *serve)
{
    serve->settled = store_settled_event(serve->store);
    bool watched
        = serve->settled >= 0 && os_loop_add(serve->loop, serve->settled, &serve->settled);
    if (watched || serve->options.forgets) return 0;
    fprintf(stderr, "rota server: cannot watch the database\n");
    return 70;
}

static int keys_read(struct serve *serve)
{
    struct link_error error;
    bool fine
        = !serve->options.keys || link_keys_read(&serve->keys, serve->options.keys, &error);
    if (!fine) fprintf(stderr, "rota server: %s\n", error.text);
    bool is_one = fine && serve->keys.count == 1 && !serve->keys.items[0].pem;
    if (is_one)
        fprintf(stderr,
                "rota server: warning: %s has only one key, of a %s; all that connect to HOST:PORT"
                " need theirs in it, as in server.keys of rota keys make\n",
                serve->options.keys, link_role_name(serve->keys.items[0].role));
    return fine ? 0 : 2;
}

// Any user can make a folder in /tmp, and its owner decides which socket is there.
static bool default_folder_is_ours(const char *address)
{
    assert(address);
    char folder[OS_PATH_BYTES];
    struct stat about;
    if (strncmp(address, "/tmp/", 5) != 0) return true;
    int length = (int)(strrchr(address, '/') - address);
    snprintf(folder, sizeof folder, "%.*s", length, address);
    if (lstat(folder, &about) != 0) return true;  // the listener reports the error
    if (S_ISDIR(about.st_mode) && about.st_uid == geteuid()) return true;
    fprintf(stderr,
            "rota server: %s belongs to another user, or is not a folder (set XDG_RUNTIME_DIR, or "
            "use --listen PATH)\n",
            folder);
    return false;
}

// Any address but a Unix socket needs keys.
static bool address_is_right(const struct serve *serve, const char *address)
{
    struct link_error error;
    if (link_address_is_local(address) || address_is_relative(address)) return true;
    if (!link_address_check(address, &error)) {
        fprintf(stderr, "rota server: %s\n", error.text);
        return false;
    }
    if (serve->options.keys) return true;
    fprintf(stderr,
            "rota server: %s: keys are needed to listen, except at a Unix socket: use --keys FILE"
            " (rota keys make FOLDER makes one)\n",
            address);
    return false;
}

// Before a file is created: a server that cannot start leaves no database.
static int addresses_check(const struct serve *serve)
{
    for (uint32_t i = 0; i < serve->options.address_count; i++)
        if (!address_is_right(serve, serve->options.addresses[i])) return 2;
    return 0;
}

// Listens at an address, or at a socket from systemd.
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
    for (uint32_t i = 0; i < options->address_count && !status; i++) {
        const char *address = options->addresses[i];
        char *path = address_is_relative(address) ? path_absolute(address) : NULL;
        status = listener_add(serve, path ? path : address, -1);
        free(path);
    }
    fflush(stdout);
    if (!status) serve_say_ready(serve);
    return status;
}

// Limits the connections, so that the server can open its own files as well.
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
    cluster_close(&serve->cluster);
    server_close(&serve->server);
    store_close(serve->store);
    link_keys_release(&serve->keys);
    serve_audit_close(serve);
    if (serve->loop >= 0) close(serve->loop);
    if (serve->signals >= 0) close(serve->signals);
}

static int server(const struct command *command, int count, char **words)
{
    struct serve serve = {.loop = -1, .signals = -1, .settled = -1, .audit.file = -1};
    serve.last_first = serve.last_input = &serve.inputs;
    int status = serve_options_read(&serve.options, command, count, words);
    if (status >= 0) return status;
    umask(0077);  // no other user needs its files
    os_service_read(&serve.service);
    files_reserve(&serve);
    serve.loop = os_loop_open();
    signal(SIGHUP, SIG_DFL);  // nohup ignores it, but here it means: read the keys again
    serve.signals = os_signals_open();
    if (serve.loop < 0 || serve.signals < 0) {
        fprintf(stderr, "rota server: %s\n", strerror(errno));
        return 70;
    }
    os_loop_add(serve.loop, serve.signals, &serve.signals);
    status = addresses_check(&serve);
    if (!status) status = keys_read(&serve);
    if (!status) status = store_begin_at(&serve);
    if (!status) status = cluster_begin_at(&serve);
    if (!status) status = settled_watch(&serve);
    if (!status) status = serve_audit_open(&serve);
    if (!status) status = serve_data_open(&serve);
    if (!status) status = listen_at(&serve);
    if (!status) status = serve_loop(&serve);
    serve_close(&serve, status);
    return status;
}

const struct command server_command = {
    .name = "server",
    .summary = "accept jobs and distribute their tasks to workers",
    .group = GROUP_CLUSTER,
    .is_everyday = true,
    .run = server,
    .options = server_rows,
    .usage = "[OPTION...]\n",
    .text = "After SIGINT or SIGTERM the server makes everything it has received durable, answers, "
            "and ends; workers continue with their tasks. After SIGHUP it reads the keys again and "
            "reopens the audit file. Sockets of systemd replace --listen.\n",
    .examples = "rota server\tserve this user on this machine\n"
                "rota server --db state.db --listen 10.0.0.1:7450 --keys server.keys\tserve a "
                "cluster\n",
    .exits = "0\tthe server was told to end\n2\tan option or a file is wrong\n"
             "70\tthe disk failed\n",
};
