// planner.c - the state of a planner: known facts, ranks, and the clocks of cores and ports.
//
// The network is modelled by two clocks for each worker, one for sending and one for receiving: a
// transfer occupies both from the time they are free until its end. This is coarser than the model,
// but covers the main effect: objects arrive one after the other.
#include "plan/planner_internal.h"

#include <stdlib.h>
#include <string.h>

static void state_take(struct planner_state *state, const struct planner *planner)
{
    uint32_t workers = planner->cluster->worker_count;
    state->core_free = plan_take(planner->core_count, sizeof *state->core_free);
    state->send_free = plan_take(workers, sizeof *state->send_free);
    state->receive_free = plan_take(workers, sizeof *state->receive_free);
    state->made = plan_take(planner->graph->object_count, sizeof *state->made);
    state->where = plan_take(planner->graph->task_count, sizeof *state->where);
    state->copy_of = plan_take(planner->graph->object_count, sizeof *state->copy_of);
}

static void state_release(struct planner_state *state)
{
    free(state->core_free), free(state->send_free), free(state->receive_free);
    free(state->made), free(state->where), free(state->copy_of);
}

static void state_copy(const struct planner *planner, struct planner_state *to,
                       const struct planner_state *from)
{
    uint32_t workers = planner->cluster->worker_count, objects = planner->graph->object_count;
    memcpy(to->core_free, from->core_free, planner->core_count * sizeof *to->core_free);
    memcpy(to->send_free, from->send_free, workers * sizeof *to->send_free);
    memcpy(to->receive_free, from->receive_free, workers * sizeof *to->receive_free);
    memcpy(to->made, from->made, objects * sizeof *to->made);
    memcpy(to->where, from->where, planner->graph->task_count * sizeof *to->where);
    memcpy(to->copy_of, from->copy_of, objects * sizeof *to->copy_of);
    to->copy_count = from->copy_count;
}

struct planner *planner_open(const struct plan_graph *graph, const struct plan_cluster *cluster)
{
    assert(cluster->worker_count > 0);
    struct planner *planner = plan_take(1, sizeof *planner);
    uint32_t workers = cluster->worker_count;
    planner->graph = graph;
    planner->cluster = cluster;
    planner->core_first = plan_take((size_t)workers + 1, sizeof *planner->core_first);
    uint64_t cores = 0;
    for (uint32_t i = 0; i < workers; i++) {
        cores += cluster->cores[i];
        assert(cores <= UINT32_MAX);
        planner->core_first[i + 1] = planner->core_first[i] + cluster->cores[i];
        if (planner->cores_most < cluster->cores[i]) planner->cores_most = cluster->cores[i];
    }
    planner->core_count = planner->core_first[workers];
    state_take(&planner->before, planner);
    state_take(&planner->now, planner);
    planner->stage = plan_take(graph->task_count, sizeof *planner->stage);
    planner->times = plan_take(graph->task_count, sizeof *planner->times);
    planner->bound = plan_take(graph->task_count, sizeof *planner->bound);
    planner->lacks = plan_take(graph->task_count, sizeof *planner->lacks);
    planner->keys = plan_take(graph->task_count, sizeof *planner->keys);
    planner->rank = plan_take(graph->task_count, sizeof *planner->rank);
    planner->starts = plan_take(graph->task_count, sizeof *planner->starts);
    planner->home = plan_take(graph->task_count, sizeof *planner->home);
    planner->inbound = plan_take(workers, sizeof *planner->inbound);
    planner->held = plan_take(workers, sizeof *planner->held);
    planner->holders = plan_take(workers, sizeof *planner->holders);
    planner->leaves = 1;
    while (planner->leaves < workers) planner->leaves *= 2;
    planner->tree = plan_take(2 * (size_t)planner->leaves, sizeof *planner->tree);
    planner_clear(planner);
    return planner;
}

void planner_close(struct planner *planner)
{
    if (!planner) return;
    state_release(&planner->before), state_release(&planner->now);
    free(planner->stage), free(planner->bound), free(planner->times), free(planner->copies);
    free(planner->core_first);
    free(planner->lacks), free(planner->keys), free(planner->ready.items), free(planner->rank);
    free(planner->needed), free(planner->held), free(planner->holders), free(planner->tree);
    family_release(planner);
    free(planner->home), free(planner->inbound), free(planner->starts), free(planner);
}

// ---- Known facts ----------------------------------------------------------------------------

void planner_clear(struct planner *planner)
{
    struct planner_state *state = &planner->before;
    uint32_t workers = planner->cluster->worker_count, tasks = planner->graph->task_count;
    memset(state->core_free, 0, planner->core_count * sizeof *state->core_free);
    memset(state->send_free, 0, workers * sizeof *state->send_free);
    memset(state->receive_free, 0, workers * sizeof *state->receive_free);
    memset(state->made, 0, planner->graph->object_count * sizeof *state->made);
    memset(state->where, 0xff, tasks * sizeof *state->where);
    memset(state->copy_of, 0, planner->graph->object_count * sizeof *state->copy_of);
    memset(planner->stage, PLAN_OPEN, tasks * sizeof *planner->stage);
    memset(planner->bound, 0xff, tasks * sizeof *planner->bound);
    memset(planner->times, 1, tasks * sizeof *planner->times);
    state->copy_count = 0;
    planner->loyalty = 0;
}

static void copy_add(struct planner *planner, struct planner_state *state, uint32_t object,
                     uint32_t worker, double at)
{
    assert(worker < planner->cluster->worker_count);
    if (!ARRAY_MORE_RAW(&memory_heap, planner->copies, state->copy_count, planner->copy_capacity))
        abort();
    planner->copies[state->copy_count++]
        = (struct planned_copy){worker, state->copy_of[object], at};
    state->copy_of[object] = state->copy_count;
}

// Occupies the cores that are free first until then.
static void take_cores(double *free_at, uint32_t all, uint32_t count, double until)
{
    assert(count <= all);
    uint32_t kept = all - count, place = 0;
    memmove(free_at, free_at + count, kept * sizeof *free_at);
    while (place < kept && free_at[place] <= until) place++;
    memmove(free_at + place + count, free_at + place, (kept - place) * sizeof *free_at);
    for (uint32_t i = 0; i < count; i++) free_at[place + i] = until;
}

void planner_set_done(struct planner *planner, uint32_t task, uint32_t worker)
{
    assert(task < planner->graph->task_count);
    planner->stage[task] = PLAN_DONE;
    planner->before.where[task] = worker;
}

void planner_set_running(struct planner *planner, uint32_t task, uint32_t worker, double left)
{
    assert(worker < planner->cluster->worker_count);
    const struct plan_task *at = &planner->graph->tasks[task];
    planner->stage[task] = PLAN_RUNS;
    planner->before.where[task] = worker;
    take_cores(planner->before.core_free + planner->core_first[worker],
               planner->cluster->cores[worker], at->cores, left);
    for (uint32_t i = 0; i < at->output_count; i++) planner->before.made[at->output + i] = left;
}

void planner_set_busy(struct planner *planner, uint32_t worker, uint32_t cores, double left)
{
    assert(worker < planner->cluster->worker_count);
    take_cores(planner->before.core_free + planner->core_first[worker],
               planner->cluster->cores[worker], cores, left);
}

void planner_set_copy(struct planner *planner, uint32_t object, uint32_t worker, double left)
{
    assert(object < planner->graph->object_count);
    struct planner_state *state = &planner->before;
    uint32_t producer = planner->graph->objects[object].producer, source = state->where[producer];
    double *receive = &state->receive_free[worker], *send = &state->send_free[source];
    double at = left > 0 ? (*receive > *send ? *receive : *send) + left : 0;
    if (left > 0) *receive = *send = at;
    copy_add(planner, state, object, worker, at);
}

void planner_set_place(struct planner *planner, uint32_t task, uint32_t worker)
{
    assert(task < planner->graph->task_count);
    planner->bound[task] = worker;
}

void planner_set_queued(struct planner *planner, uint32_t task, uint32_t worker, uint8_t times)
{
    assert(task < planner->graph->task_count);
    planner->bound[task] = worker;
    planner->times[task] = times;
}

void planner_set_loyalty(struct planner *planner, double seconds)
{
    planner->loyalty = seconds;
}

uint64_t planner_steps(const struct planner *planner)
{
    return planner->steps;
}

uint64_t planner_planned(const struct planner *planner)
{
    return planner->planned;
}

// ---- The worker whose core is free first ----------------------------------------------------

static uint32_t earlier(const struct planner *planner, uint32_t a, uint32_t b)
{
    if (b == PLAN_NONE) return a;
    if (a == PLAN_NONE) return b;
    return planner_cores(planner, b)[0] < planner_cores(planner, a)[0] ? b : a;
}

static void tree_fill(struct planner *planner)
{
    uint32_t leaves = planner->leaves;
    for (uint32_t i = 0; i < leaves; i++)
        planner->tree[leaves + i] = i < planner->cluster->worker_count ? i : PLAN_NONE;
    for (uint32_t i = leaves; i-- > 1;)
        planner->tree[i] = earlier(planner, planner->tree[2 * i], planner->tree[2 * i + 1]);
}

static void tree_update(struct planner *planner, uint32_t worker)
{
    assert(worker < planner->cluster->worker_count);
    for (uint32_t at = (planner->leaves + worker) / 2; at > 0; at /= 2)
        planner->tree[at] = earlier(planner, planner->tree[2 * at], planner->tree[2 * at + 1]);
}

uint32_t tree_second(const struct planner *planner)
{
    uint32_t best = PLAN_NONE;
    for (uint32_t at = planner->leaves + planner->tree[1]; at > 1; at /= 2)
        best = earlier(planner, best, planner->tree[at ^ 1]);
    return best;
}

// ---- Ranks -----------------------------------------------------------------------------------

static void find_ranks(struct planner *planner, const struct plan_rule *rule)
{
    const struct plan_graph *graph = planner->graph;
    double pace = rule->carried / plan_bandwidth(planner->cluster);
    for (uint32_t at = graph->task_count; at-- > 0;) {
        uint32_t task = graph->sorted[at];
        const struct plan_task *row = &graph->tasks[task];
        double after = 0;
        for (uint32_t i = 0; i < row->output_count; i++) {
            const struct plan_object *object = &graph->objects[row->output + i];
            double carried = graph->mib[row->output + i] * pace, most = 0;
            for (uint32_t u = 0; u < object->user_count; u++) {
                double rank = planner->rank[graph->users[object->user + u]];
                if (most < rank) most = rank;
            }
            if (object->user_count && after < most + carried) after = most + carried;
        }
        planner->rank[task] = after + graph->seconds[task];
    }
}

static double random_unit(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

void planner_push(struct planner *planner, uint32_t task)
{
    plan_queue_push(&planner->ready, planner->keys, task);
}

// A plan starts from the known facts; a task whose producers all have a worker can be planned.
void planner_begin(struct planner *planner, const struct plan_rule *rule)
{
    const struct plan_graph *graph = planner->graph;
    state_copy(planner, &planner->now, &planner->before);
    find_ranks(planner, rule);
    tree_fill(planner);
    if (rule->together) family_begin(planner);
    planner->ready.count = 0;
    planner->random = rule->seed;
    memset(planner->home, 0xff, graph->task_count * sizeof *planner->home);
    memset(planner->inbound, 0, planner->cluster->worker_count * sizeof *planner->inbound);
    for (uint32_t at = 0; at < graph->task_count; at++) {
        uint32_t task = graph->sorted[at], lacks = 0;
        double noise = rule->noise > 0 ? rule->noise * (random_unit(&planner->random) * 2 - 1) : 0;
        planner->keys[task] = (struct plan_key){planner->rank[task] * (1 + noise), at, 0};
        if (planner->stage[task] != PLAN_OPEN) continue;
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
            uint32_t producer = graph->objects[inputs[i]].producer;
            lacks += producer != PLAN_NONE && planner->stage[producer] == PLAN_OPEN;
        }
        planner->lacks[task] = lacks;
        if (!lacks && !rule->greedy) planner_push(planner, task);
    }
    planner->steps += 2 * (uint64_t)graph->task_count + graph->input_count / 2;
}

// ---- Inputs, trial placements and decisions -------------------------------------------------

void planner_need(struct planner *planner, uint32_t task)
{
    assert(task < planner->graph->task_count);
    const struct plan_graph *graph = planner->graph;
    const struct plan_task *row = &graph->tasks[task];
    if (planner->needed_capacity < row->input_count) {
        planner->needed_capacity = row->input_count * 2;
        free(planner->needed);
        planner->needed = plan_take(planner->needed_capacity, sizeof *planner->needed);
    }
    planner->needed_count = 0;
    for (uint32_t i = 0; i < row->input_count; i++) {
        uint32_t object = graph->inputs[row->input + i], producer = graph->objects[object].producer;
        if (producer == PLAN_NONE) continue;
        double made = planner->now.made[object];
        uint32_t place = planner->needed_count++;
        for (; place > 0 && planner->needed[place - 1].made > made; place--)
            planner->needed[place] = planner->needed[place - 1];
        planner->needed[place] = (struct needed){object, planner->now.where[producer], made,
                                                 graph->mib[object]};
    }
    planner->steps += row->input_count;
}

static double copy_at(const struct planner *planner, uint32_t object, uint32_t worker)
{
    uint32_t at = planner->now.copy_of[object];
    while (at && planner->copies[at - 1].worker != worker) at = planner->copies[at - 1].next;
    return at ? planner->copies[at - 1].at : -1;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

enum { READERS_SEEN = 8 };

// When the outputs of the task would arrive at the worker that has its readers' other inputs.
static double home_at(const struct planner *planner, uint32_t task, const struct place *place)
{
    assert(place->worker < planner->cluster->worker_count);
    const struct plan_graph *graph = planner->graph;
    const struct plan_task *row = &graph->tasks[task];
    double latest = place->finish;
    for (uint32_t i = 0; i < row->output_count && i < READERS_SEEN; i++) {
        const struct plan_object *object = &graph->objects[row->output + i];
        double takes = plan_transfer(planner->cluster, graph->mib[row->output + i]);
        for (uint32_t u = 0; u < object->user_count && u < READERS_SEEN; u++) {
            uint32_t home = planner->home[graph->users[object->user + u]];
            if (home == PLAN_NONE || home == place->worker) continue;
            latest = later(latest, later(place->finish, planner->inbound[home]) + takes);
        }
    }
    return latest;
}

static void bring_home(struct planner *planner, uint32_t task, const struct place *place)
{
    const struct plan_graph *graph = planner->graph;
    const struct plan_task *row = &graph->tasks[task];
    for (uint32_t i = 0; i < row->output_count && i < READERS_SEEN; i++) {
        const struct plan_object *object = &graph->objects[row->output + i];
        double takes = plan_transfer(planner->cluster, graph->mib[row->output + i]);
        for (uint32_t u = 0; u < object->user_count && u < READERS_SEEN; u++) {
            uint32_t *home = &planner->home[graph->users[object->user + u]];
            if (*home == PLAN_NONE) *home = place->worker;
            if (*home == place->worker) continue;
            planner->inbound[*home] = later(place->finish, planner->inbound[*home]) + takes;
        }
    }
}

struct place planner_try(const struct planner *planner, const struct plan_rule *rule, uint32_t task,
                         uint32_t worker)
{
    double receive = planner->now.receive_free[worker], arrival = 0;
    struct place place = {.worker = worker};
    for (uint32_t i = 0; i < planner->needed_count; i++) {
        const struct needed *input = &planner->needed[i];
        double at = input->made;
        if (input->source != worker && input->mib > 0) {
            double there = planner->now.copy_of[input->object]
                               ? copy_at(planner, input->object, worker)
                               : -1;
            if (there >= 0) {
                at = there;
            } else if (rule->free_network) {
                at = input->made + plan_transfer(planner->cluster, input->mib);
                place.mib += input->mib;
            } else {
                double start = later(later(input->made, receive),
                                     planner->now.send_free[input->source]);
                at = receive = start + plan_transfer(planner->cluster, input->mib);
                place.mib += input->mib;
            }
        }
        arrival = later(arrival, at);
    }
    const double *cores = planner_cores(planner, worker);
    place.idle_until = cores[planner->graph->tasks[task].cores - 1];
    place.start = later(arrival, place.idle_until);
    double speed = plan_speed(planner->cluster, worker);
    place.finish = place.start + planner->graph->seconds[task] / speed;
    place.cost = rule->homing ? home_at(planner, task, &place) : place.finish;
    place.cost += rule->penalty * place.mib / plan_bandwidth(planner->cluster);
    if (planner->bound[task] == worker) place.cost -= planner->loyalty * planner->times[task];
    return place;
}

static void move_inputs(struct planner *planner, const struct plan_rule *rule, uint32_t worker)
{
    struct planner_state *now = &planner->now;
    for (uint32_t i = 0; i < planner->needed_count; i++) {
        const struct needed *input = &planner->needed[i];
        if (input->source == worker || input->mib <= 0) continue;
        if (copy_at(planner, input->object, worker) >= 0) continue;
        double start = input->made;
        if (!rule->free_network)
            start = later(start, later(now->receive_free[worker], now->send_free[input->source]));
        double end = start + plan_transfer(planner->cluster, input->mib);
        if (!rule->free_network) now->receive_free[worker] = now->send_free[input->source] = end;
        copy_add(planner, now, input->object, worker, end);
    }
}

void planner_commit(struct planner *planner, const struct plan_rule *rule, uint32_t task,
                    const struct place *place)
{
    assert(place->worker < planner->cluster->worker_count);
    const struct plan_task *row = &planner->graph->tasks[task];
    move_inputs(planner, rule, place->worker);
    take_cores(planner_cores(planner, place->worker), planner->cluster->cores[place->worker],
               row->cores, place->finish);
    tree_update(planner, place->worker);
    if (rule->homing) bring_home(planner, task, place);
    planner->now.where[task] = place->worker;
    planner->starts[task] = place->start;
    for (uint32_t i = 0; i < row->output_count; i++)
        planner->now.made[row->output + i] = place->finish;
    planner->planned++;
}

void planner_release_users(struct planner *planner, uint32_t task)
{
    assert(task < planner->graph->task_count);
    const struct plan_graph *graph = planner->graph;
    const struct plan_task *row = &graph->tasks[task];
    for (uint32_t i = 0; i < row->output_count; i++) {
        const struct plan_object *object = &graph->objects[row->output + i];
        planner->steps += object->user_count;
        for (uint32_t u = 0; u < object->user_count; u++) {
            uint32_t user = graph->users[object->user + u];
            if (planner->stage[user] == PLAN_OPEN && --planner->lacks[user] == 0)
                planner_push(planner, user);
        }
    }
}
