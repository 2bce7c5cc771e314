// model.c - simulates workers that run tasks and fetch their inputs, event by event.
#include "plan/model_internal.h"

#include <stdlib.h>
#include <string.h>

static const double nothing_left = 2e-6;  // MiB

struct model *model_open(const struct plan_graph *graph, const struct plan_cluster *cluster)
{
    assert(cluster->worker_count > 0);
    struct model *model = plan_take(1, sizeof *model);
    model->graph = graph;
    model->cluster = cluster;
    model->tasks = plan_take(graph->task_count, sizeof *model->tasks);
    model->task_keys = plan_take(graph->task_count, sizeof *model->task_keys);
    model->copy_of = plan_take(graph->object_count, sizeof *model->copy_of);
    model->workers = plan_take(cluster->worker_count, sizeof *model->workers);
    model->ended = plan_take(graph->task_count, sizeof *model->ended);
    model->started = plan_take(graph->task_count, sizeof *model->started);
    model->passed = plan_take(graph->task_count, sizeof *model->passed);
    model->dirty = plan_take(cluster->worker_count, sizeof *model->dirty);
    model->ports = plan_take(2 * (size_t)cluster->worker_count, sizeof *model->ports);
    model->busy = plan_take(2 * (size_t)cluster->worker_count, sizeof *model->busy);
    model->cut = plan_take(graph->task_count, sizeof *model->cut);
    model->cut_told = plan_take(graph->task_count, sizeof *model->cut_told);
    model_streams_open(model);
    room_open(model);
    model_reset(model);
    return model;
}

void model_close(struct model *model)
{
    if (!model) return;
    for (uint32_t i = 0; i < model->cluster->worker_count; i++) free(model->workers[i].ready.items);
    for (uint32_t i = 0; i < model->link_capacity; i++) free(model->links[i].waiting.items);
    free(model->tasks), free(model->task_keys), free(model->copy_keys), free(model->workers);
    free(model->copies), free(model->copy_of), free(model->links), free(model->ends);
    free(model->moving), free(model->left), free(model->rate), free(model->active);
    free(model->ports), free(model->busy), free(model->dirty), free(model->ended);
    free(model->openings), free(model->broken);
    free(model->cut), free(model->cut_told);
    model_streams_close(model);
    room_close(model);
    free(model->arrived), free(model->passed), free(model->started), free(model);
}

static uint32_t model_memory_of(const struct plan_cluster *cluster, uint32_t worker)
{
    return cluster->memory_mib ? cluster->memory_mib[worker] : UINT32_MAX;
}

void model_reset(struct model *model)
{
    const struct plan_graph *graph = model->graph;
    memset(model->tasks, 0, graph->task_count * sizeof *model->tasks);
    memset(model->task_keys, 0, graph->task_count * sizeof *model->task_keys);
    memset(model->copy_of, 0, graph->object_count * sizeof *model->copy_of);
    memset(model->ports, 0, 2 * (size_t)model->cluster->worker_count * sizeof *model->ports);
    for (uint32_t i = 0; i < model->cluster->worker_count; i++) {
        struct plan_queue ready = model->workers[i].ready;
        ready.count = 0;
        model->workers[i] = (struct model_worker){.cores_free = model->cluster->cores[i],
                                                  .memory_free = model_memory_of(model->cluster, i),
                                                  .ready = ready};
    }
    model->now = 0;
    model->since = 0;
    model->sums.transfers = 0;
    model->sums.mib = 0;
    model->copy_count = model->link_count = model->end_count = model->moving_count = 0;
    model->started_count = model->opening_first = model->opening_count = 0;
    model->active_count = model->dirty_count = model->ended_count = model->arrived_count = 0;
    model->is_changed = false;
    model->cut_count = 0;
    model_streams_reset(model);
    room_reset(model);
}

void model_touch(struct model *model, uint32_t worker)
{
    if (model->workers[worker].dirty) return;
    model->workers[worker].dirty = true;
    model->dirty[model->dirty_count++] = worker;
}

// ---- Copies ----------------------------------------------------------------------------

static uint32_t find_copy(const struct model *model, uint32_t object, uint32_t worker)
{
    uint32_t at = model->copy_of[object];
    while (at && model->copies[at - 1].worker != worker) at = model->copies[at - 1].next;
    return at;
}

static bool is_at_home(const struct model *model, uint32_t object, uint32_t worker)
{
    uint32_t producer = model->graph->objects[object].producer;
    if (producer == PLAN_NONE) return true;
    const struct model_task *task = &model->tasks[producer];
    return task->state == TASK_OVER && task->worker == worker
           && !(model->gone && model->gone[object]);
}

bool model_has(const struct model *model, uint32_t object, uint32_t worker)
{
    if (plan_is_stream(model->graph, object)) return model_flows(model, object);
    if (is_at_home(model, object, worker)) return true;
    uint32_t at = find_copy(model, object, worker);
    return at && model->copies[at - 1].state == COPY_THERE;
}

bool model_is_under_way(const struct model *model, uint32_t object, uint32_t worker)
{
    uint32_t at = find_copy(model, object, worker);
    return at && model->copies[at - 1].state != COPY_THERE;
}

uint32_t model_copy_add(struct model *model, uint32_t object, uint32_t worker)
{
    assert(worker < model->cluster->worker_count);
    uint32_t keys = model->copy_capacity;
    model_grow(&model->copies, &model->copy_capacity, model->copy_count, sizeof *model->copies);
    if (keys != model->copy_capacity) {
        model->copy_keys
            = realloc(model->copy_keys, model->copy_capacity * sizeof *model->copy_keys);
        if (!model->copy_keys) abort();
    }
    uint32_t at = model->copy_count++;
    model->copies[at] = (struct copy){object, worker, 0, model->copy_of[object], COPY_THERE};
    model->copy_of[object] = at + 1;
    return at;
}

void model_ready(struct model *model, uint32_t task)
{
    struct model_task *at = &model->tasks[task];
    at->state = TASK_READY;
    model->task_keys[task].since = ++model->since;
    plan_queue_push(&model->workers[at->worker].ready, model->task_keys, task);
    model_touch(model, at->worker);
}

// The object has arrived: tasks that wait for it there no longer do.
static void arrive(struct model *model, uint32_t object, uint32_t worker)
{
    assert(object < model->graph->object_count);
    const struct plan_object *at = &model->graph->objects[object];
    const uint32_t *user = model->graph->users + at->user, *end = user + at->user_count;
    model->sums.steps += at->user_count;
    for (; user < end; user++) {
        struct model_task *task = &model->tasks[*user];
        if (task->state != TASK_GIVEN || task->worker != worker) continue;
        if (--task->missing == 0) model_ready(model, *user);
    }
}

// The worker that made it. If copies are allowed as sources, or the original is gone, the worker
// that has a copy and the least to send.
static uint32_t find_source(const struct model *model, uint32_t object)
{
    assert(object < model->graph->object_count);
    const struct model_task *producer = &model->tasks[model->graph->objects[object].producer];
    bool at_home = producer->state == TASK_OVER && !(model->gone && model->gone[object]);
    uint32_t best = at_home ? producer->worker : PLAN_NONE;
    if (best != PLAN_NONE && !model->cluster->any_source) return best;
    for (uint32_t at = model->copy_of[object]; at; at = model->copies[at - 1].next) {
        const struct copy *copy = &model->copies[at - 1];
        if (copy->state != COPY_THERE) continue;
        bool less = best == PLAN_NONE
                    || model->workers[copy->worker].sending < model->workers[best].sending;
        if (less) best = copy->worker;
    }
    return best;
}

void model_request(struct model *model, uint32_t object, uint32_t worker, double urgency)
{
    assert(worker < model->cluster->worker_count);
    if (plan_is_stream(model->graph, object)) return;
    if (is_at_home(model, object, worker) || model->workers[worker].down) return;
    uint32_t at = find_copy(model, object, worker);
    if (at) {
        struct copy *copy = &model->copies[at - 1];
        if (copy->state != COPY_WAITS || model->copy_keys[at - 1].urgency >= urgency) return;
        model->copy_keys[at - 1].urgency = urgency;
        plan_queue_raise(&model->links[copy->link].waiting, model->copy_keys, at - 1);
        return;
    }
    uint32_t source = find_source(model, object), number;
    if (source == PLAN_NONE) return;  // no worker has it
    at = model_copy_add(model, object, worker);
    if (model->graph->mib[object] <= 0) {
        arrive(model, object, worker);
        return;
    }
    struct link *link = network_link(model, source, worker, &number);
    model->copies[at].link = number;
    model->copies[at].state = COPY_WAITS;
    model->copy_keys[at] = (struct plan_key){urgency, ++model->since, 0};
    plan_queue_push(&link->waiting, model->copy_keys, at);
    model->workers[worker].waiting++;
    model->workers[source].sending++;
    model_touch(model, worker);
}

void model_queue_remove(struct plan_queue *queue, struct plan_key *keys, uint32_t item)
{
    assert(keys[item].place);
    double urgency = keys[item].urgency;
    keys[item].urgency = 1e300;
    plan_queue_raise(queue, keys, item);
    plan_queue_pop(queue, keys);
    keys[item].urgency = urgency;
}

// Removes a download that has not started from its queue.
bool model_call_off(struct model *model, uint32_t object, uint32_t worker)
{
    assert(object < model->graph->object_count);
    uint32_t *link = &model->copy_of[object];
    while (*link && model->copies[*link - 1].worker != worker)
        link = &model->copies[*link - 1].next;
    if (!*link || model->copies[*link - 1].state != COPY_WAITS) return false;
    uint32_t at = *link - 1;
    model_queue_remove(&model->links[model->copies[at].link].waiting, model->copy_keys, at);
    model->workers[worker].waiting--;
    model->workers[model->links[model->copies[at].link].source].sending--;
    *link = model->copies[at].next;
    return true;
}

// A download that waits for another source is moved to this copy, if it has less to send.
static void offer_copies(struct model *model, uint32_t object, uint32_t worker)
{
    assert(worker < model->cluster->worker_count);
    for (uint32_t at = model->copy_of[object]; at; at = model->copies[at - 1].next) {
        struct copy *copy = &model->copies[at - 1];
        if (copy->state != COPY_WAITS) continue;
        struct link *before = &model->links[copy->link];
        uint32_t source = before->source, number;
        if (model->workers[worker].sending + 1 >= model->workers[source].sending) continue;
        model_queue_remove(&before->waiting, model->copy_keys, at - 1);
        model->workers[source].sending--;
        model->workers[worker].sending++;
        struct link *link = network_link(model, worker, copy->worker, &number);
        copy->link = number;
        plan_queue_push(&link->waiting, model->copy_keys, at - 1);
        model_touch(model, copy->worker);
    }
}

// ---- Tasks -----------------------------------------------------------------------------

void model_assign(struct model *model, uint32_t task, uint32_t worker, double urgency)
{
    assert(worker < model->cluster->worker_count);
    assert(task < model->graph->task_count);
    struct model_task *at = &model->tasks[task];
    const struct plan_task *row = &model->graph->tasks[task];
    const uint32_t *inputs = model->graph->inputs + row->input;
    model_uncut(model, task);
    if (model->gone && at->state == TASK_OVER) room_forget_outputs(model, task);
    if (model->workers[worker].down) return;
    *at = (struct model_task){.worker = worker, .state = TASK_GIVEN};
    model->task_keys[task].urgency = urgency;
    for (uint32_t i = 0; i < row->input_count; i++)
        at->missing += !model_has(model, inputs[i], worker);
    if (at->missing == 0) model_ready(model, task);
}

bool model_retract(struct model *model, uint32_t task)
{
    assert(task < model->graph->task_count);
    struct model_task *at = &model->tasks[task];
    if (at->state == TASK_RUNS || at->state == TASK_OVER) return false;
    if (at->state == TASK_READY) {
        model_queue_remove(&model->workers[at->worker].ready, model->task_keys, task);
    }
    at->state = TASK_AWAY;
    return true;
}

// ---- One event ------------------------------------------------------------------------------

static void start_downloads(struct model *model, struct model_worker *worker)
{
    const struct plan_cluster *cluster = model->cluster;
    while (worker->waiting && worker->moving < cluster->slots) {
        struct link *best = NULL;
        for (uint32_t at = worker->links; at; at = model->links[at - 1].next) {
            struct link *link = &model->links[at - 1];
            model->sums.steps++;
            if (!link->waiting.count || link->moving + link->opening >= cluster->slots_each)
                continue;
            const struct plan_key *key = &model->copy_keys[link->waiting.items[0]];
            const struct plan_key *other = best ? &model->copy_keys[best->waiting.items[0]] : key;
            bool first = key->urgency != other->urgency ? key->urgency > other->urgency
                                                        : key->since < other->since;
            if (!best || first) best = link;
        }
        if (!best) return;
        uint32_t copy = plan_queue_pop(&best->waiting, model->copy_keys);
        model->copies[copy].state = COPY_MOVES;
        worker->waiting--;
        uint32_t number = (uint32_t)(worker - model->workers);
        if (room_take(model, number, model->graph->mib[model->copies[copy].object]))
            network_open(model, copy);
        else
            room_refuse(model, copy);
    }
}

static uint32_t model_memory_wanted(const struct model *model, uint32_t task)
{
    bool counts = model->graph->memory_mib && model->cluster->memory_mib;
    return counts ? model->graph->memory_mib[task] : 0;
}

void model_free(struct model *model, uint32_t task)
{
    assert(model->tasks[task].worker < model->cluster->worker_count);
    struct model_task *at = &model->tasks[task];
    model->workers[at->worker].cores_free += model->graph->tasks[task].cores;
    model->workers[at->worker].memory_free += model_memory_wanted(model, task);
    at->run = 0;  // the pending end is no longer valid
    model_touch(model, at->worker);
}

double model_seconds(const struct model *model, uint32_t task)
{
    double seconds = model->graph->seconds[task];
    if (model->tasks[task].times > 0) seconds *= model->tasks[task].times;
    if (!model->cluster->speed) return seconds;
    return seconds / model->cluster->speed[model->tasks[task].worker];
}

static void start_tasks(struct model *model, struct model_worker *worker)
{
    uint32_t passed = 0;
    while (worker->ready.count && worker->cores_free) {
        uint32_t task = plan_queue_pop(&worker->ready, model->task_keys);
        uint32_t cores = model->graph->tasks[task].cores, memory = model_memory_wanted(model, task);
        if (cores > worker->cores_free || memory > worker->memory_free) {
            model->passed[passed++] = task;
            continue;
        }
        worker->cores_free -= cores;
        worker->memory_free -= memory;
        model->tasks[task].state = TASK_RUNS;
        model->tasks[task].began = model->now;
        model->started[model->started_count++] = task;
        if (model->graph->group && model->graph->group[task])
            model_streams_started(model, task);
        else
            model_end_at(model, task, model->now + model_seconds(model, task));
    }
    model->sums.steps += passed;
    while (passed) plan_queue_push(&worker->ready, model->task_keys, model->passed[--passed]);
}

void model_settle(struct model *model)
{
    model->started_count = 0;
    while (model->dirty_count) {
        struct model_worker *worker = &model->workers[model->dirty[--model->dirty_count]];
        worker->dirty = false;
        start_downloads(model, worker);
        start_tasks(model, worker);
    }
}

static double next_instant(struct model *model, double until)
{
    double step = until - model->now;
    network_share(model);
    for (uint32_t i = 0; i < model->moving_count; i++)
        if (model->left[i] < step * model->rate[i]) step = model->left[i] / model->rate[i];
    double next = model->now + (step > 0 ? step : 0);
    if (model->end_count && model->ends[0].at < next) next = model->ends[0].at;
    if (model->opening_first < model->opening_count
        && model->openings[model->opening_first].at < next)
        next = model->openings[model->opening_first].at;
    return next;
}

static void end_tasks(struct model *model)
{
    while (model->end_count && model->ends[0].at <= model->now) {
        struct end end = model_end_next(model);
        uint32_t task = end.task, worker = model->tasks[task].worker;
        if (model->tasks[task].run != end.since) continue;  // it was killed
        model_free(model, task);
        if (model->gone && !model->tasks[task].fails)
            model->tasks[task].fails = !room_take_outputs(model, task);
        model->tasks[task].state = model->tasks[task].fails ? TASK_AWAY : TASK_OVER;
        model->ended[model->ended_count++] = task;
        if (model->tasks[task].fails) {
            model_streams_left(model, task);
            continue;
        }
        const struct plan_task *row = &model->graph->tasks[task];
        for (uint32_t i = 0; i < row->output_count; i++)
            if (!plan_is_stream(model->graph, row->output + i))
                arrive(model, row->output + i, worker);
    }
}

static void end_downloads(struct model *model)
{
    for (uint32_t i = model->moving_count; i-- > 0;) {
        if (model->left[i] >= nothing_left) continue;
        struct copy *copy = &model->copies[model->moving[i]];
        network_stop(model, i);
        copy->state = COPY_THERE;
        model_touch(model, copy->worker);
        model->sums.transfers++;
        model->sums.mib += model->graph->mib[copy->object];
        if (plan_is_stream(model->graph, copy->object)) {
            model_streams_flowed(model, (uint32_t)(copy - model->copies));
            continue;
        }
        model_grow(&model->arrived, &model->arrived_capacity, model->arrived_count,
                   sizeof *model->arrived);
        model->arrived[model->arrived_count++]
            = (struct model_arrival){copy->object, copy->worker};
        arrive(model, copy->object, copy->worker);
        if (model->cluster->any_source) offer_copies(model, copy->object, copy->worker);
    }
}

bool model_advance(struct model *model, double until)
{
    model->ended_count = model->arrived_count = 0;
    if (!model->end_count && !model->moving_count && !model->opening_count) return false;
    double next = next_instant(model, until), step = next - model->now;
    model->sums.steps += 2 + model->moving_count / 4;
    for (uint32_t i = 0; i < model->moving_count; i++) model->left[i] -= step * model->rate[i];
    model->now = next;
    end_tasks(model);
    end_downloads(model);
    network_opened(model);
    return true;
}

void model_wait(struct model *model, double until)
{
    if (model->now < until) model->now = until;
}

// ---- Queries --------------------------------------------------------------------------------

double model_now(const struct model *model)
{
    return model->now;
}

uint32_t model_ended(const struct model *model, const uint32_t **tasks)
{
    *tasks = model->ended;
    return model->ended_count;
}

uint32_t model_started(const struct model *model, const uint32_t **tasks)
{
    *tasks = model->started;
    return model->started_count;
}

uint32_t model_arrived(const struct model *model, const struct model_arrival **arrivals)
{
    *arrivals = model->arrived;
    return model->arrived_count;
}

uint32_t model_worker(const struct model *model, uint32_t task)
{
    return model->tasks[task].worker;
}

double model_began(const struct model *model, uint32_t task)
{
    return model->tasks[task].began;
}

double model_ends(const struct model *model, uint32_t task)
{
    return model->tasks[task].ends;
}

struct model_sums model_sums(const struct model *model)
{
    return model->sums;
}
