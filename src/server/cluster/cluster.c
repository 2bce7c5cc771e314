// cluster.c - turns: begun, decided, written, and told when they are durable.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/tokens.h"
#include "server/cluster/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCK_LEAP = 16 };  // of a lease: so little a clock may run ahead unnoticed
enum { CHECK_EVERY = 500000 };  // files that are gone are noticed within a second

_Noreturn void hub_no_memory(void)
{
    fputs("rota: no memory; what was promised is in the database\n", stderr);
    exit(70);
}

void *hub_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) hub_no_memory();
    return memory;
}

void *hub_keep(struct hub *hub, size_t count, size_t size)
{
    void *memory = server_keep(hub->server, count ? count : 1, size);
    if (!memory) hub_no_memory();
    return memory;
}

// ---- Opening ---------------------------------------------------------------------------------

// A lease that ran before we were there may have been renewed without a trace: all begin anew.
static void worker_take_over(struct hub *hub, uint32_t number)
{
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_HEARD};
    struct rota_worker_view view;
    event.worker.id.number = number;
    if (!rota_worker_look(hub->server->rota, event.worker.id, &view)) return;
    server_step(hub->server, &event);
    event.kind = ROTA_EVENT_WORKER_SILENT;
    server_step(hub->server, &event);
    hub_worker_meet(hub, event.worker.id, NULL)->silent = true;
}

bool hub_open(struct hub *hub, struct server *server, const struct hub_limits *limits,
              rota_time now, rota_time ticks)
{
    *hub = (struct hub){.server = server, .limits = *limits, .ticks = ticks};
    hub->drafts_at = ROTA_NEVER;
    hub->opened = (uint64_t)now;
    if (!hub_names_load(hub)) return false;
    server_begin(server, now);
    hub_self_open(hub, now);
    for (uint32_t i = 1; i <= hub->last_name[CATALOG_WORKER]; i++)
        if (!PLANTED(TAKE_OVER_SKIPPED)) worker_take_over(hub, i);
    hub_jobs_load(hub);
    hub_claims_open(hub);
    bool done = server_commit(server);
    hub->durable = store_journal_last(server->store);
    return done;
}

void hub_close(struct hub *hub)
{
    static const struct memory heap = {memory_resize_heap, NULL};
    hub_readers_forget(hub, NULL);
    while (hub->peers) hub_peer_release(hub, hub->peers);
    while (hub->job_count) hub_job_drop(hub, hub->jobs[hub->job_count - 1]->id);
    for (uint32_t i = 0; i < hub->worker_count; i++) {
        free(hub->workers[i]->name);
        free(hub->workers[i]->address);
        free(hub->workers[i]->user);
        hub_told_end(hub->workers[i]);
        hub_tokens_release(hub->workers[i]);
        free(hub->workers[i]);
    }
    hub_claims_close(hub);
    guide_close(hub->guide);
    free(hub->workers);
    free(hub->jobs);
    free(hub->over);
    free(hub->tried);
    free(hub->doubts);
    free(hub->liars);
    hub_depot_close(hub);
    map_release(&heap, &hub->workers_by_id);
    map_release(&heap, &hub->workers_by_folder);
    map_release(&heap, &hub->jobs_by_id);
    for (int i = 0; i < CATALOG_KINDS; i++) map_release(&heap, &hub->names[i]);
    *hub = (struct hub){0};
}

// ---- A turn ----------------------------------------------------------------------------------

bool hub_can_begin(const struct hub *hub)
{
    return hub->turn[hub->slot] == 0;
}

// A clock that is set ahead must not end a lease: its worker counts by another one.
static void leases_renew(struct hub *hub)
{
    for (uint32_t i = 0; i < hub->worker_count; i++)
        if (hub->workers[i]->silent) worker_take_over(hub, hub->workers[i]->id.number);
}

// The time of the core goes on with the ticks, and ahead with the clock; when the clock is set
// back, what is due does not wait until it has caught up.
void hub_begin(struct hub *hub, rota_time now, rota_time ticks)
{
    assert(hub_can_begin(hub));
    rota_time expected = hub->server->now + (ticks - hub->ticks);
    bool leapt = now - expected > hub->limits.lease / CLOCK_LEAP;
    hub->ticks = ticks;
    hub->reasons = NULL;
    server_begin(hub->server, now > expected || PLANTED(CLOCK_STANDS) ? now : expected);
    if (leapt && !PLANTED(LEAP_IGNORED)) leases_renew(hub);
    hub_claims_begin(hub);
    hub_jobs_close(hub);
}

struct wire_out *hub_later(struct hub *hub, struct hub_peer *peer)
{
    return PLANTED(TOLD_EARLY) ? peer->out : &peer->held[hub->slot];
}

uint64_t hub_write(struct hub *hub)
{
    hub_workers_look(hub);
    hub_drafts_look(hub);
    hub_depot_sweep(hub);
    hub_claims_look(hub);
    hub_wishes_look(hub);
    hub_ahead_look(hub);
    if (!server_decide(hub->server)) return 0;
    hub->handlers.look_again = hub->handlers.waiting.first && hub->server->effects.record_count;
    hub_perform(hub);
    hub_watches_look(hub);
    hub_self_look(hub);
    uint64_t turn = server_commit_write(hub->server);
    hub->turn[hub->slot] = turn;
    hub->journal[hub->slot] = store_journal_last(hub->server->store);
    hub->slot ^= 1;
    return turn;
}

static void held_move(struct hub_peer *peer, uint32_t slot)
{
    struct wire_out *held = &peer->held[slot];
    if (held->failed) hub_no_memory();
    if (!held->length) return;
    wire_out_append(peer->out, held->bytes, held->length);
    held->length = held->sent = 0;
}

void hub_settled(struct hub *hub, uint64_t turn)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t slot = hub->slot ^ i;  // the older one first
        if (!hub->turn[slot] || (hub->turn[slot] > turn && !PLANTED(SETTLED_ALL))) continue;
        for (struct hub_peer *peer = hub->peers; peer; peer = peer->next) held_move(peer, slot);
        hub->turn[slot] = 0;
        hub->durable = hub->journal[slot];
    }
}

bool hub_check(struct hub *hub, rota_time ticks)
{
    if (ticks < hub->check_at || PLANTED(FILES_UNCHECKED)) return true;
    hub->check_at = ticks + CHECK_EVERY;
    return store_check(hub->server->store);
}

static rota_time sooner(rota_time a, rota_time b)
{
    return a < b ? a : b;
}

rota_time hub_deadline(const struct hub *hub)
{
    rota_time due = rota_deadline(hub->server->rota), now = hub->server->now;
    rota_time other = sooner(hub->handlers.claims_due, hub_ahead_due(hub));
    other = sooner(other, hub->drafts_at);
    if (hub->handlers.look_again) return hub->ticks;
    if (due == ROTA_NEVER) return other;
    return sooner(due > now ? hub->ticks + (due - now) : hub->ticks, other);
}
