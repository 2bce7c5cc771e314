// show_files.c - a course as files for other programs: SVG, a trace, a schedule, WfFormat.
#include "sim/whatif/whatif.h"

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

// Tasks of a kind have one colour.
static uint32_t hue(const char *kind)
{
    uint64_t hash = 7;
    for (; *kind; kind++) hash = hash_mix(hash, (unsigned char)*kind);
    return (uint32_t)(hash % HUES);
}

void lab_svg(const struct lab_job *job, const struct lab_setting *setting,
             const struct lab_course *course, FILE *out)
{
    uint32_t *core = plan_take(job->graph.task_count, sizeof *core), rows = 0;
    uint32_t *first = plan_take(setting->cluster.worker_count, sizeof *first);
    lab_cores(job, setting, course, core);
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

void lab_perfetto(const struct lab_job *job, const struct lab_setting *setting,
                  const struct lab_course *course, FILE *out)
{
    uint32_t *core = plan_take(job->graph.task_count, sizeof *core);
    lab_cores(job, setting, course, core);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", out);
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++)
        fprintf(out, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":"
                     "{\"name\":\"worker %u\"}},\n", i + 1, i);
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        fputs("{\"ph\":\"X\",\"name\":", out);
        json_text(out, job->names[i]);
        fputs(",\"cat\":", out);
        json_text(out, job->kinds[i]);
        fprintf(out, ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"cores\":%u}}%s\n",
                course->worker[i] + 1, core[i] + 1, course->began[i] * 1e6,
                (course->ended[i] - course->began[i]) * 1e6, job->graph.tasks[i].cores,
                i + 1 < job->graph.task_count ? "," : "");
    }
    fputs("]}\n", out);
    free(core);
}

static int by_begin(const void *a, const void *b)
{
    const struct { double at; uint32_t task; } *one = a, *other = b;
    if (one->at != other->at) return one->at < other->at ? -1 : 1;
    return (one->task > other->task) - (one->task < other->task);
}

// As a certificate that --replay reads: urgent is what began first.
void lab_schedule(const struct lab_job *job, const struct lab_course *course, FILE *out)
{
    uint32_t count = job->graph.task_count;
    struct { double at; uint32_t task; } *order = plan_take(count, sizeof *order);
    uint32_t *urgency = plan_take(count, sizeof *urgency);
    for (uint32_t i = 0; i < count; i++) order[i].at = course->began[i], order[i].task = i;
    qsort(order, count, sizeof *order, by_begin);
    for (uint32_t i = 0; i < count; i++) urgency[order[i].task] = count - i;
    fprintf(out, "{\"makespan\":%.17g,\"transfers\":%llu,\"mib\":%.17g,\"assign\":[",
            course->makespan, (unsigned long long)course->transfers, course->mib);
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%u", i ? "," : "", course->worker[i]);
    fputs("],\"prio\":[", out);
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%u", i ? "," : "", urgency[i]);
    fputs("]}\n", out);
    free(order), free(urgency);
}
