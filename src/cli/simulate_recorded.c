// simulate_recorded.c - reads a job that was run from its database, for `rota simulate`.
//
// A task takes as long as its last successful attempt; objects have the size in the database.
#include "cli/query_options.h"
#include "cli/simulate.h"
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

static const double mebibyte = 1048576, microsecond = 1e-6;

struct recording {
    struct query_options *options;
    struct rota *rota;       // has the sizes of objects
    struct whatif_job *job;
    const struct query_attempt **ran;  // by task: the attempt that counts; null: it did not run
    struct whatif_edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t unknown;        // tasks without a known duration
};

// ---- What tasks took ---------------------------------------------------------------------------

static bool has_times(const struct query_attempt *attempt)
{
    return attempt->ran && attempt->ended && !attempt->is_carried
           && !(attempt->flags & QUERY_CACHED);
}

static void attempts_find(struct recording *recording)
{
    const struct query *query = &recording->options->query;
    recording->ran = plan_take(query->task_count, sizeof *recording->ran);
    for (uint32_t i = 0; i < query->attempt_count; i++) {
        const struct query_attempt *attempt = &query->attempts[i];
        if (!has_times(attempt)) continue;
        const struct query_attempt *before = recording->ran[attempt->task];
        bool worse = before && strcmp(before->status, "SUCCESS") == 0
                     && strcmp(attempt->status, "SUCCESS") != 0;
        if (!worse) recording->ran[attempt->task] = attempt;
    }
}

static double seconds_of(const struct query_attempt *attempt)
{
    double seconds = (double)(attempt->ended - attempt->began) * microsecond;
    return seconds > 0 ? seconds : 0;
}

// The mean of the tasks of its kind, else of all tasks, else the value of --seconds.
static double seconds_guess(const struct recording *recording, const char *kind, double otherwise)
{
    double alike = 0, all = 0;
    uint32_t alike_count = 0, count = 0;
    for (uint32_t i = 0; i < recording->job->graph.task_count; i++) {
        if (!recording->ran[i]) continue;
        double seconds = seconds_of(recording->ran[i]);
        all += seconds;
        count++;
        if (strcmp(recording->job->kinds[i], kind) != 0) continue;
        alike += seconds;
        alike_count++;
    }
    return alike_count ? alike / alike_count : count ? all / count : otherwise;
}

static void tasks_take(struct recording *recording, double otherwise)
{
    const struct query *query = &recording->options->query;
    struct whatif_job *job = recording->job;
    for (uint32_t i = 0; i < query->task_count; i++) {
        job->names[i] = whatif_text(query->tasks[i].name);
        job->kinds[i] = whatif_kind(query->tasks[i].name);
        job->graph.tasks[i].cores = query->tasks[i].cores ? query->tasks[i].cores : 1;
        whatif_memory_set(job, i, query->tasks[i].memory_mib);
    }
    for (uint32_t i = 0; i < query->task_count; i++) {
        if (query->tasks[i].is_bundle) continue;
        bool known = recording->ran[i] != NULL;
        job->graph.seconds[i] = known ? seconds_of(recording->ran[i])
                                      : seconds_guess(recording, job->kinds[i], otherwise);
        recording->unknown += !known;
    }
}

// ---- Dependencies that delayed a task ----------------------------------------------------------

static bool is_stream(const struct recording *recording, uint32_t task, rota_object_id id)
{
    const char *text = recording->options->query.tasks[task].outputs;
    struct rota_output output;
    while (*text && output_read(&text, &output)) {
        text_read_char(&text, ' ');
        bool same = SAME_ID(output.object, id);
        if (same) return output.flags & ROTA_OBJECT_STREAM;
    }
    return false;
}

static void edge_add(struct recording *recording, uint32_t from, uint32_t to, rota_object_id id)
{
    if (!ARRAY_MORE_RAW(&memory_heap, recording->edges, recording->edge_count,
                        recording->edge_capacity))
        query_no_memory();
    struct whatif_edge edge = {.from = from, .to = to};
    if (id.low) {
        char *file = query_allocate(&recording->options->query, 40);
        snprintf(file, 40, "%llx-%llx", (unsigned long long)id.high, (unsigned long long)id.low);
        edge.file = file;
        edge.stream = is_stream(recording, from, id);
        edge.mib = (double)rota_object_bytes(recording->rota, id) / mebibyte;
    }
    recording->edges[recording->edge_count++] = edge;
}

static bool reads_from(uint32_t producer, struct rota_input *input, const char **text)
{
    while (**text && input_read(text, input)) {
        text_read_char(text, ' ');
        bool waits = !(input->flags & ROTA_OBJECT_ARTIFACT);
        if (waits && (uint32_t)input->object.high == producer + 1) return true;
    }
    return false;
}

static void edges_take(struct recording *recording, uint32_t task)
{
    const struct query *query = &recording->options->query;
    const struct query_task *at = &query->tasks[task];
    for (uint32_t i = 0; i < at->need_count; i++) {
        const char *text = at->inputs;
        struct rota_input input;
        bool reads = false;
        if (at->needs[i] == task) continue;
        while (reads_from(at->needs[i], &input, &text)) {
            edge_add(recording, at->needs[i], task, input.object);
            reads = true;
        }
        if (!reads) edge_add(recording, at->needs[i], task, (rota_object_id){0});
    }
    if (!at->bundle) return;  // a bundle ends with its members, which wait for its dependencies
    const struct query_task *bundle = &query->tasks[at->bundle - 1];
    edge_add(recording, task, at->bundle - 1, (rota_object_id){0});
    for (uint32_t i = 0; i < bundle->need_count; i++)
        edge_add(recording, bundle->needs[i], task, (rota_object_id){0});
}

// ---- Results -----------------------------------------------------------------------------------

// The place of a worker in the order of their first attempts.
static uint32_t worker_place(uint32_t *numbers, uint32_t *count, uint32_t number)
{
    uint32_t at = 0;
    while (at < *count && numbers[at] != number) at++;
    if (at == *count) numbers[(*count)++] = number;
    return at;
}

// A task that did not run ends when all its dependencies have ended.
static void course_fill_in(const struct recording *recording, struct whatif_course *course)
{
    const struct plan_graph *graph = &recording->job->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = graph->sorted[i];
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        double latest = 0;
        for (uint32_t k = 0; k < graph->tasks[task].input_count; k++) {
            uint32_t producer = graph->objects[inputs[k]].producer;
            if (producer != PLAN_NONE && latest < course->ended[producer])
                latest = course->ended[producer];
        }
        if (!recording->ran[task]) course->began[task] = course->ended[task] = latest;
    }
}

// Counts a transfer of each object to each worker that read it and did not make it.
static void transfers_count(const struct recording *recording, struct whatif_course *course,
                            uint32_t workers)
{
    const struct plan_graph *graph = &recording->job->graph;
    uint32_t *last = plan_take(workers, sizeof *last);  // by worker: 1 + the last object there
    for (uint32_t i = 0; i < graph->object_count; i++) {
        const struct plan_object *object = &graph->objects[i];
        const uint32_t *users = graph->users + object->user;
        if (graph->mib[i] <= 0 || !recording->ran[object->producer]) continue;
        last[course->worker[object->producer]] = i + 1;
        for (uint32_t u = 0; u < object->user_count; u++) {
            uint32_t worker = course->worker[users[u]];
            if (!recording->ran[users[u]] || last[worker] == i + 1) continue;
            last[worker] = i + 1;
            course->transfers++;
            course->mib += graph->mib[i];
        }
    }
    free(last);
}

// A task occupies cores, or releases them.
struct change {
    uint32_t worker;
    int32_t cores;
    double at;
};

// An end comes before a start at the same time, so that cores are released first.
static int change_compare(const void *one, const void *other)
{
    const struct change *left = one, *right = other;
    if (left->worker != right->worker) return left->worker < right->worker ? -1 : 1;
    if (left->at < right->at || left->at > right->at) return left->at < right->at ? -1 : 1;
    return (left->cores > right->cores) - (left->cores < right->cores);
}

// The largest number of cores in use at a time.
static void cores_find(const struct recording *recording, const struct whatif_course *course,
                       uint32_t *cores)
{
    const struct plan_graph *graph = &recording->job->graph;
    struct change *changes = plan_take(2 * (size_t)graph->task_count, sizeof *changes);
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        if (!recording->ran[i]) continue;
        uint32_t worker = course->worker[i], own = graph->tasks[i].cores;
        if (cores[worker] < own) cores[worker] = own;
        changes[count++] = (struct change){worker, (int32_t)own, course->began[i]};
        changes[count++] = (struct change){worker, -(int32_t)own, course->ended[i]};
    }
    qsort(changes, count, sizeof *changes, change_compare);
    int64_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        used += changes[i].cores;
        if (used > cores[changes[i].worker]) cores[changes[i].worker] = (uint32_t)used;
    }
    free(changes);
}

static void course_take(const struct recording *recording, struct whatif_setting *setting,
                        struct whatif_course *course)
{
    uint32_t tasks = recording->job->graph.task_count, workers = 0;
    uint32_t *numbers = plan_take(tasks, sizeof *numbers);
    rota_time first = ROTA_NEVER;
    *course = whatif_course_take(tasks);
    for (uint32_t i = 0; i < tasks; i++)
        if (recording->ran[i] && recording->ran[i]->began < first) first = recording->ran[i]->began;
    for (uint32_t i = 0; i < tasks; i++) {
        const struct query_attempt *ran = recording->ran[i];
        if (!ran) continue;
        course->worker[i] = worker_place(numbers, &workers, ran->worker);
        course->began[i] = (double)(ran->began - first) * microsecond;
        course->ended[i] = course->began[i] + seconds_of(ran);
        if (course->makespan < course->ended[i]) course->makespan = course->ended[i];
    }
    course_fill_in(recording, course);
    setting->cluster.worker_count = workers ? workers : 1;
    transfers_count(recording, course, setting->cluster.worker_count);
    free(setting->cores);
    setting->cores = plan_take(setting->cluster.worker_count, sizeof *setting->cores);
    setting->cluster.cores = setting->cores;
    setting->cluster.speed = NULL;
    setting->cluster.memory_mib = NULL;
    setting->cluster.disk_mib = NULL;
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++) setting->cores[i] = 1;
    cores_find(recording, course, setting->cores);
    free(numbers);
}

// ---- All of it ---------------------------------------------------------------------------------

static int recording_read(struct recording *recording, struct simulate_request *request,
                          struct whatif_course *course)
{
    const struct query *query = &recording->options->query;
    char name[64];
    snprintf(name, sizeof name, "job %u", query->job.number);
    whatif_job_init(recording->job, *query->path ? query->path : name, query->task_count, 0, 0);
    attempts_find(recording);
    tasks_take(recording, request->seconds_each);
    for (uint32_t i = 0; i < query->task_count; i++) edges_take(recording, i);
    if (!whatif_edges_join(recording->job, recording->edges, recording->edge_count)) {
        fprintf(stderr, "rota simulate: %s: the tasks depend on each other in a cycle\n",
                request->file);
        return 2;
    }
    whatif_guess_by_kind(recording->job);
    if (request->recorded) course_take(recording, &request->setting, course);
    if (recording->unknown && !request->json)
        printf("%u of %u tasks did not run: %s\n", recording->unknown, query->task_count,
               request->recorded ? "they are left out"
                                 : "they take as long as others of their kind");
    return 0;
}

int recorded_read(struct simulate_request *request, struct whatif_job *job,
                  struct whatif_course *course)
{
    struct query_options options
        = {.command = &simulate_command, .db = request->file, .job = request->job};
    struct recording recording = {.options = &options, .job = job};
    int status = query_options_load(&options);
    if (!status) recording.rota = query_options_core(&options, &status);
    if (!status) status = recording_read(&recording, request, course);
    free(recording.ran), free(recording.edges);
    query_options_close(&options);
    return status;
}
