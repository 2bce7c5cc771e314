// only.c - which tasks are wanted: some by name, and all they need.
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

static bool task_find(const struct jobfile *file, const char *name, size_t length, uint32_t *at)
{
    for (*at = 0; *at < file->task_count; ++*at) {
        const char *other = file->tasks[*at].name;
        if (strncmp(other, name, length) == 0 && !other[length]) return true;
    }
    return false;
}

// From the last in order to the first: whoever is wanted wants what it waits for.
static void spread(struct run *run)
{
    uint32_t other;
    for (uint32_t i = run->file->task_count; i-- > 0;) {
        uint32_t at = run->order[i];
        if (!run->wanted[at]) continue;
        for (uint32_t k = 0; (k = jobfile_waits(&run->file->tasks[at], k, &other)) != 0;)
            run->wanted[other] = true;
    }
}

const char *run_only(struct run *run, const char *names)
{
    uint32_t at;
    run->wanted = run_allocate(run->file->task_count, sizeof *run->wanted);
    while (*names) {
        size_t length = strcspn(names, ",");
        if (!task_find(run->file, names, length, &at)) return names;
        run->wanted[at] = true;
        names += length + (names[length] == ',');
    }
    spread(run);
    for (uint32_t i = 0; i < run->file->task_count; i++)
        if (!run->wanted[i]) run_phase_set(run, i, RUN_LEFT_OUT);
    return NULL;
}

bool run_wants(const struct run *run, uint32_t task)
{
    return !run->wanted || run->wanted[task];
}
