// jobs.c - jobs that are worth planning, and their graphs.
#include "plan/live/internal.h"

#include <stdlib.h>

// New items are zero.
void *live_grow(void *items, uint32_t *capacity, uint64_t count, size_t size)
{
    assert(size > 0);
    if (!memory_reserve(&memory_heap, &items, capacity, count, size)) abort();
    return items;
}

struct live_job *live_job_find(const struct live *live, rota_job_id id)
{
    uint32_t at = map_find(&live->jobs_by_id, id.number);
    assert(at <= live->job_count);
    return at ? live->jobs[at - 1] : NULL;
}

bool live_knows(const struct live *live, rota_job_id job)
{
    return live->job_count && map_find(&live->jobs_by_id, job.number);
}

// ---- Which jobs are planned -----------------------------------------------------------------

static bool is_handed_on(const struct rota_output *output)
{
    return output->task && !(output->flags & ROTA_OBJECT_STREAM);
}

// Whether a task reads an output of another.
static bool has_flow(const struct rota_job_spec *spec)
{
    struct map made = {0};
    bool found = false;
    if (!map_reserve(&memory_heap, &made, spec->output_count)) abort();
    for (uint32_t i = 0; i < spec->output_count; i++)
        if (is_handed_on(&spec->outputs[i])) map_put(&made, ID_HASH(spec->outputs[i].object), 1);
    for (uint32_t i = 0; i < spec->input_count && !found; i++)
        found = map_find(&made, ID_HASH(spec->inputs[i].object));
    map_release(&memory_heap, &made);
    return found;
}

bool live_wants(const struct live *live, const struct rota_job_spec *spec)
{
    if (spec->job.number) return live_knows(live, spec->job);
    bool plan = spec->policy == ROTA_POLICY_PLAN || spec->policy == ROTA_POLICY_DEFAULT;
    return plan && spec->input_count && spec->output_count && has_flow(spec);
}

// ---- Adding and removing jobs ---------------------------------------------------------------

static struct live_job *job_add(struct live *live, rota_job_id id)
{
    assert(!live_job_find(live, id));
    if (!map_reserve(&memory_heap, &live->jobs_by_id, 1)) abort();
    live->jobs = live_grow(live->jobs, &live->job_capacity, (uint64_t)live->job_count + 1,
                             sizeof *live->jobs);
    struct live_job *job = plan_take(1, sizeof *job);
    job->id = id;
    live->jobs[live->job_count++] = job;
    map_put(&live->jobs_by_id, id.number, live->job_count);
    return job;
}

static void tasks_add(struct live *live, struct live_job *job, const struct rota_job_spec *spec,
                      const char *const *names)
{
    assert(spec->task_count > 0);
    job->tasks = live_grow(job->tasks, &job->task_capacity,
                            (uint64_t)job->task_count + spec->task_count, sizeof *job->tasks);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct rota_task_spec *from = &spec->tasks[i];
        struct live_task *task = &job->tasks[job->task_count++];
        task->stated = (double)from->estimate * 1e-6;
        task->cores = from->cores ? from->cores : 1;
        task->place = PLAN_NONE;
        task->is_open = !from->machine && !from->lane && !(from->flags & ROTA_TASK_BUNDLE);
        if (names) task->kind = live_kind_of(live, names[i] ? names[i] : "");
    }
}

static void need_add(struct live_job *job, struct live_read need)
{
    if (need.task && need.task <= job->task_count) job->raw.needs[job->raw.need_count++] = need;
}

// Runs after tasks_add(), so all numbers refer to existing tasks.
static void lists_add(struct live_job *job, const struct rota_job_spec *spec)
{
    assert(job->task_count >= spec->task_count);
    struct live_raw *raw = &job->raw;
    raw->outputs = live_grow(raw->outputs, &raw->output_capacity,
                              (uint64_t)raw->output_count + spec->output_count,
                              sizeof *raw->outputs);
    raw->needs = live_grow(raw->needs, &raw->need_capacity,
                            (uint64_t)raw->need_count + spec->edge_count + spec->input_count,
                            sizeof *raw->needs);
    for (uint32_t i = 0; i < spec->output_count; i++) {
        const struct rota_output *from = &spec->outputs[i];
        if (!is_handed_on(from) || from->task > job->task_count) continue;
        raw->outputs[raw->output_count++]
            = (struct live_made){from->task, from->object, from->bytes};
    }
    for (uint32_t i = 0; i < spec->edge_count; i++)
        need_add(job, (struct live_read){.task = spec->edges[i].after,
                                          .before = spec->edges[i].before});
    for (uint32_t i = 0; i < spec->input_count; i++)
        need_add(job, (struct live_read){.task = spec->inputs[i].task,
                                          .object = spec->inputs[i].object});
}

void live_submitted(struct live *live, rota_job_id id, const struct rota_job_spec *spec,
                     const char *const *names)
{
    struct live_job *job = live_job_find(live, id);
    if (!spec->task_count) return;  // it only closes an open job, or adds uploads
    if (!job) job = job_add(live, id);
    tasks_add(live, job, spec, names);
    lists_add(job, spec);
    job->is_stale = true;
    live->has_news = true;
    live->rule_plans = 0;
}

static void job_close(struct live_job *job)
{
    plan_graph_release(&job->graph);
    free(job->raw.outputs), free(job->raw.needs), free(job->tasks), free(job->objects), free(job);
}

void live_forget(struct live *live, rota_job_id id)
{
    uint32_t at = map_find(&live->jobs_by_id, id.number);
    if (!at) return;
    job_close(live->jobs[at - 1]);
    map_remove(&live->jobs_by_id, id.number);
    live->job_count--;
    for (; at <= live->job_count; at++) {  // keeps the order of submission
        live->jobs[at - 1] = live->jobs[at];
        *map_place(&live->jobs_by_id, live->jobs[at]->id.number) = at;
    }
}

// ---- The graph --------------------------------------------------------------------------------

// A task on which others depend without reading an object gets one more output, of size 0.
static void objects_place(struct live_job *job, struct map *made)
{
    const struct live_raw *raw = &job->raw;
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
    if (!map_reserve(&memory_heap, made, raw->output_count)) abort();
    for (uint32_t i = 0; i < raw->output_count; i++) {
        const struct live_made *from = &raw->outputs[i];
        uint32_t at = next[from->task - 1]++;
        assert(at < count);
        job->objects[at] = (struct live_object){from->object, from->bytes, PLAN_NONE};
        map_put(made, ID_HASH(from->object), at + 1);
    }
    free(next);
}

// PLAN_NONE: it exists from the beginning, or it is a stream.
static uint32_t need_of(const struct live_job *job, const struct map *made,
                        const struct live_read *need)
{
    if (need->before && need->before <= job->task_count) {
        const struct plan_task *before = &job->graph.tasks[need->before - 1];
        return before->output + before->output_count - 1;
    }
    uint32_t at = need->before ? 0 : map_find(made, ID_HASH(need->object));
    return at ? at - 1 : PLAN_NONE;
}

static void needs_place(struct live_job *job, const struct map *made)
{
    const struct live_raw *raw = &job->raw;
    struct plan_graph *graph = &job->graph;
    uint32_t *first = plan_take((size_t)job->task_count + 1, sizeof *first), count = 0;
    uint32_t *sorted = plan_take(raw->need_count, sizeof *sorted);
    uint32_t *user = plan_take(graph->object_count, sizeof *user);  // the last one, plus one
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
    assert(count <= raw->need_count);
    graph->input_count = count;
    free(first), free(sorted), free(user);
}

void live_job_settle(struct live_job *job)
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
    map_release(&memory_heap, &made);
    plan_graph_finish(&job->graph);  // cannot fail: the core has refused cycles
    assert(!job->is_stale);
}
