// recompute.c - decides again which tasks may start, from what clients submitted and what has
// ended, without the counters of the core.
#include "sim/cluster/internal.h"

enum { LINE_MAX = 150 };

static enum rota_task_state state_of(const struct sim *sim, const struct expected_job *job,
                                     uint32_t number)
{
    return rota_task_state(sim->daemon.server.rota, (rota_task_id){job->number, number});
}

// A worker reports an output before it reports the end of the task: then one of them is enough, or
// both are required.
enum strictness { ENOUGH, ALL };

// The number of a missing dependency; 0: nothing is missing.
static uint32_t lack_find(const struct sim *sim, uint32_t job, const struct expected_task *task,
                          enum strictness strictness)
{
    const struct rota *rota = sim->daemon.server.rota;
    for (uint32_t i = 0; i < task->need_count; i++) {
        uint32_t need = task->needs[i];
        rota_object_id object = sim_expected_object(job, need);
        bool reads = task->reads >> i & 1;
        bool there = !reads || rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0) > 0;
        bool over = state_of(sim, sim->jobs[job], need) == ROTA_TASK_SUCCEEDED
                    || (reads && strictness == ENOUGH);
        if (!over || !there) return need;
    }
    return 0;
}

static void judge_waits(struct sim *sim, uint32_t number, uint32_t index)
{
    const struct expected_job *job = sim->jobs[number];
    const struct expected_task *task = &job->tasks[index];
    char line[LINE_MAX];
    if (core_record_backs_off(sim, (rota_task_id){job->number, index + 1})) return;
    if (lack_find(sim, number, task, ALL) || !when_is_true(sim, job, task)) return;
    snprintf(line, sizeof line, "expect state t%u_%u = READY|RUNNING|SUCCESS|FAILED|ABORTED",
             job->number, index + 1);
    wrong_of_core(sim, line, "%u.%u waits and lacks no dependency", job->number, index + 1);
}

static void judge_offered(struct sim *sim, uint32_t number, uint32_t index)
{
    const struct expected_job *job = sim->jobs[number];
    uint32_t lack = lack_find(sim, number, &job->tasks[index], ENOUGH);
    char line[LINE_MAX];
    if (!lack) return;
    snprintf(line, sizeof line, "expect state t%u_%u = WAITING", job->number, index + 1);
    wrong_of_core(sim, line, "%u.%u may start and lacks %u", job->number, index + 1, lack);
}

static void judge_one(struct sim *sim, uint32_t number, uint32_t index)
{
    const struct expected_job *job = sim->jobs[number];
    if (job->tasks[index].is_bundle || job->tasks[index].reads_stream) return;
    switch (state_of(sim, job, index + 1)) {
    case ROTA_TASK_WAITING:
    case ROTA_TASK_BLOCKED:
        see(sim, SIGHT_RECOMPUTED_WAITS);
        judge_waits(sim, number, index);
        break;
    case ROTA_TASK_HELD:
    case ROTA_TASK_OFFERED:
        see(sim, SIGHT_RECOMPUTED_OFFERED);
        judge_offered(sim, number, index);
        break;
    default: break;
    }
}

void judge_recomputed(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->job_count; i++) {
        const struct expected_job *job = sim->jobs[i];
        uint32_t there = job->grown ? job->count : job->first;
        for (uint32_t t = 0; job->told && t < there; t++) judge_one(sim, i, t);
    }
}
