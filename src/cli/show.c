// show.c - `rota show`: everything about a task.
#include "cli/query_options.h"
#include "worker/process/worker.h"

#include <inttypes.h>
#include <string.h>

static const char usage[] = "    rota show build         everything about the task \"build\"\n"
                            "    rota show 7.3           the same for task 3 of job 7\n\n"
                            "usage: rota show [--json] [--job N] [--db DATABASE] [FILE] TASK...\n";

// ---- Shared -----------------------------------------------------------------------------------

static const char *place_of(const struct asker *asker, const struct ask_attempt *attempt,
                            char out[8192])
{
    log_path(out, 8192, asker->folder, asker->ask.tasks[attempt->task].id, attempt->attempt);
    return out;
}

static bool is_needed_by(const struct ask_task *task, uint32_t other)
{
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == other) return true;
    return false;
}

// ---- For people -------------------------------------------------------------------------------

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

static void names_print(const struct ask *ask, const char *word, const uint32_t *tasks,
                        uint32_t count)
{
    enum { NAMES = 20 };
    if (!count) return;
    label(word);
    for (uint32_t i = 0; i < count && i < NAMES; i++) {
        if (i) fputs(", ", stdout);
        name_write(stdout, ask, tasks[i]);
    }
    if (count > NAMES) printf(" and %u more", count - NAMES);
    putchar('\n');
}

static void needed_print(const struct ask *ask, uint32_t at)
{
    enum { NAMES = 21 };
    uint32_t found[NAMES], count = 0, members[NAMES], member_count = 0;
    for (uint32_t i = 0; i < ask->task_count; i++) {
        if (count < NAMES && is_needed_by(&ask->tasks[i], at)) found[count++] = i;
        if (member_count < NAMES && ask->tasks[i].bundle == at + 1) members[member_count++] = i;
    }
    names_print(ask, "needed by", found, count);
    names_print(ask, "members", members, member_count);
}

static void lane_print(const struct ask *ask, const struct ask_task *task)
{
    if (!task->lane) return;
    const char *name = ask_lane_name(ask, task->lane);
    size_t length;
    const char *group = ask_detail(task->details, "group", 0, &length);
    label("lane");
    plain_write(stdout, name, strlen(name));
    printf(", to %s", *task->access ? task->access : "use");
    if (group) fputs(", group ", stdout), plain_write(stdout, group, length);
    putchar('\n');
}

static void details_print(const struct ask_task *task)
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

static void attempt_print(const struct asker *asker, const struct ask_attempt *attempt)
{
    char text[ASK_TEXT], path[8192], word[32], at[TIME_TEXT];
    rota_time ended = attempt->ended ? attempt->ended : asker->now;
    snprintf(word, sizeof word, "attempt %u", attempt->attempt);
    row(word, ask_end_text(attempt, text));
    printf("%15s%s, took %s", "", time_write(attempt->began, at),
           ask_time_text(ended - attempt->began, text));
    if (*attempt->end) printf(", cpu %s", ask_time_text(attempt->user + attempt->system, text));
    if (attempt->memory_bytes) printf(", memory %s", ask_bytes_text(attempt->memory_bytes, text));
    if (attempt->flags & ASK_CACHED) printf(", from the cache");
    putchar('\n');
    if (!attempt->log_bytes && attempt->ended) return;
    printf("%15slog ", "");
    plain_write(stdout, place_of(asker, attempt, path), strlen(place_of(asker, attempt, path)));
    if (attempt->ended) printf(", %s", ask_bytes_text(attempt->log_bytes, text));
    puts(attempt->flags & ASK_TRUNCATED ? ", cut off" : "");
}

static void task_print(const struct asker *asker, uint32_t at)
{
    const struct ask *ask = &asker->ask;
    const struct ask_task *task = &ask->tasks[at];
    const char *colour = colour_is_wanted(stdout) ? colour_of(task->status) : "";
    char text[ASK_TEXT];
    name_write(stdout, ask, at);
    printf(" (%u.%u%s)\n", task->id.job, task->id.task, task->is_bundle ? ", a bundle" : "");
    label("state");
    printf("%s%s%s", colour, task->status, *colour ? "\033[0m" : "");
    if (task->since) printf(", since %s", ask_time_text(asker->now - task->since, text));
    putchar('\n');
    row("command", task->command);
    names_print(ask, "needs", task->needs, task->need_count);
    row("when", task->when);
    needed_print(ask, at);
    if (task->bundle) row("bundle", ask->tasks[task->bundle - 1].name);
    lane_print(ask, task);
    details_print(task);
    if (!task->is_bundle) {
        label("takes");
        printf("%u cpu%s", task->cores, task->cores == 1 ? "" : "s");
        if (task->memory_mib) printf(", %u MiB of memory", task->memory_mib);
        if (task->priority) printf(", priority %d", task->priority);
        if (task->retries) printf(", up to %u retries", task->retries);
        putchar('\n');
    }
    for (uint32_t i = 0; i < task->count; i++)
        attempt_print(asker, &ask->attempts[task->first + i]);
}

// ---- As JSON ----------------------------------------------------------------------------------

static void json_pair(const char *key, const char *text)
{
    printf(",\"%s\":", key);
    if (*text)
        json_text(stdout, text);
    else
        fputs("null", stdout);
}

static void json_names(const struct ask *ask, const struct ask_task *task)
{
    fputs(",\"needs\":[", stdout);
    for (uint32_t i = 0; i < task->need_count; i++) {
        if (i) putchar(',');
        json_text(stdout, ask->tasks[task->needs[i]].name);
    }
    putchar(']');
}

static void json_objects(const struct ask *ask, uint32_t at)
{
    struct ask_object object;
    fputs(",\"outputs\":[", stdout);
    for (uint32_t i = 0; ask_object(ask, at, i, &object); i++) {
        printf("%s{\"name\":", i ? "," : "");
        json_text_part(stdout, object.name, (size_t)object.length);
        printf(",\"kind\":\"%s\"}", object.kind);
    }
    fputs("],\"inputs\":[", stdout);
    const char *between = "";
    for (const char *line = ask->tasks[at].details; *line;) {
        size_t length = strcspn(line, "\n"), word = strcspn(line, " \n");
        bool is_input = strncmp(line, "in ", 3) == 0 || strncmp(line, "in-file ", 8) == 0;
        if (is_input) {
            fputs(between, stdout);
            json_text_part(stdout, line + word + 1, length - word - 1);
            between = ",";
        }
        line += length + (line[length] == '\n');
    }
    putchar(']');
}

static void json_attempt(const struct asker *asker, const struct ask_attempt *attempt)
{
    char path[8192], text[ASK_TEXT];
    printf("{\"attempt\":%u,\"status\":\"%s\",\"end\":\"%s\",\"code\":%d", attempt->attempt,
           attempt->status, attempt->end, attempt->code);
    json_pair("text", ask_end_text(attempt, text));
    json_pair("reason", attempt->reason);
    printf(",\"began\":%" PRId64, attempt->began);
    if (attempt->ended)
        printf(",\"ended\":%" PRId64, attempt->ended);
    else
        fputs(",\"ended\":null", stdout);
    printf(",\"user_us\":%" PRId64 ",\"system_us\":%" PRId64 ",\"memory_bytes\":%" PRIu64
           ",\"log_bytes\":%" PRIu64 ",\"cached\":%s,\"truncated\":%s",
           attempt->user, attempt->system, attempt->memory_bytes, attempt->log_bytes,
           attempt->flags & ASK_CACHED ? "true" : "false",
           attempt->flags & ASK_TRUNCATED ? "true" : "false");
    json_pair("log", place_of(asker, attempt, path));
    putchar('}');
}

static void json_print(const struct asker *asker, uint32_t at)
{
    const struct ask *ask = &asker->ask;
    const struct ask_task *task = &ask->tasks[at];
    printf("{\"id\":\"%u.%u\"", task->id.job, task->id.task);
    json_pair("name", task->name);
    json_pair("kind", task->is_bundle ? "bundle" : "task");
    json_pair("status", task->status);
    json_pair("command", task->command);
    json_pair("condition", task->when);
    json_pair("bundle", task->bundle ? ask->tasks[task->bundle - 1].name : "");
    json_pair("lane", task->lane ? ask_lane_name(ask, task->lane) : "");
    json_pair("access", task->access);
    json_names(ask, task);
    json_objects(ask, at);
    printf(",\"cpus\":%u,\"memory_mib\":%u,\"priority\":%d,\"retries\":%u,\"attempts\":[",
           task->cores, task->memory_mib, task->priority, task->retries);
    for (uint32_t i = 0; i < task->count; i++) {
        if (i) putchar(',');
        json_attempt(asker, &ask->attempts[task->first + i]);
    }
    puts("]}");
}

int command_show(int count, char **words)
{
    static const struct asker_use use = {"show", usage, "", ASKER_TASKS};
    struct asker asker;
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker.name_count ? asker_load(&asker) : asker_wrong(&asker, "which task?");
        for (uint32_t i = 0, at; !status && i < asker.name_count; i++) {
            if (!asker_find(&asker, asker.names[i], &at))
                status = 2;
            else if (asker.json)
                json_print(&asker, at);
            else
                task_print(&asker, at);
        }
    }
    asker_close(&asker);
    return status;
}
