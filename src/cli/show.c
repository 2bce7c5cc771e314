// show.c - `rota show`: prints everything about a task.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "cli/show/time_text.h"
#include "worker/process/worker.h"
#include "os/json.h"

#include <inttypes.h>
#include <string.h>

// ---- Shared -----------------------------------------------------------------------------------

static const char *place_of(const struct query_options *options,
                            const struct query_attempt *attempt, char out[8192])
{
    log_path(out, 8192, options->folder, options->query.tasks[attempt->task].id, attempt->attempt);
    return out;
}

static bool is_needed_by(const struct query_task *task, uint32_t other)
{
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == other) return true;
    return false;
}

// ---- Text output ------------------------------------------------------------------------------

static void label(const char *word)
{
    printf("    %-10s ", word);
}

static void row(const char *word, const char *text)
{
    if (!*text) return;
    label(word);
    while (*text) {
        size_t length = strcspn(text, "\n");
        plain_write(stdout, text, length);
        text += length + (text[length] == '\n');
        if (*text) printf("\n%15s", "");
    }
    putchar('\n');
}

static void names_print(const struct query *query, const char *word, const uint32_t *tasks,
                        uint32_t count)
{
    enum { NAMES = 20 };
    if (!count) return;
    label(word);
    for (uint32_t i = 0; i < count && i < NAMES; i++) {
        if (i) fputs(", ", stdout);
        name_write(stdout, query, tasks[i]);
    }
    if (count > NAMES) printf(" and %u more", count - NAMES);
    putchar('\n');
}

static void needed_print(const struct query *query, uint32_t at)
{
    enum { NAMES = 21 };
    uint32_t found[NAMES], count = 0, members[NAMES], member_count = 0;
    for (uint32_t i = 0; i < query->task_count; i++) {
        if (count < NAMES && is_needed_by(&query->tasks[i], at)) found[count++] = i;
        if (member_count < NAMES && query->tasks[i].bundle == at + 1) members[member_count++] = i;
    }
    names_print(query, "needed by", found, count);
    names_print(query, "members", members, member_count);
}

static void lane_print(const struct query *query, const struct query_task *task)
{
    if (!task->lane) return;
    const char *name = query_lane_name(query, task->lane);
    size_t length;
    const char *group = query_detail(task->details, "group", 0, &length);
    label("lane");
    plain_write(stdout, name, strlen(name));
    printf(", to %s", *task->access ? task->access : "use");
    if (group) fputs(", group ", stdout), plain_write(stdout, group, length);
    putchar('\n');
}

static void details_print(const struct query_task *task)
{
    for (const char *at = task->details; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t length = strcspn(at, "\n"), word = strcspn(at, " \n");
        if (strncmp(at, "group ", 6) == 0 || word == length) continue;
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)word, at);
        label(name);
        plain_write(stdout, at + word + 1, length - word - 1);
        putchar('\n');
    }
}

static void attempt_print(const struct query_options *options, const struct query_attempt *attempt)
{
    char text[QUERY_TEXT], path[8192], word[32], at[TIME_TEXT];
    rota_time ended = attempt->ended ? attempt->ended : options->now;
    snprintf(word, sizeof word, "attempt %u", attempt->attempt);
    row(word, query_end_text(attempt, text));
    printf("%15s%s, took %s", "", time_write(attempt->began, at),
           query_time_text(ended - attempt->began, text));
    if (*attempt->end) printf(", cpu %s", query_time_text(attempt->user + attempt->system, text));
    if (attempt->memory_bytes) printf(", memory %s", query_bytes_text(attempt->memory_bytes, text));
    if (attempt->flags & QUERY_CACHED) printf(", from the cache");
    putchar('\n');
    if (!attempt->log_bytes && attempt->ended) return;
    printf("%15slog ", "");
    plain_write(stdout, place_of(options, attempt, path), strlen(place_of(options, attempt, path)));
    if (attempt->ended) printf(", %s", query_bytes_text(attempt->log_bytes, text));
    puts(attempt->flags & QUERY_TRUNCATED ? ", cut off" : "");
}

static void task_print(const struct query_options *options, uint32_t at)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[at];
    const char *colour = colour_is_wanted(stdout) ? colour_of(task->status) : "";
    char text[QUERY_TEXT];
    name_write(stdout, query, at);
    printf(" (%u.%u%s)\n", task->id.job, task->id.task, task->is_bundle ? ", a bundle" : "");
    label("state");
    printf("%s%s%s", colour, task->status, *colour ? "\033[0m" : "");
    if (task->since) printf(", since %s", query_time_text(options->now - task->since, text));
    putchar('\n');
    row("command", task->command);
    names_print(query, "needs", task->needs, task->need_count);
    row("when", task->when);
    needed_print(query, at);
    if (task->bundle) row("bundle", query->tasks[task->bundle - 1].name);
    lane_print(query, task);
    details_print(task);
    if (!task->is_bundle) {
        label("takes");
        printf("%u cpu%s", task->cores, task->cores == 1 ? "" : "s");
        if (task->memory_mib) printf(", %u MiB of memory", task->memory_mib);
        if (task->priority) printf(", priority %d", task->priority);
        if (task->retries)
            printf(", up to %u retr%s", task->retries, task->retries == 1 ? "y" : "ies");
        putchar('\n');
    }
    for (uint32_t i = 0; i < task->count; i++)
        attempt_print(options, &query->attempts[task->first + i]);
}

// ---- As JSON ----------------------------------------------------------------------------------

static void text_put(struct json *json, const char *key, const char *text)
{
    json_string(json, key, *text ? text : NULL);
}

static void needs_put(struct json *json, const struct query *query, const struct query_task *task)
{
    json_open(json, "needs", '[');
    for (uint32_t i = 0; i < task->need_count; i++)
        json_string(json, NULL, query->tasks[task->needs[i]].name);
    json_close(json, ']');
}

static void objects_put(struct json *json, const struct query *query, uint32_t at)
{
    struct query_object object;
    json_open(json, "outputs", '[');
    for (uint32_t i = 0; query_object(query, at, i, &object); i++) {
        json_open(json, NULL, '{');
        json_bytes(json, "name", object.name, (size_t)object.length);
        json_string(json, "kind", object.kind);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "inputs", '[');
    for (const char *line = query->tasks[at].details; *line;) {
        size_t length = strcspn(line, "\n"), word = strcspn(line, " \n");
        bool is_input = strncmp(line, "in ", 3) == 0 || strncmp(line, "in-file ", 8) == 0;
        if (is_input) json_bytes(json, NULL, line + word + 1, length - word - 1);
        line += length + (line[length] == '\n');
    }
    json_close(json, ']');
}

static void attempt_put(struct json *json, const struct query_options *options,
                        const struct query_attempt *attempt)
{
    char path[8192], text[QUERY_TEXT];
    json_open(json, NULL, '{');
    json_number(json, "attempt", "%u", attempt->attempt);
    json_string(json, "status", attempt->status);
    json_string(json, "end", attempt->end);
    json_number(json, "code", "%d", attempt->code);
    text_put(json, "text", query_end_text(attempt, text));
    text_put(json, "reason", attempt->reason);
    json_number(json, "began", "%" PRId64, attempt->began);
    json_time(json, "ended", attempt->ended);
    json_number(json, "user_us", "%" PRId64, attempt->user);
    json_number(json, "system_us", "%" PRId64, attempt->system);
    json_number(json, "memory_bytes", "%" PRIu64, attempt->memory_bytes);
    json_number(json, "log_bytes", "%" PRIu64, attempt->log_bytes);
    json_bool(json, "cached", attempt->flags & QUERY_CACHED);
    json_bool(json, "truncated", attempt->flags & QUERY_TRUNCATED);
    text_put(json, "log", place_of(options, attempt, path));
    json_close(json, '}');
}

static void json_print(const struct query_options *options, uint32_t at)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[at];
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_plain(&json, "id", "%u.%u", task->id.job, task->id.task);
    text_put(&json, "name", task->name);
    text_put(&json, "kind", task->is_bundle ? "bundle" : "task");
    text_put(&json, "status", task->status);
    text_put(&json, "command", task->command);
    text_put(&json, "condition", task->when);
    text_put(&json, "bundle", task->bundle ? query->tasks[task->bundle - 1].name : "");
    text_put(&json, "lane", task->lane ? query_lane_name(query, task->lane) : "");
    text_put(&json, "access", task->access);
    needs_put(&json, query, task);
    objects_put(&json, query, at);
    json_number(&json, "cpus", "%u", task->cores);
    json_number(&json, "memory_mib", "%u", task->memory_mib);
    json_number(&json, "priority", "%d", task->priority);
    json_number(&json, "retries", "%u", task->retries);
    json_open(&json, "attempts", '[');
    for (uint32_t i = 0; i < task->count; i++)
        attempt_put(&json, options, &query->attempts[task->first + i]);
    json_close(&json, ']');
    json_line(&json);
}

static int tasks_show(struct query_options *options)
{
    for (uint32_t i = 0, at; i < options->name_count; i++) {
        if (!query_options_find(options, options->names[i], &at)) return 2;
        if (options->json)
            json_print(options, at);
        else
            task_print(options, at);
    }
    return 0;
}

static int show(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, tasks_show);
}

static const struct option_row rows[] = {QUERY_OPTION_ROWS, OPTION_ROWS_END};

const struct command show_command = {
    .name = "show",
    .summary = "show everything about a task",
    TASK_ARGUMENTS,
    .query = QUERY_TASKS,
    .run = show,
    .remote = remote_query,
    .options = rows,
    .text = "A task is given by its name or its number, such as 7.3 for task 3 of job 7.\n",
    .examples = "rota show compile\tshow the task `compile` of the last job\n"
                "rota show 7.3\tshow task 3 of job 7\n",
    .exits = TASK_EXITS,
};
