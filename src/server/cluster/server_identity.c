// server_identity.c - what a server keeps about itself: the name of its database, how often it was
// opened, how jobs ended that it has forgotten, and what the names of workers belong to.
//
// They are kept as answers to requests that no client can make: hub_request_is_old() refuses ids
// whose upper half is all ones.
#include "base/planted.h"
#include "server/cluster/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum self_row { SELF_NAME = 0xff, SELF_OLD_EPOCH = 0x01, SELF_EPOCH = 0x02, SELF_QUIET = 0x03,
                SELF_OPENED = 0x04, SELF_LEASE = 0x05 };

// How tokens were made before: so many bits more of them counted.
enum { OLD_TOKENS = 40 };

// A server waits so long (hub_opens_at) before it is opened again, and cannot use up an epoch in
// less time.
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
    uint64_t low = job;  // smaller than any of the others
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

void hub_over_note(struct hub *hub, const struct wire_over *over)
{
    enum { SIZE = 64 };
    struct store_request request = row_of_job(over->job);
    char *answer = hub_keep(hub, SIZE, 1);
    snprintf(answer, SIZE, "over %u %u %u %u", over->tasks, over->succeeded, over->failed,
             over->aborted);
    request.answer = answer;
    store_answer(hub->server->store, &request);
}

bool hub_over_find(struct hub *hub, uint32_t job, struct wire_over *over)
{
    struct store_request request = row_of_job(job);
    *over = (struct wire_over){.job = job};
    return store_answer_find(hub->server->store, &request)
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

const char *hub_worker_row_find(struct hub *hub, rota_worker_id worker)
{
    struct store_request request = row_of_worker(worker);
    return store_answer_find(hub->server->store, &request) ? request.answer : NULL;
}

void hub_worker_row_put(struct hub *hub, rota_worker_id worker, const char *text)
{
    struct store_request request = row_of_worker(worker);
    request.answer = text;
    store_answer(hub->server->store, &request);
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

static bool row_find(struct hub *hub, enum self_row row, uint64_t *value)
{
    return row_read(hub->server->store, row, value);
}

static void row_write(struct hub *hub, struct store_request *request, uint64_t value)
{
    enum { DIGITS = 20 };
    char *answer = hub_keep(hub, DIGITS, 1);
    snprintf(answer, DIGITS, "%016" PRIx64, value);
    request->answer = answer;
    store_answer(hub->server->store, request);
}

static void row_put(struct hub *hub, enum self_row row, uint64_t value)
{
    struct store_request request = row_of(row);
    row_write(hub, &request, value);
}

static void name_open(struct hub *hub, rota_time now)
{
    bool is_known = row_find(hub, SELF_NAME, &hub->id);
    if (is_known && !hub->limits.restored) return;
    bool made = hub->limits.random && hub->limits.random(&hub->id, sizeof hub->id);
    if (!made) hub->id = (uint64_t)now;
    row_put(hub, SELF_NAME, hub->id);
}

// A clock that was set back since then does not make it wait longer.
rota_time hub_opens_at(struct server *server, rota_time now)
{
    uint64_t opened;
    if (!row_read(server->store, SELF_OPENED, &opened)) return now;
    rota_time at = (rota_time)opened + EPOCH_LEAST;
    if (at > now + EPOCH_LEAST) at = now + EPOCH_LEAST;
    return at > now ? at : now;
}

// The backup is younger than the last opening that it knows of. The clock may be behind that of the
// lost server, so the epochs of some hours are added in any case.
static uint64_t epochs_lost(struct hub *hub, rota_time now)
{
    uint64_t opened;
    if (!hub->limits.restored || PLANTED(TOKEN_BACK)) return 0;
    if (!row_find(hub, SELF_OPENED, &opened)) return EPOCHS_UNKNOWN;
    rota_time passed = now - (rota_time)opened;
    return EPOCHS_MORE + (passed > 0 ? (uint64_t)passed / EPOCH_LEAST : 0);
}

// Epochs of this database, and the opening that each belongs to: a database that went back has the
// same epochs again.
static struct store_request row_of_epoch(uint64_t epoch)
{
    struct store_request request = row_of(SELF_NAME);
    uint64_t low = (uint64_t)4 << 32 | (uint32_t)epoch;  // above all workers
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

static void epoch_keep(struct hub *hub)
{
    struct store_request request = row_of_epoch(hub->epoch);
    row_put(hub, SELF_EPOCH, hub->epoch);
    row_write(hub, &request, hub->opened);
}

bool hub_epoch_is_ours(struct hub *hub, uint64_t epoch, uint64_t opened)
{
    struct store_request request = row_of_epoch(epoch);
    if (epoch == hub->epoch) return opened == hub->opened;
    return !epoch || !store_answer_find(hub->server->store, &request)
           || strtoull(request.answer, NULL, 16) == opened;
}

static void epoch_open(struct hub *hub, rota_time now)
{
    uint64_t old;
    // The clock counts once: tokens of before there were epochs were read off it.
    if (!row_find(hub, SELF_EPOCH, &hub->epoch))
        hub->epoch = row_find(hub, SELF_OLD_EPOCH, &old) ? (old + 1) << (OLD_TOKENS - HUB_TOKENS)
                                                         : (uint64_t)now >> HUB_TOKENS;
    hub->epoch += 1 + epochs_lost(hub, now);
    epoch_keep(hub);
    row_put(hub, SELF_OPENED, (uint64_t)now);
    hub->token = hub->token_first = PLANTED(TOKEN_ANEW) ? 0 : hub->epoch << HUB_TOKENS;
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

rota_time hub_lease(struct store *store, const struct hub_limits *limits, rota_time lease)
{
    rota_time before = lease_before(store);
    return before > limits->lease && wait_of(before) > lease ? wait_of(before) : lease;
}

// Workers and handlers believe in the lease that they were told last, also when the server is
// started again with a shorter one. The row has the longest lease that any of them may believe in.
static void lease_open(struct hub *hub)
{
    rota_time before = lease_before(hub->server->store), told = hub->limits.lease;
    hub->lease_believed = before > told ? before : told;
    if (before > told) hub->lease_until = hub->ticks + wait_of(before);
    if (before < told) row_put(hub, SELF_LEASE, (uint64_t)told);
}

// Leases of earlier lives of the server are over. The core keeps the longer one until the server is
// started again.
static void lease_look(struct hub *hub)
{
    if (!hub->lease_until || hub->ticks < hub->lease_until) return;
    hub->lease_believed = hub->limits.lease;
    hub->lease_until = 0;
    row_put(hub, SELF_LEASE, (uint64_t)hub->limits.lease);
}

// Workers of the lost server may still run what this database knows nothing of. When their leases
// are over they do not. A server that is started again before that waits anew: a clock that was
// set ahead must not end the wait.
static void quiet_open(struct hub *hub)
{
    uint64_t is_quiet = 0;
    row_find(hub, SELF_QUIET, &is_quiet);
    if (!hub->limits.restored && !is_quiet) return;
    row_put(hub, SELF_QUIET, 1);
    hub->quiet_until = hub->ticks + wait_of(hub->lease_believed);
}

static void quiet_look(struct hub *hub)
{
    if (!hub->quiet_until || hub_is_quiet(hub)) return;
    row_put(hub, SELF_QUIET, 0);
    hub->quiet_until = 0;
}

void hub_self_open(struct hub *hub, rota_time now)
{
    name_open(hub, now);
    epoch_open(hub, now);
    lease_open(hub);
    quiet_open(hub);
}

void hub_self_look(struct hub *hub)
{
    quiet_look(hub);
    lease_look(hub);
    if (hub->token >> HUB_TOKENS <= hub->epoch) return;
    hub->epoch = hub->token >> HUB_TOKENS;
    epoch_keep(hub);
}
