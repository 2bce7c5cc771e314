// worker.c - workers come, are heard of, fall silent, and come back with what they had.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/worker_identity.h"
#include "server/cluster/lost_attempts.h"
#include "server/cluster/pause.h"
#include "server/cluster/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEATS_MISSED = 3, BEATS_A_SECOND = 100, NAME_MAX_BYTES = 200 };

static const struct memory heap = {memory_resize_heap, NULL};

struct hub_worker *hub_worker_get(struct hub *hub, rota_worker_id id)
{
    uint32_t at = map_find(&hub->workers_by_id, id.number);
    return at ? hub->workers[at - 1] : NULL;
}

struct hub_worker *hub_worker_meet(struct hub *hub, rota_worker_id id, const char *name)
{
    struct hub_worker *worker = hub_worker_get(hub, id);
    if (worker) return worker;
    void *items = hub->workers;
    bool there = map_reserve(&heap, &hub->workers_by_id, 1)
                 && memory_reserve(&heap, &items, &hub->worker_capacity,
                                   (uint64_t)hub->worker_count + 1, sizeof *hub->workers);
    hub->workers = items;
    if (!there) hub_no_memory();
    worker = hub_allocate(1, sizeof *worker);
    worker->id = id;
    worker->name = strdup(name ? name : "");
    worker->address = strdup("");
    if (!worker->name || !worker->address) hub_no_memory();
    hub->workers[hub->worker_count++] = worker;
    map_put(&hub->workers_by_id, id.number, hub->worker_count);
    return worker;
}

// ---- Coming ------------------------------------------------------------------------------------

bool hub_worker_greet(struct hub *hub, struct hub_peer *peer, const struct wire_greet *greet)
{
    if (!greet->name.length || greet->name.length > NAME_MAX_BYTES || !hub_is_name(greet->name))
        return hub_turn_away(peer, WIRE_REFUSED_REQUEST, "a worker has a name of 1 to 200 bytes");
    if (hub_is_quiet(hub)) return hub_turn_away(peer, WIRE_REFUSED_STATE, hub_quiet_reason);
    enum wire_code code;
    rota_worker_id id = {hub_name_known(hub, CATALOG_WORKER, greet->name.bytes)};
    struct hub_worker *worker = id.number ? hub_worker_meet(hub, id, greet->name.bytes) : NULL;
    const char *fault = worker ? hub_identity_fault(hub, worker, peer, greet, &code) : NULL;
    if (!fault) fault = hub_folder_fault(hub, worker, greet, &code);
    if (fault) return hub_turn_away(peer, code, fault);
    if (!worker) {
        id.number = hub_name(hub, CATALOG_WORKER, greet->name.bytes);
        worker = hub_worker_meet(hub, id, greet->name.bytes);
    }
    if (greet->connection <= worker->connection && worker->peer && greet->boot == worker->boot)
        return hub_turn_away(peer, WIRE_REFUSED_STATE, "there is a newer connection");
    if (worker->peer) {
        worker->peer->closing = true;
        hub_worker_away(hub, worker);
    }
    hub_identity_take(hub, worker, peer, greet);
    worker->connection = greet->connection;
    worker->went_on = greet->boot == worker->boot;
    worker->boot = greet->boot;
    worker->beat = 0;
    worker->peer = peer;
    worker->heard = hub->ticks;
    peer->worker = worker;
    return true;
}

// ---- Silence -----------------------------------------------------------------------------------

static void tell_core(struct hub *hub, struct hub_worker *worker, bool silent)
{
    struct rota_event event = {.kind = silent ? ROTA_EVENT_WORKER_SILENT : ROTA_EVENT_WORKER_HEARD};
    if (worker->silent == silent) return;
    event.worker.id = worker->id;
    if (server_step(hub->server, &event) == ROTA_OK) worker->silent = silent;
    hub_ahead_news(hub);
}

void hub_worker_away(struct hub *hub, struct hub_worker *worker)
{
    struct rota_worker_view view;
    worker->peer->worker = NULL;
    worker->peer = NULL;
    bool there = rota_worker_look(hub->server->rota, worker->id, &view);
    if (there && view.leaves && !view.tasks) worker->leaves = true;
    if (!worker->leaves) {
        if (!PLANTED(AWAY_UNSAID)) tell_core(hub, worker, true);
        return;
    }
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_LEFT};
    event.worker.id = worker->id;
    server_step(hub->server, &event);
    worker->leaves = false;
}

void hub_workers_look(struct hub *hub)
{
    rota_time patience = BEATS_MISSED * hub->limits.beat;
    for (uint32_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        if (worker->peer && hub->ticks - worker->heard > patience) tell_core(hub, worker, true);
        hub_rest_look(hub, worker);
    }
}

// More often than anybody is told to.
static bool beats_too_often(const struct hub *hub, struct hub_worker *worker)
{
    if (hub->ticks - worker->pulse.since >= 1000000)
        worker->pulse = (struct hub_pulse){.since = hub->ticks};
    return ++worker->pulse.beats > BEATS_A_SECOND;
}

bool hub_beat(struct hub *hub, struct hub_peer *peer, const struct wire_beat *beat)
{
    struct hub_worker *worker = peer->worker;
    struct wire_message message = {.kind = WIRE_BEATEN_MESSAGE};
    if (beats_too_often(hub, worker))
        return hub_turn_away(peer, WIRE_REFUSED_STATE, "a hundred beats a second are enough");
    if (beat->sent > worker->beat) worker->beat = beat->sent;
    message.beaten.sent = beat->sent;
    if (!PLANTED(BEAT_UNANSWERED)) wire_put(peer->out, &message);
    tell_core(hub, worker, false);
    return true;
}

// ---- What a worker has -------------------------------------------------------------------------

static int by_task(const void *left, const void *right)
{
    const struct wire_attempt *one = left, *other = right;
    if (one->task.job != other->task.job) return one->task.job < other->task.job ? -1 : 1;
    if (one->task.task != other->task.task) return one->task.task < other->task.task ? -1 : 1;
    return 0;
}

// It was given to this worker on an earlier connection. If its processes are still the same it has
// never heard of it, and if they wanted to leave something ended them: nobody may suspect the task.
static void attempt_lost(struct hub *hub, const struct hub_worker *worker, rota_task_id task,
                         const struct rota_task_view *view, bool had_left)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_FINISHED};
    event.report.worker = worker->id;
    event.report.task = task;
    event.report.attempt = view->attempt;
    event.report.outcome = ROTA_OUTCOME_LOST;
    event.report.unstarted = worker->went_on || had_left;
    hub_loss_bound(hub, HUB_LACKS_NOTHING, &event);
    server_step(hub->server, &event);
}

// Its STARTED may have gone with the last server. A reader of a stream waits until its writer runs.
static void attempt_runs(struct hub *hub, const struct hub_worker *worker,
                         const struct wire_attempt *listed)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    if (listed->state != WIRE_ATTEMPT_RUNNING) return;
    event.report.worker = worker->id;
    event.report.task = listed->task;
    event.report.attempt = listed->attempt;
    server_step(hub->server, &event);
}

static void attempts_compare(struct hub *hub, struct hub_worker *worker, wire_attempts *attempts,
                             bool had_left)
{
    if (attempts->count) qsort(attempts->items, attempts->count, sizeof *attempts->items, by_task);
    uint32_t count = rota_worker_tasks(hub->server->rota, worker->id, NULL, 0);
    rota_task_id *tasks = hub_keep(hub, count, sizeof *tasks);
    rota_worker_tasks(hub->server->rota, worker->id, tasks, count);
    hub_tokens_keep(worker, tasks, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        if (!rota_task_look(hub->server->rota, tasks[i], &view)) continue;
        struct wire_attempt like = {.task = tasks[i]};
        const struct wire_attempt *listed = NULL;
        if (attempts->count)
            listed = bsearch(&like, attempts->items, attempts->count, sizeof like, by_task);
        bool has = listed && listed->attempt == view.attempt
                   && hub_token_listed(hub, worker, tasks[i], listed->token);
        if (!has) attempt_lost(hub, worker, tasks[i], &view, had_left);
        if (has && view.state != ROTA_TASK_RUNNING) attempt_runs(hub, worker, listed);
    }
}

// What nobody knows of must not go on.
static void strangers_stop(struct hub *hub, struct hub_peer *peer, const wire_attempts *attempts)
{
    for (uint32_t i = 0; i < attempts->count; i++) {
        const struct wire_attempt *attempt = &attempts->items[i];
        struct rota_task_view view;
        bool ours = rota_task_look(hub->server->rota, attempt->task, &view)
                    && view.attempt == attempt->attempt
                    && hub_token_fits(hub, peer->worker, attempt->task, attempt->token)
                    && view.worker.number == peer->worker->id.number;
        // What was to be stopped is told so again: the first time may have gone with a connection.
        bool goes_on = ours && (!view.stopping || PLANTED(STOP_UNSAID));
        if (goes_on || attempt->state == WIRE_ATTEMPT_SPOOLED) continue;
        struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
        if (ours) message.stop.grace = HUB_GRACE;
        message.stop.task = attempt->task;
        message.stop.attempt = attempt->attempt;
        wire_put(peer->out, &message);
    }
}

// The listing of workers shows it. The row stays when the worker has gone.
static void user_note(struct hub *hub, struct hub_worker *worker, wire_text user)
{
    if (worker->user && strcmp(worker->user, user.bytes) == 0) return;
    free(worker->user);
    worker->user = strdup(user.bytes);
    if (!worker->user) hub_no_memory();
    char *kept = hub_keep(hub, user.length + 1, 1);
    memcpy(kept, user.bytes, user.length + 1);
    store_put_user(hub->server->store, worker->id.number, kept);
}

static const char behind[]
    = "this worker knows of work that the server's database does not have: the database was"
      " restored from a backup; start the server with 'rota server --restored'";

bool hub_join(struct hub *hub, struct hub_peer *peer, const struct wire_join *join)
{
    struct hub_worker *worker = peer->worker;
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
    wire_attempts attempts = join->attempts;
    if (!hub_is_name(join->machine))
        return hub_turn_away(peer, WIRE_REFUSED_REQUEST, "the name of a machine is none");
    if (join->user.length > NAME_MAX_BYTES || !hub_is_name(join->user))
        return hub_turn_away(peer, WIRE_REFUSED_REQUEST, "invalid user name");
    if (hub_is_behind(hub, join)) {
        snprintf(hub->ahead_of_us, sizeof hub->ahead_of_us, "%s", worker->name);
        return hub_turn_away(peer, WIRE_REFUSED_STATE, behind);
    }
    struct rota_worker_view view;
    if (!rota_worker_look(hub->server->rota, worker->id, &view)) worker->results = 0;
    event.worker.id = worker->id;
    event.worker.cores = join->cores ? join->cores : 1;
    event.worker.memory_mib = join->memory_mib;
    if (join->machine.length)
        event.worker.machine = hub_name(hub, CATALOG_MACHINE, join->machine.bytes);
    struct rota_worker_view before = {0};
    bool had_left
        = rota_worker_look(hub->server->rota, worker->id, &before) && before.leaves;
    enum rota_error error = server_step(hub->server, &event);
    if (error) return hub_turn_away(peer, WIRE_REFUSED_FULL, hub->server->reason);
    worker->silent = false;
    worker->joined = hub->ticks;
    user_note(hub, worker, join->user);
    hub_told_begin(worker);
    hub_ahead_news(hub);
    free(worker->address);
    worker->address = strdup(join->address.bytes);
    if (!worker->address) hub_no_memory();
    if (!PLANTED(JOIN_NOT_COMPARED)) attempts_compare(hub, worker, &attempts, had_left);
    if (!PLANTED(STRANGERS_SPARED)) strangers_stop(hub, peer, &attempts);
    event = (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS};
    event.asks.id = worker->id;
    event.asks.count = ROTA_ASK_ALWAYS;
    server_step(hub->server, &event);
    return true;
}
