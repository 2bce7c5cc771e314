// submit_verify.c - verifies a submission and counts the rows it needs.
//
// It changes nothing except the map of groups, to which it adds names that submit_unstage removes.
#include "core/core.h"

enum { GROUPS_MANY = 4096 };

enum rota_error submit_refuse(struct rota *rota, uint32_t number, enum rota_error error,
                              const char *reason)
{
    assert(error != ROTA_OK);
    rota->fault.task.task = number;
    return refuse(rota, error, reason);
}

static bool number_is_new(const struct intake *intake, uint32_t number)
{
    return number >= intake->first && number - intake->first < intake->spec->task_count;
}

static bool number_exists(const struct intake *intake, uint32_t number)
{
    return number >= 1 && (number < intake->first || number_is_new(intake, number));
}

static bool number_is_bundle(const struct rota *rota, const struct intake *intake, uint32_t number)
{
    if (number_is_new(intake, number))
        return intake->spec->tasks[number - intake->first].flags & ROTA_TASK_BUNDLE;
    task_row row = task_find(rota, (rota_task_id){intake->job_id, number});
    return row && rota->task[row].flags & TASK_IS_BUNDLE;
}

static bool id_is_none(rota_object_id id)
{
    return id.high == 0 && id.low == 0;
}

bool submit_needs_extra(const struct intake *intake, uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *task = &intake->spec->tasks[index];
    return task->lane || task->bundle || task->clause_count || !id_is_none(task->key)
           || (intake->inputs && intake->inputs[index])
           || (intake->outputs && intake->outputs[index]) || intake->policy == ROTA_POLICY_PULL;
}

struct wants submit_wants(const struct intake *intake, const struct rota_task_spec *task)
{
    return (struct wants){.cores = task->cores,
                          .memory_mib = task->memory_mib,
                          .machine = task->machine,
                          .retries_max = task->retries_max,
                          .priority = task->priority,
                          .policy = (uint16_t)intake->policy};
}

static enum rota_error verify_job(struct rota *rota, struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    uint32_t count = 0;
    if (spec->job.number) {
        intake->job = job_find(rota, spec->job);
        if (!intake->job) return refuse(rota, ROTA_NOT_FOUND, "the job to extend does not exist");
        const struct job *job = JOB(rota, intake->job);
        if (job->state != ROTA_JOB_OPEN)
            return refuse(rota, ROTA_NOT_NOW,
                          "the job is complete, failed or closed and takes no more tasks");
        count = job->task_count;
        intake->policy = job->policy;
    } else {
        intake->policy = spec->policy ? spec->policy : rota->config.policy;
    }
    if (spec->policy > ROTA_POLICY_PLAN || spec->on_failure > ROTA_FAILURE_FAIL_JOB)
        return refuse(rota, ROTA_BAD_EVENT, "unknown policy");
    intake->first = count + 1;
    intake->job_id = spec->job.number ? spec->job.number : rota->next_job;
    if ((spec->first && spec->first != intake->first) || (!spec->first && count))
        return refuse(rota, ROTA_BAD_EVENT,
                      "the first task number does not follow the last one of the job");
    if ((uint64_t)rota->tasks + spec->task_count > rota->config.tasks_max
        || (uint64_t)rota->edges + spec->edge_count > rota->config.edges_max
        || (uint64_t)count + spec->task_count >= UINT32_MAX
        || (!spec->job.number && pool_used(&rota->jobs) >= rota->config.jobs_max))
        return refuse(rota, ROTA_TOO_MANY,
                      "too many jobs, tasks or edges for the configured limit");
    return ROTA_OK;
}

static enum rota_error verify_clauses(struct rota *rota, const struct intake *intake,
                                      uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *task = &intake->spec->tasks[index];
    if (task->clause_first > intake->spec->clause_count
        || task->clause_count > intake->spec->clause_count - task->clause_first)
        return refuse(rota, ROTA_BAD_EVENT, "a condition is outside of the list of clauses");
    uint32_t height = 0;
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &intake->spec->clauses[task->clause_first + i];
        bool joins = clause->kind == ROTA_CLAUSE_AND || clause->kind == ROTA_CLAUSE_OR;
        if (clause->kind < ROTA_CLAUSE_SUCCESS || clause->kind > ROTA_CLAUSE_OR
            || (joins && height < 2))
            return refuse(rota, ROTA_BAD_EVENT, "a condition is not a well-formed expression");
        if (joins) {
            height--;
            continue;
        }
        if (++height > 64)
            return refuse(rota, ROTA_BAD_EVENT, "a condition may be nested at most 64 levels deep");
        bool own = clause->task.job == 0 || clause->task.job == intake->job_id;
        rota->fault.other = (rota_task_id){own ? 0 : clause->task.job, clause->task.task};
        if (own ? !number_exists(intake, clause->task.task) : !task_find(rota, clause->task))
            return refuse(rota, ROTA_NOT_FOUND, "a condition names an unknown task");
        bool self
            = own
              && (clause->task.task == intake->first + index || clause->task.task == task->bundle);
        if (self && clause->task.task)
            return refuse(rota, ROTA_BAD_GRAPH, "a condition names its own task or bundle");
        rota->fault.other = (rota_task_id){0};
    }
    if (task->clause_count && height != 1)
        return refuse(rota, ROTA_BAD_EVENT, "a condition is not a well-formed expression");
    return ROTA_OK;
}

static enum rota_error verify_bundle_task(struct rota *rota, const struct rota_task_spec *task)
{
    if (task->bundle)
        return refuse(rota, ROTA_BAD_GRAPH, "a bundle cannot be a member of a bundle");
    if (task->lane || task->clause_count || !id_is_none(task->key))
        return refuse(rota, ROTA_BAD_EVENT, "a bundle cannot have a lane, condition or key");
    return ROTA_OK;
}

// The task specifies only its requirements and its command.
static bool is_bare(const struct rota_task_spec *task)
{
    return !(task->flags | task->bundle | task->lane | task->group | task->access)
           && !(task->clause_first | task->clause_count) && id_is_none(task->key);
}

// Most neighbours are in the same lane.
lane_row submit_lane(const struct rota *rota, struct intake *intake, uint32_t number)
{
    if (number != intake->lane_number) {
        intake->lane_number = number;
        intake->lane = map_find(&rota->lane_by_number, number);
    }
    return intake->lane;
}

static enum rota_error verify_lane(struct rota *rota, struct intake *intake,
                                   const struct rota_task_spec *task)
{
    if (task->lane && !submit_lane(rota, intake, task->lane))
        return refuse(rota, ROTA_NOT_FOUND, "unknown lane");
    bool flagged = task->access == ROTA_ACCESS_READ || task->access == ROTA_ACCESS_WRITE;
    if (task->lane ? !flagged : task->access > ROTA_ACCESS_WRITE)
        return refuse(rota, ROTA_BAD_EVENT, "a task in a lane must be a reader or a writer");
    if (!task->lane && task->group)
        return refuse(rota, ROTA_BAD_EVENT, "a task has a group but no lane");
    return ROTA_OK;
}

static enum rota_error verify_task(struct rota *rota, struct intake *intake, uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *task = &intake->spec->tasks[index];
    if (task->flags & ~(uint32_t)(ROTA_TASK_BUNDLE | ROTA_TASK_ON_DEMAND))
        return refuse(rota, ROTA_BAD_EVENT, "unknown flags");
    if (task->priority < -128 || task->priority > 127)
        return refuse(rota, ROTA_BAD_EVENT, "a priority must be between -128 and 127");
    if (task->retries_max > TASK_RETRIES_MAX)
        return refuse(rota, ROTA_BAD_EVENT, "at most 1000 retries are allowed");
    if (task->estimate < 0) return refuse(rota, ROTA_BAD_EVENT, "an estimate must not be negative");
    intake->estimates |= task->estimate > 0;
    if (is_bare(task)) return ROTA_OK;
    enum rota_error error = verify_lane(rota, intake, task);
    if (error) return error;
    if (task->flags & ROTA_TASK_BUNDLE) {
        intake->bundles++;
        error = verify_bundle_task(rota, task);
        if (error) return error;
    }
    if (task->bundle
        && (!number_exists(intake, task->bundle)
            || !number_is_bundle(rota, intake, task->bundle))) {
        rota->fault.other.task = task->bundle;
        return refuse(rota, ROTA_NOT_FOUND, "unknown bundle");
    }
    intake->idle |= (task->flags & ROTA_TASK_ON_DEMAND) != 0;
    intake->members |= task->bundle != 0;
    intake->keys |= !id_is_none(task->key);
    return intake->unconditional ? ROTA_OK : verify_clauses(rota, intake, index);
}

static enum rota_error verify_edge(struct rota *rota, const struct intake *intake,
                                   struct rota_edge edge)
{
    rota->fault.task.task = edge.after;
    rota->fault.other.task = edge.before;
    if (!number_is_new(intake, edge.after))
        return refuse(rota, ROTA_BAD_GRAPH, "an edge must end at a new task");
    if (!number_exists(intake, edge.before))
        return refuse(rota, ROTA_BAD_GRAPH, "an edge begins at an unknown task");
    if (edge.before == edge.after) {
        rota->fault.other = (rota_task_id){0};
        return refuse(rota, ROTA_BAD_GRAPH, "an edge from a task to itself");
    }
    if (intake->bundles || edge.before < intake->first)
        if (number_is_bundle(rota, intake, edge.before)
            || number_is_bundle(rota, intake, edge.after))
            return refuse(rota, ROTA_BAD_GRAPH, "an edge cannot begin or end at a bundle");
    rota->fault = (struct rota_fault){0};
    return ROTA_OK;
}

// An edge from a new task to a later one, without bundles, is always valid.
static enum rota_error verify_edges(struct rota *rota, struct intake *intake)
{
    const struct rota_edge *edges = intake->spec->edges;
    uint32_t tasks = intake->spec->task_count, first = intake->first, inner = 0;
    uint32_t *counts_before = intake->before, *counts_after = intake->after;
    bool bundles = intake->bundles != 0;
    for (uint32_t i = 0; i < intake->spec->edge_count; i++) {
        uint32_t after = edges[i].after - first, before = edges[i].before - first;
        bool simple = before < after && after < tasks && !bundles;
        if (!simple) {
            enum rota_error error = verify_edge(rota, intake, edges[i]);
            if (error) return error;
            if (before < tasks && before > after) intake->sorted = false;
        }
        counts_before[after]++;
        if (before >= tasks) continue;
        counts_after[before]++;
        inner++;
    }
    intake->inner = inner;
    intake->lates += intake->spec->edge_count - inner;
    return ROTA_OK;
}

static enum rota_error verify_objects(struct rota *rota, struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const struct rota_output *output = &spec->outputs[i];
        if (id_is_none(output->object))
            return submit_refuse(rota, output->task, ROTA_BAD_EVENT, "an object has no id");
        if (output->task == 0) continue;
        if (!number_is_new(intake, output->task) || number_is_bundle(rota, intake, output->task))
            return submit_refuse(rota, output->task, ROTA_BAD_GRAPH,
                                 "the producer of an object must be a new task");
        intake->outputs[output->task - intake->first]++;
        intake->uses++;
    }
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const struct rota_input *input = &spec->inputs[i];
        if (id_is_none(input->object))
            return submit_refuse(rota, input->task, ROTA_BAD_EVENT, "an input has no id");
        if (!number_is_new(intake, input->task) || number_is_bundle(rota, intake, input->task))
            return submit_refuse(rota, input->task, ROTA_BAD_GRAPH,
                                 "an input must belong to a new task");
        intake->inputs[input->task - intake->first]++;
        intake->uses++;
        intake->objects += (input->flags & ROTA_OBJECT_ARTIFACT) != 0;
    }
    intake->objects += spec->output_count;
    return ROTA_OK;
}

static bool reserve_arrays(struct rota *rota, struct intake *intake)
{
    uint32_t **arrays[4] = {&intake->after, &intake->before, &intake->inputs, &intake->outputs};
    bool objects = intake->spec->input_count || intake->spec->output_count;
    for (uint32_t i = 0; i < (objects ? 4 : 2); i++) {
        if (!ARRAY_MORE(&rota->memory, *arrays[i], intake->spec->task_count, intake->capacity[i]))
            return false;
    }
    return true;
}

// Distinct new values are counted once. The maps hold the first task with a hash, and the tasks are
// compared, so a collision counts one too many, never one too few.
struct census {
    struct map profiles, keys;
    struct wants last;  // of the previous task: most neighbours are the same
};

static bool is_new(struct rota *rota, struct map *seen, uint64_t hash, uint32_t index,
                   uint32_t *first)
{
    *first = map_find(seen, hash);
    if (*first) return false;
    if (map_reserve(&rota->memory, seen, 1)) map_put(seen, hash, index + 1);
    return true;  // also without memory: then too many are reserved
}

// Where many groups are new, more are likely to follow: the map grows in larger steps.
static bool reserve_group(struct rota *rota, const struct intake *intake, uint32_t index)
{
    assert(index < intake->spec->task_count);
    struct map *map = &rota->group_by_number;
    if (map_need(map, 1) <= map->capacity) return true;
    uint32_t left = intake->spec->task_count - index;
    uint32_t more = intake->groups < GROUPS_MANY ? 1 : 3 * intake->groups;
    return map_reserve(&rota->memory, map, more < left ? more : left);
}

// Adds the name to the map at once, so that finding out whether a group is new and finding its row
// are one step.
static bool is_new_group(struct rota *rota, struct intake *intake, uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *task = &intake->spec->tasks[index];
    if (!task->group) return false;
    uint64_t key = (uint64_t)submit_lane(rota, intake, task->lane) << 32 | task->group;
    if (!reserve_group(rota, intake, index))
        return !map_find(&rota->group_by_number, key);  // then too many are reserved
    uint32_t *place = map_place(&rota->group_by_number, key);
    if (*place) return false;
    *place = GROUP_STAGED;
    intake->groups_staged++;
    return true;
}

static bool is_new_key(struct rota *rota, const struct intake *intake, struct map *seen,
                       uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *task = &intake->spec->tasks[index], *other;
    uint32_t first;
    if (id_is_none(task->key)) return false;
    if (is_new(rota, seen, ID_HASH(task->key), index, &first)) return true;
    other = &intake->spec->tasks[first - 1];
    return !SAME_ID(other->key, task->key);
}

static bool is_new_profile(struct rota *rota, const struct intake *intake, struct census *census,
                           uint32_t index)
{
    assert(index < intake->spec->task_count);
    const struct rota_task_spec *tasks = intake->spec->tasks;
    struct wants wants = submit_wants(intake, &tasks[index]), other;
    if (index > 0 && !memcmp(&wants, &census->last, sizeof wants)) return false;
    census->last = wants;
    uint64_t hash = hash_mix(
        hash_mix(wants.cores, wants.memory_mib),
        hash_mix((uint64_t)wants.machine << 32 | wants.retries_max, (uint16_t)wants.priority));
    uint32_t first;
    if (is_new(rota, &census->profiles, hash, index, &first)) return true;
    other = submit_wants(intake, &tasks[first - 1]);
    return memcmp(&wants, &other, sizeof wants) != 0;
}

static void count_task(struct rota *rota, struct intake *intake, struct census *census,
                       uint32_t index)
{
    assert(index < intake->spec->task_count);
    intake->profiles += is_new_profile(rota, intake, census, index);
    if (is_bare(&intake->spec->tasks[index])) return;
    intake->groups += is_new_group(rota, intake, index);
    intake->objects += is_new_key(rota, intake, &census->keys, index);
    intake->lates += intake->spec->tasks[index].clause_count;
    intake->extras += submit_needs_extra(intake, index);
}

// With objects, and under pull, bare tasks need an extra row, too.
static void count_extras(struct intake *intake)
{
    if (!intake->inputs && intake->policy != ROTA_POLICY_PULL) return;
    intake->extras = 0;
    for (uint32_t i = 0; i < intake->spec->task_count; i++)
        intake->extras += submit_needs_extra(intake, i);
}

// The tasks of a large submission do not fit into a cache, so they are visited only once.
static enum rota_error verify_tasks(struct rota *rota, struct intake *intake)
{
    struct census census = {0};
    enum rota_error error = ROTA_OK;
    for (uint32_t i = 0; i < intake->spec->task_count; i++) {
        if ((error = verify_task(rota, intake, i))) {
            rota->fault.task.task = intake->first + i;
            break;
        }
        count_task(rota, intake, &census, i);
    }
    map_release(&rota->memory, &census.profiles);
    map_release(&rota->memory, &census.keys);
    return error;
}

enum rota_error submit_verify(struct rota *rota, struct intake *intake)
{
    enum rota_error error = verify_job(rota, intake);
    if (error) return error;
    if (!reserve_arrays(rota, intake))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the submission");
    intake->sorted = true;
    if ((error = verify_tasks(rota, intake))) return error;
    if ((error = verify_edges(rota, intake))) return error;
    if ((error = verify_objects(rota, intake))) return error;
    count_extras(intake);
    if ((uint64_t)pool_used(&rota->objects) + intake->objects > rota->config.objects_max
        || (uint64_t)pool_used(&rota->groups) + intake->groups > rota->config.groups_max)
        return refuse(rota, ROTA_TOO_MANY, "too many objects or groups for the configured limit");
    return ROTA_OK;
}
