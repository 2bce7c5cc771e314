// server_identity.c - data that a server stores about itself: the id of its database, how often it
// was opened, results of removed jobs, and owners of worker names.
//
// They are stored as answers to requests that no client can make: cluster_request_is_old() refuses
// ids whose upper half is all ones.
#include "base/planted.h"
#include "server/cluster/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum self_row { SELF_NAME = 0xff, SELF_EPOCH = 0x02, SELF_QUIET = 0x03,
                SELF_OPENED = 0x04, SELF_LEASE = 0x05 };

// A server waits this long (cluster_opens_at) before it is opened again, and cannot use up an epoch
// in less time.
enum { EPOCH_LEAST = 250000, EPOCHS_MORE = 1 << 16, EPOCHS_UNKNOWN = 1 << 26 };

static struct store_request row_of(enum self_row row)
{
    struct store_request request = {.answer = NULL};
    memset(request.id, 0xff, sizeof request.id);
    memset(request.id + sizeof request.id / 2, row, sizeof request.id / 2);
    return request;
}

// ---- Jobs --------------------------------------------------------------------------------------

static struct store_request row_of_job(uint32_t job)
{
    struct store_request request = row_of(SELF_NAME);
    uint64_t low = job;  // smaller than all other rows
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

void cluster_over_note(struct cluster *cluster, const struct wire_over *over)
{
    enum { SIZE = 64 };
    struct store_request request = row_of_job(over->job);
    char *answer = cluster_keep(cluster, SIZE, 1);
    snprintf(answer, SIZE, "over %u %u %u %u", over->tasks, over->succeeded, over->failed,
             over->aborted);
    request.answer = answer;
    store_answer(cluster->server->store, &request);
}

bool cluster_over_find(struct cluster *cluster, uint32_t job, struct wire_over *over)
{
    struct store_request request = row_of_job(job);
    *over = (struct wire_over){.job = job};
    return store_answer_find(cluster->server->store, &request)
           && sscanf(request.answer, "over %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
                     &over->tasks, &over->succeeded, &over->failed, &over->aborted)
                  == 4;
}

// ---- Workers -----------------------------------------------------------------------------------

static struct store_request row_of_worker(rota_worker_id worker)
{
    struct store_request request = row_of(SELF_NAME);
    uint64_t low = (uint64_t)2 << 32 | worker.number;  // above all jobs, below all others
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

const char *cluster_worker_row_find(struct cluster *cluster, rota_worker_id worker)
{
    struct store_request request = row_of_worker(worker);
    return store_answer_find(cluster->server->store, &request) ? request.answer : NULL;
}

void cluster_worker_row_put(struct cluster *cluster, rota_worker_id worker, const char *text)
{
    struct store_request request = row_of_worker(worker);
    request.answer = text;
    store_answer(cluster->server->store, &request);
}

// ---- The database ------------------------------------------------------------------------------

// False: it was never written.
static bool row_read(struct store *store, enum self_row row, uint64_t *value)
{
    struct store_request request = row_of(row);
    if (!store_answer_find(store, &request)) return false;
    *value = strtoull(request.answer, NULL, 16);
    return true;
}

static bool row_find(struct cluster *cluster, enum self_row row, uint64_t *value)
{
    return row_read(cluster->server->store, row, value);
}

static void row_write(struct cluster *cluster, struct store_request *request, uint64_t value)
{
    enum { DIGITS = 20 };
    char *answer = cluster_keep(cluster, DIGITS, 1);
    snprintf(answer, DIGITS, "%016" PRIx64, value);
    request->answer = answer;
    store_answer(cluster->server->store, request);
}

static void row_put(struct cluster *cluster, enum self_row row, uint64_t value)
{
    struct store_request request = row_of(row);
    row_write(cluster, &request, value);
}

static void name_open(struct cluster *cluster, rota_time now)
{
    bool is_known = row_find(cluster, SELF_NAME, &cluster->id);
    if (is_known && !cluster->limits.restored) return;
    bool made = cluster->limits.random && cluster->limits.random(&cluster->id, sizeof cluster->id);
    if (!made) cluster->id = (uint64_t)now;
    row_put(cluster, SELF_NAME, cluster->id);
}

// A clock that was set back since then does not make it wait longer.
rota_time cluster_opens_at(struct server *server, rota_time now)
{
    uint64_t opened;
    if (!row_read(server->store, SELF_OPENED, &opened)) return now;
    rota_time at = (rota_time)opened + EPOCH_LEAST;
    if (at > now + EPOCH_LEAST) at = now + EPOCH_LEAST;
    return at > now ? at : now;
}

// The backup is younger than the last opening recorded in it. The clock may be slower than that of
// the lost server, so the epochs of some hours are added in any case.
static uint64_t epochs_lost(struct cluster *cluster, rota_time now)
{
    uint64_t opened;
    if (!cluster->limits.restored || PLANTED(TOKEN_BACK)) return 0;
    if (!row_find(cluster, SELF_OPENED, &opened)) return EPOCHS_UNKNOWN;
    rota_time passed = now - (rota_time)opened;
    return EPOCHS_MORE + (passed > 0 ? (uint64_t)passed / EPOCH_LEAST : 0);
}

// Epochs of this database, and the opening that each belongs to: an older copy of the database
// reuses the same epochs.
static struct store_request row_of_epoch(uint64_t epoch)
{
    struct store_request request = row_of(SELF_NAME);
    uint64_t low = (uint64_t)4 << 32 | (uint32_t)epoch;  // above all workers
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

static void epoch_keep(struct cluster *cluster)
{
    struct store_request request = row_of_epoch(cluster->epoch);
    row_put(cluster, SELF_EPOCH, cluster->epoch);
    row_write(cluster, &request, cluster->opened);
}

bool cluster_epoch_is_ours(struct cluster *cluster, uint64_t epoch, uint64_t opened)
{
    struct store_request request = row_of_epoch(epoch);
    if (epoch == cluster->epoch) return opened == cluster->opened;
    return !epoch || !store_answer_find(cluster->server->store, &request)
           || strtoull(request.answer, NULL, 16) == opened;
}

static void epoch_open(struct cluster *cluster, rota_time now)
{
    // The clock is used once, for the first epoch of a new database.
    if (!row_find(cluster, SELF_EPOCH, &cluster->epoch))
        cluster->epoch = (uint64_t)now >> CLUSTER_TOKENS;
    cluster->epoch += 1 + epochs_lost(cluster, now);
    epoch_keep(cluster);
    row_put(cluster, SELF_OPENED, (uint64_t)now);
    cluster->token = cluster->token_first
        = PLANTED(TOKEN_RESET) ? 0 : cluster->epoch << CLUSTER_TOKENS;
}

// ---- Leases ------------------------------------------------------------------------------------

// The server waits a third longer than the lease that it tells workers (A-TIME).
static rota_time wait_of(rota_time told)
{
    return told + told / 3 + 1;
}

static rota_time lease_before(struct store *store)
{
    uint64_t told = 0;
    return row_read(store, SELF_LEASE, &told) ? (rota_time)told : 0;
}

rota_time cluster_lease(struct store *store, const struct cluster_limits *limits, rota_time lease)
{
    rota_time before = lease_before(store);
    return before > limits->lease && wait_of(before) > lease ? wait_of(before) : lease;
}

// Workers and handlers rely on the lease that they were told last, also when the server is started
// again with a shorter one. The row has the longest lease that any of them may rely on.
static void lease_open(struct cluster *cluster)
{
    rota_time before = lease_before(cluster->server->store), told = cluster->limits.lease;
    cluster->lease_believed = before > told ? before : told;
    if (before > told) cluster->lease_until = cluster->ticks + wait_of(before);
    if (before < told) row_put(cluster, SELF_LEASE, (uint64_t)told);
}

// Leases given by earlier server processes have expired. The core keeps the longer one until the
// server is started again.
static void lease_look(struct cluster *cluster)
{
    if (!cluster->lease_until || cluster->ticks < cluster->lease_until) return;
    cluster->lease_believed = cluster->limits.lease;
    cluster->lease_until = 0;
    row_put(cluster, SELF_LEASE, (uint64_t)cluster->limits.lease);
}

// Workers of the lost server may still run commands unknown to this database, until their leases
// have expired. A server that is started again before that waits again: a clock that was set ahead
// must not end the wait.
static void quiet_open(struct cluster *cluster)
{
    uint64_t is_quiet = 0;
    row_find(cluster, SELF_QUIET, &is_quiet);
    if (!cluster->limits.restored && !is_quiet) return;
    row_put(cluster, SELF_QUIET, 1);
    cluster->quiet_until = cluster->ticks + wait_of(cluster->lease_believed);
}

static void quiet_look(struct cluster *cluster)
{
    if (!cluster->quiet_until || cluster_is_quiet(cluster)) return;
    row_put(cluster, SELF_QUIET, 0);
    cluster->quiet_until = 0;
}

void cluster_self_open(struct cluster *cluster, rota_time now)
{
    name_open(cluster, now);
    epoch_open(cluster, now);
    lease_open(cluster);
    quiet_open(cluster);
}

void cluster_self_look(struct cluster *cluster)
{
    quiet_look(cluster);
    lease_look(cluster);
    if (cluster->token >> CLUSTER_TOKENS <= cluster->epoch) return;
    cluster->epoch = cluster->token >> CLUSTER_TOKENS;
    epoch_keep(cluster);
}
