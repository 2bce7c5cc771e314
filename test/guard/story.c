// story.c - random events for the core: submissions, reports, losses, changed requests.
#include "story.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LANES = 4, WORKERS = 8, JOBS_MAX = 24, TASKS_MAX = 16, RUNS_MAX = 4096, HANDLERS = 3,
    EVENTS_MAX = 64
};

struct run { rota_task_id task; rota_worker_id worker; uint32_t attempt; bool started; };

struct job { uint32_t number, tasks; };

struct story {
    struct rota *rota;
    uint64_t random;
    const uint8_t *choices;          // used before random numbers, when there are any
    size_t choices_left;
    rota_time now;
    uint64_t effects;                // hash of all of them
    uint32_t refused[ROTA_ERRORS];
    struct job jobs[JOBS_MAX];       // the newest ones, in a ring
    uint32_t job_count;
    struct run runs[RUNS_MAX];       // attempts that workers or handlers have
    uint32_t run_count;
    struct rota_event events[EVENTS_MAX];  // they must stay until the next take
    uint32_t event_count;
    uint32_t objects;                // how many object ids are used up
};

// ---- Choices ----------------------------------------------------------------

static uint32_t below(struct story *story, uint32_t bound)
{
    if (story->choices_left > 0) {
        story->choices_left--;
        return *story->choices++ % bound;
    }
    uint64_t x = story->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    story->random = x;
    return (uint32_t)((x * 2685821657736338717u >> 33) % bound);
}

static bool chance(struct story *story, uint32_t percent)
{
    return below(story, 100) < percent;
}

static struct job *some_job(struct story *story)
{
    uint32_t known = story->job_count < JOBS_MAX ? story->job_count : JOBS_MAX;
    return known ? &story->jobs[below(story, known)] : NULL;
}

static rota_task_id some_task(struct story *story)
{
    struct job *job = some_job(story);
    if (!job || !job->tasks) return (rota_task_id){1, 1};
    return (rota_task_id){job->number, 1 + below(story, job->tasks)};
}

static rota_worker_id some_worker(struct story *story)
{
    return (rota_worker_id){1 + below(story, WORKERS)};
}

static rota_object_id some_object(struct story *story)
{
    return (rota_object_id){7, 1 + below(story, story->objects + 1)};
}

// ---- Steps --------------------------------------------------------------------------------------

static void remember(struct story *story, const struct rota_action *action)
{
    if (action->kind == ROTA_ACTION_ACCEPT) {
        story->jobs[story->job_count++ % JOBS_MAX].number = action->accept.job.number;
    }
    if (story->run_count == RUNS_MAX) return;
    struct run *run = &story->runs[story->run_count];
    if (action->kind == ROTA_ACTION_RUN) {
        *run = (struct run){action->run.task, action->run.worker, action->run.attempt, false};
        story->run_count++;
    }
    if (action->kind == ROTA_ACTION_GRANT) {
        *run = (struct run){.task = action->grant.task, .attempt = action->grant.attempt};
        story->run_count++;
    }
}

static void take_all(struct story *story)
{
    story->event_count = 0;
    for (;;) {
        struct rota_effects effects = rota_take(story->rota);
        if (!effects.record_count && !effects.action_count) return;
        for (uint32_t i = 0; i < effects.record_count; i++) {
            story->effects = hash_record(story->effects, &effects.records[i]);
        }
        for (uint32_t i = 0; i < effects.action_count; i++) {
            story->effects = hash_action(story->effects, &effects.actions[i]);
            remember(story, &effects.actions[i]);
        }
    }
}

static enum rota_error step(struct story *story, const struct rota_event *given)
{
    if (story->event_count == EVENTS_MAX) take_all(story);
    struct rota_event *event = &story->events[story->event_count++];
    *event = *given;
    event->now = story->now;
    enum rota_error error = rota_step(story->rota, event);
    story->effects = hash_add(story->effects, error);
    story->refused[error]++;
    return error;
}

void story_end_turn(struct story *story)
{
    for (int again = 0; again < 100; again++) {
        step(story, &(struct rota_event){.kind = ROTA_EVENT_TIME});
        take_all(story);
        if (rota_deadline(story->rota) > story->now) return;
    }
}

// ---- Events -------------------------------------------------------------------------------------

struct draft {
    struct rota_task_spec tasks[TASKS_MAX];
    struct rota_edge edges[TASKS_MAX * 3];
    struct rota_clause clauses[TASKS_MAX];
    struct rota_input inputs[TASKS_MAX];
    struct rota_output outputs[TASKS_MAX];
    struct rota_job_spec job;
};

static void draft_task(struct story *story, struct draft *draft, uint32_t number)
{
    struct rota_task_spec *task = &draft->tasks[number - 1];
    task->body = number;
    task->cores = 1 + below(story, 2);
    task->memory_mib = below(story, 64);
    task->priority = (int16_t)((int)below(story, 5) - 2);
    task->retries_max = below(story, 3);
    if (chance(story, 10)) task->machine = 1 + below(story, 3);
    if (chance(story, 10)) task->key = (rota_object_id){9, 1 + below(story, 40)};
    if (chance(story, 30)) {
        task->lane = 1 + below(story, LANES);
        task->group = below(story, 4);
        task->access = chance(story, 60) ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE;
    }
    for (uint32_t edges = below(story, 4); number > 1 && edges > 0; edges--) {
        draft->edges[draft->job.edge_count++] =
            (struct rota_edge){1 + below(story, number - 1), number};
    }
}

// An object from one task to a later one, and sometimes a start condition.
static void draft_needs(struct story *story, struct draft *draft, uint32_t number)
{
    if (number < 2) return;
    uint32_t earlier = 1 + below(story, number - 1);
    if (chance(story, 20)) {
        rota_object_id object = {7, ++story->objects};
        uint32_t flags = chance(story, 20) ? ROTA_OBJECT_KEEP : 0;
        draft->outputs[draft->job.output_count++] =
            (struct rota_output){earlier, flags, object, 1 + below(story, 1000), {{0}, 0}};
        draft->inputs[draft->job.input_count++] = (struct rota_input){number, 0, object};
    }
    if (chance(story, 10)) {
        struct rota_task_spec *task = &draft->tasks[number - 1];
        task->clause_first = draft->job.clause_count;
        task->clause_count = 1;
        draft->clauses[draft->job.clause_count++] = (struct rota_clause){
            ROTA_CLAUSE_SUCCESS + below(story, 4), {0, earlier}};
    }
}

static void submit(struct story *story)
{
    struct draft draft = {0};
    draft.job.task_count = 1 + below(story, TASKS_MAX);
    for (uint32_t number = 1; number <= draft.job.task_count; number++) {
        draft_task(story, &draft, number);
        draft_needs(story, &draft, number);
    }
    draft.job.client = 1 + below(story, 3);
    draft.job.policy = ROTA_POLICY_CLAIM + below(story, 3);
    draft.job.on_failure = chance(story, 20) ? ROTA_FAILURE_FAIL_JOB : ROTA_FAILURE_BLOCK;
    draft.job.last = chance(story, 70);
    draft.job.tasks = draft.tasks;
    draft.job.edges = draft.edges;
    draft.job.clauses = draft.clauses;
    draft.job.inputs = draft.inputs;
    draft.job.outputs = draft.outputs;
    uint32_t before = story->job_count;
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT, .submit = draft.job};
    if (step(story, &event) != ROTA_OK) return;
    take_all(story);  // the draft is freed here
    if (story->job_count > before) story->jobs[before % JOBS_MAX].tasks = draft.job.task_count;
}

static void report_of_worker(struct story *story, struct run *run)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    event.report.worker = run->worker;
    event.report.task = run->task;
    event.report.attempt = run->attempt;
    if (!run->started && chance(story, 60)) {
        run->started = true;
        step(story, &event);
        return;
    }
    static const enum rota_outcome outcomes[] = {
        ROTA_OUTCOME_OK, ROTA_OUTCOME_OK, ROTA_OUTCOME_OK, ROTA_OUTCOME_OK, ROTA_OUTCOME_OK,
        ROTA_OUTCOME_OK, ROTA_OUTCOME_EXIT, ROTA_OUTCOME_ERROR};
    event.kind = ROTA_EVENT_TASK_FINISHED;
    event.report.outcome = outcomes[below(story, 8)];
    event.report.status = event.report.outcome == ROTA_OUTCOME_EXIT ? 3 : 0;
    step(story, &event);
    *run = story->runs[--story->run_count];
}

static void report(struct story *story)
{
    if (!story->run_count) return;
    struct run *run = &story->runs[below(story, story->run_count)];
    if (run->worker.number) {
        report_of_worker(story, run);
        return;
    }
    struct rota_event event = {.kind = chance(story, 80) ? ROTA_EVENT_DELIVER : ROTA_EVENT_FAIL};
    event.claim.task = run->task;
    event.claim.handler = 1 + below(story, HANDLERS);
    if (step(story, &event) == ROTA_OK || chance(story, 30)) {
        *run = story->runs[--story->run_count];
    }
}

static void claim(struct story *story)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM};
    event.claim.handler = 1 + below(story, HANDLERS);
    if (chance(story, 40)) event.claim.task = some_task(story);
    event.claim.flags = below(story, 4);
    step(story, &event);
}

static void worker_news(struct story *story)
{
    static const enum rota_event_kind kinds[] = {
        ROTA_EVENT_WORKER_JOINED, ROTA_EVENT_WORKER_JOINED, ROTA_EVENT_WORKER_HEARD,
        ROTA_EVENT_WORKER_HEARD, ROTA_EVENT_WORKER_SILENT, ROTA_EVENT_WORKER_LEFT};
    struct rota_event event = {.kind = kinds[below(story, 6)]};
    event.worker.id = some_worker(story);
    event.worker.cores = 2 + below(story, 6);
    event.worker.memory_mib = 256;
    event.worker.slots = chance(story, 20) ? 2 : 0;
    event.worker.machine = 1 + below(story, 3);
    step(story, &event);
}

static void worker_asks(struct story *story)
{
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_ASKS};
    event.asks.id = some_worker(story);
    event.asks.count = chance(story, 30) ? ROTA_ASK_ALWAYS : 1 + below(story, 3);
    step(story, &event);
}

static void object_news(struct story *story)
{
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_HELD};
    if (chance(story, 30)) event.kind = ROTA_EVENT_OBJECT_LOST;
    event.replica.worker = some_worker(story);
    event.replica.object = some_object(story);
    event.replica.bytes = 10;
    step(story, &event);
    event = (struct rota_event){.kind = ROTA_EVENT_RELEASE};
    event.object.client = 1;
    event.object.object = some_object(story);
    if (chance(story, 30)) step(story, &event);
}

static void change(struct story *story)
{
    static const enum rota_event_kind kinds[] = {
        ROTA_EVENT_CANCEL, ROTA_EVENT_RETRY, ROTA_EVENT_RETRY, ROTA_EVENT_RETRY, ROTA_EVENT_STAGE};
    struct rota_event event = {.kind = kinds[below(story, 5)]};
    event.task.task = some_task(story);
    struct job *job = some_job(story);
    if (job && chance(story, 15)) {
        event = (struct rota_event){.kind = ROTA_EVENT_CLOSE};
        event.close.job.number = job->number;
    }
    step(story, &event);
}

// ---- The sequence of events ---------------------------------------------------------------------

void story_continue(struct story *story)
{
    uint32_t what = below(story, 100);
    if (what < 12) submit(story);
    else if (what < 62) report(story);
    else if (what < 72) claim(story);
    else if (what < 78) worker_news(story);
    else if (what < 84) worker_asks(story);
    else if (what < 88) object_news(story);
    else if (what < 94) change(story);
    else story->now += below(story, 2000000);
    if (chance(story, 40)) story_end_turn(story);
}

static void define_lanes(struct story *story)
{
    for (uint32_t lane = 1; lane <= LANES; lane++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = lane;
        event.lane.flags = lane - 1;  // each mix of strict and submit order once
        event.lane.patience = ROTA_NEVER;
        step(story, &event);
    }
}

struct story *story_open(uint64_t seed, const uint8_t *choices, size_t choice_count)
{
    struct story *story = calloc(1, sizeof *story);
    if (!story) abort();
    story->random = seed * 2654435769u + 88172645463325252u;
    story->choices = choices;
    story->choices_left = choice_count;
    struct rota_config config = rota_config_default();
    config.seed = 5;  // fixed seed: the events are what varies; digest.c draws its seed
    config.lease = 3000000;
    if (rota_open(&config, &story->rota) != ROTA_OK) abort();
    define_lanes(story);
    return story;
}

void story_close(struct story *story)
{
    rota_close(story->rota);
    free(story);
}

size_t story_choices_left(const struct story *story)
{
    return story->choices_left;
}

void story_check(const struct story *story)
{
    rota_check(story->rota);
}

void story_print(const struct story *story)
{
    printf("digest=%016llx effects=%016llx refused", (unsigned long long)rota_digest(story->rota),
           (unsigned long long)story->effects);
    for (int error = ROTA_OK; error < ROTA_ERRORS; error++) printf(" %u", story->refused[error]);
    printf("\n");
}
