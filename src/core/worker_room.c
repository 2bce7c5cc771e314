// worker_room.c - a tree over the workers: the largest free room below each node.
//
// Finds the first worker with room in a few steps, however many workers there are. Cores and memory
// have separate maxima, so a node may promise both although no single worker has both; then the
// search turns back.
#include "base/planted.h"
#include "core/core.h"

bool room_reserve(struct rota *rota, uint32_t workers)
{
    uint32_t leaves = 16;
    while (leaves < workers) leaves *= 2;
    if (leaves <= rota->room_leaves) return true;
    uint32_t fresh = 0, same = 0;
    uint32_t *cores = NULL, *memory = NULL;
    if (!ARRAY_RESERVE(&rota->memory, cores, fresh, (uint64_t)leaves * 2)) return false;
    if (!ARRAY_RESERVE(&rota->memory, memory, same, (uint64_t)leaves * 2)) {
        ARRAY_RELEASE(&rota->memory, cores, fresh);
        return false;
    }
    uint32_t old = rota->room_capacity, old_again = rota->room_capacity;
    ARRAY_RELEASE(&rota->memory, rota->room_cores, old);
    ARRAY_RELEASE(&rota->memory, rota->room_memory, old_again);
    rota->room_cores = cores;
    rota->room_memory = memory;
    rota->room_leaves = leaves;
    rota->room_capacity = fresh;
    for (worker_row row = 1; row < rota->workers.count; row++) room_update(rota, row);
    return true;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// False: the node is unchanged, and so are all nodes above it.
static bool node_update(struct rota *rota, uint32_t at)
{
    assert(at);
    uint32_t cores = larger(rota->room_cores[at * 2], rota->room_cores[at * 2 + 1]);
    uint32_t memory = larger(rota->room_memory[at * 2], rota->room_memory[at * 2 + 1]);
    if (cores == rota->room_cores[at] && memory == rota->room_memory[at]) return false;
    rota->room_cores[at] = cores;
    rota->room_memory[at] = memory;
    return true;
}

// Free cores are stored plus one, so that zero means "takes no tasks".
void room_update(struct rota *rota, worker_row row)
{
    assert(IS_ROW(rota->workers, row));
    const struct worker *worker = WORKER(rota, row);
    uint64_t cores = 0, memory = 0;
    bool open = worker->id && worker->silent_since == ROTA_NEVER
                && (!worker->paused || PLANTED(PAUSE_ROOMY))
                && (!worker->slots || worker->tasks < worker->slots);
    if (open && worker->cores_used <= worker->cores && worker->memory_used <= worker->memory_mib) {
        cores = worker->cores - worker->cores_used + 1;
        memory = worker->memory_mib - worker->memory_used;
    }
    uint32_t at = rota->room_leaves + row;
    rota->room_cores[at] = cores > UINT32_MAX ? UINT32_MAX : (uint32_t)cores;
    rota->room_memory[at] = (uint32_t)memory;
    while ((at /= 2) > 0 && node_update(rota, at)) continue;
}

// Walks the leaves from left to right, skipping every subtree that cannot have room.
worker_row room_find(const struct rota *rota, const struct profile *profile)
{
    if (rota->room_leaves == 0) return 0;
    uint32_t at = 1;
    while (at) {
        bool may = rota->room_cores[at] > profile->wants.cores
                   && rota->room_memory[at] >= profile->wants.memory_mib;
        if (may && at >= rota->room_leaves) {
            worker_row row = at - rota->room_leaves;
            if (!profile->wants.machine || WORKER(rota, row)->machine == profile->wants.machine)
                return row;
            may = false;
        }
        if (may) {
            at *= 2;
            continue;
        }
        while (at & 1) at /= 2;
        if (at) at++;
    }
    return 0;
}
