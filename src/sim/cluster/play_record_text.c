// play_record_text.c - an event of the core as a statement of a play (doc/play.md).
//
// Task 3 of job 1 is called t1_3, worker 2 is w2, lane 1 is l1, object (7, 4) is o7_4.
#include "sim/cluster/internal.h"

#include <inttypes.h>

static const char *const outcomes[] = {"", "ok", "exit", "error", "aborted", "lost"};

static void object_write(FILE *out, const char *before, rota_object_id object)
{
    fprintf(out, "%so%" PRIu64 "_%" PRIu64, before, object.high, object.low);
}

// A task, or a job.
static void task_write(FILE *out, rota_task_id id)
{
    if (id.task)
        fprintf(out, " t%u_%u", id.job, id.task);
    else
        fprintf(out, " j%u", id.job);
}

// ---- Submissions --------------------------------------------------------------------------------

static void clause_write(FILE *out, const struct rota_clause *clause, uint32_t job)
{
    static const char *const words[] = {"", "su", "fa", "nr", "done"};
    uint32_t of = clause->task.job ? clause->task.job : job;
    fprintf(out, "%s(t%u_%u)", words[clause->kind], of, clause->task.task);
}

// From left to right, as clients generate them: each operator follows its right operand.
static void condition_write(FILE *out, const struct rota_job_spec *spec,
                            const struct rota_task_spec *task, uint32_t job)
{
    const struct rota_clause *clauses = spec->clauses + task->clause_first;
    if (!task->clause_count) return;
    fputs(" when=\"", out);
    for (uint32_t i = 1; i < task->clause_count; i += 2) fputc('(', out);
    clause_write(out, &clauses[0], job);
    for (uint32_t i = 1; i < task->clause_count; i += 2) {
        fputc(clauses[i + 1].kind == ROTA_CLAUSE_AND ? '&' : '|', out);
        clause_write(out, &clauses[i], job);
        fputc(')', out);
    }
    fputc('"', out);
}

static void edges_write(FILE *out, const struct rota_job_spec *spec, uint32_t task, uint32_t job)
{
    const char *word = " after=";
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        if (spec->edges[i].after != task) continue;
        fprintf(out, "%st%u_%u", word, job, spec->edges[i].before);
        word = ",";
    }
}

static void objects_write(FILE *out, const struct rota_job_spec *spec, uint32_t task)
{
    const char *word = " in=";
    for (uint32_t i = 0; i < spec->input_count; i++) {
        if (spec->inputs[i].task != task) continue;
        object_write(out, word, spec->inputs[i].object);
        word = ",";
    }
    word = " out=";
    for (uint32_t i = 0; i < spec->output_count; i++) {
        if (spec->outputs[i].task != task) continue;
        object_write(out, word, spec->outputs[i].object);
        fprintf(out, ":%" PRIu64, spec->outputs[i].bytes);
        word = ",";
    }
}

static void spec_write(FILE *out, const struct rota_job_spec *spec, uint32_t task, uint32_t job)
{
    const struct rota_task_spec *what = &spec->tasks[task - (spec->first ? spec->first : 1)];
    bool is_bundle = what->flags & ROTA_TASK_BUNDLE;
    fprintf(out, "%s t%u_%u", is_bundle ? "bundle" : "task", job, task);
    if (!is_bundle) {
        fprintf(out, " cpus=%u", what->cores);
        edges_write(out, spec, task, job);
        condition_write(out, spec, what, job);
        if (what->bundle) fprintf(out, " bundle=t%u_%u", job, what->bundle);
        if (what->lane) fprintf(out, " lane=l%u", what->lane);
        if (what->group) fprintf(out, " group=g%u", what->group);
        if (what->access)
            fprintf(out, " access=%s", what->access == ROTA_ACCESS_WRITE ? "write" : "read");
        if (what->retries_max) fprintf(out, " retries=%u", what->retries_max);
        objects_write(out, spec, task);
    }
    fputc('\n', out);
}

static void submit_write(FILE *out, const struct rota_job_spec *spec, uint32_t next_job)
{
    static const char *const policies[] = {"plan", "claim", "pull", "plan"};
    uint32_t job = spec->job.number ? spec->job.number : next_job;
    uint32_t first = spec->first ? spec->first : 1;
    fputs("begin\n", out);
    if (spec->job.number)
        fprintf(out, "job j%u more\n", job);
    else
        fprintf(out, "job j%u client=c policy=%s\n", job, policies[spec->policy]);
    for (uint32_t i = 0; i < spec->task_count; i++) spec_write(out, spec, first + i, job);
    fprintf(out, "maybe submit%s\n", spec->last ? " last" : "");
}

// Hashes in a simulation are short texts.
static void content_write(FILE *out, const char *before, const struct rota_content *content)
{
    if (content->kind)
        fprintf(out, "%s%.*s", before, (int)sizeof content->hash, (const char *)content->hash);
}

// ---- Workers and handlers -----------------------------------------------------------------------

static void worker_write(FILE *out, const struct rota_event *event)
{
    fprintf(out, "maybe worker w%u cpus=%u", event->worker.id.number, event->worker.cores);
    if (event->worker.memory_mib) fprintf(out, " mem=%uM", event->worker.memory_mib);
    fputs(" manual\n", out);
}

static void report_write(FILE *out, const struct rota_event *event)
{
    bool starts = event->kind == ROTA_EVENT_TASK_STARTED;
    fprintf(out, "maybe %s", starts ? "start" : "finish");
    task_write(out, event->report.task);
    if (!starts) fprintf(out, " %s", outcomes[event->report.outcome]);
    if (event->report.outcome == ROTA_OUTCOME_EXIT) fprintf(out, "=%d", event->report.status);
    fprintf(out, " on=w%u attempt=%u", event->report.worker.number, event->report.attempt);
    for (uint32_t i = 0; i < event->report.size_count; i++) {
        object_write(out, i ? "," : " size=", event->report.sizes[i].object);
        fprintf(out, ":%" PRIu64, event->report.sizes[i].bytes);
        content_write(out, ":", &event->report.sizes[i].content);
    }
    if (event->report.missing.high) object_write(out, " missing=", event->report.missing);
    if (event->report.rest) fprintf(out, " rest=%" PRId64 "us", event->report.rest);
    fprintf(out, "%s%s\n", event->report.final ? " final" : "",
            event->report.unstarted ? " unstarted" : "");
}

static void claim_write(FILE *out, const char *word, const struct rota_event *event)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } flags[] = {{ROTA_FETCHED_OK, "fetched_ok"},
                 {ROTA_FAILED_OK, "failed_ok"},
                 {ROTA_DELIVERED_OK, "delivered_ok"},
                 {ROTA_NOFETCH_OK, "nofetch_ok"},
                 {ROTA_GIVEN_BACK, "given_back"}};
    rota_task_id task = event->claim.task;
    fprintf(out, "maybe %s", word);
    if (task.task)
        task_write(out, task);
    else
        fputs(" -", out);
    if (task.job && !task.task) fprintf(out, " of=j%u", task.job);
    fprintf(out, " by=h%" PRIu64, event->claim.handler);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (event->claim.flags & flags[i].flag) fprintf(out, " %s", flags[i].word);
    fputc('\n', out);
}

static void replica_write(FILE *out, const char *word, const struct rota_event *event)
{
    fprintf(out, "maybe %s w%u", word, event->replica.worker.number);
    object_write(out, " ", event->replica.object);
    content_write(out, " content=", &event->replica.content);
    fputc('\n', out);
}

static void holds_write(FILE *out, const struct rota_event *event)
{
    fprintf(out, "maybe holds w%u", event->held_all.worker.number);
    for (uint32_t i = 0; i < event->held_all.count; i++)
        object_write(out, i ? "," : " ", event->held_all.objects[i]);
    fputs(event->held_all.count ? "\n" : " -\n", out);
}

static void plan_write(FILE *out, const struct rota_event *event)
{
    for (uint32_t i = 0; i < event->plan.count; i++) {
        const struct rota_placement *placement = &event->plan.placements[i];
        if (!placement->worker.number) continue;
        fprintf(out, "maybe bind t%u_%u w%u order=%u\n", event->plan.job.number, placement->task,
                placement->worker.number, placement->order);
    }
}

static void pause_write(FILE *out, const char *word, const struct rota_event *event)
{
    fprintf(out, "maybe %s", word);
    if (event->pause.lane) fprintf(out, " lane l%u", event->pause.lane);
    if (event->pause.worker.number) fprintf(out, " worker w%u", event->pause.worker.number);
    if (event->pause.job.number) fprintf(out, " job j%u", event->pause.job.number);
    fprintf(out, "%s\n", event->pause.leaves ? " leaves" : "");
}

static void plain_write(FILE *out, const char *word, rota_task_id id)
{
    fprintf(out, "maybe %s", word);
    task_write(out, id);
    fputc('\n', out);
}

// ---- All events ---------------------------------------------------------------------------------

bool play_record_text(FILE *out, const struct rota_event *event, uint32_t next_job)
{
    static const char *const manuals[] = {"", "start", "green", "red", "reset", "freeze"};
    switch (event->kind) {
    case ROTA_EVENT_SUBMIT: submit_write(out, &event->submit, next_job); break;
    case ROTA_EVENT_CLOSE:
        plain_write(out, "close", (rota_task_id){event->close.job.number, 0});
        break;
    case ROTA_EVENT_CANCEL: plain_write(out, "cancel", event->task.task); break;
    case ROTA_EVENT_RETRY: plain_write(out, "retry", event->task.task); break;
    case ROTA_EVENT_MANUAL:
        fprintf(out, "maybe manual %s t%u_%u\n", manuals[event->manual.action],
                event->manual.task.job, event->manual.task.task);
        break;
    case ROTA_EVENT_LANE:
        if (event->lane.flags & ROTA_LANE_GONE) break;
        fprintf(out, "maybe lane l%u\n", event->lane.lane);
        break;
    case ROTA_EVENT_WORKER_JOINED: worker_write(out, event); break;
    case ROTA_EVENT_WORKER_HEARD: fprintf(out, "maybe heard w%u\n", event->worker.id.number); break;
    case ROTA_EVENT_WORKER_SILENT:
        fprintf(out, "maybe silent w%u\n", event->worker.id.number);
        break;
    case ROTA_EVENT_WORKER_LEFT: fprintf(out, "maybe leave w%u\n", event->worker.id.number); break;
    case ROTA_EVENT_WORKER_ASKS:
        fprintf(out, "maybe pick w%u always\n", event->asks.id.number);
        break;
    case ROTA_EVENT_CLAIM: claim_write(out, "claim", event); break;
    case ROTA_EVENT_DELIVER: claim_write(out, "deliver", event); break;
    case ROTA_EVENT_FAIL: claim_write(out, "fail", event); break;
    case ROTA_EVENT_TASK_STARTED:
    case ROTA_EVENT_TASK_FINISHED: report_write(out, event); break;
    case ROTA_EVENT_OBJECT_HELD: replica_write(out, "located", event); break;
    case ROTA_EVENT_OBJECT_LOST: replica_write(out, "lost", event); break;
    case ROTA_EVENT_HELD_ALL: holds_write(out, event); break;
    case ROTA_EVENT_PLAN: plan_write(out, event); break;
    case ROTA_EVENT_PAUSE: pause_write(out, "pause", event); break;
    case ROTA_EVENT_RESUME: pause_write(out, "resume", event); break;
    default: return false;
    }
    return true;
}
