// why.c - `rota why`: explains what keeps a task from running, and what to do about it.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "cli/show/time_text.h"
#include "store/line_buffer.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHAIN_MAX = 12, BLOCKERS = 20 };

// ---- Names ------------------------------------------------------------------------------------

struct naming {
    const struct query *query;
    char *group;  // room for a name
};

static const char *name_of(const struct query *query, rota_task_id id)
{
    bool ours = id.job == query->job.number && id.task && id.task <= query->task_count;
    return ours ? query->tasks[id.task - 1].name : "a task of another job";
}

static const char *task_name(const void *context, rota_task_id id)
{
    return name_of(((const struct naming *)context)->query, id);
}

static const char *worker_name(const void *context, rota_worker_id id)
{
    const struct query *query = ((const struct naming *)context)->query;
    const char *name = query_name(query, CATALOG_WORKER, id.number);
    return name && !*query->path ? name : "this machine";  // rota run has one worker
}

static const char *lane_name(const void *context, uint32_t lane)
{
    return query_lane_name(((const struct naming *)context)->query, lane);
}

// The core has numbers for groups; the tasks have their names.
static const char *group_name(const void *context, uint32_t group)
{
    const struct naming *naming = context;
    for (uint32_t i = 0; i < naming->query->task_count; i++) {
        const struct query_task *task = &naming->query->tasks[i];
        size_t length;
        const char *name = query_detail(task->details, "group", 0, &length);
        if (task->group != group || !name) continue;
        snprintf(naming->group, QUERY_TEXT, "%.*s", (int)length, name);
        return naming->group;
    }
    return "?";
}

static const char *machine_name(const void *context, uint32_t machine)
{
    const struct query *query = ((const struct naming *)context)->query;
    const char *name = query_name(query, CATALOG_MACHINE, machine);
    size_t length = strlen(query->path);
    if (name && !length) return name;
    // Names of rota run begin with the path of the job file and ":@"; other names are internal.
    bool named = name && strncmp(name, query->path, length) == 0 && name[length] == ':'
                 && name[length + 1] == '@';
    return named ? name + length + 2 : "of this run";
}

static void time_name(rota_time time, char *out, size_t size)
{
    char text[TIME_TEXT];
    snprintf(out, size, "%s", time_write(time, text));
}

// ---- One task ---------------------------------------------------------------------------------

struct part {
    uint32_t task, next;  // the place of the task it waits for, or QUERY_NOT_FOUND
    enum rota_hold hold;
    char text[1024];  // without the name of the task
};

static bool is(const struct query_task *task, const char *status)
{
    return strcmp(task->status, status) == 0;
}

static bool is_ready(const struct query_task *task)
{
    return is(task, "OFFERED") || is(task, "READY") || is(task, "ASSIGNED") || is(task, "STAGED")
           || is(task, "QUEUED");
}

static void over_write(const struct query *query, const struct query_task *task, struct part *part)
{
    const struct query_attempt *last = attempt_last(query, task);
    char end[QUERY_TEXT] = "", often[64] = "";
    const char *how = last && !task->is_bundle ? query_end_text(last, end) : "";
    const char *word = is(task, "SUCCESS")   ? "has succeeded"
                       : is(task, "FAILED")  ? "failed"
                       : is(task, "ABORTED") && !task->attempt ? "was cancelled before it started"
                       : is(task, "ABORTED") ? "was stopped"
                       : is(task, "IDLE")    ? "is idle: it is not staged"
                       : is(task, "CLOSED")  ? "was not run: a later job replaced its job"
                                             : "has ended";
    bool lost = is(task, "ABORTED") && strcmp(task->outcome, "lost") == 0;
    bool is_same;
    uint32_t tries = query_tries(query, task, &is_same);
    bool by_itself = last && (strcmp(last->end, "exit") == 0 || strcmp(last->end, "signal") == 0);
    if (task->attempt > 1 && tries > 1)
        snprintf(often, sizeof often, " in %s of %u attempts",
                 is_same || lost ? "each" : "the last", tries);
    if (is(task, "FAILED") && *how)
        snprintf(part->text, sizeof part->text, "failed%s %s%s", by_itself ? " with" : ":", how,
                 often);
    else if (lost)
        snprintf(part->text, sizeof part->text, "was lost%s%s%s", often,
                 *how ? "; the last time: " : "", how);
    else
        snprintf(part->text, sizeof part->text, "%s", word);
}

static void running_write(const struct query_options *options, const struct query_task *task,
                          struct part *part)
{
    char text[QUERY_TEXT];
    if (options->is_running)
        snprintf(part->text, sizeof part->text, "has been running for %s (attempt %u)",
                 query_time_text(options->now - task->since, text), task->attempt);
    else
        snprintf(part->text, sizeof part->text,
                 "was running when its rota run ended; the next rota run starts it again");
}

static bool is_read(const struct query_task *reader, rota_object_id object)
{
    struct rota_input input;
    for (const char *text = reader->inputs; *text && input_read(&text, &input);) {
        if (SAME_ID(input.object, object)) return true;
        text_read_char(&text, ' ');
    }
    return false;
}

// Names the writer of a stream, because the reader runs again together with it.
static void stream_write(const struct query *query, const struct part *part, char out[QUERY_TEXT])
{
    struct query_object object;
    *out = 0;
    if (part->next == QUERY_NOT_FOUND) return;
    for (uint32_t nth = 0; query_object(query, part->next, nth, &object); nth++) {
        bool stream = strcmp(object.kind, "stream") == 0;
        if (!stream || !is_read(&query->tasks[part->task], object.id)) continue;
        snprintf(out, QUERY_TEXT, ", the writer of stream %.*s", object.length, object.name);
        return;
    }
}

static void waits_write(const struct query_options *options, const struct rota_why *why,
                        struct part *part)
{
    const struct query *query = &options->query;
    char others[64] = "", stream[QUERY_TEXT];
    stream_write(query, part, stream);
    if (why->count > 1)
        snprintf(others, sizeof others, " and %u other%s", why->count - 1,
                 why->count > 2 ? "s" : "");
    char planned[QUERY_TEXT] = "";
    struct naming naming = {query, NULL};
    if (why->planned.number && why->hold == ROTA_HOLD_PREREQUISITE)
        snprintf(planned, sizeof planned, ", planned for %s",
                 worker_name(&naming, why->planned));
    snprintf(part->text, sizeof part->text, "waits for %s%s%s%s", name_of(query, why->task), stream,
             others, planned);
}

static void when_write(const struct query_task *task, struct part *part)
{
    bool dead = is(task, "BLOCKED");
    snprintf(part->text, sizeof part->text,
             dead ? "will not run: %s can no longer be true" : "waits until %s is true",
             task->when);
    if (dead) part->next = QUERY_NOT_FOUND;
}

// The worker has the task, but runs others now.
static bool place_write(const struct query *query, const struct rota *rota, rota_worker_id worker,
                        struct part *part)
{
    uint32_t others = 0;
    struct rota_task_view view;
    struct naming naming = {query, NULL};
    for (uint32_t i = 0; i < query->task_count; i++) {
        if (query->tasks[i].is_bundle || !is(&query->tasks[i], "RUNNING")) continue;
        if (!rota_task_look(rota, query->tasks[i].id, &view)) continue;
        if (view.worker.number != worker.number) continue;
        others += part->next != QUERY_NOT_FOUND;
        if (part->next == QUERY_NOT_FOUND) part->next = i;
    }
    if (part->next == QUERY_NOT_FOUND) return false;
    int length = snprintf(part->text, sizeof part->text, "waits for room on %s after %s",
                          worker_name(&naming, worker), query->tasks[part->next].name);
    if (others)
        snprintf(part->text + length, sizeof part->text - (size_t)length, " and %u other%s",
                 others, others > 1 ? "s" : "");
    return true;
}

// The sentences of why_text() begin without a subject, and some without a verb.
static const char *verb_of(enum rota_hold hold)
{
    switch (hold) {
    case ROTA_HOLD_NO_WORKER:
    case ROTA_HOLD_ROOM: return "has to wait: ";
    case ROTA_HOLD_LOST_INPUT:
    case ROTA_HOLD_STREAM:
    case ROTA_HOLD_CACHED:
    case ROTA_HOLD_INPUTS:
    case ROTA_HOLD_PLAN:
    case ROTA_HOLD_WORKER_PAUSED:
    case ROTA_HOLD_WORKER_LEAVES:
    case ROTA_HOLD_REST:
    case ROTA_HOLD_SILENT: return "";
    case ROTA_HOLD_NONE: return "could run: ";
    default: return "is ";
    }
}

static void held_write(const struct query_options *options, struct rota *rota,
                       const struct rota_why *why, struct part *part)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[part->task];
    char group[QUERY_TEXT];
    struct naming naming = {query, group};
    struct why_names names
        = {&naming, task_name, worker_name, lane_name, group_name, machine_name, time_name};
    struct why_subject subject = {
        .status = task->status,
        .other_status = rota_task_status(rota, why->task),
        .cores = task->cores,
        .memory_mib = task->memory_mib,
        .access = strcmp(task->access, "write") == 0 ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ,
    };
    int length = snprintf(part->text, sizeof part->text, "%s", verb_of(why->hold));
    why_text(why, &subject, &names, part->text + length, sizeof part->text - (size_t)length);
}

static void waiting_write(const struct query_options *options, struct rota *rota, struct part *part)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[part->task];
    struct rota_why why = rota_why(rota, task->id);
    part->hold = why.hold;
    bool ours
        = why.task.job == query->job.number && why.task.task && why.task.task <= query->task_count;
    if (ours) part->next = why.task.task - 1;
    switch (why.hold) {
    case ROTA_HOLD_PREREQUISITE:
    case ROTA_HOLD_FAILURE:
    case ROTA_HOLD_BLOCKED: waits_write(options, &why, part); break;
    case ROTA_HOLD_CONDITION: when_write(task, part); break;
    case ROTA_HOLD_START_REPORT:
        if (!place_write(query, rota, why.worker, part)) held_write(options, rota, &why, part);
        break;
    default: held_write(options, rota, &why, part); break;
    }
}

// Counts the members of a bundle that succeeded, and continues with the first other one.
static void bundle_write(const struct query *query, struct part *part)
{
    uint32_t members = 0, done = 0;
    for (uint32_t i = 0; i < query->task_count; i++) {
        if (query->tasks[i].bundle != part->task + 1) continue;
        members++;
        bool fine = is(&query->tasks[i], "SUCCESS");
        done += fine;
        if (!fine && part->next == QUERY_NOT_FOUND) part->next = i;
    }
    snprintf(part->text, sizeof part->text, "is a bundle, %s: %u of %u members have succeeded",
             query->tasks[part->task].status, done, members);
}

// The next rota run could not start the task either.
static bool is_lack(enum rota_hold hold)
{
    return hold == ROTA_HOLD_MACHINE || hold == ROTA_HOLD_TOO_BIG;
}

static void part_write(const struct query_options *options, struct rota *rota, uint32_t at,
                       struct part *part)
{
    const struct query_task *task = &options->query.tasks[at];
    *part = (struct part){.task = at, .next = QUERY_NOT_FOUND};
    if (task->is_bundle)
        bundle_write(&options->query, part);
    else if (is(task, "RUNNING"))
        running_write(options, task, part);
    else if (is_ready(task) && !options->is_running && !is_lack(rota_why(rota, task->id).hold))
        snprintf(part->text, sizeof part->text, "could run, but rota run is not running");
    else if (is(task, "WAITING") || is(task, "BLOCKED") || is(task, "HELD") || is(task, "SHARED")
             || is_ready(task))
        waiting_write(options, rota, part);
    else
        over_write(&options->query, task, part);
}

// ---- The chain ---------------------------------------------------------------------------------

struct answer {
    struct part parts[CHAIN_MAX];
    uint32_t count;
};

static bool is_in(const struct answer *answer, uint32_t task)
{
    for (uint32_t i = 0; i < answer->count; i++)
        if (answer->parts[i].task == task) return true;
    return false;
}

static void answer_make(const struct query_options *options, struct rota *rota, uint32_t at,
                        struct answer *answer)
{
    answer->count = 0;
    while (at != QUERY_NOT_FOUND && answer->count < CHAIN_MAX && !is_in(answer, at)) {
        struct part *part = &answer->parts[answer->count++];
        part_write(options, rota, at, part);
        at = part->next;
    }
}

// Writes a command about a task, which works where the answer is printed: a server needs the number
// of the task, and the client replaces the mark by its address.
static void hint_write(const struct query_options *options, const char *name,
                       const struct query_task *task)
{
    printf("rota %s ", name);
    if (options->mark_server)
        putchar(QUERY_SERVER_MARK);
    else if (options->db)
        fputs("--db ", stdout), plain_word_write(stdout, options->db), putchar(' ');
    if (options->file && strchr(options->file, '/'))
        plain_word_write(stdout, options->file), putchar(' ');
    if (*options->query.path)
        plain_word_write(stdout, task->name);
    else
        printf("%u.%u", task->id.job, task->id.task);
}

static void advice_write(const struct query_options *options, const struct part *last)
{
    const struct query_task *task = &options->query.tasks[last->task];
    bool failed = is(task, "FAILED") || is(task, "ABORTED");
    bool is_cancelled = is(task, "ABORTED") && !task->attempt, waits = !options->is_running;
    bool again = is_cancelled && waits && *options->query.path;  // the next rota run starts it
    if (failed && !task->is_bundle && !again) {
        fputs(" (", stdout);
        if (!is_cancelled) hint_write(options, "logs", task), fputs("; ", stdout);
        hint_write(options, "retry", task);
        putchar(')');
    }
    bool can = (is_ready(task) && !is_lack(last->hold)) || is(task, "RUNNING") || again;
    if (waits && can && *options->query.path) {
        fputs(" (rota run ", stdout);
        plain_word_write(stdout, options->query.path);
        putchar(')');
    }
}

static void text_print(const struct query_options *options, const struct answer *answer)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct part *part = &answer->parts[i];
        if (i) fputs("; ", stdout);
        name_write(stdout, &options->query, part->task);
        putchar(' ');
        plain_write(stdout, part->text, strlen(part->text));
    }
    advice_write(options, &answer->parts[answer->count - 1]);
    putchar('\n');
}

// Prints all failed tasks if there are several.
static void blockers_print(const struct query_options *options, struct rota *rota, uint32_t at)
{
    rota_task_id found[BLOCKERS];
    const struct query *query = &options->query;
    uint32_t count = rota_blockers(rota, query->tasks[at].id, found, BLOCKERS);
    if (count < 2) return;
    for (uint32_t i = 1; i < count && i < BLOCKERS; i++) {
        if (found[i].job != query->job.number || found[i].task > query->task_count) continue;
        struct answer answer = {.count = 1};
        part_write(options, rota, found[i].task - 1, &answer.parts[0]);
        fputs("    and ", stdout);
        text_print(options, &answer);
    }
}

static void json_print(const struct query_options *options, const struct answer *answer)
{
    const struct query *query = &options->query;
    const struct query_task *task = &query->tasks[answer->parts[0].task];
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_plain(&json, "id", "%u.%u", task->id.job, task->id.task);
    json_string(&json, "name", task->name);
    json_string(&json, "status", task->status);
    json_bool(&json, "at_work", options->is_running);
    json_open(&json, "chain", '[');
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct part *part = &answer->parts[i];
        json_open(&json, NULL, '{');
        json_string(&json, "name", query->tasks[part->task].name);
        json_string(&json, "status", query->tasks[part->task].status);
        json_string(&json, "why", part->text);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_line(&json);
}

// Reads the plans of a server, "7.3=4 7.9=2": tasks and their workers. The core refuses tasks and
// workers that no longer exist.
static void plan_tell(struct rota *rota, rota_time now, const char *text)
{
    unsigned job, task, worker;
    int length;
    while (sscanf(text, "%u.%u=%u%n", &job, &task, &worker, &length) == 3) {
        struct rota_placement placement = {.task = task, .worker = {worker}};
        struct rota_event event = {.kind = ROTA_EVENT_PLAN, .now = now};
        event.plan.job.number = job;
        event.plan.placements = &placement;
        event.plan.count = 1;
        rota_step(rota, &event);
        text += length;
    }
}

static int task_explain(struct query_options *options, const char *name)
{
    struct answer answer;
    uint32_t at;
    int status;
    if (!query_options_find(options, name, &at)) return 2;
    struct rota *rota = query_options_core(options, &status);
    if (!rota) return status;
    if (options->planned) plan_tell(rota, options->now, options->planned);
    answer_make(options, rota, at, &answer);
    if (options->json) {
        json_print(options, &answer);
        return 0;
    }
    text_print(options, &answer);
    blockers_print(options, rota, at);
    return 0;
}

static int tasks_explain(struct query_options *options)
{
    int status = 0;
    for (uint32_t i = 0; !status && i < options->name_count; i++)
        status = task_explain(options, options->names[i]);
    return status;
}

static int why(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, tasks_explain);
}

static const struct option_row rows[] = {
    QUERY_OPTION_ROWS,
    // A server that answers a query adds the first two, a client the last: planned tasks and
    // workers such as 7.3=4, and waiting times of the pull policy in microseconds.
    {0, "planned", "LIST", "", OPTION_TEXT, .at = offsetof(struct query_options, planned),
     .is_hidden = true},
    {0, "waits", "CACHE,INPUTS", "", OPTION_TEXT, .at = offsetof(struct query_options, waits),
     .is_hidden = true},
    {0, "mark-server", "", "", OPTION_FLAG, .at = offsetof(struct query_options, mark_server),
     .in_query = true, .is_hidden = true},
    OPTION_ROWS_END};

const struct command why_command = {
    .name = "why",
    .summary = "explain what keeps a task from running",
    TASK_ARGUMENTS,
    .is_everyday = true,
    .query = QUERY_TASKS,
    .run = why,
    .remote = remote_query,
    .options = rows,
    .examples = "rota why link\texplain what `link` waits for, and what that task waits for\n",
    .exits = TASK_EXITS,
};
