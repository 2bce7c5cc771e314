// bounds.c - nothing grows without end: the memory of the core, and what the server keeps.
#include "sim/cluster/internal.h"

enum { CORE_BASE = 128 << 10, CORE_TASK = 2 << 10, OUT_MAX = 1 << 20 };

void *core_resize(void *context, void *old, size_t old_size, size_t new_size)
{
    struct world *world = context;
    void *memory = memory_resize_heap(NULL, old, old_size, new_size);
    if (memory || !new_size) world->core_bytes += new_size - old_size;
    return memory;
}

static void judge_core(struct world *world)
{
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < world->ledger.job_capacity; i++) tasks += world->ledger.jobs[i].count;
    if (world->core_bytes > CORE_BASE + CORE_TASK * tasks)
        wrong(world, "the core has %llu bytes for %llu tasks",
              (unsigned long long)world->core_bytes, (unsigned long long)tasks);
}

// A connection that is gone has no peer, and nobody is sent more than can be read.
static void judge_peers(struct world *world)
{
    uint32_t peers = 0, cables = 0;
    for (uint32_t i = 0; i < world->cable_count; i++) cables += world->cables[i]->peer != NULL;
    for (const struct hub_peer *peer = world->seat.hub.peers; peer; peer = peer->next) {
        peers++;
        if (peer->out->length + peer->held[0].length + peer->held[1].length > OUT_MAX)
            wrong(world, "a peer is sent more than 1 MiB at once");
    }
    if (peers > cables)
        wrong(world, "the server has %u peers on %u connections", peers, cables);
}

// What was kept of a job goes with it.
static void judge_jobs(struct world *world)
{
    const struct hub *hub = &world->seat.hub;
    for (uint32_t i = 0; i < hub->job_count; i++)
        if (!*rota_job_status(hub->server->rota, hub->jobs[i]->id))
            wrong(world, "the server keeps commands of job %u, which is gone",
                  hub->jobs[i]->id.number);
}

void judge_bounds(struct world *world)
{
    judge_core(world);
    judge_peers(world);
    judge_jobs(world);
}
