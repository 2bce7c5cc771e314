// trace.c - `rota trace`: writes all attempts of a job in the trace format of Chrome and Perfetto.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/json.h"

#include <inttypes.h>
#include <string.h>

enum { PROCESS = 1 };

static rota_time first_of(const struct query *query)
{
    rota_time first = 0;
    for (uint32_t i = 0; i < query->attempt_count; i++) {
        const struct query_attempt *attempt = &query->attempts[i];
        if (attempt->ran && (!first || attempt->began < first)) first = attempt->began;
    }
    return first;
}

static void event_open(struct json *json, const char *phase)
{
    json_newline(json);
    json_open(json, NULL, '{');
    json_string(json, "ph", phase);
}

// The name of the process, or of one of its slots.
static void label_write(struct json *json, uint32_t slot, const char *kind, const char *name)
{
    event_open(json, "M");
    json_number(json, "pid", "%d", PROCESS);
    if (slot) json_number(json, "tid", "%u", slot);
    json_string(json, "name", kind);
    json_open(json, "args", '{');
    json_string(json, "name", name);
    json_close(json, '}');
    json_close(json, '}');
}

static void names_write(struct json *json, const struct query *query, uint32_t slots)
{
    char name[32];
    label_write(json, 0, "process_name", *query->path ? query->path : "rota");
    for (uint32_t i = 1; i <= slots; i++) {
        snprintf(name, sizeof name, "slot %u", i);
        label_write(json, i, "thread_name", name);
    }
}

static void attempt_write(struct json *json, const struct query_options *options,
                          const struct query_attempt *attempt, rota_time first)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[attempt->task];
    rota_time ended = attempt->ended ? attempt->ended : options->now;
    char text[QUERY_TEXT];
    event_open(json, "X");
    json_string(json, "name", task->name);
    json_string(json, "cat", attempt->status);
    json_number(json, "pid", "%d", PROCESS);
    json_number(json, "tid", "%u", attempt->slot + 1);
    json_number(json, "ts", "%" PRId64, attempt->drawn - first);
    json_number(json, "dur", "%" PRId64, ended > attempt->drawn ? ended - attempt->drawn : 0);
    json_open(json, "args", '{');
    json_plain(json, "id", "%u.%u", task->id.job, task->id.task);
    json_number(json, "attempt", "%u", attempt->attempt);
    json_string(json, "end", query_end_text(attempt, text));
    json_string(json, "command", task->command);
    if (task->lane) json_string(json, "lane", query_lane_name(query, task->lane));
    json_number(json, "cpu_us", "%" PRId64, attempt->user + attempt->system);
    json_number(json, "memory_bytes", "%" PRIu64, attempt->memory_bytes);
    json_close(json, '}');
    json_close(json, '}');
}

// The last attempt that ran; null: no attempt ran.
static const struct query_attempt *ran(const struct query *query, uint32_t task)
{
    const struct query_attempt *last = attempt_last(query, &query->tasks[task]);
    return last && last->ran ? last : NULL;
}

// One end of an arrow: `s` at its start, `f` at its tip.
static void arrow_end(struct json *json, const char *phase, uint64_t number, uint32_t slot,
                      rota_time at)
{
    event_open(json, phase);
    if (*phase == 'f') json_string(json, "bp", "e");
    json_number(json, "id", "%" PRIu64, number);
    json_string(json, "name", "needs");
    json_string(json, "cat", "needs");
    json_number(json, "pid", "%d", PROCESS);
    json_number(json, "tid", "%u", slot + 1);
    json_number(json, "ts", "%" PRId64, at);
    json_close(json, '}');
}

// From the end of one attempt to the beginning of the other.
static void arrow_write(struct json *json, const struct query_attempt *from,
                        const struct query_attempt *to, uint64_t number, rota_time first)
{
    rota_time at = from->ended > from->drawn ? from->ended - 1 : from->drawn;
    arrow_end(json, "s", number, from->slot, at - first);
    arrow_end(json, "f", number, to->slot, to->drawn - first);
}

static void arrows_write(struct json *json, const struct query *query, rota_time first)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < query->task_count; i++) {
        const struct query_task *task = &query->tasks[i];
        const struct query_attempt *to = task->count ? &query->attempts[task->first] : NULL;
        for (uint32_t k = 0; to && to->ran && k < task->need_count; k++) {
            const struct query_attempt *from = ran(query, task->needs[k]);
            bool before = from && from->ended && from->ended <= to->began;
            if (before) arrow_write(json, from, to, ++number, first);
        }
    }
}

static int trace_write(struct query_options *options)
{
    struct query *query = &options->query;
    struct output_file file;
    uint32_t slots = query_slots(query, options->now);
    rota_time first = first_of(query);
    output_file_open(&file);
    struct json json = {.out = file.out};
    json_open(&json, NULL, '{');
    json_string(&json, "displayTimeUnit", "ms");
    json_open(&json, "otherData", '{');
    json_number(&json, "job", "%u", query->job.number);
    json_number(&json, "began_us", "%" PRId64, first);
    json_close(&json, '}');
    json_newline(&json);
    json_open(&json, "traceEvents", '[');
    names_write(&json, query, slots);
    for (uint32_t i = 0; i < query->attempt_count; i++)
        if (query->attempts[i].ran) attempt_write(&json, options, &query->attempts[i], first);
    arrows_write(&json, query, first);
    putc('\n', file.out);
    json_close(&json, ']');
    json_line(&json);
    return output_file_close(&file, options->command, options->out, true);
}

static int trace(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, trace_write);
}

static const struct option_row rows[]
    = {QUERY_OUTPUT_ROW("rota-trace.json"),
       QUERY_JSON_ROW("accepted for scripts: a trace is always JSON"),
       QUERY_JOB_ROWS,
       OPTION_ROWS_END};

const struct command trace_command = {
    .name = "trace",
    .summary = "export all attempts as a trace for Perfetto or Chrome",
    JOB_QUERY,
    .run = trace,
    .options = rows,
    .output_name = "rota-trace.json",
    .text
    = "Attempts that ran at the same time are on different lines; arrows lead from a task to its "
      "dependents. The output is always JSON.\n",
    .examples = "rota trace -o build.json\twrite a file to open in ui.perfetto.dev or "
                "chrome://tracing\n",
    .exits = JOB_EXITS "70\tthe file cannot be written\n",
};
