// judge_pause.c - nothing new is given out where a pause was acknowledged, before somebody asks
// that it goes on.
//
// What is known is what was answered. A wish to go on may be carried out at any time from when it
// is made until it is answered: all pauses before and during that time prove nothing. Nor do those
// of a worker that has joined since: it may have been lost, which ends a pause.
#include "sim/cluster/internal.h"

static bool is_about(const struct request *request, uint32_t part, uint32_t number)
{
    return request->kind == REQUEST_REST && request->part == part && request->number == number;
}

// Where it is kept whether something rests, for sure.
static bool *rest_of(struct world *world, uint32_t part, uint32_t number)
{
    struct ghost_job *job = part == WIRE_PART_JOB ? ghost_find(world, number) : NULL;
    if (part == WIRE_PART_LANE) return &world->lane_rests[number];
    if (part == WIRE_PART_WORKER) return &world->hands[number - 1].rests;
    return job ? &job->rests : NULL;
}

void rest_void(struct world *world, uint32_t part, uint32_t number)
{
    bool *rests = rest_of(world, part, number);
    if (rests) *rests = false;
    for (uint32_t who = 0; who < world->swarm.callers; who++)
        for (uint32_t i = 0; i < world->callers[who].request_count; i++) {
            struct request *request = &world->callers[who].requests[i];
            if (is_about(request, part, number)) request->is_void = true;
        }
}

bool rest_may_end(const struct world *world, uint32_t part, uint32_t number)
{
    for (uint32_t who = 0; who < world->swarm.callers; who++)
        for (uint32_t i = 0; i < world->callers[who].request_count; i++) {
            const struct request *request = &world->callers[who].requests[i];
            if (is_about(request, part, number) && request->verb == WIRE_RESUME
                && !request->answered)
                return true;
        }
    return false;
}

void rest_told(struct world *world, const struct request *request)
{
    static const enum world_sight sights[]
        = {[WIRE_PART_LANE] = SIGHT_REST_LANE, [WIRE_PART_WORKER] = SIGHT_REST_WORKER,
           [WIRE_PART_JOB] = SIGHT_REST_JOB};
    see(world, request->verb == WIRE_RESUME ? SIGHT_RESUME : sights[request->part]);
    if (request->verb == WIRE_RESUME || request->is_void) return;
    bool *rests = rest_of(world, request->part, request->number);
    if (rests) *rests = true;
}

// The hand behind a worker of the core; NOBODY: a handler has it.
static uint32_t hand_of(const struct world *world, uint32_t worker)
{
    const struct hub *hub = &world->seat.hub;
    for (uint32_t i = 0; worker && i < hub->worker_count; i++) {
        if (hub->workers[i]->id.number != worker) continue;
        for (uint32_t h = 0; h < world->swarm.hands; h++)
            if (strcmp(hub->workers[i]->name, world->hands[h].name) == 0) return h;
    }
    return NOBODY;
}

void rest_joined(struct world *world, uint32_t worker)
{
    uint32_t who = hand_of(world, worker);
    if (who != NOBODY) rest_void(world, WIRE_PART_WORKER, who + 1);
}

// Null: nothing that it belongs to rests.
const char *rest_over(struct world *world, rota_task_id task, uint32_t worker)
{
    const struct ghost_job *job = ghost_find(world, task.job);
    if (!job || !task.task || task.task > job->count) return NULL;
    if (job->rests) return "job";
    if (world->lane_rests[job->tasks[task.task - 1].lane]) return "lane";
    uint32_t who = hand_of(world, worker);
    return who != NOBODY && world->hands[who].rests ? "worker" : NULL;
}
