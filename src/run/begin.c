// begin.c - the first turn of a run: it resumes the job of an earlier run, or begins a new one.
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

// A job that fails as a whole accepts no more requests.
static bool has_failed_for_good(const struct run *run, rota_job_id job)
{
    return run->file->on_failure == ROTA_FAILURE_FAIL_JOB
           && strcmp(rota_job_status(run->server->rota, job), "FAILED") == 0;
}

static bool continues(const struct run *run, const struct run_start *start,
                    const struct run_entry *entry)
{
    return entry->job.number && entry->digest == run->digest && !start->fresh
           && run_sources_are_same(entry->watched, run->folder, start->stamp)
           && run_kept_are_there(run, entry->job, start->stamp)
           && !has_failed_for_good(run, entry->job);
}

// Closes the earlier job of the file.
static void job_leave(struct run *run, rota_job_id old, const struct run_held *held,
                      struct wire_out *out)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {old}};
    server_step(run->server, &event);
    run_drop(run, old, held, out);
}

static enum run_begun job_make(struct run *run, const struct run_start *start, rota_job_id old,
                               struct wire_out *out)
{
    bool *carried = os_allocate(run->file->task_count, sizeof *carried);
    rota_job_id counts = {start->fresh ? 0 : old.number};
    run_carry(run, counts, start->held, start->stamp, carried);
    enum rota_error error = run_submit(run, carried);
    if (!error) {
        if (old.number) job_leave(run, old, start->held, out);
        run_replace_worker(run);
        run_entry_put(run, start->path, start->watched);
        run_carry_out(run, carried, start->held);
    }
    free(carried);
    return error ? RUN_BEGIN_REFUSED : RUN_BEGUN;
}

enum run_begun run_job_begin(struct run *run, const struct run_start *start, struct wire_out *out)
{
    struct run_entry entry;
    run_entry_find(run->server->store, start->path, &entry);
    bool same = continues(run, start, &entry);
    if (!run_machines(run)) return RUN_BEGIN_FAILED;
    run_join(run, start->cores, start->memory_mib);
    if (!same) return job_make(run, start, entry.job, out);
    run->job = entry.job;
    run_resume(run, start->held);
    return RUN_BEGUN;
}

void run_preview(struct run *run, const struct run_start *start, bool *would)
{
    struct run_entry entry = {0};
    if (run->server && !start->fresh) run_entry_find(run->server->store, start->path, &entry);
    run_carry(run, entry.job, NULL, start->stamp, would);
    for (uint32_t i = 0; i < run->file->task_count; i++)
        would[i] = !would[i] && !run->file->tasks[i].is_bundle && run_wants(run, i);
}
