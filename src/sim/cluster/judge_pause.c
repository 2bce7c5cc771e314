// judge_pause.c - checks that nothing is given out where a pause was acknowledged, until a client
// resumes it.
//
// Only answers are certain. A request to resume may be carried out at any time from when it is sent
// until it is answered: pauses before and during that time prove nothing. Nor do pauses of a worker
// that has joined again since: it may have been lost, which ends a pause.
#include "sim/cluster/internal.h"

static bool is_about(const struct request *request, uint32_t part, uint32_t number)
{
    return request->kind == REQUEST_PAUSE && request->part == part && request->number == number;
}

// Where it is recorded whether something is certainly paused.
static bool *pause_of(struct sim *sim, uint32_t part, uint32_t number)
{
    struct expected_job *job = part == WIRE_PART_JOB ? sim_expected_find(sim, number) : NULL;
    if (part == WIRE_PART_LANE) return &sim->lane_is_paused[number];
    if (part == WIRE_PART_WORKER) return &sim->nodes[number - 1].is_paused;
    return job ? &job->is_paused : NULL;
}

void pause_void(struct sim *sim, uint32_t part, uint32_t number)
{
    bool *paused = pause_of(sim, part, number);
    if (paused) *paused = false;
    for (uint32_t who = 0; who < sim->setting.clients; who++)
        for (uint32_t i = 0; i < sim->clients[who].request_count; i++) {
            struct request *request = &sim->clients[who].requests[i];
            if (is_about(request, part, number)) request->is_void = true;
        }
}

bool pause_may_end(const struct sim *sim, uint32_t part, uint32_t number)
{
    for (uint32_t who = 0; who < sim->setting.clients; who++)
        for (uint32_t i = 0; i < sim->clients[who].request_count; i++) {
            const struct request *request = &sim->clients[who].requests[i];
            if (is_about(request, part, number) && request->verb == WIRE_RESUME
                && !request->answered)
                return true;
        }
    return false;
}

void pause_told(struct sim *sim, const struct request *request)
{
    static const enum sim_sight sights[]
        = {[WIRE_PART_LANE] = SIGHT_PAUSE_LANE, [WIRE_PART_WORKER] = SIGHT_PAUSE_WORKER,
           [WIRE_PART_JOB] = SIGHT_PAUSE_JOB};
    see(sim, request->verb == WIRE_RESUME ? SIGHT_RESUME : sights[request->part]);
    if (request->verb == WIRE_RESUME || request->is_void) return;
    bool *paused = pause_of(sim, request->part, request->number);
    if (paused) *paused = true;
}

// The worker with that id in the core. NOBODY: a handler has the task.
static uint32_t node_of(const struct sim *sim, uint32_t worker)
{
    const struct cluster *cluster = &sim->daemon.cluster;
    for (uint32_t i = 0; worker && i < cluster->worker_count; i++) {
        if (cluster->workers[i]->id.number != worker) continue;
        for (uint32_t h = 0; h < sim->setting.nodes; h++)
            if (strcmp(cluster->workers[i]->name, sim->nodes[h].name) == 0) return h;
    }
    return NOBODY;
}

void pause_joined(struct sim *sim, uint32_t worker)
{
    uint32_t who = node_of(sim, worker);
    if (who != NOBODY) pause_void(sim, WIRE_PART_WORKER, who + 1);
}

// Null: nothing that it belongs to is paused.
const char *pause_over(struct sim *sim, rota_task_id task, uint32_t worker)
{
    const struct expected_job *job = sim_expected_find(sim, task.job);
    if (!job || !task.task || task.task > job->count) return NULL;
    if (job->is_paused) return "job";
    if (sim->lane_is_paused[job->tasks[task.task - 1].lane]) return "lane";
    uint32_t who = node_of(sim, worker);
    return who != NOBODY && sim->nodes[who].is_paused ? "worker" : NULL;
}
