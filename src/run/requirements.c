// requirements.c - what a job file requires: a run that continues after failures, cores for
// streams.
#include "run/run.h"

#include <stdlib.h>

bool run_has_handlers(const struct jobfile *file)
{
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *task = &file->tasks[i];
        for (uint32_t k = 0; k < task->clause_count; k++) {
            enum rota_clause_kind kind = task->clauses[k].kind;
            if (kind == ROTA_CLAUSE_FAILED || kind == ROTA_CLAUSE_DONE) return true;
        }
    }
    return false;
}

// ---- Streams ------------------------------------------------------------------------------

static uint32_t root_of(uint32_t *joined, uint32_t task)
{
    while (joined[task] != task) task = joined[task] = joined[joined[task]];
    return task;
}

static bool streams_join(const struct jobfile *file, uint32_t *joined)
{
    bool any = false;
    for (uint32_t i = 0; i < file->task_count; i++) {
        for (uint32_t k = 0; k < file->tasks[i].input_count; k++) {
            const struct jobfile_input *input = &file->tasks[i].inputs[k];
            if (!input->producer) continue;
            const struct jobfile_task *producer = &file->tasks[input->producer - 1];
            if (producer->outputs[input->output - 1].kind != JOBFILE_STREAM) continue;
            joined[root_of(joined, i)] = root_of(joined, input->producer - 1);
            any = true;
        }
    }
    return any;
}

bool run_streams_fit(const struct jobfile *file, uint32_t cores, uint32_t *task, uint32_t *need)
{
    uint32_t count = file->task_count;
    uint32_t *joined = os_allocate(count, sizeof *joined);
    uint64_t *sums = os_allocate(count, sizeof *sums);
    bool fits = true;
    for (uint32_t i = 0; i < count; i++) joined[i] = i;
    bool any = streams_join(file, joined);
    for (uint32_t i = 0; any && i < count && fits; i++) {
        uint32_t root = root_of(joined, i);
        bool alone = root == i && !sums[root];
        sums[root] += file->tasks[i].is_bundle ? 0 : file->tasks[i].cores;
        fits = alone || sums[root] <= cores;
        *task = i;
        *need = (uint32_t)sums[root];
    }
    free(joined);
    free(sums);
    return fits;
}
