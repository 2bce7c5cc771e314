// run_begin.c - the first turn of a run: a job of an earlier run goes on, or a new one begins.
#include "cli/runner.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A job that fails as a whole takes no request any more.
static bool has_failed_for_good(const struct run *run, rota_job_id job)
{
    return run->file->on_failure == ROTA_FAILURE_FAIL_JOB
           && strcmp(rota_job_status(run->server->rota, job), "FAILED") == 0;
}

static int job_begin(struct runner *runner)
{
    struct run *run = &runner->run;
    struct server *server = run->server;
    struct run_entry entry;
    runner->watched = run_watched(run, os_stamp);
    bool known = run_entry_find(runner->session.store, runner->path, &entry);
    bool same = known && entry.digest == run->digest && !runner->options.fresh
                && run_watched_is_same(entry.watched, runner->folder, os_stamp);
    same = same && !has_failed_for_good(run, entry.job);
    server_begin(server, os_now());
    if (!run_machines(run)) return session_failed(&runner->session);
    run_join(run, runner->cores, runner->memory_mib);
    if (same) {
        run->job = entry.job;
        run_resume(run, &runner->held);
        return 0;
    }
    bool *carried = run_allocate(run->file->task_count, sizeof *carried);
    rota_job_id old = {known && !runner->options.fresh ? entry.job.number : 0};
    run_carry(run, old, &runner->held, os_stamp, carried);
    enum rota_error error = run_submit(run, carried);
    if (error) {
        fprintf(stderr, "%s: %s\n", runner->options.path, server->reason);
        free(carried);
        return 2;
    }
    if (known) {
        struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {entry.job}};
        server_step(server, &event);
        run_drop(run, entry.job, &runner->held, &runner->out);
    }
    run_replace_worker(run);
    run_entry_put(run, runner->path, runner->watched);
    run_carry_out(run, carried, &runner->held);
    free(carried);
    return 0;
}

int runner_begin(struct runner *runner)
{
    int status = job_begin(runner);
    if (status) return status;
    bool fine = server_decide(runner->run.server) && runner_perform(runner);
    return fine ? 0 : session_failed(&runner->session);
}

// ---- Only looking -----------------------------------------------------------------------------

static void would_print(const struct runner *runner, const struct jobfile_task *task)
{
    if (!runner->options.json) {
        printf("%s: ", task->name);
        plain_lines_write(stdout, task->command, strlen(task->command));
        putchar('\n');
        return;
    }
    fputs("{\"task\":", stdout);
    json_text(stdout, task->name);
    fputs(",\"command\":", stdout);
    json_text(stdout, task->command);
    puts("}");
}

int runner_look(struct runner *runner)
{
    struct run *run = &runner->run;
    struct run_entry entry = {0};
    bool *done = run_allocate(run->file->task_count, sizeof *done);
    bool known = runner->session.store && !runner->options.fresh
                 && run_entry_find(runner->session.store, runner->path, &entry);
    if (runner->session.store)
        run_carry(run, known ? entry.job : (rota_job_id){0}, NULL, os_stamp, done);
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        const struct jobfile_task *task = &run->file->tasks[run->order[i]];
        if (task->is_bundle || done[run->order[i]] || !run_wants(run, run->order[i])) continue;
        count++;
        would_print(runner, task);
    }
    if (!runner->options.json)
        printf("%u of %u would run\n", count, run->file->task_count - run->file->bundle_count);
    free(done);
    return 0;
}
