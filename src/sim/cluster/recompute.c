// recompute.c - a second opinion on who may start: computed anew from what clients asked for and
// what has ended, without a look at how the core keeps count.
#include "sim/cluster/internal.h"

enum { LINE_MAX = 150 };

static enum rota_task_state state_of(const struct world *world, const struct ghost_job *job,
                                     uint32_t number)
{
    return rota_task_state(world->seat.server.rota, (rota_task_id){job->number, number});
}

// A worker tells of what it has made before it tells that the task is over: then one is enough, or
// both are to be.
enum strictness { ENOUGH, ALL };

// The number of a need that is not there; 0: all are.
static uint32_t lack_find(const struct world *world, uint32_t job, const struct ghost_task *task,
                          enum strictness strictness)
{
    const struct rota *rota = world->seat.server.rota;
    for (uint32_t i = 0; i < task->need_count; i++) {
        uint32_t need = task->needs[i];
        rota_object_id object = ghost_object(job, need);
        bool reads = task->reads >> i & 1;
        bool there = !reads || rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0) > 0;
        bool over = state_of(world, world->jobs[job], need) == ROTA_TASK_SUCCEEDED
                    || (reads && strictness == ENOUGH);
        if (!over || !there) return need;
    }
    return 0;
}

static void judge_waits(struct world *world, uint32_t number, uint32_t index)
{
    const struct ghost_job *job = world->jobs[number];
    const struct ghost_task *task = &job->tasks[index];
    char line[LINE_MAX];
    if (ledger_backs_off(world, (rota_task_id){job->number, index + 1})) return;
    if (lack_find(world, number, task, ALL) || !when_is_true(world, job, task)) return;
    snprintf(line, sizeof line, "expect state t%u_%u = READY|RUNNING|SUCCESS|FAILED|ABORTED",
             job->number, index + 1);
    wrong_of_core(world, line, "%u.%u waits and lacks nothing", job->number, index + 1);
}

static void judge_offered(struct world *world, uint32_t number, uint32_t index)
{
    const struct ghost_job *job = world->jobs[number];
    uint32_t lack = lack_find(world, number, &job->tasks[index], ENOUGH);
    char line[LINE_MAX];
    if (!lack) return;
    snprintf(line, sizeof line, "expect state t%u_%u = WAITING", job->number, index + 1);
    wrong_of_core(world, line, "%u.%u may start and lacks %u", job->number, index + 1, lack);
}

static void judge_one(struct world *world, uint32_t number, uint32_t index)
{
    const struct ghost_job *job = world->jobs[number];
    if (job->tasks[index].is_bundle || job->tasks[index].drinks) return;
    switch (state_of(world, job, index + 1)) {
    case ROTA_TASK_WAITING:
    case ROTA_TASK_BLOCKED:
        see(world, SIGHT_SECOND_WAITS);
        judge_waits(world, number, index);
        break;
    case ROTA_TASK_HELD:
    case ROTA_TASK_OFFERED:
        see(world, SIGHT_SECOND_OFFERED);
        judge_offered(world, number, index);
        break;
    default: break;
    }
}

void judge_second(struct world *world)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        const struct ghost_job *job = world->jobs[i];
        uint32_t there = job->grown ? job->count : job->first;
        for (uint32_t t = 0; job->told && t < there; t++) judge_one(world, i, t);
    }
}
