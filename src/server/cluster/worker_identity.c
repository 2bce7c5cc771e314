// worker_identity.c - which worker may use a name.
//
// When a worker joins with another boot id while the connection of its old process is open, the
// server asks that connection for a heartbeat: an answer means two workers with one folder. The old
// process has ended if its connection is closed and `place` is the same: the lock of its folder,
// under one boot of its machine's kernel. Otherwise the machine was rebooted or is cut off, or the
// folder is on a network or was copied, and the old process may still run. `place` alone proves
// nothing: virtual machines that were resumed from one snapshot share it.
#include "server/cluster/worker_identity.h"
#include "base/planted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BEATS_MISSED = 3, PROBE_EVERY = 1000000, TEXT = 600, MINUTE = 60000000 };

// ---- Stored data ----------------------------------------------------------------------------

static void who_load(struct cluster *cluster, struct cluster_worker *worker)
{
    struct cluster_identity *who = &worker->who;
    const char *text = who->is_loaded ? NULL : cluster_worker_row_find(cluster, worker->id);
    who->is_loaded = true;
    if (!text) return;
    int end = 0;
    bool fine = sscanf(text, "%" SCNx64 " %" SCNx64 " %n", &who->folder, &who->place, &end) == 2;
    if (!fine || !end || strlen(text + end) >= sizeof who->key) return;
    snprintf(who->key, sizeof who->key, "%s", text + end);
    who->is_known = true;
}

static void who_keep(struct cluster *cluster, const struct cluster_worker *worker)
{
    const struct cluster_identity *who = &worker->who;
    char *text = cluster_keep(cluster, TEXT, 1);
    if (who->is_known)
        snprintf(text, TEXT, "%016" PRIx64 " %016" PRIx64 " %s", who->folder, who->place, who->key);
    cluster_worker_row_put(cluster, worker->id, text);
}

// ---- Messages -------------------------------------------------------------------------------

static const char *from_of(const struct cluster_worker *worker)
{
    if (worker->from[0] == '/') return "a process of the server's machine";
    return worker->from[0] ? worker->from : "another worker";
}

static const char *since_of(const struct cluster *cluster, const struct cluster_worker *worker,
                            char out[CLUSTER_HOUR])
{
    rota_time at = worker->since ? worker->since : (rota_time)cluster->opened;
    int minutes = (int)(at / MINUTE % (24 * 60));
    if (cluster->limits.hour)
        cluster->limits.hour(at, out);
    else
        snprintf(out, CLUSTER_HOUR, "%02d:%02d", minutes / 60 % 24, minutes % 60);
    return out;
}

static const char *key_name(const char *key)
{
    return *key ? key : "(none: the server's socket)";
}

static const char *key_fault(struct cluster *cluster, const struct cluster_worker *worker,
                             const char *key)
{
    char *text = cluster_keep(cluster, TEXT, 1);
    snprintf(text, TEXT,
             "name \"%.100s\" belongs to key %s, and this worker has key %s; start with --name,"
             " or an admin frees the name: rota worker forget %.80s",
             worker->name, key_name(worker->who.key), key_name(key), worker->name);
    return text;
}

static const char *use_fault(struct cluster *cluster, const struct cluster_worker *worker)
{
    char *text = cluster_keep(cluster, TEXT, 1), since[CLUSTER_HOUR];
    snprintf(text, TEXT,
             "name \"%.100s\" is in use by %s since %s; start with --name, or wait until its lease"
             " ends",
             worker->name, from_of(worker), since_of(cluster, worker, since));
    return text;
}

static const char *copy_fault(struct cluster *cluster, const struct cluster_worker *worker)
{
    char *text = cluster_keep(cluster, TEXT, 1), since[CLUSTER_HOUR];
    snprintf(text, TEXT,
             "the folder of this worker was copied: worker \"%.100s\" at %s uses the same folder"
             " since %s; delete the file \"id\" in the folder of the copy, and start with --name",
             worker->name, from_of(worker), since_of(cluster, worker, since));
    return text;
}

// ---- Two workers with one folder ------------------------------------------------------------

static bool is_gone_from_place(const struct cluster_worker *worker, const struct wire_greet *greet)
{
    return !worker->peer && greet->place && worker->who.place == greet->place;
}

static void probe(struct cluster *cluster, struct cluster_worker *worker)
{
    struct wire_message message = {.kind = WIRE_PROBE_MESSAGE};
    if (worker->probed && cluster->ticks - worker->probed < PROBE_EVERY) return;
    worker->probed = cluster->ticks;
    wire_put(worker->peer->out, &message);
}

// Whether the worker that has the connection still lives, although another one has its folder.
// Null: apparently not.
static const char *twin_fault(struct cluster *cluster, struct cluster_worker *worker,
                              enum wire_code *code)
{
    rota_time patience = BEATS_MISSED * cluster->limits.beat;
    if (!worker->peer || cluster->ticks - worker->heard > patience) return NULL;
    if (PLANTED(COPY_UNNOTICED)) return NULL;
    bool is_old = worker->contested && cluster->ticks - worker->contested > 2 * patience;
    if (!worker->contested || is_old) worker->contested = cluster->ticks;
    bool lives = worker->heard > worker->contested;
    probe(cluster, worker);
    *code = lives ? WIRE_REFUSED_NAME : WIRE_REFUSED_STATE;
    if (lives) return copy_fault(cluster, worker);
    return "an earlier connection of this worker is still open; the server asks whether its worker "
           "lives";
}

// Tasks that its old process may still run, and that no other worker may run meanwhile.
static bool holds_exclusive(struct cluster *cluster, const struct cluster_worker *worker)
{
    uint32_t count = rota_worker_tasks(cluster->server->rota, worker->id, NULL, 0);
    rota_task_id *tasks = cluster_keep(cluster, count, sizeof *tasks);
    rota_worker_tasks(cluster->server->rota, worker->id, tasks, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        if (!rota_task_look(cluster->server->rota, tasks[i], &view)) continue;
        if (cluster_body_is_exclusive(cluster, (rota_job_id){tasks[i].job}, (uint32_t)view.body))
            return true;
    }
    return false;
}

// ---- The decision ---------------------------------------------------------------------------

static const char *folder_fault(struct cluster *cluster, const struct cluster_worker *worker,
                                struct cluster_worker *other, const struct wire_greet *greet,
                                enum wire_code *code)
{
    if (other == worker || other->who.folder != greet->folder) return NULL;
    if (other->boot == greet->boot) return NULL;
    return twin_fault(cluster, other, code);
}

// A copy that joined while the first worker was silent hides it in the map, and the first one may
// continue on its old connection: once there was such a copy, all workers are compared.
const char *cluster_folder_fault(struct cluster *cluster, const struct cluster_worker *worker,
                             const struct wire_greet *greet, enum wire_code *code)
{
    const char *fault = NULL;
    uint32_t at = greet->folder ? map_find(&cluster->workers_by_folder, greet->folder) : 0;
    if (!at) return NULL;
    if (!cluster->has_copies)
        return folder_fault(cluster, worker, cluster->workers[at - 1], greet, code);
    for (uint32_t i = 0; i < cluster->worker_count && !fault; i++)
        fault = folder_fault(cluster, worker, cluster->workers[i], greet, code);
    return fault;
}

const char *cluster_identity_fault(struct cluster *cluster, struct cluster_worker *worker,
                               const struct cluster_peer *peer, const struct wire_greet *greet,
                               enum wire_code *code)
{
    struct rota_worker_view view;
    const struct cluster_identity *who = &worker->who;
    who_load(cluster, worker);
    *code = WIRE_REFUSED_NAME;
    bool is_gone = cluster->limits.key_is_gone && who->is_known
                   && cluster->limits.key_is_gone(cluster->limits.context, who->key);
    if (who->is_known && !is_gone && strcmp(who->key, peer->id) != 0)
        return key_fault(cluster, worker, peer->id);
    bool is_joined = rota_worker_look(cluster->server->rota, worker->id, &view);
    bool is_heard
        = worker->peer && cluster->ticks - worker->heard <= BEATS_MISSED * cluster->limits.beat;
    if (!is_heard && !is_joined) return NULL;
    bool is_same_folder = who->is_known && greet->folder && who->folder == greet->folder;
    if (worker->boot == greet->boot && who->folder == greet->folder) return NULL;
    if (PLANTED(TWIN_TAKES_OVER)) return NULL;
    // A worker older than the binding of names to folders returns with a newer rota: the first one
    // gets the name.
    if (who->is_known && !is_same_folder) return use_fault(cluster, worker);
    const char *fault = twin_fault(cluster, worker, code);
    if (fault || !is_joined || is_gone_from_place(worker, greet)) return fault;
    if (!holds_exclusive(cluster, worker)) return NULL;
    *code = WIRE_REFUSED_STATE;
    return "its earlier process may still run tasks of a lane; wait until its lease has expired";
}

void cluster_identity_take(struct cluster *cluster, struct cluster_worker *worker,
                           const struct cluster_peer *peer, const struct wire_greet *greet)
{
    struct cluster_identity *who = &worker->who;
    bool is_same = who->is_known && who->folder == greet->folder && who->place == greet->place
                   && strcmp(who->key, peer->id) == 0;
    worker->contested = worker->probed = 0;
    if (worker->boot != greet->boot) worker->since = cluster->server->now;
    snprintf(worker->from, sizeof worker->from, "%s", peer->from);
    if (greet->folder) {
        if (!map_reserve(&memory_heap, &cluster->workers_by_folder, 1)) cluster_no_memory();
        uint32_t at = map_find(&cluster->workers_by_id, worker->id.number);
        uint32_t last = map_find(&cluster->workers_by_folder, greet->folder);
        cluster->has_copies |= last && last != at && cluster->workers[last - 1]->peer;
        map_put(&cluster->workers_by_folder, greet->folder, at);
    }
    if (is_same) return;
    *who = (struct cluster_identity){.is_loaded = true, .is_known = true, .folder = greet->folder,
                            .place = greet->place};
    snprintf(who->key, sizeof who->key, "%s", peer->id);
    who_keep(cluster, worker);
}

bool cluster_identity_forget(struct cluster *cluster, struct cluster_worker *worker)
{
    struct rota_worker_view view;
    if (worker->peer || rota_worker_look(cluster->server->rota, worker->id, &view)) return false;
    worker->who = (struct cluster_identity){.is_loaded = true};
    who_keep(cluster, worker);
    return true;
}
