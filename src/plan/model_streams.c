// model_streams.c - groups of tasks joined by streams: they progress while all of them run, and end
// together.
//
// A writer stalls at a full stream until it is read, and a reader waits for data. So a group takes
// as long as its slowest task or its slowest transfer. When a task leaves, its readers are cut off.
// Its writers stall until they are told that no reader is left; then they continue for their other
// readers, or fail without one. A task that finished in an earlier attempt is not waited for.
#include "plan/model_internal.h"

#include <stdlib.h>

void model_streams_open(struct model *model)
{
    const struct plan_graph *graph = model->graph;
    if (!graph->streams) return;
    model->groups = plan_take((size_t)graph->group_count + 1, sizeof *model->groups);
    model->dropped = plan_take(graph->object_count, sizeof *model->dropped);
}

void model_streams_close(struct model *model)
{
    free(model->groups), free(model->dropped);
}

void model_streams_reset(struct model *model)
{
    const struct plan_graph *graph = model->graph;
    if (!graph->streams) return;
    for (uint32_t i = 0; i <= graph->group_count; i++) model->groups[i] = (struct model_group){0};
    for (uint32_t i = 0; i < graph->object_count; i++) model->dropped[i] = false;
}

static bool is_on(const struct model *model, uint32_t task)
{
    return model->tasks[task].state == TASK_RUNS || model->tasks[task].state == TASK_OVER;
}

bool model_flows(const struct model *model, uint32_t object)
{
    assert(object < model->graph->object_count);
    uint32_t writer = model->graph->objects[object].producer;
    return model->tasks[writer].state == TASK_OVER
           || (model->tasks[writer].state == TASK_RUNS && !model->dropped[object]);
}

static uint32_t reader_of(const struct model *model, uint32_t object)
{
    assert(plan_is_stream(model->graph, object));
    return model->graph->users[model->graph->objects[object].user];
}

// ---- Progress of a group --------------------------------------------------------------------

static void end_together(struct model *model, uint32_t group)
{
    assert(group > 0 && group <= model->graph->group_count);
    const struct plan_graph *graph = model->graph;
    double ends = model->groups[group].ends, at = ends > model->now ? ends : model->now;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        const struct model_task *task = &model->tasks[graph->grouped[i]];
        if (task->state == TASK_RUNS && !task->fails) model_end_at(model, graph->grouped[i], at);
    }
}

// A stream between workers shares the network like a copy.
static void flow_open(struct model *model, uint32_t object)
{
    assert(plan_is_stream(model->graph, object));
    uint32_t writer = model->graph->objects[object].producer, reader = reader_of(model, object);
    uint32_t source = model->tasks[writer].worker, worker = model->tasks[reader].worker, number;
    bool reads = model->tasks[reader].state == TASK_RUNS && !model->dropped[object];
    if (!reads || source == worker || model->graph->mib[object] <= 0) return;
    uint32_t copy = model_copy_add(model, object, worker);
    network_link(model, source, worker, &number);
    model->copies[copy].link = number;
    model->copies[copy].state = COPY_MOVES;
    model->workers[source].sending++;
    model->groups[model->graph->group[writer]].flows++;
    network_open(model, copy);
}

static void flow_close(struct model *model, uint32_t object)
{
    assert(plan_is_stream(model->graph, object));
    uint32_t copy = model->copy_of[object];
    if (!copy) return;
    network_close(model, copy - 1);
    model->copy_of[object] = 0;
    model->groups[model->graph->group[model->graph->objects[object].producer]].flows--;
}

static void flows_close(struct model *model, uint32_t task)
{
    const struct plan_graph *graph = model->graph;
    const struct plan_task *row = &graph->tasks[task];
    for (uint32_t i = 0; i < row->output_count; i++)
        if (graph->streams[row->output + i]) flow_close(model, row->output + i);
    for (uint32_t i = 0; i < row->input_count; i++)
        if (graph->streams[graph->inputs[row->input + i]])
            flow_close(model, graph->inputs[row->input + i]);
}

static bool lacks_writer(const struct model *model, uint32_t task)
{
    const struct plan_graph *graph = model->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++)
        if (graph->streams[inputs[i]] && !is_on(model, graph->objects[inputs[i]].producer))
            return true;
    return false;
}

static bool lacks_reader(const struct model *model, uint32_t task)
{
    const struct plan_task *row = &model->graph->tasks[task];
    for (uint32_t i = row->output; i < row->output + row->output_count; i++) {
        if (!model->graph->streams[i] || model->dropped[i]) continue;
        if (!is_on(model, reader_of(model, i))) return true;
    }
    return false;
}

static bool is_complete(const struct model *model, uint32_t group)
{
    assert(group > 0 && group <= model->graph->group_count);
    const struct plan_graph *graph = model->graph;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        uint32_t task = graph->grouped[i];
        bool runs = model->tasks[task].state == TASK_RUNS;
        if (runs && (lacks_writer(model, task) || lacks_reader(model, task))) return false;
    }
    return true;
}

// Starts again, for the tasks of the group that run.
static void begin(struct model *model, uint32_t group)
{
    assert(group > 0 && group <= model->graph->group_count);
    const struct plan_graph *graph = model->graph;
    struct model_group *at = &model->groups[group];
    double longest = 0;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        uint32_t task = graph->grouped[i];
        const struct plan_task *row = &graph->tasks[task];
        if (model->tasks[task].state != TASK_RUNS) continue;
        double seconds = model_seconds(model, task);
        if (longest < seconds) longest = seconds;
        if (model->tasks[task].fails) model_end_at(model, task, model->now + seconds);
        for (uint32_t k = row->output; k < row->output + row->output_count; k++)
            if (graph->streams[k] && !model->copy_of[k]) flow_open(model, k);
    }
    at->begun = true;
    at->stands = false;
    at->ends = model->now + longest;
    if (!at->flows) end_together(model, group);
}

// A task that will fail does so at its own time.
static bool is_to_fail(const struct model *model, uint32_t task)
{
    return model->tasks[task].state == TASK_RUNS && model->tasks[task].fails;
}

static void group_resume(struct model *model, uint32_t group)
{
    assert(group > 0 && group <= model->graph->group_count);
    const struct plan_graph *graph = model->graph;
    struct model_group *at = &model->groups[group];
    at->stands = false;
    at->ends = model->now + at->left;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        uint32_t task = graph->grouped[i];
        if (!is_to_fail(model, task)) continue;
        model_end_at(model, task, model->now + model->tasks[task].left);
    }
    if (!at->flows) end_together(model, group);
}

// Readers of its outputs can start, on any worker.
static void tell_readers(struct model *model, uint32_t task)
{
    const struct plan_task *row = &model->graph->tasks[task];
    for (uint32_t i = row->output; i < row->output + row->output_count; i++) {
        if (!model->graph->streams[i]) continue;
        uint32_t reader = reader_of(model, i);
        struct model_task *at = &model->tasks[reader];
        model->dropped[i] = false;
        if (at->state == TASK_GIVEN && --at->missing == 0) model_ready(model, reader);
    }
}

void model_streams_started(struct model *model, uint32_t task)
{
    uint32_t group = model->graph->group[task];
    tell_readers(model, task);
    if (is_complete(model, group)) begin(model, group);
}

void model_streams_flowed(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    uint32_t object = model->copies[copy].object;
    uint32_t group = model->graph->group[model->graph->objects[object].producer];
    struct model_group *at = &model->groups[group];
    model->copy_of[object] = 0;
    if (--at->flows == 0 && !at->stands) end_together(model, group);
}

// ---- A task leaves --------------------------------------------------------------------------

static uint32_t count_missing(const struct model *model, uint32_t task)
{
    const struct plan_task *row = &model->graph->tasks[task];
    uint32_t missing = 0;
    for (uint32_t i = 0; i < row->input_count; i++)
        missing += !model_has(model, model->graph->inputs[row->input + i],
                              model->tasks[task].worker);
    return missing;
}

static void wait_again(struct model *model, uint32_t task)
{
    assert(task < model->graph->task_count);
    struct model_task *at = &model->tasks[task];
    uint32_t missing = count_missing(model, task);
    if (at->state == TASK_READY && missing) {
        model_queue_remove(&model->workers[at->worker].ready, model->task_keys, task);
        at->state = TASK_GIVEN;
    }
    if (at->state == TASK_GIVEN) at->missing = missing;
}

static void cut_off(struct model *model, uint32_t task, enum model_cut why)
{
    assert(task < model->graph->task_count);
    model_free(model, task);
    flows_close(model, task);
    model->tasks[task].state = TASK_AWAY;
    model_cut_task(model, task, why);
}

static void stand_still(struct model *model, uint32_t group)
{
    assert(group > 0 && group <= model->graph->group_count);
    const struct plan_graph *graph = model->graph;
    struct model_group *at = &model->groups[group];
    if (!at->begun || at->stands) return;
    at->stands = true;
    at->left = at->ends > model->now ? at->ends - model->now : 0;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        struct model_task *task = &model->tasks[graph->grouped[i]];
        task->left = task->ends > model->now ? task->ends - model->now : 0;
    }
}

void model_streams_left(struct model *model, uint32_t task)
{
    const struct plan_graph *graph = model->graph;
    uint32_t group = graph->group ? graph->group[task] : 0, running = 0;
    if (!group) return;
    flows_close(model, task);
    stand_still(model, group);
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        uint32_t other = graph->grouped[i];
        struct model_task *at = &model->tasks[other];
        if (at->state == TASK_RUNS && lacks_writer(model, other))
            cut_off(model, other, MODEL_CUT_READER);
        if (at->state == TASK_RUNS) at->run = 0;
        running += at->state == TASK_RUNS;
        if (at->state == TASK_GIVEN || at->state == TASK_READY) wait_again(model, other);
    }
    if (!running) model->groups[group].begun = false;
}

// A reader that is done lacks nothing.
static bool is_read(const struct model *model, uint32_t writer)
{
    const struct plan_task *row = &model->graph->tasks[writer];
    bool missed = false;
    for (uint32_t i = row->output; i < row->output + row->output_count; i++) {
        if (!model->graph->streams[i]) continue;
        if (!model->dropped[i]) return true;
        missed |= model->tasks[reader_of(model, i)].state != TASK_OVER;
    }
    return !missed;
}

void model_cut(struct model *model, uint32_t object, uint32_t worker)
{
    assert(object < model->graph->object_count);
    uint32_t writer = model->graph->objects[object].producer, group = model->graph->group[writer];
    struct model_group *at = &model->groups[group];
    if (model->tasks[writer].state != TASK_RUNS || model->tasks[writer].worker != worker) return;
    model->dropped[object] = true;
    if (!is_read(model, writer)) {
        cut_off(model, writer, MODEL_CUT_WRITER);
        model_streams_left(model, writer);
    } else if ((!at->begun || at->stands) && is_complete(model, group)) {
        if (at->begun) group_resume(model, group);
        else begin(model, group);
    }
}
