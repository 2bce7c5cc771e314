// show.c - a result as text: its numbers, what it waited for, and a chart of its cores.
#include "sim/whatif/whatif.h"

static const double tolerance = 1e-9;

static bool is_at(double a, double b)
{
    double difference = a > b ? a - b : b - a;
    return difference <= tolerance * (1 + a);
}

// The last thing that a task waited for: its latest input, or else the task that freed its core.
static uint32_t waited_for(const struct whatif_job *job, const struct whatif_course *course,
                           uint32_t task, bool *for_core)
{
    const struct plan_graph *graph = &job->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    uint32_t best = PLAN_NONE;
    double latest = 0;
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
        uint32_t producer = graph->objects[inputs[i]].producer;
        if (producer == PLAN_NONE) continue;
        // A task that reads a stream waits for the start of its writer.
        double then = plan_is_stream(graph, inputs[i]) ? course->began[producer]
                                                       : course->ended[producer];
        if (best != PLAN_NONE && then <= latest) continue;
        best = producer;
        latest = then;
    }
    *for_core = false;
    if (best != PLAN_NONE && is_at(latest, course->began[task])) return best;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        bool before = i != task && course->worker[i] == course->worker[task]
                      && is_at(course->ended[i], course->began[task])
                      && course->began[i] < course->began[task];
        if (!before) continue;
        *for_core = true;
        return i;
    }
    return best;
}

uint32_t whatif_critical_path(const struct whatif_job *job, const struct whatif_course *course,
                           struct whatif_stage *stages)
{
    uint32_t last = 0, count = 0;
    bool for_core;
    for (uint32_t i = 1; i < job->graph.task_count; i++)
        if (course->ended[i] > course->ended[last]) last = i;
    for (uint32_t at = last; at != PLAN_NONE && count < job->graph.task_count;) {
        stages[count] = (struct whatif_stage){at, WHATIF_FIRST};
        uint32_t before = waited_for(job, course, at, &for_core);
        if (before != PLAN_NONE) {
            bool joined = job->graph.group && job->graph.group[at]
                          && job->graph.group[at] == job->graph.group[before];
            bool at_once = is_at(course->ended[before], course->began[at]);
            bool moved = course->worker[before] != course->worker[at];
            stages[count].waited = joined    ? WHATIF_STREAM
                                   : for_core ? WHATIF_CORE
                                   : at_once ? WHATIF_TASK
                                   : moved   ? WHATIF_TRANSFER
                                             : WHATIF_LATER;
        }
        count++;
        at = before;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        struct whatif_stage stage = stages[i];
        stages[i] = stages[count - 1 - i];
        stages[count - 1 - i] = stage;
    }
    return count;
}

// ---- Cores -----------------------------------------------------------------------------------

static bool is_free(const struct whatif_job *job, const struct whatif_course *course,
                    const uint32_t *core, uint32_t task, uint32_t place)
{
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        if (core[i] == PLAN_NONE || course->worker[i] != course->worker[task]) continue;
        if (core[i] > place || core[i] + job->graph.tasks[i].cores <= place) continue;
        bool apart = course->ended[i] <= course->began[task] + tolerance
                     || course->began[i] >= course->ended[task] - tolerance;
        if (!apart) return false;
    }
    return true;
}

// Each task gets a row of the chart: any free one, because the cores of a worker are alike.
void whatif_cores(const struct whatif_job *job, const struct whatif_setting *setting,
               const struct whatif_course *course, uint32_t *core)
{
    for (uint32_t i = 0; i < job->graph.task_count; i++) core[i] = PLAN_NONE;
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        uint32_t cores = setting->cores[course->worker[i]], wide = job->graph.tasks[i].cores;
        for (uint32_t place = 0; core[i] == PLAN_NONE && place + wide <= cores; place++) {
            uint32_t fits = 0;
            while (fits < wide && is_free(job, course, core, i, place + fits)) fits++;
            if (fits == wide) core[i] = place;
        }
        if (core[i] == PLAN_NONE) core[i] = 0;  // gaps between tasks with several cores
    }
}

enum { CHART = 72, WORKERS_SHOWN = 64 };

void whatif_chart(const struct whatif_job *job, const struct whatif_setting *setting,
               const struct whatif_course *course, FILE *out)
{
    uint32_t shown = setting->cluster.worker_count;
    if (shown > WORKERS_SHOWN) shown = WORKERS_SHOWN;
    double column = course->makespan / CHART;
    for (uint32_t worker = 0; worker < shown; worker++) {
        double busy[CHART] = {0};
        for (uint32_t i = 0; i < job->graph.task_count; i++) {
            if (course->worker[i] != worker) continue;
            for (uint32_t k = 0; k < CHART; k++) {
                double from = k * column, to = from + column;
                if (from < course->began[i]) from = course->began[i];
                if (to > course->ended[i]) to = course->ended[i];
                if (to > from) busy[k] += (to - from) * job->graph.tasks[i].cores;
            }
        }
        fprintf(out, "%4u |", worker);
        for (uint32_t k = 0; k < CHART; k++) {
            double share = column > 0 ? busy[k] / column / setting->cores[worker] : 0;
            fputc(" .:-=+*#"[share < 0.01 ? 0 : share > 0.99 ? 7 : 1 + (int)(share * 6)], out);
        }
        fputs("|\n", out);
    }
    if (shown < setting->cluster.worker_count)
        fprintf(out, "     and %u workers more\n", setting->cluster.worker_count - shown);
    fprintf(out, "      0%*.6g s\n", CHART - 1, course->makespan);
}
