// first_turn.c - the first turn of a run, or a preview of it (--dry-run).
#include "run/loop.h"
#include "os/os.h"
#include "os/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct run_start start_of(const struct runner *runner)
{
    return (struct run_start){.path = runner->path,
                              .watched = runner->watched,
                              .stamp = os_stamp,
                              .held = &runner->held,
                              .cores = runner->cores,
                              .memory_mib = runner->memory_mib,
                              .fresh = runner->options.fresh};
}

int runner_begin(struct runner *runner)
{
    struct run *run = &runner->run;
    runner->watched = run_watched(run, os_stamp);
    struct run_start start = start_of(runner);
    server_begin(run->server, runner_now(runner));
    enum run_begun begun = run_job_begin(run, &start, &runner->out);
    if (begun == RUN_BEGIN_REFUSED) {
        fprintf(stderr, "%s: %s\n", runner->options.path, run->server->reason);
        return 2;
    }
    bool fine = begun == RUN_BEGUN && server_decide(run->server) && runner_perform(runner);
    return fine ? 0 : session_failed(&runner->session);
}

// ---- Preview ----------------------------------------------------------------------------------

static void would_print(const struct runner *runner, const struct jobfile_task *task)
{
    if (!runner->options.json) {
        printf("%s: ", task->name);
        plain_lines_write(stdout, task->command, strlen(task->command));
        putchar('\n');
        return;
    }
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "task", task->name);
    json_string(&json, "command", task->command);
    json_line(&json);
}

int runner_look(struct runner *runner)
{
    struct run *run = &runner->run;
    struct run_start start = start_of(runner);
    bool *would = os_allocate(run->file->task_count, sizeof *would);
    run_preview(run, &start, would);
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        if (!would[run->order[i]]) continue;
        count++;
        would_print(runner, &run->file->tasks[run->order[i]]);
    }
    if (!runner->options.json)
        printf("%u of %u would run\n", count, run->file->task_count - run->file->bundle_count);
    free(would);
    return 0;
}
