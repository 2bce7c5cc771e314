// show_workflow.c - a course in WfFormat 1.5, as if it had been recorded.
#include "sim/whatif/whatif.h"

static void file_name(FILE *out, uint32_t object)
{
    fprintf(out, "\"object-%u\"", object);
}

static void list_files(const struct lab_job *job, const char *key, const uint32_t *objects,
                       uint32_t first, uint32_t count, FILE *out)
{
    (void)job;
    fprintf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) fputc(',', out);
        file_name(out, objects ? objects[i] : first + i);
    }
    fputc(']', out);
}

// Each neighbour once: an object may have several of a task, and a task several of an object.
static void list_parents(const struct lab_job *job, uint32_t task, FILE *out)
{
    const struct plan_graph *graph = &job->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    bool some = false;
    fputs(",\"parents\":[", out);
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
        uint32_t producer = graph->objects[inputs[i]].producer, k = 0;
        while (k < i && graph->objects[inputs[k]].producer != producer) k++;
        if (producer == PLAN_NONE || k < i) continue;
        if (some) fputc(',', out);
        json_text(out, job->names[producer]);
        some = true;
    }
    fputc(']', out);
}

static bool reads_earlier(const struct plan_graph *graph, uint32_t user, uint32_t first,
                          uint32_t object)
{
    const uint32_t *inputs = graph->inputs + graph->tasks[user].input;
    for (uint32_t i = 0; i < graph->tasks[user].input_count; i++)
        if (inputs[i] >= first && inputs[i] < object) return true;
    return false;
}

static void list_children(const struct lab_job *job, uint32_t task, FILE *out)
{
    const struct plan_graph *graph = &job->graph;
    const struct plan_task *row = &graph->tasks[task];
    bool some = false;
    fputs(",\"children\":[", out);
    for (uint32_t i = 0; i < row->output_count; i++) {
        const struct plan_object *object = &graph->objects[row->output + i];
        for (uint32_t u = 0; u < object->user_count; u++) {
            uint32_t user = graph->users[object->user + u];
            if (reads_earlier(graph, user, row->output, row->output + i)) continue;
            if (some) fputc(',', out);
            json_text(out, job->names[user]);
            some = true;
        }
    }
    fputc(']', out);
}

static void tasks_write(const struct lab_job *job, FILE *out)
{
    const struct plan_graph *graph = &job->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const struct plan_task *task = &graph->tasks[i];
        fputs(i ? ",\n{\"name\":" : "{\"name\":", out);
        json_text(out, *job->kinds[i] ? job->kinds[i] : job->names[i]);
        fputs(",\"id\":", out);
        json_text(out, job->names[i]);
        list_parents(job, i, out);
        list_children(job, i, out);
        list_files(job, "inputFiles", graph->inputs + task->input, 0, task->input_count, out);
        list_files(job, "outputFiles", NULL, task->output, task->output_count, out);
        fputc('}', out);
    }
}

void lab_workflow(const struct lab_job *job, const struct lab_setting *setting,
                  const struct lab_course *course, FILE *out)
{
    const struct plan_graph *graph = &job->graph;
    fputs("{\"name\":", out);
    json_text(out, job->name);
    fputs(",\"description\":\"a run of rota\",\"createdAt\":\"1970-01-01T00:00:00Z\","
          "\"schemaVersion\":\"1.5\",\n\"workflow\":{\"specification\":{\"tasks\":[\n", out);
    tasks_write(job, out);
    fputs("],\n\"files\":[\n", out);
    for (uint32_t i = 0; i < graph->object_count; i++) {
        fputs(i ? ",\n{\"id\":" : "{\"id\":", out);
        file_name(out, i);
        fprintf(out, ",\"sizeInBytes\":%.0f}", graph->mib[i] * 1048576);
    }
    fprintf(out, "]},\n\"execution\":{\"makespanInSeconds\":%.9g,"
                 "\"executedAt\":\"1970-01-01T00:00:00Z\",\"tasks\":[\n",
            course->makespan);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        fputs(i ? ",\n{\"id\":" : "{\"id\":", out);
        json_text(out, job->names[i]);
        if (graph->memory_mib && graph->memory_mib[i])
            fprintf(out, ",\"memoryInBytes\":%.0f", graph->memory_mib[i] * 1048576.0);
        fprintf(out, ",\"runtimeInSeconds\":%.17g,\"coreCount\":%u,\"avgCPU\":%u,"
                     "\"machines\":[\"worker-%u\"]}",
                graph->seconds[i], graph->tasks[i].cores, graph->tasks[i].cores * 100,
                course->worker[i]);
    }
    fputs("],\n\"machines\":[\n", out);
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++)
        fprintf(out, "%s{\"nodeName\":\"worker-%u\",\"cpu\":{\"coreCount\":%u}}", i ? ",\n" : "", i,
                setting->cores[i]);
    fputs("]}}}\n", out);
}
