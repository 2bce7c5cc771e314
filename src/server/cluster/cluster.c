// cluster.c - turns of the server: begun, decided, written, and sent when they are durable.
#include "base/planted.h"
#include "server/cluster/objects.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/tokens.h"
#include "server/cluster/job_watchers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCK_LEAP = 16 };       // of a lease: a clock may jump ahead by this part unnoticed
enum { CHECK_EVERY = 500000 };  // deleted database files are noticed within a second

_Noreturn void cluster_no_memory(void)
{
    fputs("rota: out of memory; all acknowledged changes are in the database\n", stderr);
    exit(70);
}

void *cluster_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) cluster_no_memory();
    return memory;
}

void *cluster_keep(struct cluster *cluster, size_t count, size_t size)
{
    void *memory = server_keep(cluster->server, count ? count : 1, size);
    if (!memory) cluster_no_memory();
    return memory;
}

// ---- Opening ---------------------------------------------------------------------------------

// A lease from before the start may have been renewed without a record: all leases start again.
static void worker_take_over(struct cluster *cluster, uint32_t number)
{
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_HEARD};
    struct rota_worker_view view;
    event.worker.id.number = number;
    if (!rota_worker_look(cluster->server->rota, event.worker.id, &view)) return;
    server_step(cluster->server, &event);
    event.kind = ROTA_EVENT_WORKER_SILENT;
    server_step(cluster->server, &event);
    cluster_worker_meet(cluster, event.worker.id, NULL)->silent = true;
}

bool cluster_open(struct cluster *cluster, struct server *server,
                  const struct cluster_limits *limits, rota_time now, rota_time ticks)
{
    *cluster = (struct cluster){.server = server, .limits = *limits, .ticks = ticks};
    if (!limits->commands) cluster->limits.commands = UINT64_MAX;
    cluster->frames_next = cluster->limits.commands;
    cluster->drafts_at = ROTA_NEVER;
    cluster->opened = (uint64_t)now;
    if (!cluster_names_load(cluster)) return false;
    server_begin(server, now);
    cluster_self_open(cluster, now);
    for (uint32_t i = 1; i <= cluster->last_name[CATALOG_WORKER]; i++)
        if (!PLANTED(TAKE_OVER_SKIPPED)) worker_take_over(cluster, i);
    store_jobs_plain(server->store, cluster_job_restored, cluster);
    cluster_claims_open(cluster);
    bool done = server_commit(server);
    cluster->durable = store_journal_last(server->store);
    return done;
}

void cluster_close(struct cluster *cluster)
{
    cluster_readers_forget(cluster, NULL);
    while (cluster->peers) cluster_peer_release(cluster, cluster->peers);
    while (cluster->job_count) cluster_job_drop(cluster, cluster->jobs[cluster->job_count - 1]->id);
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        free(cluster->workers[i]->name);
        free(cluster->workers[i]->address);
        free(cluster->workers[i]->user);
        cluster_told_end(cluster->workers[i]);
        cluster_tokens_release(cluster->workers[i]);
        free(cluster->workers[i]);
    }
    cluster_claims_close(cluster);
    live_close(cluster->live);
    free(cluster->workers);
    free(cluster->jobs);
    free(cluster->over);
    free(cluster->tried);
    free(cluster->doubts);
    free(cluster->bad_sources);
    cluster_object_store_close(cluster);
    map_release(&memory_heap, &cluster->workers_by_id);
    map_release(&memory_heap, &cluster->workers_by_folder);
    map_release(&memory_heap, &cluster->jobs_by_id);
    for (int i = 0; i < CATALOG_KINDS; i++) map_release(&memory_heap, &cluster->names[i]);
    *cluster = (struct cluster){0};
}

// ---- A turn ----------------------------------------------------------------------------------

bool cluster_can_begin(const struct cluster *cluster)
{
    return cluster->turn[cluster->slot] == 0;
}

// A clock that is set ahead must not end a lease: the worker uses another clock.
static void leases_renew(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->worker_count; i++)
        if (cluster->workers[i]->silent) worker_take_over(cluster, cluster->workers[i]->id.number);
}

// The time of the core advances with the ticks, and jumps ahead with the clock. When the clock is
// set back, timers do not wait until it has caught up.
void cluster_begin(struct cluster *cluster, rota_time now, rota_time ticks)
{
    assert(cluster_can_begin(cluster));
    rota_time expected = cluster->server->now + (ticks - cluster->ticks);
    bool leapt = now - expected > cluster->limits.lease / CLOCK_LEAP;
    cluster->ticks = ticks;
    cluster->reasons = NULL;
    if (cluster->frame_bytes > cluster->frames_next) cluster_frames_trim(cluster);
    server_begin(cluster->server, now > expected || PLANTED(CLOCK_STANDS) ? now : expected);
    if (leapt && !PLANTED(LEAP_IGNORED)) leases_renew(cluster);
    cluster_claims_begin(cluster);
    cluster_jobs_close(cluster);
}

struct wire_out *cluster_later(struct cluster *cluster, struct cluster_peer *peer)
{
    return PLANTED(TOLD_EARLY) ? peer->out : &peer->held[cluster->slot];
}

uint64_t cluster_write(struct cluster *cluster)
{
    cluster_workers_look(cluster);
    cluster_drafts_look(cluster);
    cluster_object_store_sweep(cluster);
    cluster_claims_look(cluster);
    cluster_claim_queue_look(cluster);
    cluster_ahead_look(cluster);
    if (!server_decide(cluster->server)) return 0;
    cluster->handlers.look_again
        = cluster->handlers.waiting.first && cluster->server->effects.record_count;
    cluster_perform(cluster);
    cluster_watches_look(cluster);
    cluster_self_look(cluster);
    uint64_t turn = server_commit_write(cluster->server);
    cluster->turn[cluster->slot] = turn;
    cluster->journal[cluster->slot] = store_journal_last(cluster->server->store);
    cluster->slot ^= 1;
    return turn;
}

static void held_move(struct cluster_peer *peer, uint32_t slot)
{
    struct wire_out *held = &peer->held[slot];
    if (held->failed && !held->too_long) cluster_no_memory();
    if (held->failed) peer->closing = peer->out->failed = peer->out->too_long = true;
    if (!held->length || held->failed) return;
    wire_out_append(peer->out, held->bytes, held->length);
    wire_out_sent(held, held->length);
}

void cluster_settled(struct cluster *cluster, uint64_t turn)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t slot = cluster->slot ^ i;  // the older one first
        if (!cluster->turn[slot] || (cluster->turn[slot] > turn && !PLANTED(SETTLED_ALL))) continue;
        for (struct cluster_peer *peer = cluster->peers; peer; peer = peer->next)
            held_move(peer, slot);
        cluster->turn[slot] = 0;
        cluster->durable = cluster->journal[slot];
    }
}

bool cluster_check(struct cluster *cluster, rota_time ticks)
{
    if (ticks < cluster->check_at || PLANTED(FILES_UNCHECKED)) return true;
    cluster->check_at = ticks + CHECK_EVERY;
    return store_check(cluster->server->store);
}

static rota_time sooner(rota_time a, rota_time b)
{
    return a < b ? a : b;
}

rota_time cluster_deadline(const struct cluster *cluster)
{
    rota_time due = rota_deadline(cluster->server->rota), now = cluster->server->now;
    rota_time other = sooner(cluster->handlers.claims_due, cluster_ahead_due(cluster));
    other = sooner(other, cluster->drafts_at);
    if (cluster->handlers.look_again) return cluster->ticks;
    if (due == ROTA_NEVER) return other;
    return sooner(due > now ? cluster->ticks + (due - now) : cluster->ticks, other);
}
