// show_workflow.c - a result in WfFormat 1.5, as if it had been recorded.
#include "sim/whatif/whatif.h"
#include "os/json.h"

static void list_files(struct json *json, const char *key, const uint32_t *objects, uint32_t first,
                       uint32_t count)
{
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++)
        json_plain(json, NULL, "object-%u", objects ? objects[i] : first + i);
    json_close(json, ']');
}

// Each neighbour once: a task may read several objects of another, and several tasks the same
// object.
static void list_parents(struct json *json, const struct whatif_job *job, uint32_t task)
{
    const struct plan_graph *graph = &job->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    json_open(json, "parents", '[');
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
        uint32_t producer = graph->objects[inputs[i]].producer, k = 0;
        while (k < i && graph->objects[inputs[k]].producer != producer) k++;
        if (producer != PLAN_NONE && k == i) json_string(json, NULL, job->names[producer]);
    }
    json_close(json, ']');
}

static bool reads_earlier(const struct plan_graph *graph, uint32_t user, uint32_t first,
                          uint32_t object)
{
    const uint32_t *inputs = graph->inputs + graph->tasks[user].input;
    for (uint32_t i = 0; i < graph->tasks[user].input_count; i++)
        if (inputs[i] >= first && inputs[i] < object) return true;
    return false;
}

static void list_children(struct json *json, const struct whatif_job *job, uint32_t task)
{
    const struct plan_graph *graph = &job->graph;
    const struct plan_task *row = &graph->tasks[task];
    json_open(json, "children", '[');
    for (uint32_t i = 0; i < row->output_count; i++) {
        const struct plan_object *object = &graph->objects[row->output + i];
        for (uint32_t u = 0; u < object->user_count; u++) {
            uint32_t user = graph->users[object->user + u];
            if (!reads_earlier(graph, user, row->output, row->output + i))
                json_string(json, NULL, job->names[user]);
        }
    }
    json_close(json, ']');
}

static void specification_write(struct json *json, const struct whatif_job *job)
{
    const struct plan_graph *graph = &job->graph;
    json_open(json, "specification", '{');
    json_open(json, "tasks", '[');
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const struct plan_task *task = &graph->tasks[i];
        json_newline(json);
        json_open(json, NULL, '{');
        json_string(json, "name", *job->kinds[i] ? job->kinds[i] : job->names[i]);
        json_string(json, "id", job->names[i]);
        list_parents(json, job, i);
        list_children(json, job, i);
        list_files(json, "inputFiles", graph->inputs + task->input, 0, task->input_count);
        list_files(json, "outputFiles", NULL, task->output, task->output_count);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_newline(json);
    json_open(json, "files", '[');
    for (uint32_t i = 0; i < graph->object_count; i++) {
        json_newline(json);
        json_open(json, NULL, '{');
        json_plain(json, "id", "object-%u", i);
        json_real(json, "sizeInBytes", "%.0f", graph->mib[i] * 1048576);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void execution_write(struct json *json, const struct whatif_job *job,
                            const struct whatif_course *course)
{
    const struct plan_graph *graph = &job->graph;
    json_real(json, "makespanInSeconds", "%.9g", course->makespan);
    json_string(json, "executedAt", "1970-01-01T00:00:00Z");
    json_open(json, "tasks", '[');
    for (uint32_t i = 0; i < graph->task_count; i++) {
        json_newline(json);
        json_open(json, NULL, '{');
        json_string(json, "id", job->names[i]);
        if (graph->memory_mib && graph->memory_mib[i])
            json_real(json, "memoryInBytes", "%.0f", graph->memory_mib[i] * 1048576.0);
        json_real(json, "runtimeInSeconds", "%.17g", graph->seconds[i]);
        json_number(json, "coreCount", "%u", graph->tasks[i].cores);
        json_number(json, "avgCPU", "%u", graph->tasks[i].cores * 100);
        json_open(json, "machines", '[');
        json_plain(json, NULL, "worker-%u", course->worker[i]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void machines_write(struct json *json, const struct whatif_setting *setting)
{
    json_open(json, "machines", '[');
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++) {
        json_newline(json);
        json_open(json, NULL, '{');
        json_plain(json, "nodeName", "worker-%u", i);
        json_open(json, "cpu", '{');
        json_number(json, "coreCount", "%u", setting->cores[i]);
        json_close(json, '}');
        json_close(json, '}');
    }
    json_close(json, ']');
}

void whatif_workflow(const struct whatif_job *job, const struct whatif_setting *setting,
                     const struct whatif_course *course, FILE *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "name", job->name);
    json_string(&json, "description", "a run of rota");
    json_string(&json, "createdAt", "1970-01-01T00:00:00Z");
    json_string(&json, "schemaVersion", "1.5");
    json_newline(&json);
    json_open(&json, "workflow", '{');
    specification_write(&json, job);
    json_newline(&json);
    json_open(&json, "execution", '{');
    execution_write(&json, job, course);
    json_newline(&json);
    machines_write(&json, setting);
    json_close(&json, '}');
    json_close(&json, '}');
    json_line(&json);
}
