// setup.c - configuration, workers, lanes and jobs.
#include "sim/play/internal.h"

#include <string.h>

static const struct choice policies[] = {
    { "claim", ROTA_POLICY_CLAIM }, { "pull", ROTA_POLICY_PULL }, { "plan", ROTA_POLICY_PLAN },
    { NULL, 0 },
};

static const struct choice failures[] = {
    { "block", ROTA_FAILURE_BLOCK }, { "fail_job", ROTA_FAILURE_FAIL_JOB }, { NULL, 0 },
};

// ---- config ----------------------------------------------------------------

static void config_take_times(struct play *play, struct rota_config *config)
{
    config->lease = take_time(play, "lease", config->lease);
    config->plan_submit = take_time(play, "plan_submit", config->plan_submit);
    config->plan_update = take_time(play, "plan_update", config->plan_update);
    config->plan_idle = take_time(play, "plan_idle", config->plan_idle);
    rota_time cached = take_time(play, "cache_timeout", ROTA_NEVER);
    rota_time inputs = take_time(play, "deps_timeout", ROTA_NEVER);
    if (cached != ROTA_NEVER) config->cached_wait = cached, play->cached_set = true;
    if (inputs != ROTA_NEVER) config->inputs_wait = inputs, play->inputs_set = true;
    // A play that sets only one of the two does not mean to contradict itself with the other.
    if (config->cached_wait <= config->inputs_wait) return;
    if (!play->inputs_set) config->inputs_wait = config->cached_wait;
    else if (!play->cached_set) config->cached_wait = config->inputs_wait;
}

static void config_take_limits(struct play *play, struct rota_config *config)
{
    config->overbook = take_number(play, "overbook", config->overbook);
    config->overbook_cores = take_number(play, "overbook_cores", config->overbook_cores);
    config->bound_max = take_number(play, "bound", config->bound_max);
    config->told_is_begun = take_number(play, "told_is_begun", config->told_is_begun);
    config->plan_work = take_number(play, "plan_work", config->plan_work);
    config->tasks_max = take_number(play, "tasks_max", config->tasks_max);
    config->edges_max = take_number(play, "edges_max", config->edges_max);
    config->lanes_max = take_number(play, "lanes_max", config->lanes_max);
    config->groups_max = take_number(play, "groups_max", config->groups_max);
    config->workers_max = take_number(play, "workers_max", config->workers_max);
    config->objects_max = take_number(play, "objects_max", config->objects_max);
    config->jobs_max = take_number(play, "jobs_max", config->jobs_max);
}

// The core checks a configuration only when it is opened.
static void config_try(struct play *play, const struct rota_config *config)
{
    struct rota *rota = NULL;
    enum rota_error error = rota_open(config, &rota);
    if (error) turn_refuse(play, error, rota_error_text(error));
    rota_close(rota);
}

void verb_config(struct play *play)
{
    struct rota_config config = play->config;
    bool cached_set = play->cached_set, inputs_set = play->inputs_set;
    config_take_times(play, &config);
    config_take_limits(play, &config);
    config.policy = (enum rota_policy)take_choice(play, "policy", policies, (int)config.policy);
    config.on_failure = (enum rota_on_failure)take_choice(play, "on_failure", failures,
                                                          (int)config.on_failure);
    const char *seed = take_pair(play, "seed");
    if (seed && !number_parse(seed, UINT64_MAX, &config.seed)) {
        play_wrong(play, "seed=%s: not a number", seed);
    }
    take_end(play);
    if (play->halt) return;
    if (play->refused) config_try(play, &config);
    else if (play->rota) play_wrong(play, "'config' must come before all other statements");
    if (!play->answer) {
        play->config = config;
    } else {
        play->cached_set = cached_set;
        play->inputs_set = inputs_set;
    }
}

// ---- worker, lane ----------------------------------------------------------

void verb_worker(struct play *play)
{
    uint32_t number;
    struct play_worker *worker = play_worker_meet(play, take_name(play), &number);
    uint32_t cores = take_number(play, "cpus", 1);
    uint64_t memory = take_size(play, "mem", (uint64_t)UINT32_MAX << 20) >> 20;
    uint32_t memory_mib = memory < UINT32_MAX ? (uint32_t)memory : UINT32_MAX;
    uint32_t slots = take_number(play, "slots", 0);
    const char *machine = take_pair(play, "machine");
    bool manual = take_flag(play, "manual");
    take_end(play);
    if (play->halt) return;
    struct rota_event joins = { .kind = ROTA_EVENT_WORKER_JOINED };
    joins.worker.id.number = number;
    joins.worker.cores = cores;
    joins.worker.memory_mib = memory_mib;
    joins.worker.slots = slots;
    joins.worker.machine = machine ? names_add(&play->machine_names, machine) : 0;
    struct rota_worker_view view;
    bool known = rota_worker_look(play->rota, joins.worker.id, &view);
    if (!turn_send(play, &joins)) return;
    if (!known) worker_forget(worker);
    worker->known = true;
    worker->manual = manual;
    worker->silent = false;
    worker->cores = cores;
    worker->memory_mib = memory_mib;
    worker->slots = slots;
    worker->machine = joins.worker.machine;
    if (manual) return;
    struct rota_event asks = { .kind = ROTA_EVENT_WORKER_ASKS,
                               .asks = { { number }, ROTA_ASK_ALWAYS } };
    turn_send(play, &asks);
}

void verb_lane(struct play *play)
{
    static const struct choice orders[] = {
        { "ready", 0 }, { "submit", ROTA_LANE_SUBMIT_ORDER }, { NULL, 0 },
    };
    const char *name = take_name(play);
    uint32_t flags = (uint32_t)take_choice(play, "order", orders, 0);
    if (take_flag(play, "strict")) flags |= ROTA_LANE_STRICT;
    rota_time patience = take_time(play, "patience", ROTA_NEVER);
    take_end(play);
    if (play->halt) return;
    uint32_t number = names_add(&play->lane_names, name);
    ARRAY_GROW(play->lanes, number, play->lane_capacity);
    struct rota_event event = { .kind = ROTA_EVENT_LANE, .lane = { number, flags, patience } };
    if (turn_send(play, &event)) play->lanes[number] = true;
}

// ---- job -------------------------------------------------------------------

static bool job_is_there(const struct play *play, const char *name)
{
    uint32_t row = job_find(play, name);
    return row && *rota_job_status(play->rota, play->jobs[row].id) != 0;
}

// The submission goes to an existing job, not to the newest one.
static void job_grows(struct play *play, const char *name)
{
    take_end(play);
    uint32_t row = job_find(play, name);
    if (!play->batch.open || play->batch.draft_count)
        play_wrong(play, "'more' must come first in a submission");
    else if (!row)
        play_wrong(play, "no such job: %s", name);
    play->batch.grows = row;
}

// Inside `begin … submit` the submission becomes the first one of the new job.
void verb_job(struct play *play)
{
    const char *name = take_name(play);
    if (take_flag(play, "more")) return job_grows(play, name);
    const char *client = take_pair(play, "client");
    int policy = take_choice(play, "policy", policies, ROTA_POLICY_DEFAULT);
    int on_failure = take_choice(play, "on_failure", failures, ROTA_FAILURE_DEFAULT);
    take_end(play);
    if (play->halt) return;
    if (job_is_there(play, name)) {
        turn_refuse(play, ROTA_BAD_EVENT, "a job of that name exists");
        return;
    }
    struct batch *batch = &play->batch;
    bool alone = !batch->open;
    if (alone) batch_begin(play);
    else if (batch->draft_count) play_wrong(play, "the job must come first in its submission");
    batch->opens_job = true;
    batch->job_name = names_add(&play->job_names, name);
    batch->client = names_add(&play->client_names, client ? client : "client");
    batch->policy = (enum rota_policy)policy;
    batch->on_failure = (enum rota_on_failure)on_failure;
    if (alone) batch_submit(play);
}
