// core.c - the public functions of the core: open, step, deadline, close.
#include "core/core.h"

struct rota_config rota_config_default(void)
{
    return (struct rota_config){
        .seed = 1,
        .tasks_max = 100u << 20,
        .edges_max = 1u << 30,
        .lanes_max = 1u << 20,
        .groups_max = 1u << 24,
        .workers_max = 1u << 16,
        .objects_max = 1u << 26,
        .jobs_max = 1u << 26,
        .lease = 60000000,
        .cached_wait = 10000,
        .inputs_wait = 100000,
        .plan_submit = 10000,
        .plan_update = 100000,
        .plan_idle = 1000000,
        .plan_work = 4096,
        .bound_max = 4096,
        .policy = ROTA_POLICY_PLAN,
        .on_failure = ROTA_FAILURE_BLOCK,
    };
}

static bool config_is_sound(const struct rota_config *config)
{
    bool waits = config->cached_wait >= 0 && config->inputs_wait >= config->cached_wait;
    bool plan = config->plan_submit >= 0 && config->plan_update >= 0 && config->plan_idle >= 0;
    return waits && plan && config->lease > 0 && config->plan_work > 0
           && config->policy >= ROTA_POLICY_CLAIM && config->policy <= ROTA_POLICY_PLAN
           && config->on_failure >= ROTA_FAILURE_BLOCK
           && config->on_failure <= ROTA_FAILURE_FAIL_JOB;
}

struct held {
    void *items;  // the address of a pointer
    uint32_t *capacity;
    size_t size;
};

// All tables that are a single allocation, so that they can be freed in one loop.
static void release_tables(struct rota *rota)
{
    uint32_t room = rota->room_capacity, records = ROTA_RECORDS_MAX;
    const struct held tables[] = {
        {&rota->unmet, &rota->unmet_capacity, sizeof *rota->unmet},
        {&rota->planned_task, &rota->planned_capacity, sizeof *rota->planned_task},
        {&rota->link, &rota->link_capacity, sizeof *rota->link},
        {&rota->use, &rota->use_capacity, sizeof *rota->use},
        {&rota->clause, &rota->clause_capacity, sizeof *rota->clause},
        {&rota->room_cores, &rota->room_capacity, sizeof *rota->room_cores},
        {&rota->room_memory, &room, sizeof *rota->room_memory},
        {&rota->marks, &rota->mark_capacity, sizeof *rota->marks},
        {&rota->tombs, &rota->tomb_capacity, sizeof *rota->tombs},
        {&rota->actions, &rota->action_capacity, sizeof *rota->actions},
        {&rota->records, &records, sizeof *rota->records},
    };
    memory_release_lines(&rota->memory, &rota->task_block);
    rota->task = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        memory_release(&rota->memory, tables[i].items, tables[i].capacity, tables[i].size);
}

static void release_all(struct rota *rota)
{
    struct pool *pools[]
        = {&rota->extras, &rota->batches,  &rota->jobs,    &rota->bundles,  &rota->lanes,
           &rota->groups, &rota->profiles, &rota->workers, &rota->objects,  &rota->replicas,
           &rota->lates,  &rota->offers,   &rota->waits,   &rota->handlers, &rota->tables};
    struct map *maps[] = {&rota->job_by_id,       &rota->job_by_key,      &rota->lane_by_number,
                          &rota->group_by_number, &rota->profile_by_hash, &rota->worker_by_id,
                          &rota->object_by_id,    &rota->bundle_of,       &rota->late_of,
                          &rota->handler_by_id,   &rota->run_as,          &rota->runs};
    struct spans *spans[] = {&rota->rows, &rota->links, &rota->uses, &rota->clauses};
    for (job_row row = 1; row < rota->jobs.count; row++) {
        struct job *job = JOB(rota, row);
        ARRAY_RELEASE(&rota->memory, job->later, job->later_capacity);
    }
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) pool_release(&rota->memory, pools[i]);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_release(&rota->memory, maps[i]);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) span_release(&rota->memory, spans[i]);
    heap_release(&rota->memory, &rota->leases);
    heap_release(&rota->memory, &rota->phases);
    heap_release(&rota->memory, &rota->backoffs);
    bits_release(&rota->memory, &rota->task_marks);
    text_release(&rota->memory, &rota->trace);
    release_tables(rota);
}

static void set_sizes(struct rota *rota)
{
    rota->extras.size = sizeof(struct extra);
    rota->batches.size = sizeof(struct batch);
    rota->jobs.size = sizeof(struct job);
    rota->bundles.size = sizeof(struct bundle);
    rota->lanes.size = sizeof(struct lane);
    rota->groups.size = sizeof(struct group);
    rota->profiles.size = sizeof(struct profile);
    rota->workers.size = sizeof(struct worker);
    rota->objects.size = sizeof(struct object);
    rota->replicas.size = sizeof(struct replica);
    rota->lates.size = sizeof(struct late);
    rota->offers.size = sizeof(struct offer);
    rota->waits.size = sizeof(struct wait);
    rota->handlers.size = sizeof(struct handler);
    rota->tables.size = sizeof(struct table);
}

// Row 0 of these tables means "nothing" and is read, so it has to exist.
static bool reserve_first_rows(struct rota *rota)
{
    struct pool *pools[] = {&rota->extras, &rota->objects, &rota->workers,
                            &rota->jobs,   &rota->batches, &rota->handlers};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        if (!pool_reserve(&rota->memory, pools[i], 1)) return false;
    uint32_t capacity = 0;
    if (!memory_reserve_lines(&rota->memory, &rota->task_block, 2, sizeof *rota->task))
        return false;
    rota->task = rota->task_block.items;
    rota->task_capacity = rota->task_block.capacity;
    memset(rota->task, 0, 2 * sizeof *rota->task);
    return ARRAY_RESERVE_RAW(&rota->memory, rota->records, capacity, ROTA_RECORDS_MAX)
           && room_reserve(rota, 1) && effect_cover(rota);
}

static enum rota_error start(struct rota *rota)
{
    assert(rota->jobs.count == 0);
    set_sizes(rota);
    rota->now = INT64_MIN;
    rota->random = rota->config.seed;
    rota->next_job = rota->next_wait = 1;
    rota->turn = 1;
    rota->reason = "";
    if (reserve_first_rows(rota)) return ROTA_OK;
    release_all(rota);
    return ROTA_NO_MEMORY;
}

enum rota_error rota_open(const struct rota_config *config, struct rota **out)
{
    *out = NULL;
    if (!config_is_sound(config)) return ROTA_BAD_EVENT;
    struct memory memory
        = {config->resize ? config->resize : memory_resize_heap, config->resize_context};
    struct rota *rota = memory.resize(memory.context, NULL, 0, sizeof *rota);
    if (!rota) return ROTA_NO_MEMORY;
    *rota = (struct rota){.memory = memory, .config = *config};
    enum rota_error error = start(rota);
    if (error)
        rota_close(rota);
    else
        *out = rota;
    return error;
}

void rota_close(struct rota *rota)
{
    if (!rota) return;
    struct memory memory = rota->memory;
    release_all(rota);
    memory.resize(memory.context, rota, sizeof *rota, 0);
}

// A failed restore leaves the core empty, as it was before.
void core_reset(struct rota *rota)
{
    struct rota fresh = {.memory = rota->memory, .config = rota->config};
    const char *reason = rota->reason;
    release_all(rota);
    *rota = fresh;
    start(rota);
    rota->reason = reason;
    assert(rota->tasks == 0 && rota->edges == 0);
}

typedef enum rota_error handler(struct rota *rota, const struct rota_event *event);

static handler *const handlers[ROTA_EVENTS] = {
    [ROTA_EVENT_RESTORE] = on_restore,
    [ROTA_EVENT_SUBMIT] = on_submit,
    [ROTA_EVENT_CLOSE] = on_close,
    [ROTA_EVENT_CLIENT_LEFT] = on_client_left,
    [ROTA_EVENT_CANCEL] = on_cancel,
    [ROTA_EVENT_RETRY] = on_retry,
    [ROTA_EVENT_STAGE] = on_stage,
    [ROTA_EVENT_MANUAL] = on_manual,
    [ROTA_EVENT_KEEP] = on_keep,
    [ROTA_EVENT_RELEASE] = on_release,
    [ROTA_EVENT_READ] = on_read,
    [ROTA_EVENT_WAIT] = on_wait,
    [ROTA_EVENT_LANE] = on_lane,
    [ROTA_EVENT_WORKER_JOINED] = on_worker_joined,
    [ROTA_EVENT_WORKER_HEARD] = on_worker_heard,
    [ROTA_EVENT_WORKER_SILENT] = on_worker_silent,
    [ROTA_EVENT_WORKER_LEFT] = on_worker_left,
    [ROTA_EVENT_WORKER_ASKS] = on_worker_asks,
    [ROTA_EVENT_CLAIM] = on_claim,
    [ROTA_EVENT_DELIVER] = on_deliver,
    [ROTA_EVENT_FAIL] = on_fail,
    [ROTA_EVENT_TASK_STARTED] = on_task_started,
    [ROTA_EVENT_TASK_FINISHED] = on_task_finished,
    [ROTA_EVENT_KEY_COMPLETED] = on_key_completed,
    [ROTA_EVENT_OBJECT_HELD] = on_object_held,
    [ROTA_EVENT_OBJECT_LOST] = on_object_lost,
    [ROTA_EVENT_STREAMED] = on_streamed,
    [ROTA_EVENT_TIME] = on_time,
    [ROTA_EVENT_PLAN] = on_plan,
    [ROTA_EVENT_CLAIM_STARTED] = on_claim_started,
    [ROTA_EVENT_PAUSE] = on_pause,
    [ROTA_EVENT_RESUME] = on_pause,
    [ROTA_EVENT_HELD_ALL] = on_held_all,
};

enum rota_error refuse(struct rota *rota, enum rota_error error, const char *reason)
{
    assert(reason);
    assert(error != ROTA_OK);
    rota->reason = reason;
    return error;
}

const char *rota_reason(const struct rota *rota)
{
    return rota->reason;
}

struct rota_fault rota_fault(const struct rota *rota)
{
    return rota->fault;
}

// Records and actions that the caller has taken are removed.
static void forget_taken(struct rota *rota)
{
    assert(rota->taken || rota->mark_taken);
    if (rota->taken) {
        rota->taken = false;
        rota->action_count = 0;
        rota->trace.length = 0;
    }
    if (rota->mark_taken) record_compact(rota);
}

static void settle(struct rota *rota)
{
    graph_settle(rota);
    if (rota->look_waits) wait_settle(rota);
    if (rota->look_jobs) job_settle(rota);
    assert(!graph_is_unsettled(rota));
}

enum rota_error rota_step(struct rota *rota, const struct rota_event *event)
{
    if (event->kind < ROTA_EVENT_RESTORE || event->kind >= ROTA_EVENTS)
        return refuse(rota, ROTA_BAD_EVENT, "unknown event");
    if (!rota->records && start(rota))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory at startup");
    if (event->now < rota->now)
        return refuse(rota, ROTA_BAD_EVENT, "the event is older than the previous one");
    if (rota->taken || rota->mark_taken) forget_taken(rota);
    rota_time before = rota->now;
    rota->now = event->now;
    uint64_t turn = rota->turn++;
    bool is_report = event->kind == ROTA_EVENT_TASK_STARTED
                     // these do not depend on which attempts are overbooked
                     || event->kind == ROTA_EVENT_TASK_FINISHED;
    if (rota->unsettled && !is_report) workers_settle(rota);
    enum rota_error error = handlers[event->kind](rota, event);
    if (error) {
        rota->now = before;
        rota->turn = turn;
        return error;
    }
    if (graph_is_unsettled(rota) || rota->look_waits | rota->look_jobs) settle(rota);
    rota->reason = "";
    return ROTA_OK;
}

rota_time rota_deadline(const struct rota *rota)
{
    if (rota->fresh_first || rota->changed_objects || rota->pull_more) return rota->now;
    if (rota->due_first || rota->spread || rota->asks_ahead) return rota->now;
    rota_time due = plan_deadline(rota);
    if (rota->leases.count && rota->leases.entries[0].due < due) due = rota->leases.entries[0].due;
    if (rota->phases.count && rota->phases.entries[0].due < due) due = rota->phases.entries[0].due;
    if (rota->backoffs.count && rota->backoffs.entries[0].due < due)
        due = rota->backoffs.entries[0].due;
    return due;
}
