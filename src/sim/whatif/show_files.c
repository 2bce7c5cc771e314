// show_files.c - a result as files for other programs: SVG, a trace, a schedule, WfFormat.
#include "sim/whatif/whatif.h"
#include "os/json.h"

#include <stdlib.h>

enum { WIDTH = 1200, ROW = 12, LEFT = 60, HUES = 360 };

static void xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc((unsigned char)*text < ' ' ? ' ' : *text, out); break;
        }
    }
}

// Tasks of the same kind have the same colour.
static uint32_t hue(const char *kind)
{
    uint64_t hash = 7;
    for (; *kind; kind++) hash = hash_mix(hash, (unsigned char)*kind);
    return (uint32_t)(hash % HUES);
}

void whatif_svg(const struct whatif_job *job, const struct whatif_setting *setting,
             const struct whatif_course *course, FILE *out)
{
    uint32_t *core = plan_take(job->graph.task_count, sizeof *core), rows = 0;
    uint32_t *first = plan_take(setting->cluster.worker_count, sizeof *first);
    whatif_cores(job, setting, course, core);
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++) {
        first[i] = rows;
        rows += setting->cores[i] + 1;
    }
    double pixel = course->makespan > 0 ? WIDTH / course->makespan : 0;
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
                 "font-family=\"sans-serif\" font-size=\"10\">\n",
            LEFT + WIDTH, rows * ROW + 2 * ROW);
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++)
        fprintf(out, "<text x=\"2\" y=\"%u\">worker %u</text>\n", (first[i] + 1) * ROW, i);
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        const char *kind = *job->kinds[i] ? job->kinds[i] : job->names[i];
        fprintf(out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" "
                     "fill=\"hsl(%u 60%% 65%%)\"><title>",
                LEFT + course->began[i] * pixel, (first[course->worker[i]] + core[i]) * ROW + 2,
                (course->ended[i] - course->began[i]) * pixel,
                job->graph.tasks[i].cores * ROW - 1, hue(kind));
        xml_text(out, job->names[i]);
        fputs(" ", out);
        xml_text(out, job->kinds[i]);
        fprintf(out, " %.6g to %.6g s</title></rect>\n", course->began[i], course->ended[i]);
    }
    fprintf(out, "<text x=\"%d\" y=\"%u\">0 to %.6g s</text>\n</svg>\n", LEFT, (rows + 1) * ROW,
            course->makespan);
    free(core), free(first);
}

void whatif_perfetto(const struct whatif_job *job, const struct whatif_setting *setting,
                  const struct whatif_course *course, FILE *out)
{
    uint32_t *core = plan_take(job->graph.task_count, sizeof *core);
    whatif_cores(job, setting, course, core);
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "displayTimeUnit", "ms");
    json_open(&json, "traceEvents", '[');
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++) {
        json_newline(&json);
        json_open(&json, NULL, '{');
        json_string(&json, "ph", "M");
        json_number(&json, "pid", "%u", i + 1);
        json_string(&json, "name", "process_name");
        json_open(&json, "args", '{');
        json_plain(&json, "name", "worker %u", i);
        json_close(&json, '}');
        json_close(&json, '}');
    }
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        json_newline(&json);
        json_open(&json, NULL, '{');
        json_string(&json, "ph", "X");
        json_string(&json, "name", job->names[i]);
        json_string(&json, "cat", job->kinds[i]);
        json_number(&json, "pid", "%u", course->worker[i] + 1);
        json_number(&json, "tid", "%u", core[i] + 1);
        json_real(&json, "ts", "%.3f", course->began[i] * 1e6);
        json_real(&json, "dur", "%.3f", (course->ended[i] - course->began[i]) * 1e6);
        json_open(&json, "args", '{');
        json_number(&json, "cores", "%u", job->graph.tasks[i].cores);
        json_close(&json, '}');
        json_close(&json, '}');
    }
    putc('\n', out);
    json_close(&json, ']');
    json_line(&json);
    free(core);
}

static int by_begin(const void *a, const void *b)
{
    const struct { double at; uint32_t task; } *one = a, *other = b;
    if (one->at != other->at) return one->at < other->at ? -1 : 1;
    return (one->task > other->task) - (one->task < other->task);
}

// As a schedule for --replay: the task that began first is the most urgent.
void whatif_schedule(const struct whatif_job *job, const struct whatif_course *course, FILE *out)
{
    uint32_t count = job->graph.task_count;
    struct { double at; uint32_t task; } *order = plan_take(count, sizeof *order);
    uint32_t *urgency = plan_take(count, sizeof *urgency);
    for (uint32_t i = 0; i < count; i++) order[i].at = course->began[i], order[i].task = i;
    qsort(order, count, sizeof *order, by_begin);
    for (uint32_t i = 0; i < count; i++) urgency[order[i].task] = count - i;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_real(&json, "makespan", "%.17g", course->makespan);
    json_number(&json, "transfers", "%llu", (unsigned long long)course->transfers);
    json_real(&json, "mib", "%.17g", course->mib);
    json_open(&json, "assign", '[');
    for (uint32_t i = 0; i < count; i++) json_number(&json, NULL, "%u", course->worker[i]);
    json_close(&json, ']');
    json_open(&json, "prio", '[');
    for (uint32_t i = 0; i < count; i++) json_number(&json, NULL, "%u", urgency[i]);
    json_close(&json, ']');
    json_line(&json);
    free(order), free(urgency);
}
