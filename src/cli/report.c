// report.c - `rota report`: writes a web page about a job, in one file.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The build embeds the files of the page: tool/embed.
extern const char report_html[], report_css[], report_chart_js[], report_js[];

// ---- The data of the page, as JSON -------------------------------------------------------------

struct report {
    struct json json;
    struct query_options *options;
    struct query *query;
    rota_time first, last;  // of all attempts that ran
    uint32_t slots;
};

static void report_open(struct report *report, struct query_options *options, FILE *out)
{
    *report = (struct report){.json = {.out = out}, .options = options, .query = &options->query};
    report->slots = query_slots(report->query, options->now);
    for (uint32_t i = 0; i < report->query->attempt_count; i++) {
        const struct query_attempt *attempt = &report->query->attempts[i];
        rota_time ended = attempt->ended ? attempt->ended : options->now;
        if (!attempt->ran) continue;
        if (!report->first || attempt->began < report->first) report->first = attempt->began;
        if (ended > report->last) report->last = ended;
    }
}

static void numbers_write(struct json *json, const char *key, const uint32_t *numbers,
                          uint32_t count)
{
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) json_number(json, NULL, "%u", numbers[i]);
    json_close(json, ']');
}

static void task_write(struct report *report, uint32_t at)
{
    const struct query *query = report->query;
    const struct query_task *task = &query->tasks[at];
    const struct query_attempt *last = attempt_last(query, task);
    rota_time cpu = 0;
    uint64_t memory = 0;
    char end[QUERY_TEXT];
    for (uint32_t i = task->first; i < task->first + task->count; i++) {
        cpu += query->attempts[i].user + query->attempts[i].system;
        if (query->attempts[i].memory_bytes > memory) memory = query->attempts[i].memory_bytes;
    }
    struct json *json = &report->json;
    json_newline(json);
    json_open(json, NULL, '{');
    json_plain(json, "id", "%u.%u", task->id.job, task->id.task);
    json_string(json, "name", task->name);
    json_string(json, "status", task->status);
    json_string(json, "command", task->command);
    json_string(json, "end", last ? query_end_text(last, end) : "");
    if (task->lane) json_string(json, "lane", query_lane_name(query, task->lane));
    if (task->lane) json_string(json, "access", task->access);
    if (task->is_bundle) json_bool(json, "isBundle", true);
    if (task->bundle) json_number(json, "bundle", "%u", task->bundle - 1);
    json_number(json, "attempt", "%u", task->attempt);
    json_number(json, "time", "%" PRId64, query_duration(query, at, report->options->now));
    json_number(json, "cpu", "%" PRId64, cpu);
    json_number(json, "memory", "%" PRIu64, memory);
    numbers_write(json, "needs", task->needs, task->need_count);
    json_close(json, '}');
}

// [task, attempt, status, began, length, slot, how it ended, flags]
static void attempt_write(struct report *report, const struct query_attempt *attempt)
{
    rota_time ended = attempt->ended ? attempt->ended : report->options->now;
    char end[QUERY_TEXT];
    struct json *json = &report->json;
    json_newline(json);
    json_open(json, NULL, '[');
    json_number(json, NULL, "%u", attempt->task);
    json_number(json, NULL, "%u", attempt->attempt);
    json_string(json, NULL, attempt->status);
    json_number(json, NULL, "%" PRId64, attempt->drawn - report->first);
    json_number(json, NULL, "%" PRId64, ended > attempt->drawn ? ended - attempt->drawn : 0);
    json_number(json, NULL, "%u", attempt->slot);
    json_string(json, NULL, query_end_text(attempt, end));
    json_number(json, NULL, "%u", attempt->flags);
    json_close(json, ']');
}

static void critical_write(struct report *report)
{
    struct query *query = report->query;
    uint32_t *path = query_allocate(query, query->task_count * sizeof *path);
    rota_time length;
    uint32_t count = query_critical(query, report->options->now, path, &length);
    json_newline(&report->json);
    json_number(&report->json, "criticalTime", "%" PRId64, length);
    numbers_write(&report->json, "critical", path, count);
}

// Another job may run in the same folder, or at the same server.
static bool can_change(const struct query *query)
{
    static const char *const ends[] = {"SUCCESS", "FAILED", "ABORTED", "BLOCKED", "CLOSED"};
    for (uint32_t i = 0; i < query->task_count; i++) {
        bool is_over = query->tasks[i].is_bundle;
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            is_over |= strcmp(query->tasks[i].status, ends[k]) == 0;
        if (!is_over) return true;
    }
    return false;
}

static void data_write(struct report *report)
{
    const struct query *query = report->query;
    struct json *json = &report->json;
    json_open(json, NULL, '{');
    json_number(json, "job", "%u", query->job.number);
    json_number(json, "began", "%" PRId64, report->first);
    json_number(json, "wall", "%" PRId64, report->last - report->first);
    json_number(json, "made", "%" PRId64, report->options->now);
    json_bool(json, "atWork", report->options->is_running && can_change(query));
    json_number(json, "slots", "%u", report->slots);
    json_string(json, "path", query->path);
    json_newline(json);
    json_open(json, "tasks", '[');
    for (uint32_t i = 0; i < query->task_count; i++) task_write(report, i);
    json_close(json, ']');
    json_newline(json);
    json_open(json, "attempts", '[');
    for (uint32_t i = 0; i < query->attempt_count; i++)
        if (query->attempts[i].ran) attempt_write(report, &query->attempts[i]);
    json_close(json, ']');
    critical_write(report);
    json_line(json);
}

// ---- The page ----------------------------------------------------------------------------------

// Escapes "<", so that no text can end the script element; in JSON it occurs in texts only.
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

static int report_write(struct query_options *options)
{
    struct output_file data, page;
    struct report report;
    output_file_open(&data);
    report_open(&report, options, data.out);
    data_write(&report);
    if (options->json) return output_file_close(&data, options->command, options->out, true);
    if (fclose(data.out)) query_no_memory();
    output_file_open(&page);
    page_write(page.out, data.bytes);
    free(data.bytes);
    return output_file_close(&page, options->command, options->out, false);
}

static int report(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, report_write);
}

static const struct option_row rows[]
    = {QUERY_OUTPUT_ROW("rota-report.html"),
       QUERY_JSON_ROW("write the data of the page as JSON"),
       QUERY_JOB_ROWS,
       OPTION_ROWS_END};

const struct command report_command = {
    .name = "report",
    .summary = "write a web page about a job",
    JOB_QUERY,
    .is_everyday = true,
    .run = report,
    .options = rows,
    .output_name = "rota-report.html",
    .text
    = "The page has a chart, the critical path, the lanes and the tasks, and needs no network. "
      "With --json, the data of the page is written instead.\n",
    .examples = "rota report\twrite rota-report.html about the last job\n"
                "rota report -o build.html build.yaml\twrite about this job file\n",
    .exits = JOB_EXITS "70\tthe file cannot be written\n",
};
