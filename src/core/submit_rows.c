// submit_rows.c - reserves memory for a submission, then writes its rows. Only reserving can fail.
#include "core/core.h"

enum { AHEAD = 16 };  // edges to prefetch ahead

// ---- Reserving ------------------------------------------------------------------------

// Finds a free span, and makes the table long enough for it.
static bool reserve_span(struct rota *rota, struct spans *spans, uint32_t count, void **items,
                         uint32_t *capacity, size_t size, uint32_t *first)
{
    *first = 0;
    if (count == 0) return true;
    return span_find(&rota->memory, spans, count, first)
           && memory_reserve_raw(&rota->memory, items, capacity, (uint64_t)*first + count, size);
}

static bool reserve_tasks(struct rota *rota, uint32_t count, task_row *first)
{
    assert(count > 0);
    bool there = span_find(&rota->memory, &rota->rows, count, first)
                 && memory_reserve_lines(&rota->memory, &rota->task_block, (uint64_t)*first + count,
                                         sizeof *rota->task);
    rota->task = rota->task_block.items;
    rota->task_capacity = rota->task_block.capacity;
    return there
           && ARRAY_RESERVE_RAW(&rota->memory, rota->unmet, rota->unmet_capacity,
                                (uint64_t)*first + count);
}

static bool reserve_spans(struct rota *rota, struct intake *intake)
{
    assert(intake->spec);
    const struct rota_job_spec *spec = intake->spec;
    uint64_t links = (uint64_t)intake->inner + spec->edge_count;
    void *link = rota->link, *use = rota->use, *clause = rota->clause;
    bool there = links <= UINT32_MAX && reserve_tasks(rota, spec->task_count + 1, &intake->row);
    there = there
            && reserve_span(rota, &rota->links, (uint32_t)links, &link, &rota->link_capacity,
                            sizeof *rota->link, &intake->link);
    rota->link = link;
    there = there
            && reserve_span(rota, &rota->uses, intake->uses, &use, &rota->use_capacity,
                            sizeof *rota->use, &intake->use);
    rota->use = use;
    there = there
            && reserve_span(rota, &rota->clauses, spec->clause_count, &clause,
                            &rota->clause_capacity, sizeof *rota->clause, &intake->clause);
    rota->clause = clause;
    return there;
}

static bool reserve_batch_of(struct rota *rota, const struct intake *intake)
{
    if (!intake->job) return true;
    struct job *job = JOB(rota, intake->job);
    return ARRAY_MORE(&rota->memory, job->later, job->later_count, job->later_capacity);
}

static bool reserve_pools(struct rota *rota, const struct intake *intake)
{
    const struct memory *memory = &rota->memory;
    return pool_reserve(memory, &rota->batches, 1) && pool_reserve(memory, &rota->jobs, 1)
           && map_reserve(memory, &rota->job_by_id, 1) && map_reserve(memory, &rota->job_by_key, 1)
           && pool_reserve(memory, &rota->extras, intake->extras)
           && pool_reserve(memory, &rota->groups, intake->groups)
           && map_reserve(memory, &rota->group_by_number, intake->groups - intake->groups_staged)
           && pool_reserve(memory, &rota->bundles, intake->bundles)
           && map_reserve(memory, &rota->bundle_of, intake->bundles)
           && profile_reserve(rota, intake->profiles) && graph_late_reserve(rota, intake->lates)
           && object_reserve(rota, intake->objects);
}

enum rota_error submit_reserve(struct rota *rota, struct intake *intake)
{
    bool there = reserve_pools(rota, intake) && reserve_batch_of(rota, intake)
                 && reserve_spans(rota, intake) && effect_reserve(rota, 2) && effect_cover(rota);
    if (there && intake->policy == ROTA_POLICY_PULL)
        there = heap_reserve(&rota->memory, &rota->phases, rota->extras.capacity);
    return there ? ROTA_OK : refuse(rota, ROTA_NO_MEMORY, "out of memory for the submission");
}

void submit_release(struct rota *rota, struct intake *intake)
{
    uint32_t **arrays[5]
        = {&intake->after, &intake->before, &intake->inputs, &intake->outputs, &intake->order};
    for (int i = 0; i < 5; i++) ARRAY_RELEASE(&rota->memory, *arrays[i], intake->capacity[i]);
}

// ---- Objects get their rows first, so that inputs can be found ------------------------------

void submit_unstage(struct rota *rota, struct intake *intake)
{
    for (uint32_t i = 0; intake->groups_staged > 0; i++) {
        assert(i < intake->spec->task_count);
        const struct rota_task_spec *task = &intake->spec->tasks[i];
        if (!task->group) continue;
        uint64_t key = (uint64_t)submit_lane(rota, intake, task->lane) << 32 | task->group;
        if (map_find(&rota->group_by_number, key) != GROUP_STAGED) continue;
        map_remove(&rota->group_by_number, key);
        intake->groups_staged--;
    }
    while (intake->staged > 0)
        object_forget(rota, object_find(rota, intake->spec->outputs[--intake->staged].object));
}

// Tasks with the same key share an execution and its outputs. A stream is made for one reader and
// is not kept, so it cannot be shared.
static bool shares_stream(const struct intake *intake, uint32_t number, uint32_t flags)
{
    if (!intake->keys || !(flags & ROTA_OBJECT_STREAM)) return false;
    rota_object_id key = intake->spec->tasks[number - intake->first].key;
    return key.high || key.low;
}

static enum rota_error refuse_stream(struct rota *rota, uint32_t number)
{
    return submit_refuse(rota, number, ROTA_BAD_GRAPH,
                         "a task with a content key cannot write or read a stream");
}

static enum rota_error check_inputs(struct rota *rota, const struct intake *intake)
{
    for (uint32_t i = 0; i < intake->spec->input_count; i++) {
        const struct rota_input *input = &intake->spec->inputs[i];
        const struct object *object = OBJECT(rota, object_find(rota, input->object));
        bool known = object->id.high || object->id.low;
        bool own = object->flags & OBJECT_STAGED || (intake->job && object->job == intake->job);
        if (input->flags & ROTA_OBJECT_ARTIFACT) {
            if (known && (object->job || object->flags & OBJECT_STAGED))
                return submit_refuse(rota, input->task, ROTA_BAD_GRAPH,
                                     "a dependency names an object that is not a content key");
            continue;
        }
        if (!known || !own || object->flags & OBJECT_REMOVED)
            return submit_refuse(rota, input->task, ROTA_BAD_GRAPH,
                                 "an input is unknown, removed, or belongs to another job");
        if (shares_stream(intake, input->task, object->flags))
            return refuse_stream(rota, input->task);
    }
    for (uint32_t i = 0; i < intake->spec->task_count && intake->keys; i++) {
        const struct object *object = OBJECT(rota, object_find(rota, intake->spec->tasks[i].key));
        if (object->job || object->flags & OBJECT_STAGED)
            return submit_refuse(rota, intake->first + i, ROTA_BAD_EVENT,
                                 "the content key is already the id of an object");
    }
    return ROTA_OK;
}

enum rota_error submit_stage_objects(struct rota *rota, struct intake *intake)
{
    for (uint32_t i = 0; i < intake->spec->output_count; i++) {
        const struct rota_output *output = &intake->spec->outputs[i];
        if (object_find(rota, output->object))
            return submit_refuse(rota, output->task, ROTA_BAD_GRAPH,
                                 "the object has two producers, or its id is already in use");
        struct object *object = OBJECT(rota, object_add(rota, output->object));
        object->bytes = output->bytes;
        if (!output->task) object->content = output->content;
        object->producer = output->task ? output->task - intake->first + 1 : 0;
        object->flags
            = OBJECT_STAGED
              | (output->flags & (ROTA_OBJECT_KEEP | ROTA_OBJECT_STREAM | ROTA_OBJECT_AWAY));
        intake->staged++;
        if (!output->task && output->flags & ROTA_OBJECT_STREAM)
            return refuse(rota, ROTA_BAD_EVENT, "an upload cannot be a stream");
        if (output->task && shares_stream(intake, output->task, output->flags))
            return refuse_stream(rota, output->task);
    }
    return check_inputs(rota, intake);
}

// ---- Writing ------------------------------------------------------------------------------

job_row submit_job(struct rota *rota, const struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    job_row row = pool_take(&rota->jobs);
    struct job *job = JOB(rota, row);
    job->id = intake->job_id;
    job->client = spec->client;
    job->key = spec->key;
    job->policy = intake->policy;
    job->on_failure = spec->on_failure ? spec->on_failure : rota->config.on_failure;
    map_put(&rota->job_by_id, job->id, row);
    if (job->key) map_put(&rota->job_by_key, hash_mix(job->client, job->key), row);
    return row;
}

static batch_row add_batch(struct rota *rota, struct intake *intake)
{
    assert(intake->job);
    const struct rota_job_spec *spec = intake->spec;
    batch_row row = pool_take(&rota->batches);
    struct job *job = JOB(rota, intake->job);
    *BATCH(rota, row) = (struct batch){
        .job = intake->job,
        .first = intake->row,
        .number = intake->first,
        .count = spec->task_count,
        .job_id = intake->job_id,
        .sequence = ++rota->sequence,
        .edge_count = spec->edge_count,
        .link_first = intake->link,
        .link_count = intake->inner + spec->edge_count,
        .use_first = intake->use,
        .use_count = intake->uses,
        .clause_first = intake->clause,
        .clause_count = spec->clause_count,
    };
    if (job->last_batch) {
        BATCH(rota, job->last_batch)->next = row;
        job->later[job->later_count++] = row;
    } else {
        job->first_batch = row;
    }
    job->last_batch = row;
    job->task_count += spec->task_count;
    rota->tasks += spec->task_count;
    rota->edges += spec->edge_count;
    if (job->on_failure == ROTA_FAILURE_FAIL_JOB) rota->fail_job_tasks += spec->task_count;
    span_take(&rota->rows, intake->row, spec->task_count + 1);
    if (BATCH(rota, row)->link_count)
        span_take(&rota->links, intake->link, BATCH(rota, row)->link_count);
    if (intake->uses) span_take(&rota->uses, intake->use, intake->uses);
    if (spec->clause_count) span_take(&rota->clauses, intake->clause, spec->clause_count);
    return row;
}

static void write_late_link(struct rota *rota, const struct intake *intake, struct rota_edge edge)
{
    task_row after = intake->row + (edge.after - intake->first);
    task_row before = task_find(rota, (rota_task_id){intake->job_id, edge.before});
    uint32_t view = graph_view(&rota->task[before]);
    rota->link[intake->before[edge.after - intake->first]++] = before;
    graph_late_add(rota, before, LATE_EDGE, after);
    rota->unmet[after] -= (view & NEED_MET) != 0;
    rota->task[after].dead += (view & NEED_DEAD) != 0;
}

// Turns counts into positions: first the beginning of each list, then, as it is filled, its end.
static uint32_t counts_to_places(uint32_t *counts, uint32_t tasks, uint32_t first)
{
    assert(counts);
    for (uint32_t i = 0; i < tasks; i++) {
        uint32_t count = counts[i];
        counts[i] = first;
        first += count;
    }
    return first;
}

// Dependents are spread over memory: the row of each is prefetched some edges ahead.
static void write_links(struct rota *rota, const struct intake *intake)
{
    const struct rota_edge *edges = intake->spec->edges;
    uint32_t tasks = intake->spec->task_count, count = intake->spec->edge_count;
    uint32_t first = intake->first, row = intake->row, *link = rota->link;
    uint32_t *place_after = intake->after, *place_before = intake->before;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t after = edges[i].after - first, before = edges[i].before - first;
        uint32_t ahead = edges[i + AHEAD < count ? i + AHEAD : i].before - first;
        if (ahead < tasks) __builtin_prefetch(&link[place_after[ahead]], 1);
        if (before < tasks) {
            link[place_after[before]++] = row + after;
            link[place_before[after]++] = row + before;
        } else {
            write_late_link(rota, intake, edges[i]);
        }
    }
}

static object_row artifact_named(struct rota *rota, rota_object_id id)
{
    object_row row = object_find(rota, id);
    if (!row) {
        row = object_add(rota, id);
        OBJECT(rota, row)->flags = ROTA_OBJECT_ARTIFACT;
    }
    OBJECT(rota, row)->named++;
    return row;
}

static group_row group_named(struct rota *rota, lane_row lane, uint32_t number)
{
    uint32_t *place = map_place(&rota->group_by_number, (uint64_t)lane << 32 | number);
    if (!*place || *place == GROUP_STAGED) {
        *place = pool_take(&rota->groups);
        *GROUP(rota, *place) = (struct group){.lane = lane, .number = number};
    }
    GROUP(rota, *place)->uses++;
    return *place;
}

static void write_condition(struct rota *rota, const struct intake *intake, task_row row,
                            const struct rota_task_spec *spec)
{
    assert(spec->clause_count);
    struct extra *extra = task_extra(rota, row);
    extra->clause_first = intake->clause + spec->clause_first;
    extra->clause_count = spec->clause_count;
    extra->verdict = VERDICT_FALSE;
    rota->unmet[row]++;
    for (uint32_t i = 0; i < spec->clause_count; i++) {
        struct rota_clause clause = intake->spec->clauses[spec->clause_first + i];
        struct rota_clause *stored = &rota->clause[extra->clause_first + i];
        *stored = (struct rota_clause){.kind = clause.kind};
        if (clause.kind >= ROTA_CLAUSE_AND) continue;
        if (clause.task.job == 0) clause.task.job = intake->job_id;
        task_row named = task_find(rota, clause.task);
        stored->task.job = named;
        graph_late_add(rota, named, LATE_WATCH, row);
        if (task_job(rota, named) != intake->job) JOB(rota, task_job(rota, named))->watched++;
    }
}

static void write_extra(struct rota *rota, struct intake *intake, uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *spec = &intake->spec->tasks[index];
    task_row row = intake->row + index;
    extra_row at = pool_take(&rota->extras);
    struct extra *extra = EXTRA(rota, at);
    rota->task[row].extra = at;
    extra->task = row;
    extra->bundle
        = spec->bundle ? task_find(rota, (rota_task_id){intake->job_id, spec->bundle}) : 0;
    if (spec->lane) {
        extra->lane = submit_lane(rota, intake, spec->lane);
        LANE(rota, extra->lane)->named++;
        if (spec->group) extra->group = group_named(rota, extra->lane, spec->group);
        rota->task[row].flags
            |= TASK_HAS_LANE | (spec->access == ROTA_ACCESS_WRITE ? TASK_WRITES : 0);
    }
    if (spec->key.high || spec->key.low) {
        extra->key = artifact_named(rota, spec->key);
        rota->keyed++;
    }
    if (spec->clause_count && !intake->unconditional) write_condition(rota, intake, row, spec);
}

static void write_input(struct rota *rota, const struct intake *intake,
                        const struct rota_input *input)
{
    uint32_t index = input->task - intake->first, at = intake->inputs[index]++;
    task_row row = intake->row + index;
    bool artifact = input->flags & ROTA_OBJECT_ARTIFACT;
    object_row object
        = artifact ? artifact_named(rota, input->object) : object_find(rota, input->object);
    rota->use[at] = (struct use){row, object, OBJECT(rota, object)->uses};
    OBJECT(rota, object)->uses = at;
    if (artifact) return;
    uint32_t view = OBJECT(rota, object)->view;
    rota->unmet[row] += !(view & NEED_MET);
    rota->task[row].dead += (view & NEED_DEAD) != 0;
}

static void write_object(struct rota *rota, const struct intake *intake,
                         const struct rota_output *output)
{
    object_row row = object_find(rota, output->object);
    struct object *object = OBJECT(rota, row);
    object->job = intake->job;
    object->flags &= ~(uint32_t)OBJECT_STAGED;
    object->next_of_job = JOB(rota, intake->job)->objects;
    JOB(rota, intake->job)->objects = row;
    if (output->task) {
        uint32_t index = output->task - intake->first;
        object->producer = intake->row + index;
        rota->use[intake->outputs[index]++] = (struct use){object->producer, row, 0};
    } else {
        object->flags |= OBJECT_FINISHED | (output->flags & ROTA_OBJECT_AWAY ? 0 : OBJECT_SERVED);
    }
    object->view = object_view(rota, object);
    object_mark(rota, row);
}

// The inputs of a task are followed by its outputs.
static void write_objects(struct rota *rota, const struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    if (!intake->inputs) return;
    uint32_t at = intake->use;
    for (uint32_t i = 0; i < spec->task_count; i++) {
        uint32_t inputs = intake->inputs[i], outputs = intake->outputs[i];
        if (inputs || outputs) {
            struct extra *extra = task_extra(rota, intake->row + i);
            extra->use_first = at;
            extra->input_count = inputs;
            if (inputs > rota->inputs_most) rota->inputs_most = inputs;
            extra->output_count = outputs;
        }
        intake->inputs[i] = at;
        intake->outputs[i] = at + inputs;
        at += inputs + outputs;
    }
    for (uint32_t i = 0; i < spec->output_count; i++) write_object(rota, intake, &spec->outputs[i]);
    for (uint32_t i = 0; i < spec->input_count; i++) write_input(rota, intake, &spec->inputs[i]);
}

static void write_bundle(struct rota *rota, task_row row, const struct rota_task_spec *spec)
{
    assert(IS_TASK(rota, row));
    uint32_t bundle = pool_take(&rota->bundles);
    rota->task[row].flags |= TASK_IS_BUNDLE;
    BUNDLE(rota, bundle)->ever_staged = !(spec->flags & ROTA_TASK_ON_DEMAND);
    map_put(&rota->bundle_of, row, bundle);
}

// Neighbours usually have the same requirements, so their profile is looked up and counted once.
struct like {
    struct wants wants;
    profile_row profile;
    uint32_t tasks;
};

static void like_change(struct rota *rota, struct like *like, const struct wants *wants)
{
    if (like->profile) profile_use(rota, like->profile, like->tasks);
    if (!wants) return;
    *like = (struct like){*wants, profile_get(rota, wants), 0};
}

// Each row is written once, from first to last; the arrays hold the beginnings of its lists.
static void write_tasks(struct rota *rota, struct intake *intake, batch_row batch)
{
    const struct rota_task_spec *specs = intake->spec->tasks;
    uint32_t tasks = intake->spec->task_count, *unmet = &rota->unmet[intake->row];
    struct task *task = &rota->task[intake->row];
    struct like like = {0};
    bool extras = intake->extras && intake->apart;  // while the rows are in the cache
    uint32_t end = counts_to_places(intake->after, tasks, intake->link);
    uint32_t last = counts_to_places(intake->before, tasks, end);
    for (uint32_t i = 0; i < tasks; i++) {
        struct wants wants = submit_wants(intake, &specs[i]);
        bool same = like.profile && memcmp(&wants, &like.wants, sizeof wants) == 0;
        if (!same) like_change(rota, &like, &wants);
        like.tasks++;
        uint32_t before_end = i + 1 < tasks ? intake->before[i + 1] : last;
        unmet[i] = before_end - intake->before[i];
        memset(&task[i], 0, sizeof *task);
        task[i].batch = batch;
        task[i].after = intake->after[i];
        task[i].after_end = i + 1 < tasks ? intake->after[i + 1] : end;
        task[i].before = intake->before[i];
        task[i].profile = like.profile;
        task[i].body = specs[i].body;
        if (intake->plain && unmet[i]) task_begin_waiting(&task[i]);
        if (specs[i].flags & ROTA_TASK_BUNDLE) write_bundle(rota, intake->row + i, &specs[i]);
        if (extras && submit_needs_extra(intake, i)) write_extra(rota, intake, i);
    }
    like_change(rota, &like, NULL);
    memset(&task[tasks], 0, sizeof *task);
    task[tasks].batch = batch;
    task[tasks].before = last;
}

batch_row submit_rows(struct rota *rota, struct intake *intake)
{
    batch_row batch = add_batch(rota, intake);
    write_tasks(rota, intake, batch);
    write_links(rota, intake);
    bool extras = intake->extras && !intake->apart;
    for (uint32_t i = 0; i < intake->spec->task_count && extras; i++)
        if (submit_needs_extra(intake, i)) write_extra(rota, intake, i);
    write_objects(rota, intake);
    bool ranked = intake->policy == ROTA_POLICY_PLAN
                  || (intake->policy == ROTA_POLICY_PULL && rota->config.pull_by_rank);
    if (ranked) submit_rank(rota, intake);
    return batch;
}
