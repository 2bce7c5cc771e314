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

// A bundle is at work with any of its tasks; the others of it are not wanted for that.
static void bundles_join(struct run *run)
{
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        uint32_t bundle = run->file->tasks[i].bundle;
        if (bundle && run->wanted[i]) run->wanted[bundle - 1] = true;
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
    bundles_join(run);
    for (uint32_t i = 0; i < run->file->task_count; i++)
        if (!run->wanted[i]) run_phase_set(run, i, RUN_LEFT_OUT);
    return NULL;
}

bool run_wants(const struct run *run, uint32_t task)
{
    return !run->wanted || run->wanted[task];
}
