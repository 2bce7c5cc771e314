// jobs.c - jobs that are worth a plan, and their graphs.
#include "plan/live/internal.h"

#include <stdlib.h>

static const struct memory heap = {memory_resize_heap, NULL};

// New ones are zero.
void *guide_grow(void *items, uint32_t *capacity, uint64_t count, size_t size)
{
    if (!memory_reserve(&heap, &items, capacity, count, size)) abort();
    return items;
}

static uint64_t hash_of(rota_object_id object)
{
    return hash_mix(object.high, object.low);
}

struct guide_job *guide_job_find(const struct guide *guide, rota_job_id id)
{
    uint32_t at = map_find(&guide->jobs_by_id, id.number);
    return at ? guide->jobs[at - 1] : NULL;
}

bool guide_knows(const struct guide *guide, rota_job_id job)
{
    return guide->job_count && map_find(&guide->jobs_by_id, job.number);
}

// ---- Which are wanted -------------------------------------------------------------------------

static bool is_handed_on(const struct rota_output *output)
{
    return output->task && !(output->flags & ROTA_OBJECT_STREAM);
}

// Whether any input is one of the outputs.
static bool has_flow(const struct rota_job_spec *spec)
{
    struct map made = {0};
    bool found = false;
    if (!map_reserve(&heap, &made, spec->output_count)) abort();
    for (uint32_t i = 0; i < spec->output_count; i++)
        if (is_handed_on(&spec->outputs[i])) map_put(&made, hash_of(spec->outputs[i].object), 1);
    for (uint32_t i = 0; i < spec->input_count && !found; i++)
        found = map_find(&made, hash_of(spec->inputs[i].object));
    map_release(&heap, &made);
    return found;
}

bool guide_wants(const struct guide *guide, const struct rota_job_spec *spec)
{
    if (spec->job.number) return guide_knows(guide, spec->job);
    bool plan = spec->policy == ROTA_POLICY_PLAN || spec->policy == ROTA_POLICY_DEFAULT;
    return plan && spec->input_count && spec->output_count && has_flow(spec);
}

// ---- Coming and going -------------------------------------------------------------------------

static struct guide_job *job_add(struct guide *guide, rota_job_id id)
{
    if (!map_reserve(&heap, &guide->jobs_by_id, 1)) abort();
    guide->jobs = guide_grow(guide->jobs, &guide->job_capacity, (uint64_t)guide->job_count + 1,
                             sizeof *guide->jobs);
    struct guide_job *job = plan_take(1, sizeof *job);
    job->id = id;
    guide->jobs[guide->job_count++] = job;
    map_put(&guide->jobs_by_id, id.number, guide->job_count);
    return job;
}

static void tasks_add(struct guide *guide, struct guide_job *job, const struct rota_job_spec *spec,
                      const char *const *names)
{
    job->tasks = guide_grow(job->tasks, &job->task_capacity,
                            (uint64_t)job->task_count + spec->task_count, sizeof *job->tasks);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct rota_task_spec *from = &spec->tasks[i];
        struct guide_task *task = &job->tasks[job->task_count++];
        task->stated = (double)from->estimate * 1e-6;
        task->cores = from->cores ? from->cores : 1;
        task->place = PLAN_NONE;
        task->is_open = !from->machine && !from->lane && !(from->flags & ROTA_TASK_BUNDLE);
        if (names) task->kind = guide_kind_of(guide, names[i] ? names[i] : "");
    }
}

static void need_add(struct guide_job *job, struct guide_read need)
{
    if (need.task && need.task <= job->task_count) job->raw.needs[job->raw.need_count++] = need;
}

// Behind tasks_add(): numbers are those of tasks that are there.
static void lists_add(struct guide_job *job, const struct rota_job_spec *spec)
{
    struct guide_raw *raw = &job->raw;
    raw->outputs = guide_grow(raw->outputs, &raw->output_capacity,
                              (uint64_t)raw->output_count + spec->output_count,
                              sizeof *raw->outputs);
    raw->needs = guide_grow(raw->needs, &raw->need_capacity,
                            (uint64_t)raw->need_count + spec->edge_count + spec->input_count,
                            sizeof *raw->needs);
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const struct rota_output *from = &spec->outputs[i];
        if (!is_handed_on(from) || from->task > job->task_count) continue;
        raw->outputs[raw->output_count++]
            = (struct guide_made){from->task, from->object, from->bytes};
    }
    for (uint32_t i = 0; i < spec->edge_count; i++)
        need_add(job, (struct guide_read){.task = spec->edges[i].after,
                                          .before = spec->edges[i].before});
    for (uint32_t i = 0; i < spec->input_count; i++)
        need_add(job, (struct guide_read){.task = spec->inputs[i].task,
                                          .object = spec->inputs[i].object});
}

void guide_submitted(struct guide *guide, rota_job_id id, const struct rota_job_spec *spec,
                     const char *const *names)
{
    struct guide_job *job = guide_job_find(guide, id);
    if (!job) job = job_add(guide, id);
    tasks_add(guide, job, spec, names);
    lists_add(job, spec);
    job->is_stale = true;
    guide->has_news = true;
    guide->rule_plans = 0;
}

static void job_close(struct guide_job *job)
{
    plan_graph_release(&job->graph);
    free(job->raw.outputs), free(job->raw.needs), free(job->tasks), free(job->objects), free(job);
}

void guide_forget(struct guide *guide, rota_job_id id)
{
    uint32_t at = map_find(&guide->jobs_by_id, id.number);
    if (!at) return;
    job_close(guide->jobs[at - 1]);
    map_remove(&guide->jobs_by_id, id.number);
    guide->job_count--;
    for (; at <= guide->job_count; at++) {  // those that came first stay first
        guide->jobs[at - 1] = guide->jobs[at];
        *map_place(&guide->jobs_by_id, guide->jobs[at]->id.number) = at;
    }
}

// ---- The graph --------------------------------------------------------------------------------

// A task that others merely need makes one object more, of no size.
static void objects_place(struct guide_job *job, struct map *made)
{
    const struct guide_raw *raw = &job->raw;
    struct plan_graph *graph = &job->graph;
    uint32_t *next = plan_take(job->task_count, sizeof *next), count = 0;
    for (uint32_t i = 0; i < raw->output_count; i++)
        graph->tasks[raw->outputs[i].task - 1].output_count++;
    for (uint32_t i = 0; i < job->task_count; i++) {
        graph->tasks[i].output = next[i] = count;
        count += ++graph->tasks[i].output_count;
    }
    job->objects = plan_take(count, sizeof *job->objects);
    graph->objects = plan_take(count, sizeof *graph->objects);
    graph->object_count = count;
    for (uint32_t i = 0; i < count; i++) job->objects[i].place = PLAN_NONE;
    if (!map_reserve(&heap, made, raw->output_count)) abort();
    for (uint32_t i = 0; i < raw->output_count; i++) {
        const struct guide_made *from = &raw->outputs[i];
        uint32_t at = next[from->task - 1]++;
        job->objects[at] = (struct guide_object){from->object, from->bytes, PLAN_NONE};
        map_put(made, hash_of(from->object), at + 1);
    }
    free(next);
}

// PLAN_NONE: it is there from the beginning, or it flows.
static uint32_t need_of(const struct guide_job *job, const struct map *made,
                        const struct guide_read *need)
{
    if (need->before && need->before <= job->task_count) {
        const struct plan_task *before = &job->graph.tasks[need->before - 1];
        return before->output + before->output_count - 1;
    }
    uint32_t at = need->before ? 0 : map_find(made, hash_of(need->object));
    return at ? at - 1 : PLAN_NONE;
}

static void needs_place(struct guide_job *job, const struct map *made)
{
    const struct guide_raw *raw = &job->raw;
    struct plan_graph *graph = &job->graph;
    uint32_t *first = plan_take((size_t)job->task_count + 1, sizeof *first), count = 0;
    uint32_t *sorted = plan_take(raw->need_count, sizeof *sorted);
    uint32_t *user = plan_take(graph->object_count, sizeof *user);  // the last, plus one
    for (uint32_t i = 0; i < raw->need_count; i++) first[raw->needs[i].task]++;
    for (uint32_t i = 0; i < job->task_count; i++) first[i + 1] += first[i];
    for (uint32_t i = 0; i < raw->need_count; i++) sorted[first[raw->needs[i].task - 1]++] = i;
    for (uint32_t task = 0, at = 0; task < job->task_count; task++) {
        graph->tasks[task].input = count;
        for (; at < first[task]; at++) {
            uint32_t object = need_of(job, made, &raw->needs[sorted[at]]);
            if (object == PLAN_NONE || user[object] == task + 1) continue;
            user[object] = task + 1;
            graph->inputs[count++] = object;
            graph->tasks[task].input_count++;
        }
    }
    graph->input_count = count;
    free(first), free(sorted), free(user);
}

void guide_job_settle(struct guide_job *job)
{
    struct map made = {0};
    if (!job->is_stale) return;
    job->is_stale = false;
    plan_graph_release(&job->graph);
    free(job->objects);
    job->graph.tasks = plan_take(job->task_count, sizeof *job->graph.tasks);
    job->graph.inputs = plan_take(job->raw.need_count, sizeof *job->graph.inputs);
    job->graph.task_count = job->task_count;
    job->from = 0;
    objects_place(job, &made);
    needs_place(job, &made);
    map_release(&heap, &made);
    plan_graph_finish(&job->graph);  // the core has refused cycles
}
