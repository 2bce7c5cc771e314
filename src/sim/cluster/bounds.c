// bounds.c - checks that nothing grows without limit: the memory of the core and of the server.
#include "sim/cluster/internal.h"

enum { CORE_BASE = 128 << 10, CORE_TASK = 2 << 10, OUT_MAX = 1 << 20 };

void *core_resize(void *context, void *old, size_t old_size, size_t new_size)
{
    struct sim *sim = context;
    void *memory = memory_resize_heap(NULL, old, old_size, new_size);
    if (memory || !new_size) sim->core_bytes += new_size - old_size;
    return memory;
}

static void judge_core(struct sim *sim)
{
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < sim->known.job_capacity; i++) tasks += sim->known.jobs[i].count;
    if (sim->core_bytes > CORE_BASE + CORE_TASK * tasks)
        wrong(sim, "the core has %llu bytes for %llu tasks",
              (unsigned long long)sim->core_bytes, (unsigned long long)tasks);
}

// A closed connection has no peer, and a peer is not sent more than it can read.
static void judge_peers(struct sim *sim)
{
    uint32_t peers = 0, links = 0;
    for (uint32_t i = 0; i < sim->link_count; i++) links += sim->links[i]->peer != NULL;
    for (const struct cluster_peer *peer = sim->daemon.cluster.peers; peer; peer = peer->next) {
        peers++;
        if (peer->out->length + peer->held[0].length + peer->held[1].length > OUT_MAX)
            wrong(sim, "a peer is sent more than 1 MiB in one message");
    }
    if (peers > links)
        wrong(sim, "the server has %u peers on %u connections", peers, links);
}

// The server releases what it keeps for a job together with the job.
static void judge_jobs(struct sim *sim)
{
    const struct cluster *cluster = &sim->daemon.cluster;
    for (uint32_t i = 0; i < cluster->job_count; i++)
        if (!*rota_job_status(cluster->server->rota, cluster->jobs[i]->id))
            wrong(sim, "the server keeps commands of job %u, which is closed",
                  cluster->jobs[i]->id.number);
}

void judge_bounds(struct sim *sim)
{
    judge_core(sim);
    judge_peers(sim);
    judge_jobs(sim);
}
