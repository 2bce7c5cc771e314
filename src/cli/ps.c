// ps.c - `rota ps`: lists the tasks of a job with their states.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/json.h"

#include <inttypes.h>
#include <string.h>

static bool is_quiet(const struct ask_task *task)
{
    return strcmp(task->status, "SUCCESS") == 0 || strcmp(task->status, "IDLE") == 0
           || strcmp(task->status, "FROZEN") == 0;
}

static rota_time cpu_of(const struct ask *ask, const struct ask_task *task)
{
    rota_time sum = 0;
    for (uint32_t i = 0; i < task->count; i++)
        sum += ask->attempts[task->first + i].user + ask->attempts[task->first + i].system;
    return sum;
}

// ---- As JSON ----------------------------------------------------------------------------------

static void json_print(const struct asker *asker, uint32_t at)
{
    const struct ask *ask = &asker->ask;
    const struct ask_task *task = &ask->tasks[at];
    const struct ask_attempt *last = attempt_last(ask, task);
    struct json json = {.out = stdout};
    char end[ASK_TEXT];
    json_open(&json, NULL, '{');
    json_plain(&json, "id", "%u.%u", task->id.job, task->id.task);
    json_string(&json, "name", task->name);
    json_string(&json, "kind", task->is_bundle ? "bundle" : "task");
    json_string(&json, "status", task->status);
    json_number(&json, "attempt", "%u", task->attempt);
    json_string(&json, "bundle", task->bundle ? ask->tasks[task->bundle - 1].name : NULL);
    json_time(&json, "since", task->since);
    json_number(&json, "time_us", "%" PRId64, ask_duration(ask, at, asker->now));
    json_number(&json, "cpu_us", "%" PRId64, cpu_of(ask, task));
    json_string(&json, "end", last && last->ended ? ask_end_text(last, end) : NULL);
    json_bool(&json, "paused", ask->is_paused);
    json_line(&json);
}

// ---- As a table -------------------------------------------------------------------------------

static void task_add(const struct asker *asker, struct table *table, uint32_t at)
{
    const struct ask_task *task = &asker->ask.tasks[at];
    const struct ask_attempt *last = attempt_last(&asker->ask, task);
    char text[ASK_TEXT];
    table_addf(table, "%u.%u", task->id.job, task->id.task);
    table_add(table, task->name);
    table_add(table, task->status);
    if (task->attempt)
        table_addf(table, "%u", task->attempt);
    else
        table_add(table, "-");
    table_add(table, task->since ? ask_time_text(asker->now - task->since, text) : "-");
    table_add(table, last && last->ran
                         ? ask_time_text(ask_duration(&asker->ask, at, asker->now), text)
                         : "-");
    table_add(table, last && last->ended && *last->end
                         ? ask_time_text(cpu_of(&asker->ask, task), text)
                         : "-");
    table_add(table, last && last->ended ? ask_end_text(last, text) : "");
}

static void counts_print(const struct asker *asker)
{
    static const struct {
        const char *status, *word;
    } words[] = {{"SUCCESS", "succeeded"}, {"RUNNING", "running"}, {"ASSIGNED", "handed out"},
                 {"FAILED", "failed"},     {"ABORTED", "stopped"}, {"BLOCKED", "blocked"},
                 {"WAITING", "waiting"},   {"HELD", "in a lane"},  {"OFFERED", "ready"},
                 {"IDLE", "left out"}};
    printf("job %u", asker->ask.job.number);
    const char *between = ": ";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < asker->ask.task_count; k++)
            count += !asker->ask.tasks[k].is_bundle
                     && strcmp(asker->ask.tasks[k].status, words[i].status) == 0;
        if (!count) continue;
        printf("%s%u %s", between, count, words[i].word);
        between = ", ";
    }
    if (asker->ask.is_paused) fputs("; paused", stdout);
    puts(asker->is_running ? "" : "; rota run is not running");
}

static void table_show(const struct asker *asker)
{
    static const char *const heads[]
        = {"ID", "NAME", "STATE", "ATTEMPT", "SINCE", "TIME", "CPU", "END"};
    struct table table;
    table_open(&table, 8);
    for (int i = 0; i < 8; i++) table_add(&table, heads[i]);
    for (uint32_t i = 0; i < asker->ask.task_count; i++) {
        if (asker->all || !is_quiet(&asker->ask.tasks[i])) task_add(asker, &table, i);
    }
    table_print(&table, stdout);
    counts_print(asker);
}

static int tasks_show(struct asker *asker)
{
    if (!asker->json) table_show(asker);
    for (uint32_t i = 0; asker->json && i < asker->ask.task_count; i++)
        if (asker->all || !is_quiet(&asker->ask.tasks[i])) json_print(asker, i);
    return 0;
}

static int ps(const struct command *command, int count, char **words)
{
    return asker_run(command, count, words, tasks_show);
}

static const struct option_row rows[] = {
    {'a', "all", "", "also list tasks that succeeded, and tasks that are not to be run",
     OPTION_FLAG, .at = offsetof(struct asker, all), .in_query = true},
    ASKER_ROWS,
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
