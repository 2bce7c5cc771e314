// play.c - writes a history as a play (see play.md), as far as the language allows.
//
// Task 3 of job 1 is called t1_3, worker 2 is w2, lane 1 is l1, object (7, 4) is o7_4.
#include <inttypes.h>

#include "history.h"

static const char *const policies[] = {"plan", "claim", "pull", "plan"};
static const char *const manuals[] = {"?", "start", "green", "red", "reset", "freeze"};
static const char *const outcomes[] = {"none", "ok", "exit=3", "error", "aborted", "lost"};

void history_play_open(FILE *out, const struct rota_config *config)
{
    fprintf(out,
            "config policy=plan cache_timeout=%" PRId64 "ms deps_timeout=%" PRId64
            "ms lease=%" PRId64 "ms overbook=%u told_is_begun=%d plan_submit=%" PRId64
            "ms plan_update=%" PRId64 "ms plan_idle=%" PRId64 "ms seed=%" PRIu64 "\n",
            config->cached_wait / 1000, config->inputs_wait / 1000, config->lease / 1000,
            config->overbook, config->told_is_begun, config->plan_submit / 1000,
            config->plan_update / 1000, config->plan_idle / 1000, config->seed);
}

// ---- Submissions -------------------------------------------------------------------

static void play_condition(FILE *out, const struct rota_job_spec *spec,
                           const struct rota_task_spec *task, uint32_t job)
{
    static const char *const words[] = {"?", "su", "fa", "nr", "done", "&", "|", "?"};
    bool wraps = task->clause_first + task->clause_count > spec->clause_count;
    if (task->clause_count == 0 || wraps) return;
    fprintf(out, " when=\"");
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &spec->clauses[task->clause_first + i];
        const char *word = words[clause->kind & 7];
        if (clause->kind >= ROTA_CLAUSE_AND) continue;
        // Postfix conditions of the driver are "a b op c op": the operator follows its operand.
        if (i > 0) fprintf(out, "%s", words[spec->clauses[task->clause_first + i + 1].kind & 7]);
        fprintf(out, "%s(t%u_%u)", word, clause->task.job ? clause->task.job : job,
                clause->task.task);
    }
    fprintf(out, "\"");
}

static void play_uses(FILE *out, const struct rota_job_spec *spec, uint32_t number)
{
    const char *word = " in=";
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const struct rota_input *input = &spec->inputs[i];
        if (input->task != number || (input->flags & ROTA_OBJECT_ARTIFACT)) continue;
        fprintf(out, "%so%" PRIu64 "_%" PRIu64, word, input->object.high, input->object.low);
        word = ",";
    }
    word = " deps=";
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const struct rota_input *input = &spec->inputs[i];
        if (input->task != number || !(input->flags & ROTA_OBJECT_ARTIFACT)) continue;
        fprintf(out, "%so%" PRIu64 "_%" PRIu64, word, input->object.high, input->object.low);
        word = ",";
    }
    word = " out=";
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const struct rota_output *output = &spec->outputs[i];
        if (output->task != number) continue;
        fprintf(out, "%so%" PRIu64 "_%" PRIu64, word, output->object.high, output->object.low);
        if (output->flags & ROTA_OBJECT_STREAM)
            fprintf(out, ":stream");
        else
            fprintf(out, ":%" PRIu64, output->bytes);
        if (output->flags & ROTA_OBJECT_KEEP) fprintf(out, ":keep");
        word = ",";
    }
}

static void play_task(FILE *out, const struct rota_job_spec *spec, uint32_t number, uint32_t job)
{
    const struct rota_task_spec *task = &spec->tasks[number - (spec->first ? spec->first : 1)];
    bool idle = task->flags & ROTA_TASK_ON_DEMAND;
    if (task->flags & ROTA_TASK_BUNDLE) {
        fprintf(out, "bundle t%u_%u%s\n", job, number, idle ? " idle" : "");
        return;
    }
    fprintf(out, "task t%u_%u cpus=%u", job, number, task->cores);
    const char *word = " after=";
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        if (spec->edges[i].after != number) continue;
        fprintf(out, "%st%u_%u", word, job, spec->edges[i].before);
        word = ",";
    }
    play_condition(out, spec, task, job);
    if (task->bundle) fprintf(out, " bundle=t%u_%u", job, task->bundle);
    if (task->lane)
        fprintf(out, " lane=l%u access=%s", task->lane,
                task->access == ROTA_ACCESS_WRITE ? "write" : "read");
    if (task->group) fprintf(out, " group=g%u", task->group);
    if (task->memory_mib) fprintf(out, " mem=%uM", task->memory_mib);
    if (task->machine) fprintf(out, " machine=m%u", task->machine);
    if (task->retries_max) fprintf(out, " retries=%u", task->retries_max);
    if (task->priority) fprintf(out, " priority=%d", task->priority);
    if (!model_is_no_object(task->key))
        fprintf(out, " key=o%" PRIu64 "_%" PRIu64, task->key.high, task->key.low);
    play_uses(out, spec, number);
    fprintf(out, "%s\n", idle ? " idle" : "");
}

static void play_submit(FILE *out, const struct model *model, const struct rota_job_spec *spec)
{
    uint32_t job = spec->job.number ? spec->job.number : model->jobs_made + 1;
    uint32_t first = spec->first ? spec->first : 1;
    if (spec->job.number == 0) {
        fprintf(out, "job j%u client=c%" PRIu64 " policy=%s%s   # key %" PRIu64 "%s\n", job,
                spec->client, policies[spec->policy],
                spec->on_failure == ROTA_FAILURE_FAIL_JOB ? " on_failure=fail_job" : "", spec->key,
                spec->last ? ", last" : "");
    } else {
        fprintf(out, "# more of job j%u, first %u%s\n", job, first, spec->last ? ", last" : "");
    }
    fprintf(out, "begin\n");
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const struct rota_output *output = &spec->outputs[i];
        if (output->task) continue;
        fprintf(out, "object o%" PRIu64 "_%" PRIu64 " size=%" PRIu64 "%s%s\n", output->object.high,
                output->object.low, output->bytes, output->flags & ROTA_OBJECT_KEEP ? " keep" : "",
                output->flags & ROTA_OBJECT_AWAY ? "   # away" : "");
    }
    for (uint32_t i = 0; i < spec->task_count; i++) play_task(out, spec, first + i, job);
    fprintf(out, "submit\n");
}

// ---- Other events --------------------------------------------------------------------

static void play_worker(FILE *out, const struct rota_event *event)
{
    static const char *const words[] = {"heard", "silent", "leave"};
    if (event->kind != ROTA_EVENT_WORKER_JOINED) {
        fprintf(out, "%s w%u\n", words[event->kind - ROTA_EVENT_WORKER_HEARD],
                event->worker.id.number);
        return;
    }
    fprintf(out, "worker w%u cpus=%u mem=%uM", event->worker.id.number, event->worker.cores,
            event->worker.memory_mib);
    if (event->worker.slots) fprintf(out, " slots=%u", event->worker.slots);
    if (event->worker.machine) fprintf(out, " machine=m%u", event->worker.machine);
    fprintf(out, " manual\n");
}

static void play_claim(FILE *out, const struct rota_event *event)
{
    static const char *const words[] = {"claim", "deliver", "fail"};
    uint32_t flags = event->claim.flags;
    fprintf(out, "%s", words[event->kind - ROTA_EVENT_CLAIM]);
    if (event->claim.task.task)
        fprintf(out, " t%u_%u", event->claim.task.job, event->claim.task.task);
    else
        fprintf(out, " -");
    if (event->claim.task.job && !event->claim.task.task)
        fprintf(out, " of=j%u", event->claim.task.job);
    fprintf(out, " by=h%" PRIu64 "%s%s%s%s%s\n", event->claim.handler,
            flags & ROTA_FETCHED_OK ? " fetched_ok" : "",
            flags & ROTA_FAILED_OK ? " failed_ok" : "",
            flags & ROTA_DELIVERED_OK ? " delivered_ok" : "",
            flags & ROTA_NOFETCH_OK ? " nofetch_ok" : "",
            flags & ROTA_GIVEN_BACK ? " given_back" : "");
}

static void play_report(FILE *out, const struct rota_event *event)
{
    bool started = event->kind == ROTA_EVENT_TASK_STARTED;
    fprintf(out, "%s t%u_%u", started ? "start" : "finish", event->report.task.job,
            event->report.task.task);
    if (!started) fprintf(out, " %s", outcomes[event->report.outcome]);
    fprintf(out, " on=w%u attempt=%u", event->report.worker.number, event->report.attempt);
    if (event->report.size_count) {
        const struct rota_output *size = event->report.sizes;
        fprintf(out, " size=o%" PRIu64 "_%" PRIu64 ":%" PRIu64, size->object.high, size->object.low,
                size->bytes);
    }
    if (!model_is_no_object(event->report.missing)) {
        fprintf(out, "   # missing o%" PRIu64 "_%" PRIu64, event->report.missing.high,
                event->report.missing.low);
    }
    fprintf(out, "\n");
}

static void play_wait(FILE *out, const struct rota_event *event)
{
    fprintf(out, "%s c%" PRIu64, event->wait.mode == ROTA_WAIT_SOME ? "waitsome" : "wait",
            event->wait.client);
    for (uint32_t i = 0; i < event->wait.count; i++) {
        rota_task_id id = event->wait.tasks[i];
        if (id.task)
            fprintf(out, " t%u_%u", id.job, id.task);
        else
            fprintf(out, " j%u", id.job);
    }
    fprintf(out, "\n");
}

static void play_task_event(FILE *out, const char *word, rota_task_id id)
{
    if (id.task)
        fprintf(out, "%s t%u_%u\n", word, id.job, id.task);
    else
        fprintf(out, "%s j%u\n", word, id.job);
}

static void play_replica(FILE *out, const struct rota_event *event)
{
    const char *word = event->kind == ROTA_EVENT_OBJECT_HELD ? "located" : "lost";
    if (event->kind == ROTA_EVENT_STREAMED) word = "# streamed";
    fprintf(out, "%s w%u o%" PRIu64 "_%" PRIu64 "   # %" PRIu64 " bytes\n", word,
            event->replica.worker.number, event->replica.object.high, event->replica.object.low,
            event->replica.bytes);
}

void history_play_event(FILE *out, const struct model *model, const struct rota_event *event,
                        bool accepted)
{
    static const char *const object_words[] = {"keep", "unkeep", "read"};
    if (!accepted) fprintf(out, "refused any ");
    switch (event->kind) {
    case ROTA_EVENT_SUBMIT: play_submit(out, model, &event->submit); break;
    case ROTA_EVENT_CLOSE: fprintf(out, "close j%u\n", event->close.job.number); break;
    case ROTA_EVENT_CLIENT_LEFT:
        fprintf(out, "# client c%" PRIu64 " left\n", event->client_left.client);
        break;
    case ROTA_EVENT_CANCEL: play_task_event(out, "cancel", event->task.task); break;
    case ROTA_EVENT_RETRY: play_task_event(out, "retry", event->task.task); break;
    case ROTA_EVENT_STAGE: play_task_event(out, "stage", event->task.task); break;
    case ROTA_EVENT_MANUAL:
        fprintf(out, "manual %s t%u_%u\n", manuals[event->manual.action], event->manual.task.job,
                event->manual.task.task);
        break;
    case ROTA_EVENT_KEEP:
    case ROTA_EVENT_RELEASE:
    case ROTA_EVENT_READ:
        fprintf(out, "%s o%" PRIu64 "_%" PRIu64 "\n", object_words[event->kind - ROTA_EVENT_KEEP],
                event->object.object.high, event->object.object.low);
        break;
    case ROTA_EVENT_WAIT: play_wait(out, event); break;
    case ROTA_EVENT_LANE:
        fprintf(out, "lane l%u%s order=%s   # patience %s\n", event->lane.lane,
                event->lane.flags & ROTA_LANE_STRICT ? " strict" : "",
                event->lane.flags & ROTA_LANE_SUBMIT_ORDER ? "submit" : "ready",
                event->lane.patience == ROTA_NEVER ? "as configured" : "0");
        break;
    case ROTA_EVENT_WORKER_ASKS:
        fprintf(out, "pick w%u   # %u times\n", event->asks.id.number, event->asks.count);
        break;
    case ROTA_EVENT_CLAIM:
    case ROTA_EVENT_DELIVER:
    case ROTA_EVENT_FAIL: play_claim(out, event); break;
    case ROTA_EVENT_TASK_STARTED:
    case ROTA_EVENT_TASK_FINISHED: play_report(out, event); break;
    case ROTA_EVENT_KEY_COMPLETED:
        fprintf(out, "complete w%u o%" PRIu64 "_%" PRIu64 " %s\n", event->completed.worker.number,
                event->completed.key.high, event->completed.key.low,
                outcomes[event->completed.outcome]);
        break;
    case ROTA_EVENT_OBJECT_HELD:
    case ROTA_EVENT_OBJECT_LOST:
    case ROTA_EVENT_STREAMED: play_replica(out, event); break;
    default: play_worker(out, event); break;
    }
}

// The actions of the core, as comments.
void history_play_effects(FILE *out, const struct rota_effects *effects)
{
    for (uint32_t i = 0; i < effects->action_count; i++) {
        const struct rota_action *action = &effects->actions[i];
        switch (action->kind) {
        case ROTA_ACTION_RUN:
            fprintf(out, "#   run t%u_%u on w%u attempt %u\n", action->run.task.job,
                    action->run.task.task, action->run.worker.number, action->run.attempt);
            break;
        case ROTA_ACTION_STOP:
            fprintf(out, "#   stop t%u_%u on w%u attempt %u\n", action->stop.task.job,
                    action->stop.task.task, action->stop.worker.number, action->stop.attempt);
            break;
        case ROTA_ACTION_CONFIRM:
            fprintf(out, "#   told c%" PRIu64 " t%u_%u %s\n", action->confirm.client,
                    action->confirm.task.job, action->confirm.task.task,
                    outcomes[action->confirm.outcome]);
            break;
        case ROTA_ACTION_DROP:
            fprintf(out, "#   drop o%" PRIu64 "_%" PRIu64 " on w%u\n", action->drop.object.high,
                    action->drop.object.low, action->drop.worker.number);
            break;
        default: break;
        }
    }
}
