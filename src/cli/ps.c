// ps.c - `rota ps`: lists the tasks of a job with their states.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/json.h"

#include <inttypes.h>
#include <string.h>

static bool is_quiet(const struct query_task *task)
{
    return strcmp(task->status, "SUCCESS") == 0 || strcmp(task->status, "IDLE") == 0
           || strcmp(task->status, "FROZEN") == 0;
}

static rota_time cpu_of(const struct query *query, const struct query_task *task)
{
    rota_time sum = 0;
    for (uint32_t i = 0; i < task->count; i++)
        sum += query->attempts[task->first + i].user + query->attempts[task->first + i].system;
    return sum;
}

// ---- As JSON ----------------------------------------------------------------------------------

static void json_print(const struct query_options *options, uint32_t at)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[at];
    const struct query_attempt *last = attempt_last(query, task);
    struct json json = {.out = stdout};
    char end[QUERY_TEXT];
    json_open(&json, NULL, '{');
    json_plain(&json, "id", "%u.%u", task->id.job, task->id.task);
    json_string(&json, "name", task->name);
    json_string(&json, "kind", task->is_bundle ? "bundle" : "task");
    json_string(&json, "status", task->status);
    json_number(&json, "attempt", "%u", task->attempt);
    json_string(&json, "bundle", task->bundle ? query->tasks[task->bundle - 1].name : NULL);
    json_time(&json, "since", task->since);
    json_number(&json, "time_us", "%" PRId64, query_duration(query, at, options->now));
    json_number(&json, "cpu_us", "%" PRId64, cpu_of(query, task));
    json_string(&json, "end", last && last->ended ? query_end_text(last, end) : NULL);
    json_bool(&json, "paused", query->is_paused);
    json_line(&json);
}

// ---- As a table -------------------------------------------------------------------------------

static void task_add(const struct query_options *options, struct table *table, uint32_t at)
{
    const struct query_task *task = &options->query.tasks[at];
    const struct query_attempt *last = attempt_last(&options->query, task);
    char text[QUERY_TEXT];
    table_addf(table, "%u.%u", task->id.job, task->id.task);
    table_add(table, task->name);
    table_add(table, task->status);
    if (task->attempt)
        table_addf(table, "%u", task->attempt);
    else
        table_add(table, "-");
    table_add(table, task->since ? query_time_text(options->now - task->since, text) : "-");
    table_add(table, last && last->ran
                         ? query_time_text(query_duration(&options->query, at, options->now), text)
                         : "-");
    table_add(table, last && last->ended && *last->end
                         ? query_time_text(cpu_of(&options->query, task), text)
                         : "-");
    table_add(table, last && last->ended ? query_end_text(last, text) : "");
}

static void counts_print(const struct query_options *options)
{
    static const struct {
        const char *status, *word;
    } words[] = {{"SUCCESS", "succeeded"}, {"RUNNING", "running"}, {"ASSIGNED", "handed out"},
                 {"FAILED", "failed"},     {"ABORTED", "stopped"}, {"BLOCKED", "blocked"},
                 {"WAITING", "waiting"},   {"HELD", "in a lane"},  {"OFFERED", "ready"},
                 {"IDLE", "left out"}};
    printf("job %u", options->query.job.number);
    const char *between = ": ";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < options->query.task_count; k++)
            count += !options->query.tasks[k].is_bundle
                     && strcmp(options->query.tasks[k].status, words[i].status) == 0;
        if (!count) continue;
        printf("%s%u %s", between, count, words[i].word);
        between = ", ";
    }
    if (options->query.is_paused) fputs("; paused", stdout);
    puts(options->is_running ? "" : "; rota run is not running");
}

static void table_show(const struct query_options *options)
{
    static const char *const heads[]
        = {"ID", "NAME", "STATE", "ATTEMPT", "SINCE", "TIME", "CPU", "END"};
    struct table table;
    table_open(&table, 8);
    for (int i = 0; i < 8; i++) table_add(&table, heads[i]);
    for (uint32_t i = 0; i < options->query.task_count; i++) {
        if (options->all || !is_quiet(&options->query.tasks[i])) task_add(options, &table, i);
    }
    table_print(&table, stdout);
    counts_print(options);
}

static int tasks_show(struct query_options *options)
{
    if (!options->json) table_show(options);
    for (uint32_t i = 0; options->json && i < options->query.task_count; i++)
        if (options->all || !is_quiet(&options->query.tasks[i])) json_print(options, i);
    return 0;
}

static int ps(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, tasks_show);
}

static const struct option_row rows[] = {
    {'a', "all", "", "also list tasks that succeeded, and idle tasks",
     OPTION_FLAG, .at = offsetof(struct query_options, all), .in_query = true},
    QUERY_OPTION_ROWS,
    OPTION_ROWS_END};

const struct command ps_command = {
    .name = "ps",
    .summary = "list the tasks that run, wait or failed",
    JOB_QUERY,
    .is_everyday = true,
    .run = ps,
    .options = rows,
    .text
    = "Shows the last job of this folder, or of the folder of the job file FILE. In JSON, times "
      "are microseconds since 1970, and `paused` tells whether the job is paused.\n",
    .examples = "rota ps\tlist what runs, waits or failed\n"
                "rota ps -a build.yaml\tlist all tasks of this job file\n"
                "rota ps --server host:7450 --job 7 --key client.key\task a server\n",
    .exits = JOB_EXITS,
};
