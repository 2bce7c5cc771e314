// submit_order.c - rejects cycles through edges, data, conditions, bundles and ordered lanes, and
// computes ranks.
//
// Tasks numbered in topological order, the usual case, need no search. Otherwise all dependencies
// are written as pairs and processed from the tasks without dependencies.
#include "core/core.h"

static bool pair_add(struct rota *rota, struct submit_pairs *pairs, uint32_t before, uint32_t after)
{
    bool there = ARRAY_MORE(&rota->memory, pairs->items, pairs->count, pairs->capacity);
    if (there) pairs->items[pairs->count++] = (struct rota_edge){before, after};
    return there;
}

// The new task that a clause names, or the number of new tasks if it names another one.
static uint32_t clause_index(const struct intake *intake, const struct rota_clause *clause)
{
    bool own = clause->task.job == 0 || clause->task.job == intake->job_id;
    uint32_t index = clause->task.task - intake->first;
    bool new = own && clause->kind < ROTA_CLAUSE_AND &&index < intake->spec->task_count;
    return new ? index : intake->spec->task_count;
}

static uint32_t producer_index(const struct rota *rota, const struct intake *intake,
                               const struct rota_input *input)
{
    object_row object = object_find(rota, input->object);
    uint32_t index = object ? OBJECT(rota, object)->producer - 1 : UINT32_MAX;  // while staged
    bool staged
        = object && OBJECT(rota, object)->flags & OBJECT_STAGED && OBJECT(rota, object)->producer;
    return staged ? index : intake->spec->task_count;
}

static bool joins_old_bundle(const struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    for (uint32_t i = 0; i < spec->task_count && intake->members; i++)
        if (spec->tasks[i].bundle && spec->tasks[i].bundle < intake->first) return true;
    return false;
}

static bool needs_walk(const struct rota *rota, const struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    if (!intake->sorted) return true;
    for (uint32_t i = 0; i < spec->task_count && spec->clause_count; i++) {
        const struct rota_task_spec *task = &spec->tasks[i];
        for (uint32_t c = 0; c < task->clause_count; c++) {
            uint32_t index = clause_index(intake, &spec->clauses[task->clause_first + c]);
            if (index == spec->task_count) continue;
            if (index > i || spec->tasks[index].flags & ROTA_TASK_BUNDLE) return true;
        }
    }
    for (uint32_t i = 0; i < spec->input_count; i++) {
        uint32_t index = producer_index(rota, intake, &spec->inputs[i]);
        if (index < spec->task_count && index >= spec->inputs[i].task - intake->first) return true;
    }
    return false;
}

static bool add_task_pairs(struct rota *rota, const struct intake *intake,
                           struct submit_pairs *pairs, uint32_t i)
{
    const struct rota_job_spec *spec = intake->spec;
    const struct rota_task_spec *task = &spec->tasks[i];
    uint32_t bundle = task->bundle - intake->first;
    if (task->bundle >= intake->first && !pair_add(rota, pairs, i, bundle)) return false;
    for (uint32_t c = 0; c < task->clause_count; c++) {
        uint32_t index = clause_index(intake, &spec->clauses[task->clause_first + c]);
        if (index < spec->task_count && !pair_add(rota, pairs, index, i)) return false;
    }
    return true;
}

// In a lane that keeps submit order each task depends on the one before it.
static bool add_lane_pairs(struct rota *rota, const struct intake *intake,
                           struct submit_pairs *pairs)
{
    const struct rota_job_spec *spec = intake->spec;
    for (lane_row row = 1; row < rota->lanes.count; row++) {
        const struct lane *lane = LANE(rota, row);
        uint32_t last = UINT32_MAX;
        if (!(lane->flags & ROTA_LANE_SUBMIT_ORDER)) continue;
        for (uint32_t i = 0; i < spec->task_count; i++) {
            if (spec->tasks[i].lane != lane->number) continue;
            if (last != UINT32_MAX && !pair_add(rota, pairs, last, i)) return false;
            last = i;
        }
    }
    return true;
}

static bool collect(struct rota *rota, const struct intake *intake, struct submit_pairs *pairs)
{
    const struct rota_job_spec *spec = intake->spec;
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        uint32_t before = spec->edges[i].before - intake->first;
        bool inner = before < spec->task_count;
        if (inner && !pair_add(rota, pairs, before, spec->edges[i].after - intake->first))
            return false;
    }
    for (uint32_t i = 0; i < spec->input_count; i++) {
        uint32_t index = producer_index(rota, intake, &spec->inputs[i]);
        bool inner = index < spec->task_count;
        if (inner && !pair_add(rota, pairs, index, spec->inputs[i].task - intake->first))
            return false;
    }
    for (uint32_t i = 0; i < spec->task_count; i++)
        if (!add_task_pairs(rota, intake, pairs, i)) return false;
    return add_lane_pairs(rota, intake, pairs);
}

// The last old task of a lane that keeps submit order.
static task_row youngest_in_lane(const struct rota *rota, uint32_t number)
{
    lane_row lane = number ? map_find(&rota->lane_by_number, number) : 0;
    task_row youngest = 0;
    if (!lane || !(LANE(rota, lane)->flags & ROTA_LANE_SUBMIT_ORDER)) return 0;
    for (extra_row at = 1; at < rota->extras.count; at++) {
        task_row row = EXTRA(rota, at)->task;
        if (EXTRA(rota, at)->lane != lane) continue;
        if (!youngest || task_older(rota, youngest, row)) youngest = row;
    }
    return youngest;
}

// Old tasks, by row, that new tasks depend on.
static bool collect_outer(struct rota *rota, const struct intake *intake,
                          struct submit_pairs *outer)
{
    const struct rota_job_spec *spec = intake->spec;
    bool there = true;
    for (uint32_t i = 0; i < spec->edge_count && there; i++) {
        if (spec->edges[i].before >= intake->first) continue;
        rota_task_id id = {intake->job_id, spec->edges[i].before};
        there = pair_add(rota, outer, task_find(rota, id), spec->edges[i].after - intake->first);
    }
    for (uint32_t i = 0; i < spec->input_count && there; i++) {
        const struct object *object = OBJECT(rota, object_find(rota, spec->inputs[i].object));
        bool old = object->job && object->producer && !(object->flags & OBJECT_STAGED);
        if (old)
            there = pair_add(rota, outer, object->producer, spec->inputs[i].task - intake->first);
    }
    for (uint32_t i = 0; i < spec->task_count && there; i++) {
        const struct rota_task_spec *task = &spec->tasks[i];
        for (uint32_t c = 0; c < task->clause_count && there; c++) {
            struct rota_clause clause = spec->clauses[task->clause_first + c];
            if (clause.kind >= ROTA_CLAUSE_AND || intake->unconditional) continue;
            if (clause_index(intake, &clause) < spec->task_count) continue;
            if (!clause.task.job) clause.task.job = intake->job_id;
            there = pair_add(rota, outer, task_find(rota, clause.task), i);
        }
        task_row older = youngest_in_lane(rota, task->lane);
        if (there && older) there = pair_add(rota, outer, older, i);
    }
    return there;
}

static void pairs_release(struct rota *rota, struct submit_pairs *pairs)
{
    ARRAY_RELEASE(&rota->memory, pairs->items, pairs->capacity);
}

// Lists of successors, one after the other; first[i] is the beginning of the list of i.
static void list_successors(const struct submit_pairs *pairs, uint32_t tasks, uint32_t *first,
                            uint32_t *next, uint32_t *missing)
{
    assert(first && next && missing);
    for (uint32_t i = 0; i < pairs->count; i++) {
        first[pairs->items[i].before + 2]++;
        missing[pairs->items[i].after]++;
    }
    for (uint32_t i = 0; i < tasks; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < pairs->count; i++)
        next[first[pairs->items[i].before + 1]++] = pairs->items[i].after;
}

// Kahn's algorithm: true if every task could be put in order.
static bool put_in_order(uint32_t *order, uint32_t tasks, const uint32_t *first,
                         const uint32_t *next, uint32_t *missing)
{
    assert(order);
    uint32_t count = 0;
    for (uint32_t i = 0; i < tasks; i++)
        if (missing[i] == 0) order[count++] = i;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t i = first[order[done]]; i < first[order[done] + 1]; i++)
            if (--missing[next[i]] == 0) order[count++] = next[i];
    return count == tasks;
}

void submit_cycle_add(struct rota *rota, const struct intake *intake, rota_task_id task)
{
    struct rota_fault *fault = &rota->fault;
    if (task.job == intake->job_id) task.job = 0;
    if (!fault->cycle_length) fault->task = task;
    if (fault->cycle_length < ROTA_CYCLE_SHOWN) fault->cycle[fault->cycle_length] = task;
    fault->cycle_length++;
}

// Every task that could not be put in order waits for another such task, so following the edges
// leads into a cycle. The cycle is reported starting from its smallest number. The lists are
// overwritten, because they are no longer needed.
static void find_cycle(struct rota *rota, const struct intake *intake,
                       const struct submit_pairs *pairs, const uint32_t *missing,
                       uint32_t *waits_for)
{
    uint32_t tasks = intake->spec->task_count, *visited = intake->order, at = 0, smallest;
    for (uint32_t i = pairs->count; i-- > 0;)
        if (missing[pairs->items[i].before])
            waits_for[pairs->items[i].after] = pairs->items[i].before;
    memset(visited, 0, tasks * sizeof *visited);
    while (!missing[at]) at++;
    for (; !visited[at]; at = waits_for[at]) visited[at] = 1;
    smallest = at;
    for (uint32_t i = waits_for[at]; i != at; i = waits_for[i])
        if (i < smallest) smallest = i;
    at = smallest;
    do {
        submit_cycle_add(rota, intake, (rota_task_id){0, intake->first + at});
        at = waits_for[at];
    } while (at != smallest);
}

static enum rota_error walk(struct rota *rota, struct intake *intake,
                            const struct submit_pairs *pairs)
{
    uint32_t tasks = intake->spec->task_count, capacity[3] = {0};
    uint32_t *arrays[3] = {NULL};
    uint64_t sizes[3] = {(uint64_t)tasks + 2, (uint64_t)pairs->count + 1, tasks};
    bool there = ARRAY_RESERVE(&rota->memory, intake->order, intake->capacity[4], tasks);
    for (int i = 0; i < 3 && there; i++)
        there = ARRAY_RESERVE(&rota->memory, arrays[i], capacity[i], sizes[i]);
    bool acyclic = there;
    if (there) {
        list_successors(pairs, tasks, arrays[0], arrays[1], arrays[2]);
        acyclic = put_in_order(intake->order, tasks, arrays[0], arrays[1], arrays[2]);
        if (!acyclic) find_cycle(rota, intake, pairs, arrays[2], arrays[0]);
    }
    for (int i = 0; i < 3; i++) ARRAY_RELEASE(&rota->memory, arrays[i], capacity[i]);
    if (!there) return refuse(rota, ROTA_NO_MEMORY, "out of memory for the submission");
    if (!acyclic) return refuse(rota, ROTA_BAD_GRAPH, "the tasks wait for each other in a cycle");
    return ROTA_OK;
}

enum rota_error submit_order(struct rota *rota, struct intake *intake)
{
    bool old = joins_old_bundle(intake);
    if (!needs_walk(rota, intake) && !old) return ROTA_OK;
    struct submit_pairs inner = {0}, outer = {0};
    enum rota_error error = ROTA_OK;
    if (!collect(rota, intake, &inner) || (old && !collect_outer(rota, intake, &outer)))
        error = refuse(rota, ROTA_NO_MEMORY, "out of memory for the submission");
    if (!error) error = walk(rota, intake, &inner);
    if (!error && old) error = submit_old_bundles(rota, intake, &inner, &outer);
    pairs_release(rota, &inner);
    pairs_release(rota, &outer);
    return error;
}

// ---- Ranks: the longest path to the end, in milliseconds where estimates are known ----------

static uint32_t mean_estimate(const struct intake *intake)
{
    const struct rota_job_spec *spec = intake->spec;
    uint64_t sum = 0, known = 0;
    for (uint32_t i = 0; i < spec->task_count && intake->estimates; i++) {
        rota_time estimate = spec->tasks[i].estimate / 1000;
        if (estimate <= 0) continue;
        sum += estimate > 1 << 24 ? 1 << 24 : (uint64_t)estimate;
        known++;
    }
    return known ? (uint32_t)(sum / known) : 1;
}

static uint32_t weight(const struct intake *intake, uint32_t index, uint32_t mean)
{
    rota_time estimate = intake->estimates ? intake->spec->tasks[index].estimate / 1000 : 0;
    if (estimate <= 0) return mean;
    return estimate > 1 << 24 ? 1 << 24 : (uint32_t)estimate;
}

static void raise(uint32_t *rank, uint32_t least)
{
    if (*rank < least) *rank = least;
    assert(*rank >= least);
}

static void raise_producers(const struct rota *rota, const struct intake *intake, uint32_t *rank,
                            uint32_t i)
{
    const struct extra *extra = task_extra(rota, intake->row + i);
    for (uint32_t u = 0; u < extra->input_count; u++) {
        uint32_t producer = OBJECT(rota, rota->use[extra->use_first + u].object)->producer;
        uint32_t index = producer - intake->row;
        if (producer && index < intake->spec->task_count) raise(&rank[index], rank[i]);
    }
}

// The counting arrays are free for other use: `before` holds the ends of the lists of dependencies,
// and `after` is used as a compact column of ranks.
void submit_rank(struct rota *rota, const struct intake *intake)
{
    assert(intake->after && intake->before);
    uint32_t *rank = intake->after, tasks = intake->spec->task_count;
    uint32_t mean = mean_estimate(intake), lists = intake->link + intake->inner;
    memset(rank, 0, tasks * sizeof *rank);
    for (uint32_t left = tasks; left > 0; left--) {
        uint32_t i = intake->order ? intake->order[left - 1] : left - 1;
        uint32_t own = weight(intake, i, mean);
        rank[i] = rank[i] > UINT32_MAX - own ? UINT32_MAX : rank[i] + own;
        rota->task[intake->row + i].rank = rank[i];
        for (uint32_t e = i ? intake->before[i - 1] : lists; e < intake->before[i]; e++) {
            uint32_t index = rota->link[e] - intake->row;
            if (index < tasks) raise(&rank[index], rank[i]);
        }
        if (intake->inputs) raise_producers(rota, intake, rank, i);
    }
}
