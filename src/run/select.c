// select.c - which tasks run: those selected by name, and their dependencies.
#include "run/run.h"

#include <string.h>

static bool is_called(const char *called, const char *name, size_t length)
{
    return called && strncmp(called, name, length) == 0 && !called[length];
}

// The group of the tasks "part Nr. {{item}}" is called "part Nr", without separators at its end.
static size_t group_length(const char *name, size_t length)
{
    while (length && strchr("-_.: ", name[length - 1])) length--;
    return length;
}

// Selects a task, or all tasks that were generated from one entry of the file.
static bool name_want(struct run *run, const char *name, size_t length)
{
    bool found = false;
    size_t group = group_length(name, length);
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        const struct jobfile_task *task = &run->file->tasks[i];
        if (!is_called(task->name, name, length) && !is_called(task->family, name, group))
            continue;
        found = run->wanted[i] = true;
    }
    return found;
}

// Selects the dependencies of selected tasks, from the last task in order to the first.
static void tee(struct run *run)
{
    uint32_t other;
    for (uint32_t i = run->file->task_count; i-- > 0;) {
        uint32_t at = run->order[i];
        if (!run->wanted[at]) continue;
        for (uint32_t k = 0; (k = jobfile_waits(&run->file->tasks[at], k, &other)) != 0;)
            run->wanted[other] = true;
    }
}

// The writer of a stream waits for all its readers, so they are selected, too. True: some were
// added.
static bool streams_spread(struct run *run)
{
    bool more = false;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        const struct jobfile_task *task = &run->file->tasks[i];
        for (uint32_t k = 0; !run->wanted[i] && k < task->input_count; k++) {
            const struct jobfile_input *input = &task->inputs[k];
            if (!input->producer || !run->wanted[input->producer - 1]) continue;
            const struct jobfile_task *producer = &run->file->tasks[input->producer - 1];
            bool stream = producer->outputs[input->output - 1].kind == JOBFILE_STREAM;
            more |= run->wanted[i] = stream;
        }
    }
    return more;
}

// A bundle runs if any of its tasks runs; that does not select its other tasks.
static void bundles_join(struct run *run)
{
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        uint32_t bundle = run->file->tasks[i].bundle;
        if (bundle && run->wanted[i]) run->wanted[bundle - 1] = true;
    }
}

const char *run_only(struct run *run, const char *names)
{
    run->wanted = os_allocate(run->file->task_count, sizeof *run->wanted);
    while (*names) {
        size_t length = strcspn(names, ",");
        if (!name_want(run, names, length)) return names;
        names += length + (names[length] == ',');
    }
    do tee(run);
    while (streams_spread(run));
    bundles_join(run);
    for (uint32_t i = 0; i < run->file->task_count; i++)
        if (!run->wanted[i]) run_phase_set(run, i, RUN_LEFT_OUT);
    return NULL;
}

bool run_wants(const struct run *run, uint32_t task)
{
    return !run->wanted || run->wanted[task];
}
