// worker.c - workers join, send heartbeats, become silent, and return with their attempts.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/worker_identity.h"
#include "server/cluster/lost_attempts.h"
#include "server/cluster/cluster.h"
#include "server/cluster/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BEATS_MISSED = 3,
    BEATS_A_SECOND = 100,
    NAME_MAX_BYTES = 200,
    ADDRESS_MAX_BYTES = 512,
    CORES_MAX = 100000,
    MEMORY_MAX = 1 << 30  // MiB
};

struct cluster_worker *cluster_worker_get(struct cluster *cluster, rota_worker_id id)
{
    uint32_t at = map_find(&cluster->workers_by_id, id.number);
    return at ? cluster->workers[at - 1] : NULL;
}

struct cluster_worker *cluster_worker_meet(struct cluster *cluster, rota_worker_id id,
                                           const char *name)
{
    struct cluster_worker *worker = cluster_worker_get(cluster, id);
    if (worker) return worker;
    bool there = map_reserve(&memory_heap, &cluster->workers_by_id, 1)
                 && ARRAY_MORE(&memory_heap, cluster->workers, cluster->worker_count,
                               cluster->worker_capacity);
    if (!there) cluster_no_memory();
    worker = cluster_allocate(1, sizeof *worker);
    worker->id = id;
    worker->name = strdup(name ? name : "");
    worker->address = strdup("");
    if (!worker->name || !worker->address) cluster_no_memory();
    cluster->workers[cluster->worker_count++] = worker;
    map_put(&cluster->workers_by_id, id.number, cluster->worker_count);
    return worker;
}

// ---- Joining --------------------------------------------------------------------------------

bool cluster_worker_greet(struct cluster *cluster, struct cluster_peer *peer,
                          const struct wire_greet *greet)
{
    if (!greet->name.length || greet->name.length > NAME_MAX_BYTES || !cluster_is_name(greet->name))
        return cluster_turn_away(peer, WIRE_REFUSED_REQUEST,
                                 "a worker name must have 1 to 200 bytes");
    if (cluster_is_quiet(cluster))
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, cluster_quiet_reason);
    enum wire_code code;
    rota_worker_id id = {cluster_name_known(cluster, CATALOG_WORKER, greet->name.bytes)};
    struct cluster_worker *worker
        = id.number ? cluster_worker_meet(cluster, id, greet->name.bytes) : NULL;
    const char *fault = worker ? cluster_identity_fault(cluster, worker, peer, greet, &code) : NULL;
    if (!fault) fault = cluster_folder_fault(cluster, worker, greet, &code);
    if (fault) return cluster_turn_away(peer, code, fault);
    if (!worker) {
        id.number = cluster_name(cluster, CATALOG_WORKER, greet->name.bytes);
        worker = cluster_worker_meet(cluster, id, greet->name.bytes);
    }
    if (greet->connection <= worker->connection && worker->peer && greet->boot == worker->boot)
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, "replaced by a newer connection");
    if (worker->peer) {
        worker->peer->closing = true;
        cluster_worker_away(cluster, worker);
    }
    cluster_identity_take(cluster, worker, peer, greet);
    worker->connection = greet->connection;
    worker->is_same_process = greet->boot == worker->boot;
    worker->boot = greet->boot;
    worker->beat = 0;
    worker->peer = peer;
    worker->heard = cluster->ticks;
    peer->worker = worker;
    return true;
}

// ---- Silence -----------------------------------------------------------------------------------

static void tell_core(struct cluster *cluster, struct cluster_worker *worker, bool silent)
{
    struct rota_event event = {.kind = silent ? ROTA_EVENT_WORKER_SILENT : ROTA_EVENT_WORKER_HEARD};
    if (worker->silent == silent) return;
    event.worker.id = worker->id;
    if (server_step(cluster->server, &event) == ROTA_OK) worker->silent = silent;
    cluster_ahead_news(cluster);
}

void cluster_worker_away(struct cluster *cluster, struct cluster_worker *worker)
{
    struct rota_worker_view view;
    worker->peer->worker = NULL;
    worker->peer = NULL;
    bool there = rota_worker_look(cluster->server->rota, worker->id, &view);
    if (there && view.leaves && !view.tasks) worker->leaves = true;
    if (!worker->leaves) {
        if (!PLANTED(AWAY_UNSAID)) tell_core(cluster, worker, true);
        return;
    }
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_LEFT};
    event.worker.id = worker->id;
    server_step(cluster->server, &event);
    worker->leaves = false;
}

void cluster_workers_look(struct cluster *cluster)
{
    rota_time patience = BEATS_MISSED * cluster->limits.beat;
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        struct cluster_worker *worker = cluster->workers[i];
        if (worker->peer && cluster->ticks - worker->heard > patience)
            tell_core(cluster, worker, true);
        cluster_rest_look(cluster, worker);
    }
}

// More often than any worker is told to.
static bool beats_too_often(const struct cluster *cluster, struct cluster_worker *worker)
{
    if (cluster->ticks - worker->pulse.since >= 1000000)
        worker->pulse = (struct cluster_pulse){.since = cluster->ticks};
    return ++worker->pulse.beats > BEATS_A_SECOND;
}

bool cluster_beat(struct cluster *cluster, struct cluster_peer *peer, const struct wire_beat *beat)
{
    struct cluster_worker *worker = peer->worker;
    struct wire_message message = {.kind = WIRE_BEATEN_MESSAGE};
    if (beats_too_often(cluster, worker))
        return cluster_turn_away(peer, WIRE_REFUSED_STATE,
                                 "too many heartbeats: at most a hundred per second");
    if (beat->sent > worker->beat) worker->beat = beat->sent;
    message.beaten.sent = beat->sent;
    if (!PLANTED(BEAT_UNANSWERED)) wire_put(peer->out, &message);
    tell_core(cluster, worker, false);
    return true;
}

// ---- Attempts of a worker -------------------------------------------------------------------

static int by_task(const void *left, const void *right)
{
    const struct wire_attempt *one = left, *other = right;
    if (one->task.job != other->task.job) return one->task.job < other->task.job ? -1 : 1;
    if (one->task.task != other->task.task) return one->task.task < other->task.task ? -1 : 1;
    return 0;
}

// The attempt was assigned to this worker on an earlier connection. If its process is still the
// same, the worker never received it; if the worker announced to leave, it was ended from outside.
// In both cases the task is not to blame.
static void attempt_lost(struct cluster *cluster, const struct cluster_worker *worker,
                         rota_task_id task, const struct rota_task_view *view, bool had_left)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_FINISHED};
    event.report.worker = worker->id;
    event.report.task = task;
    event.report.attempt = view->attempt;
    event.report.outcome = ROTA_OUTCOME_LOST;
    event.report.unstarted = worker->is_same_process || had_left;
    cluster_loss_bound(cluster, CLUSTER_LACKS_NOTHING, &event);
    server_step(cluster->server, &event);
}

// Its STARTED may have been lost with the last server process. A reader of a stream waits until its
// writer runs.
static void attempt_runs(struct cluster *cluster, const struct cluster_worker *worker,
                         const struct wire_attempt *listed)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    if (listed->state != WIRE_ATTEMPT_RUNNING) return;
    event.report.worker = worker->id;
    event.report.task = listed->task;
    event.report.attempt = listed->attempt;
    server_step(cluster->server, &event);
}

static void attempts_compare(struct cluster *cluster, struct cluster_worker *worker,
                             wire_attempts *attempts, bool had_left)
{
    if (attempts->count) qsort(attempts->items, attempts->count, sizeof *attempts->items, by_task);
    uint32_t count = rota_worker_tasks(cluster->server->rota, worker->id, NULL, 0);
    rota_task_id *tasks = cluster_keep(cluster, count, sizeof *tasks);
    rota_worker_tasks(cluster->server->rota, worker->id, tasks, count);
    cluster_tokens_keep(worker, tasks, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        if (!rota_task_look(cluster->server->rota, tasks[i], &view)) continue;
        struct wire_attempt like = {.task = tasks[i]};
        const struct wire_attempt *listed = NULL;
        if (attempts->count)
            listed = bsearch(&like, attempts->items, attempts->count, sizeof like, by_task);
        bool has = listed && listed->attempt == view.attempt
                   && cluster_token_listed(cluster, worker, tasks[i], listed->token);
        if (!has) attempt_lost(cluster, worker, tasks[i], &view, had_left);
        if (has && view.state != ROTA_TASK_RUNNING) attempt_runs(cluster, worker, listed);
    }
}

// Attempts unknown to the server must be stopped.
static void strangers_stop(struct cluster *cluster, struct cluster_peer *peer,
                           const wire_attempts *attempts)
{
    for (uint32_t i = 0; i < attempts->count; i++) {
        const struct wire_attempt *attempt = &attempts->items[i];
        struct rota_task_view view;
        bool ours = rota_task_look(cluster->server->rota, attempt->task, &view)
                    && view.attempt == attempt->attempt
                    && cluster_token_fits(cluster, peer->worker, attempt->task, attempt->token)
                    && view.worker.number == peer->worker->id.number;
        // A stop is repeated: the first one may have been lost with a connection.
        bool continues = ours && (!view.stopping || PLANTED(STOP_UNSAID));
        if (continues || attempt->state == WIRE_ATTEMPT_SPOOLED) continue;
        struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
        if (ours) message.stop.grace = WIRE_GRACE;
        message.stop.task = attempt->task;
        message.stop.attempt = attempt->attempt;
        wire_put(peer->out, &message);
    }
}

// The listing of workers shows it. The row stays when the worker is gone.
static void user_note(struct cluster *cluster, struct cluster_worker *worker, wire_text user)
{
    if (worker->user && strcmp(worker->user, user.bytes) == 0) return;
    free(worker->user);
    worker->user = strdup(user.bytes);
    if (!worker->user) cluster_no_memory();
    char *kept = cluster_keep(cluster, user.length + 1, 1);
    memcpy(kept, user.bytes, user.length + 1);
    store_put_user(cluster->server->store, worker->id.number, kept);
}

static const char outdated_text[]
    = "this worker has attempts that are not in the server's database: the database was"
      " restored from a backup; start the server with 'rota server --restored'";

static const char *join_fault(const struct wire_join *join)
{
    if (!cluster_is_name(join->machine)) return "invalid machine name";
    if (join->user.length > NAME_MAX_BYTES || !cluster_is_name(join->user))
        return "invalid user name";
    if (join->address.length > ADDRESS_MAX_BYTES || !cluster_is_text(join->address))
        return "an address may have at most 512 bytes";
    if (join->cores > CORES_MAX) return "a worker may have at most 100,000 cores";
    if (join->memory_mib > MEMORY_MAX) return "a worker may have at most 1 PiB of memory";
    return NULL;
}

bool cluster_join(struct cluster *cluster, struct cluster_peer *peer, const struct wire_join *join)
{
    struct cluster_worker *worker = peer->worker;
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
    wire_attempts attempts = join->attempts;
    const char *fault = join_fault(join);
    if (fault) return cluster_turn_away(peer, WIRE_REFUSED_REQUEST, fault);
    if (cluster_is_outdated(cluster, join)) {
        snprintf(cluster->ahead_of_us, sizeof cluster->ahead_of_us, "%s", worker->name);
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, outdated_text);
    }
    struct rota_worker_view view;
    if (!rota_worker_look(cluster->server->rota, worker->id, &view)) worker->results = 0;
    event.worker.id = worker->id;
    event.worker.cores = join->cores ? join->cores : 1;
    event.worker.memory_mib = join->memory_mib;
    if (join->machine.length)
        event.worker.machine = cluster_name(cluster, CATALOG_MACHINE, join->machine.bytes);
    struct rota_worker_view before = {0};
    bool had_left
        = rota_worker_look(cluster->server->rota, worker->id, &before) && before.leaves;
    enum rota_error error = server_step(cluster->server, &event);
    if (error) return cluster_turn_away(peer, WIRE_REFUSED_FULL, cluster->server->reason);
    worker->silent = false;
    worker->joined = cluster->ticks;
    user_note(cluster, worker, join->user);
    cluster_told_begin(worker);
    cluster_ahead_news(cluster);
    free(worker->address);
    worker->address = strdup(join->address.bytes);
    if (!worker->address) cluster_no_memory();
    if (!PLANTED(JOIN_NOT_COMPARED)) attempts_compare(cluster, worker, &attempts, had_left);
    if (!PLANTED(STRANGERS_SPARED)) strangers_stop(cluster, peer, &attempts);
    event = (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS};
    event.asks.id = worker->id;
    event.asks.count = ROTA_ASK_ALWAYS;
    server_step(cluster->server, &event);
    return true;
}
