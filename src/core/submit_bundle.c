// submit_bundle.c - rejects a cycle through a bundle that already exists.
//
// A new member makes an old bundle wait for it. If that member waits for the bundle, on any path,
// both wait forever. The search goes from the new members back over all their dependencies, new and
// old tasks, and must not reach the bundle.
#include "core/core.h"

enum { BLOCKS = 7 };
static const uint32_t NOBODY = UINT32_MAX;

// Nodes are new tasks by index, followed by old tasks by row.
struct search {
    const struct rota *rota;
    const struct intake *intake;
    uint32_t *inner, *inner_first;  // new tasks that a new task depends on
    uint32_t *outer, *outer_first;  // old tasks, by row
    uint8_t *seen;
    uint32_t *stack;
    uint32_t *from;  // by node: the dependent from which it was reached; NOBODY: a new member
    uint32_t at;     // the node whose dependencies are visited
    uint32_t height, capacity[BLOCKS];
};

static void visit(struct search *search, uint32_t node)
{
    if (search->seen[node]) return;
    search->seen[node] = 1;
    search->from[node] = search->at;
    search->stack[search->height++] = node;
}

static void visit_old(struct search *search, task_row row)
{
    if (row) visit(search, search->intake->spec->task_count + row);
}

static void visit_new_needs(struct search *search, uint32_t index)
{
    for (uint32_t i = search->inner_first[index]; i < search->inner_first[index + 1]; i++)
        visit(search, search->inner[i]);
    for (uint32_t i = search->outer_first[index]; i < search->outer_first[index + 1]; i++)
        visit_old(search, search->outer[i]);
}

static void visit_members(struct search *search, task_row bundle)
{
    assert(IS_TASK(search->rota, bundle));
    const struct rota *rota = search->rota;
    job_row job = task_job(rota, bundle);
    for (task_row row = job_next_task(rota, job, 0); row; row = job_next_task(rota, job, row))
        if (task_extra(rota, row)->bundle == bundle) visit_old(search, row);
    const struct rota_job_spec *spec = search->intake->spec;
    rota_task_id id = task_id(rota, bundle);
    for (uint32_t i = 0; i < spec->task_count && id.job == search->intake->job_id; i++)
        if (spec->tasks[i].bundle == id.task) visit(search, i);
}

// By definition, not by present state: any of them may be staged again.
static void visit_older_in_lane(struct search *search, task_row row)
{
    const struct rota *rota = search->rota;
    lane_row lane = task_extra(rota, row)->lane;
    for (extra_row at = 1; at < rota->extras.count; at++) {
        const struct extra *extra = EXTRA(rota, at);
        if (extra->lane == lane && task_older(rota, extra->task, row))
            visit_old(search, extra->task);
    }
}

static void visit_old_needs(struct search *search, task_row row)
{
    const struct rota *rota = search->rota;
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = task->before; i < task[1].before; i++) visit_old(search, rota->link[i]);
    for (uint32_t i = 0; i < extra->input_count; i++)
        visit_old(search, OBJECT(rota, rota->use[extra->use_first + i].object)->producer);
    for (uint32_t i = 0; i < extra->clause_count; i++)
        visit_old(search, rota->clause[extra->clause_first + i].task.job);
    if (extra->lane && LANE(rota, extra->lane)->flags & ROTA_LANE_SUBMIT_ORDER)
        visit_older_in_lane(search, row);
    if (task->flags & TASK_IS_BUNDLE) visit_members(search, row);
}

static bool reaches(struct search *search, task_row bundle)
{
    assert(IS_TASK(search->rota, bundle));
    uint32_t tasks = search->intake->spec->task_count;
    uint32_t number = task_id(search->rota, bundle).task;
    memset(search->seen, 0, (size_t)tasks + search->rota->task_capacity);
    search->height = 0;
    search->at = NOBODY;
    for (uint32_t i = 0; i < tasks; i++)
        if (search->intake->spec->tasks[i].bundle == number) visit(search, i);
    while (search->height && !search->seen[tasks + bundle]) {
        search->at = search->stack[--search->height];
        if (search->at < tasks)
            visit_new_needs(search, search->at);
        else
            visit_old_needs(search, search->at - tasks);
    }
    return search->seen[tasks + bundle];
}

// The path found leads from the bundle back; it is reported from its other end, the new member that
// the bundle would wait for. The stack is no longer used and holds the reversed path.
static void tell_cycle(struct rota *rota, struct search *search, task_row bundle)
{
    assert(IS_TASK(rota, bundle));
    const struct intake *intake = search->intake;
    uint32_t tasks = intake->spec->task_count, length = 0;
    for (uint32_t node = tasks + bundle; node != NOBODY; node = search->from[node])
        search->stack[length++] = node;
    while (length-- > 0) {
        uint32_t node = search->stack[length];
        rota_task_id id = {0, intake->first + node};
        submit_cycle_add(rota, intake, node < tasks ? id : task_id(rota, node - tasks));
    }
}

// Groups the pairs by their end: the dependencies of each task.
static void group(const struct submit_pairs *pairs, uint32_t tasks, uint32_t *first, uint32_t *list)
{
    assert(first && list);
    for (uint32_t i = 0; i < pairs->count; i++) first[pairs->items[i].after + 2]++;
    for (uint32_t i = 0; i < tasks; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < pairs->count; i++)
        list[first[pairs->items[i].after + 1]++] = pairs->items[i].before;
}

static bool reserve(struct rota *rota, struct search *search, const struct submit_pairs *inner,
                    const struct submit_pairs *outer)
{
    uint64_t tasks = search->intake->spec->task_count, nodes = tasks + rota->task_capacity;
    void *blocks[BLOCKS] = {NULL};
    const uint64_t needs[BLOCKS]
        = {inner->count + 1, tasks + 2, outer->count + 1, tasks + 2, nodes, nodes, nodes};
    bool there = true;
    for (int i = 0; i < BLOCKS && there; i++)
        there = memory_reserve(&rota->memory, &blocks[i], &search->capacity[i], needs[i],
                               i == 4 ? 1 : sizeof(uint32_t));
    search->inner = blocks[0];
    search->inner_first = blocks[1];
    search->outer = blocks[2];
    search->outer_first = blocks[3];
    search->seen = blocks[4];
    search->stack = blocks[5];
    search->from = blocks[6];
    return there;
}

static void release(struct rota *rota, struct search *search)
{
    void *blocks[BLOCKS] = {search->inner, search->inner_first, search->outer, search->outer_first,
                            search->seen,  search->stack,       search->from};
    for (int i = 0; i < BLOCKS; i++)
        memory_release(&rota->memory, &blocks[i], &search->capacity[i],
                       i == 4 ? 1 : sizeof(uint32_t));
}

enum rota_error submit_old_bundles(struct rota *rota, const struct intake *intake,
                                   const struct submit_pairs *inner,
                                   const struct submit_pairs *outer)
{
    struct search search = {.rota = rota, .intake = intake};
    const struct rota_job_spec *spec = intake->spec;
    bool there = reserve(rota, &search, inner, outer), cycle = false;
    if (there) {
        group(inner, spec->task_count, search.inner_first, search.inner);
        group(outer, spec->task_count, search.outer_first, search.outer);
    }
    uint32_t last = 0;
    for (uint32_t i = 0; there && !cycle && i < spec->task_count; i++) {
        uint32_t bundle = spec->tasks[i].bundle;
        if (!bundle || bundle >= intake->first || bundle == last) continue;
        last = bundle;
        task_row row = task_find(rota, (rota_task_id){intake->job_id, bundle});
        cycle = reaches(&search, row);
        if (cycle) tell_cycle(rota, &search, row);
    }
    release(rota, &search);
    if (!there) return refuse(rota, ROTA_NO_MEMORY, "out of memory for the submission");
    if (cycle)
        return refuse(rota, ROTA_BAD_GRAPH, "a bundle would wait for a task that waits for it");
    return ROTA_OK;
}
