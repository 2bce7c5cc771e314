// report.c - `rota report`: how a job went, as one web page that asks nobody for anything.
#include "cli/query_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "    rota report                     rota-report.html: chart, critical path, lanes, tasks\n"
      "    rota report -o night.html night.yaml\n\n"
      "usage: rota report [-o FILE] [--json] [--job N] [--db DATABASE] [FILE]\n\n"
      "    -o, --output FILE   instead of the standard output (a terminal gets rota-report.html)\n"
      "    --json              only what the page is made of\n";

// The files of the page, put in while building.
extern const char report_html[], report_css[], report_chart_js[], report_js[];

// ---- What the page shows, as JSON --------------------------------------------------------------

struct report {
    FILE *out;
    struct asker *asker;
    struct ask *ask;
    rota_time first, last;  // of all attempts that ran
    uint32_t slots;
};

static void report_open(struct report *report, struct asker *asker, FILE *out)
{
    *report = (struct report){.out = out, .asker = asker, .ask = &asker->ask};
    report->slots = ask_slots(report->ask, asker->now);
    for (uint32_t i = 0; i < report->ask->attempt_count; i++) {
        const struct ask_attempt *attempt = &report->ask->attempts[i];
        rota_time ended = attempt->ended ? attempt->ended : asker->now;
        if (!attempt->ran) continue;
        if (!report->first || attempt->began < report->first) report->first = attempt->began;
        if (ended > report->last) report->last = ended;
    }
}

static void key(struct report *report, const char *name, const char *text)
{
    fprintf(report->out, ",\"%s\":", name);
    json_text(report->out, text);
}

static void task_write(struct report *report, uint32_t at)
{
    const struct ask *ask = report->ask;
    const struct ask_task *task = &ask->tasks[at];
    const struct ask_attempt *last = attempt_last(ask, task);
    rota_time cpu = 0;
    uint64_t memory = 0;
    char end[ASK_TEXT];
    for (uint32_t i = task->first; i < task->first + task->count; i++) {
        cpu += ask->attempts[i].user + ask->attempts[i].system;
        if (ask->attempts[i].memory_bytes > memory) memory = ask->attempts[i].memory_bytes;
    }
    fprintf(report->out, "%s\n{\"id\":\"%u.%u\"", at ? "," : "", task->id.job, task->id.task);
    key(report, "name", task->name);
    key(report, "status", task->status);
    key(report, "command", task->command);
    key(report, "end", last ? ask_end_text(last, end) : "");
    if (task->lane) {
        key(report, "lane", ask_lane_name(ask, task->lane));
        key(report, "access", task->access);
    }
    if (task->is_bundle) fputs(",\"isBundle\":true", report->out);
    if (task->bundle) fprintf(report->out, ",\"bundle\":%u", task->bundle - 1);
    fprintf(report->out,
            ",\"attempt\":%u,\"time\":%" PRId64 ",\"cpu\":%" PRId64 ",\"memory\":%" PRIu64
            ",\"needs\":[",
            task->attempt, ask_duration(ask, at, report->asker->now), cpu, memory);
    for (uint32_t i = 0; i < task->need_count; i++)
        fprintf(report->out, "%s%u", i ? "," : "", task->needs[i]);
    fputs("]}", report->out);
}

// [task, attempt, status, began, length, slot, how it ended, flags]
static void attempt_write(struct report *report, const struct ask_attempt *attempt, bool is_first)
{
    rota_time ended = attempt->ended ? attempt->ended : report->asker->now;
    char end[ASK_TEXT];
    fprintf(report->out, "%s\n[%u,%u,\"%s\",%" PRId64 ",%" PRId64 ",%u,", is_first ? "" : ",",
            attempt->task, attempt->attempt, attempt->status, attempt->drawn - report->first,
            ended > attempt->drawn ? ended - attempt->drawn : 0, attempt->slot);
    json_text(report->out, ask_end_text(attempt, end));
    fprintf(report->out, ",%u]", attempt->flags);
}

static void critical_write(struct report *report)
{
    struct ask *ask = report->ask;
    uint32_t *path = ask_allocate(ask, ask->task_count * sizeof *path);
    rota_time length;
    uint32_t count = ask_critical(ask, report->asker->now, path, &length);
    fprintf(report->out, ",\n\"criticalTime\":%" PRId64 ",\"critical\":[", length);
    for (uint32_t i = 0; i < count; i++) fprintf(report->out, "%s%u", i ? "," : "", path[i]);
    putc(']', report->out);
}

static void data_write(struct report *report)
{
    const struct ask *ask = report->ask;
    bool is_first = true;
    fprintf(report->out,
            "{\"job\":%u,\"began\":%" PRId64 ",\"wall\":%" PRId64 ",\"made\":%" PRId64
            ",\"atWork\":%s,\"slots\":%u",
            ask->job.number, report->first, report->last - report->first, report->asker->now,
            report->asker->at_work ? "true" : "false", report->slots);
    key(report, "path", ask->path);
    fputs(",\n\"tasks\":[", report->out);
    for (uint32_t i = 0; i < ask->task_count; i++) task_write(report, i);
    fputs("],\n\"attempts\":[", report->out);
    for (uint32_t i = 0; i < ask->attempt_count; i++) {
        if (!ask->attempts[i].ran) continue;
        attempt_write(report, &ask->attempts[i], is_first);
        is_first = false;
    }
    putc(']', report->out);
    critical_write(report);
    fputs("}\n", report->out);
}

// ---- The page ----------------------------------------------------------------------------------

// Inside of a script element nothing may look like its end; in JSON "<" only stands in texts.
static void script_write(FILE *out, const char *json)
{
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", out);
        else
            putc(*json, out);
    }
}

static void page_write(FILE *out, const char *json)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
          " style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>rota report</title>\n<style>\n",
          out);
    fputs(report_css, out);
    fputs("</style>\n</head>\n<body>\n", out);
    fputs(report_html, out);
    fputs("<script type=\"application/json\" id=\"data\">\n", out);
    script_write(out, json);
    fputs("</script>\n<script>\n", out);
    fputs(report_chart_js, out);
    fputs(report_js, out);
    fputs("</script>\n</body>\n</html>\n", out);
}

static int report_write(struct asker *asker)
{
    struct asker_file data, page;
    struct report report;
    asker_file_open(&data);
    report_open(&report, asker, data.out);
    data_write(&report);
    if (asker->json) return asker_file_close(asker, &data, "rota-report.json");
    if (fclose(data.out)) ask_no_memory();
    asker_file_open(&page);
    page_write(page.out, data.bytes);
    free(data.bytes);
    return asker_file_close(asker, &page, "rota-report.html");
}

int command_report(int count, char **words)
{
    static const struct asker_use use = {"report", usage, "o", ASKER_FILE};
    struct asker asker;
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status) status = report_write(&asker);
    }
    asker_close(&asker);
    return status;
}
