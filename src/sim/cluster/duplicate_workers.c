// duplicate_workers.c - workers that use the name, or a copy of the folder, of another worker.
//
// They connect and leave like all other workers until the faults end. A worker that is told that
// its name is in use ends, as `rota worker` does, and is started again later.
#include "sim/cluster/internal.h"

enum duplicate_kind { SAME_NAME, SAME_FOLDER, SAME_BOTH, TWIN_KINDS };

void duplicates_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    if (choose(sim, OF_DUPLICATES, 4) != 1) return;
    setting->duplicates = 1 + choose(sim, OF_DUPLICATES, 2);
    setting->nodes += setting->duplicates;
}

void duplicate_make(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    uint32_t like = choose(sim, OF_DUPLICATES, sim->setting.nodes - sim->setting.duplicates);
    const struct node *first = &sim->nodes[like];
    enum duplicate_kind kind = (enum duplicate_kind)choose(sim, OF_DUPLICATES, TWIN_KINDS);
    if (kind != SAME_FOLDER) snprintf(node->name, sizeof node->name, "worker-%u", like + 1);
    if (kind != SAME_NAME) node->folder = first->folder;
    node->cores = first->cores;
    node->is_duplicate = true;
    int64_t comes = choose_time(sim, OF_DUPLICATES, sim->setting.fault_time);
    event_queue_add(&sim->queue, comes, DUE_WORKER_UP, who, 0);
}

void duplicates_end(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->setting.nodes; i++) {
        if (!sim->nodes[i].is_duplicate) continue;
        sim_node_crash(sim, i, false);
        sim_node_end(sim, i);
    }
}

// A worker with another name that connected while the first one was silent stays, even if it is cut
// off later.
static bool is_like(const struct node *node, const struct node *other)
{
    bool is_copy = node->folder == other->folder && node->place != other->place
                   && node->welcomed != node->boot;
    return strcmp(node->name, other->name) == 0 || is_copy;
}

// One heartbeat, at the interval that the server asked for, is enough.
const struct node *duplicate_alive(const struct sim *sim, uint32_t who)
{
    const struct node *node = &sim->nodes[who];
    int64_t patience = sim->daemon.cluster.limits.beat;
    for (uint32_t i = 0; i < sim->setting.nodes; i++) {
        const struct node *other = &sim->nodes[i];
        if (i == who || !is_like(node, other) || !other->up || !other->welcome) continue;
        const struct link *link = sim->links[other->link];
        bool is_open = link->open[SERVER_SIDE] && link->peer && !link->peer->closing;
        if (is_open && link->heard && sim->now - link->heard <= patience) return other;
    }
    return NULL;
}

bool duplicate_shares_name(const struct sim *sim, const struct node *node)
{
    for (uint32_t i = 0; i < sim->setting.nodes; i++) {
        const struct node *other = &sim->nodes[i];
        if (other != node && strcmp(other->name, node->name) == 0) return true;
    }
    return false;
}
