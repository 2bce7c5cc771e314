// ps.c - `rota ps`: the tasks of a job, and how far each is.
#include "cli/query_options.h"

#include <inttypes.h>
#include <string.h>

static const char usage[]
    = "    rota ps                 what runs, waits or failed in the last job of this folder\n"
      "    rota ps -a night.yaml   all tasks of this file's job\n\n"
      "usage: rota ps [-a] [--json] [--job N] [--db DATABASE] [FILE]\n\n"
      "    -a, --all   also what has succeeded, and what is not to be run\n"
      "    --json      one object a line; times are microseconds since 1970, and `paused` is said\n"
      "                of the job\n"
      "    --job N     an earlier job; rota jobs lists those that are there\n";

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
    const struct ask_task *task = &asker->ask.tasks[at];
    const struct ask_attempt *last = attempt_last(&asker->ask, task);
    char end[ASK_TEXT];
    printf("{\"id\":\"%u.%u\",\"name\":", task->id.job, task->id.task);
    json_text(stdout, task->name);
    printf(",\"kind\":\"%s\",\"status\":\"%s\",\"attempt\":%u,\"bundle\":",
           task->is_bundle ? "bundle" : "task", task->status, task->attempt);
    if (task->bundle)
        json_text(stdout, asker->ask.tasks[task->bundle - 1].name);
    else
        fputs("null", stdout);
    if (task->since)
        printf(",\"since\":%" PRId64, task->since);
    else
        fputs(",\"since\":null", stdout);
    printf(",\"time_us\":%" PRId64 ",\"cpu_us\":%" PRId64 ",\"end\":",
           ask_duration(&asker->ask, at, asker->now), cpu_of(&asker->ask, task));
    if (last && last->ended)
        json_text(stdout, ask_end_text(last, end));
    else
        fputs("null", stdout);
    printf(",\"paused\":%s}\n", asker->ask.is_paused ? "true" : "false");
}

// ---- For people -------------------------------------------------------------------------------

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
    puts(asker->at_work ? "" : "; no rota run is at work");
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

int command_ps(int count, char **words)
{
    static const struct asker_use use = {"ps", usage, "a", ASKER_FILE};
    struct asker asker;
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status && !asker.json) table_show(&asker);
        for (uint32_t i = 0; !status && asker.json && i < asker.ask.task_count; i++)
            if (asker.all || !is_quiet(&asker.ask.tasks[i])) json_print(&asker, i);
    }
    asker_close(&asker);
    return status;
}
