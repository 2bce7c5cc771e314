// window.c - the tasks that a plan considers, with their present state in the core.
//
// A window has the first unfinished tasks of each job, producers first, and their inputs. Existing
// objects are represented as outputs of finished tasks. Tasks beyond the window are left to a later
// plan.
#include "plan/live/internal.h"

#include <stdlib.h>

static const double megabyte = 1048576;
static const double bandwidth = 100;  // MiB per second: unknown, and a gigabit is common
static const double overhead = 1;     // MiB that could be transferred while a transfer is set up

enum {
    ROWS_MIN = 1024,
    ROWS_MAX = 2048,
    ROWS_EACH = 64,  // of a job, at least
    CORES_MAX = 1 << 20,  // of all workers; with more, no plan is made
    SCANNED = 4,     // tasks examined for each one that fits
    NAMES_ASKED = 256,
    HOLDERS = 8,
};

uint32_t window_worker(const struct window *window, rota_worker_id id)
{
    uint32_t at = map_find(&window->worker_places, id.number);
    assert(at <= window->cluster.worker_count);
    return at ? at - 1 : PLAN_NONE;
}

// A task that has room on its worker starts soon, if it does not run yet.
bool window_runs(const struct window *window, uint32_t row)
{
    assert(row < window->row_count);
    const struct rota_task_view *look = &window->rows[row].look;
    return look->state == ROTA_TASK_RUNNING || (look->state == ROTA_TASK_ASSIGNED && !look->queued);
}

// ---- Workers ----------------------------------------------------------------------------------

static void workers_find(struct window *window)
{
    const struct live_view *view = window->view;
    window->cores = plan_take(view->worker_count, sizeof *window->cores);
    window->foreign = plan_take(view->worker_count, sizeof *window->foreign);
    window->workers = plan_take(view->worker_count, sizeof *window->workers);
    if (!map_reserve(&memory_heap, &window->worker_places, view->worker_count)) abort();
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->worker_count && window->core_count <= CORES_MAX; i++) {
        struct rota_worker_view look;
        if (!rota_worker_look(view->rota, view->workers[i], &look)) continue;
        if (look.silent || look.paused || !look.cores) continue;
        window->workers[count] = view->workers[i];
        window->cores[count] = look.cores;
        window->foreign[count] = look.cores - look.cores_free;
        window->core_count += look.cores;
        map_put(&window->worker_places, view->workers[i].number, ++count);
    }
    window->cluster = (struct plan_cluster){.cores = window->cores,
                                            .worker_count = count,
                                            .slots = 4,
                                            .slots_each = 2,
                                            .bandwidth = bandwidth,
                                            .shared = true};
}

// ---- Tasks ------------------------------------------------------------------------------------

static bool is_over(enum rota_task_state state)
{
    return state == ROTA_TASK_NONE || state >= ROTA_TASK_SUCCEEDED;
}

// Blocked and idle tasks may never run.
static bool is_coming(enum rota_task_state state)
{
    return state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING && state != ROTA_TASK_BLOCKED;
}

static void rows_add(struct window *window, struct live_job *job, uint32_t most)
{
    assert(most > 0);
    const struct rota *rota = window->view->rota;
    uint32_t last = window->row_count + most;
    live_job_settle(job);
    const struct plan_graph *graph = &job->graph;
    for (uint32_t at = job->from; at < graph->task_count && at - job->from < SCANNED * most; at++) {
        uint32_t task = graph->sorted[at];
        rota_task_id id = {job->id.number, task + 1};
        enum rota_task_state state = rota_task_state(rota, id);
        if (is_over(state) && at == job->from) job->from++;
        if (!is_coming(state)) continue;
        if (window->row_count == last) break;
        struct live_row *row = &window->rows[window->row_count];
        *row = (struct live_row){.job = job, .task = task};
        rota_task_look(rota, id, &row->look);
        job->tasks[task].place = window->row_count++;
    }
}

static void rows_find(struct window *window)
{
    struct live *live = window->live;
    uint32_t most = 2 * (uint32_t)window->core_count;
    most = most < ROWS_MIN ? ROWS_MIN : most > ROWS_MAX ? ROWS_MAX : most;
    uint32_t each = most / live->job_count;
    if (each < ROWS_EACH) each = ROWS_EACH;
    window->rows = plan_take((size_t)most + ROWS_EACH, sizeof *window->rows);
    for (uint32_t i = 0; i < live->job_count && window->row_count < most; i++)
        rows_add(window, live->jobs[i], each);
}

static void kinds_find(struct window *window)
{
    const struct live_view *view = window->view;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < window->row_count && asked < NAMES_ASKED; i++) {
        struct live_row *row = &window->rows[i];
        struct live_task *task = &row->job->tasks[row->task];
        if (task->kind) continue;
        rota_task_id id = {row->job->id.number, row->task + 1};
        task->kind = live_kind_of(window->live, view->name_of(view->context, id));
        asked++;
    }
}

// ---- Objects ----------------------------------------------------------------------------------

static void copy_add(struct window *window, uint32_t object, uint32_t worker, bool is_there)
{
    assert(object <= window->graph.object_count);  // equal: the caller adds it next
    window->copies = live_grow(window->copies, &window->copy_capacity,
                                (uint64_t)window->copy_count + 1, sizeof *window->copies);
    window->copies[window->copy_count++] = (struct live_copy){object, worker, is_there};
}

// The worker that is taken as the producer of an existing object. The others have copies.
static uint32_t holders_find(struct window *window, rota_object_id id, uint32_t object)
{
    const struct rota *rota = window->view->rota;
    rota_worker_id held[HOLDERS], coming[HOLDERS];
    uint32_t count = rota_object_workers(rota, id, ROTA_SET_LOCATED, held, HOLDERS);
    uint32_t first = PLAN_NONE, before = window->copy_count;
    if (count > HOLDERS) count = HOLDERS;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t worker = window_worker(window, held[i]);
        if (worker == PLAN_NONE) continue;
        if (first == PLAN_NONE)
            first = worker;
        else
            copy_add(window, object, worker, true);
    }
    if (first == PLAN_NONE) return first;
    assert(first < window->cluster.worker_count);
    count = rota_object_workers(rota, id, ROTA_SET_SCHEDULED, coming, HOLDERS);
    for (uint32_t i = 0; i < count && i < HOLDERS; i++) {
        uint32_t worker = window_worker(window, coming[i]);
        bool known = worker == PLAN_NONE || worker == first;
        for (uint32_t k = before; k < window->copy_count; k++)
            known |= window->copies[k].worker == worker;
        if (!known) copy_add(window, object, worker, false);
    }
    return first;
}

static double mib_of(const struct window *window, const struct live_object *object,
                     const struct live_task *maker)
{
    if (!object->id.high && !object->id.low) return 0;
    uint64_t bytes = rota_object_bytes(window->view->rota, object->id);
    if (!bytes) bytes = object->bytes;
    return overhead + (bytes ? (double)bytes / megabyte : live_mib(window->live, maker));
}

// Outputs of the tasks in the window.
static void outputs_add(struct window *window)
{
    struct plan_graph *graph = &window->graph;
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct live_row *row = &window->rows[i];
        const struct live_job *job = row->job;
        const struct plan_task *from = &job->graph.tasks[row->task];
        graph->tasks[i].output = graph->object_count;
        for (uint32_t k = 0; k < from->output_count; k++) {
            struct live_object *object = &job->objects[from->output + k];
            if (!job->graph.objects[from->output + k].user_count) continue;
            graph->mib[graph->object_count] = mib_of(window, object, &job->tasks[row->task]);
            object->place = graph->object_count++;
        }
        graph->tasks[i].output_count = graph->object_count - graph->tasks[i].output;
    }
}

// An object whose producer has ended is represented by an additional finished task.
static void present_add(struct window *window, const struct live_job *job, uint32_t at)
{
    struct plan_graph *graph = &window->graph;
    struct live_object *object = &job->objects[at];
    assert(object->place == PLAN_NONE);
    if (!object->id.high && !object->id.low) return;
    uint32_t source = holders_find(window, object->id, graph->object_count);
    if (source == PLAN_NONE) return;  // every worker can have it, or none
    const struct live_task *maker = &job->tasks[job->graph.objects[at].producer];
    graph->mib[graph->object_count] = mib_of(window, object, maker);
    graph->tasks[graph->task_count]
        = (struct plan_task){.cores = 1, .output = graph->object_count, .output_count = 1};
    window->source[graph->task_count - window->row_count] = source;
    object->place = graph->object_count++;
    graph->task_count++;
}

static void inputs_add(struct window *window)
{
    struct plan_graph *graph = &window->graph;
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct live_row *row = &window->rows[i];
        const struct live_job *job = row->job;
        const struct plan_task *from = &job->graph.tasks[row->task];
        graph->tasks[i].input = graph->input_count;
        for (uint32_t k = 0; k < from->input_count; k++) {
            uint32_t at = job->graph.inputs[from->input + k];
            if (job->objects[at].place == PLAN_NONE) present_add(window, job, at);
            if (job->objects[at].place == PLAN_NONE) continue;
            graph->inputs[graph->input_count++] = job->objects[at].place;
        }
        graph->tasks[i].input_count = graph->input_count - graph->tasks[i].input;
    }
}

static void graph_make(struct window *window)
{
    struct plan_graph *graph = &window->graph;
    uint32_t rows = window->row_count;
    assert(rows > 0);
    size_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const struct plan_task *task
            = &window->rows[i].job->graph.tasks[window->rows[i].task];
        inputs += task->input_count;
        outputs += task->output_count;
    }
    graph->tasks = plan_take(rows + inputs, sizeof *graph->tasks);
    graph->objects = plan_take(outputs + inputs, sizeof *graph->objects);
    graph->inputs = plan_take(inputs, sizeof *graph->inputs);
    graph->seconds = plan_take(rows + inputs, sizeof *graph->seconds);
    graph->mib = plan_take(outputs + inputs, sizeof *graph->mib);
    window->source = plan_take(inputs, sizeof *window->source);
    graph->task_count = rows;
    for (uint32_t i = 0; i < rows; i++) {
        const struct live_task *task = &window->rows[i].job->tasks[window->rows[i].task];
        graph->tasks[i].cores = task->cores;
        graph->seconds[i] = live_seconds(window->live, task);
    }
    outputs_add(window);
    inputs_add(window);
    plan_graph_finish(graph);
}

// ---- Building the window --------------------------------------------------------------------

bool window_open(struct window *window, struct live *live, const struct live_view *view)
{
    *window = (struct window){.view = view, .live = live};
    workers_find(window);
    if (window->cluster.worker_count < 2) return false;  // with one worker there is no choice
    if (window->core_count > CORES_MAX) return false;
    rows_find(window);
    if (!window->row_count) return false;
    kinds_find(window);
    graph_make(window);
    return true;
}

static void places_forget(struct live_job *job, uint32_t task)
{
    assert(task < job->graph.task_count);
    const struct plan_task *from = &job->graph.tasks[task];
    job->tasks[task].place = PLAN_NONE;
    for (uint32_t i = 0; i < from->output_count; i++)
        job->objects[from->output + i].place = PLAN_NONE;
    for (uint32_t i = 0; i < from->input_count; i++)
        job->objects[job->graph.inputs[from->input + i]].place = PLAN_NONE;
}

void window_release(struct window *window)
{
    for (uint32_t i = 0; i < window->row_count; i++)
        places_forget(window->rows[i].job, window->rows[i].task);
    map_release(&memory_heap, &window->worker_places);
    plan_graph_release(&window->graph);
    free(window->cores), free(window->foreign), free(window->workers), free(window->rows);
    free(window->source), free(window->copies);
}
