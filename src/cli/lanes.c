// lanes.c - `rota lanes`: lists the tasks inside each lane, and those that wait for it.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/json.h"

#include <stdlib.h>
#include <string.h>

struct lane {
    uint32_t number, flags;
    uint32_t *tasks;                     // of the lane; those that wait, in their order
    uint32_t inside, held, later, over;  // their numbers
};

// ---- Finding them ------------------------------------------------------------------------------

enum where { INSIDE, HELD, LATER, OVER };

// A task that was offered to a worker counts as inside.
static enum where where_is(const struct query_task *task)
{
    static const struct {
        const char *status;
        enum where where;
    } words[] = {{"RUNNING", INSIDE}, {"ASSIGNED", INSIDE}, {"OFFERED", INSIDE},
                 {"HELD", HELD},      {"WAITING", LATER},   {"BLOCKED", LATER},
                 {"READY", LATER},    {"STAGED", LATER},    {"QUEUED", LATER}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(task->status, words[i].status) == 0) return words[i].where;
    return OVER;
}

struct order {
    uint64_t asked;
    uint32_t task;
    bool is_head;
};

static int order_compare(const void *one, const void *other)
{
    const struct order *left = one, *right = other;
    if (left->is_head != right->is_head) return left->is_head ? -1 : 1;
    if (left->asked != right->asked) return left->asked < right->asked ? -1 : 1;
    return left->task < right->task ? -1 : left->task > right->task;
}

// Priorities can change the order, so the core tells which task is first.
static void held_sort(const struct query *query, const struct rota *rota, struct lane *lane)
{
    struct order *order = calloc(lane->held + 1, sizeof *order);
    uint32_t *held = lane->tasks + lane->inside, head = QUERY_NOT_FOUND;
    if (!order) query_no_memory();
    for (uint32_t i = 0; i < lane->held; i++) {
        struct rota_why why = rota_why(rota, query->tasks[held[i]].id);
        order[i] = (struct order){query->tasks[held[i]].asked, held[i], false};
        if (why.hold != ROTA_HOLD_ORDER)
            head = held[i];
        else if (why.task.job == query->job.number)
            head = why.task.task - 1;
    }
    for (uint32_t i = 0; i < lane->held; i++) order[i].is_head = order[i].task == head;
    qsort(order, lane->held, sizeof *order, order_compare);
    for (uint32_t i = 0; i < lane->held; i++) held[i] = order[i].task;
    free(order);
}

static void tasks_add(const struct query *query, struct lane *lane, enum where where,
                      uint32_t *count)
{
    uint32_t before = lane->inside + lane->held + lane->later;
    for (uint32_t i = 0; i < query->task_count; i++) {
        if (query->tasks[i].lane != lane->number || where_is(&query->tasks[i]) != where) continue;
        if (where != OVER) lane->tasks[before + *count] = i;
        ++*count;
    }
}

static void lane_fill(const struct query_options *options, const struct rota *rota,
                      struct lane *lane)
{
    const struct query *query = &options->query;
    lane->tasks = calloc(query->task_count + 1, sizeof *lane->tasks);
    if (!lane->tasks) query_no_memory();
    uint32_t count = 0;
    tasks_add(query, lane, INSIDE, &count), lane->inside = count, count = 0;
    tasks_add(query, lane, HELD, &count), lane->held = count, count = 0;
    tasks_add(query, lane, LATER, &count), lane->later = count, count = 0;
    tasks_add(query, lane, OVER, &count), lane->over = count;
    held_sort(query, rota, lane);
}

// ---- Showing them ------------------------------------------------------------------------------

static void list_print(const struct query *query, const char *word, const uint32_t *tasks,
                       uint32_t count)
{
    enum { NAMES = 12 };
    if (!count) return;
    printf("    %-8s", word);
    for (uint32_t i = 0; i < count && i < NAMES; i++) {
        const struct query_task *task = &query->tasks[tasks[i]];
        fputs(i ? ", " : "", stdout);
        name_write(stdout, query, tasks[i]);
        if (*task->access) printf(" (%s)", task->access);
    }
    if (count > NAMES) printf(" and %u more", count - NAMES);
    putchar('\n');
}

static const char *order_name(const struct lane *lane)
{
    return lane->flags & ROTA_LANE_SUBMIT_ORDER ? "in the order of the file"
                                                : "as they become ready";
}

static void lane_print(const struct query_options *options, const struct lane *lane)
{
    const struct query *query = &options->query;
    const char *name = query_lane_name(query, lane->number);
    plain_write(stdout, name, strlen(name));
    printf(" (%s%s%s): %u inside, %u waiting, %u not ready, %u finished\n", order_name(lane),
           lane->flags & ROTA_LANE_STRICT ? ", strict" : "",
           lane->flags & ROTA_LANE_PAUSED ? ", paused" : "", lane->inside, lane->held, lane->later,
           lane->over);
    list_print(query, "inside", lane->tasks, lane->inside);
    list_print(query, "head", lane->tasks + lane->inside, lane->held ? 1 : 0);
    if (lane->held > 1) list_print(query, "then", lane->tasks + lane->inside + 1, lane->held - 1);
}

static void list_put(struct json *json, const struct query *query, const char *key,
                     const uint32_t *tasks, uint32_t count)
{
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct query_task *task = &query->tasks[tasks[i]];
        json_open(json, NULL, '{');
        json_plain(json, "id", "%u.%u", task->id.job, task->id.task);
        json_string(json, "name", task->name);
        json_string(json, "status", task->status);
        json_string(json, "access", task->access);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_print(const struct query_options *options, const struct lane *lane)
{
    const struct query *query = &options->query;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "lane", query_lane_name(query, lane->number));
    json_string(&json, "order", lane->flags & ROTA_LANE_SUBMIT_ORDER ? "submit" : "ready");
    json_bool(&json, "strict", lane->flags & ROTA_LANE_STRICT);
    json_bool(&json, "paused", lane->flags & ROTA_LANE_PAUSED);
    json_number(&json, "over", "%u", lane->over);
    list_put(&json, query, "inside", lane->tasks, lane->inside);
    list_put(&json, query, "waiting", lane->tasks + lane->inside, lane->held);
    list_put(&json, query, "not_yet", lane->tasks + lane->inside + lane->held, lane->later);
    json_line(&json);
}

// ---- The command -------------------------------------------------------------------------------

static uint32_t flags_of(const struct query *query, uint32_t lane)
{
    for (uint32_t i = 0; i < query->row_count; i++)
        if (query->rows[i].kind == ROTA_RECORD_LANE && query->rows[i].lane.lane == lane)
            return query->rows[i].lane.flags;
    return 0;
}

static bool is_first_of_lane(const struct query *query, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (query->tasks[i].lane == query->tasks[at].lane) return false;
    return query->tasks[at].lane != 0;
}

static int lanes_show(struct query_options *options)
{
    int status;
    struct rota *rota = query_options_core(options, &status);
    uint32_t found = 0;
    for (uint32_t i = 0; rota && i < options->query.task_count; i++) {
        if (!options->query.tasks[i].lane || !is_first_of_lane(&options->query, i)) continue;
        struct lane lane = {.number = options->query.tasks[i].lane};
        lane.flags = flags_of(&options->query, lane.number);
        lane_fill(options, rota, &lane);
        found++;
        if (options->json)
            json_print(options, &lane);
        else
            lane_print(options, &lane);
        free(lane.tasks);
    }
    if (rota && !found && !options->json)
        printf("job %u has no lanes\n", options->query.job.number);
    return status;
}

static int lanes(const struct command *command, int count, char **words)
{
    return query_command_run(command, count, words, lanes_show);
}

static const struct option_row rows[] = {QUERY_OPTION_ROWS, OPTION_ROWS_END};

const struct command lanes_command = {
    .name = "lanes",
    .summary = "list the lanes with their running and waiting tasks",
    JOB_QUERY,
    .run = lanes,
    .options = rows,
    .text = "Waiting tasks are listed in the order in which they enter the lane.\n",
    .examples = "rota lanes\tlist the lanes of the last job of this folder\n",
    .exits = JOB_EXITS,
};
