// header.c - the top level of a job file, which applies to all tasks.
#include "job/file/internal.h"

#include <stddef.h>
#include <string.h>

// ---- Parts -----------------------------------------------------------------

static void schedule_read(struct reader *reader, uint32_t node)
{
    enum { COUNT = JOBFILE_SCHEDULE, OVERLAP = COUNT - 1 };
    static const char *const words[COUNT]
        = {"run_days", "start_times", "run_window", "start_mins", "cron", "zone", "overlap"};
    static const char *const overlaps[] = {"skip", "queue"};
    uint32_t fields[COUNT] = {0}, overlap;
    struct jobfile_schedule *schedule = &reader->file->schedule;
    const char **const texts[COUNT] = {
        &schedule->run_days, &schedule->start_times, &schedule->run_window, &schedule->start_mins,
        &schedule->cron,     &schedule->zone,        &schedule->overlap};
    if (!node_fields(reader, node, "schedule", words, COUNT, fields)) return;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!fields[i]) continue;
        *texts[i] = node_filled(reader, fields[i], words[i]);
        schedule->places[i] = node_place(reader, fields[i]);
    }
    if (fields[OVERLAP])
        node_choice(reader, fields[OVERLAP], words[OVERLAP], overlaps, 2, &overlap);
}

static void lane_read(struct reader *reader, uint32_t key, uint32_t node)
{
    static const char *const words[] = {"order", "strict"}, *const orders[] = {"request", "submit"};
    uint32_t fields[2] = {0}, order = 0;
    struct jobfile *file = reader->file;
    const char *name = node_filled(reader, key, "the name of a lane");
    if (!name || !node_name_check(reader, key, name, "lane")) return;
    if (table_put(file, &reader->lanes, name, file->lane_count + 1)) {
        reject(reader, key, "duplicate lane %s", QUOTED(name));
        return;
    }
    struct jobfile_lane *lane = ARRAY_ADD(file, file->lanes, file->lane_count, file->lane_capacity);
    if (!lane) return;
    *lane = (struct jobfile_lane){.name = name};
    const struct node *value = &reader->tree.nodes[node];
    if (value->kind == NODE_TEXT && !value->length) return;  // a lane with default options
    if (!node_fields(reader, node, "a lane", words, 2, fields)) return;
    if (fields[0] && node_choice(reader, fields[0], "order", orders, 2, &order))
        lane->submit_order = order == 1;
    if (fields[1]) node_flag(reader, fields[1], "strict", &lane->strict);
}

static void lanes_read(struct reader *reader, uint32_t node)
{
    const struct node *nodes = reader->tree.nodes;
    if (nodes[node].kind != NODE_MAP) {
        reject(reader, node, "lanes must be a mapping, NAME: {order: ..., strict: ...}");
        return;
    }
    for (uint32_t key = node_first(&reader->tree, node); key; key = nodes[nodes[key].next].next)
        lane_read(reader, key, nodes[key].next);
}

static void job_name_read(struct reader *reader, uint32_t node)
{
    const char *name = node_filled(reader, node, "name");
    if (name && node_name_check(reader, node, name, "job")) reader->file->name = name;
}

static void room_make(struct reader *reader, uint32_t more)
{
    struct jobfile *file = reader->file;
    if (more > JOBFILE_TASKS_MAX) more = JOBFILE_TASKS_MAX;
    if (table_reserve(file, &reader->names, more))
        jobfile_reserve(file, &file->tasks, &file->task_capacity, file->task_count + more,
                        sizeof *file->tasks);
}

void tasks_read(struct reader *reader, uint32_t node, uint32_t bundle)
{
    const struct node *nodes = reader->tree.nodes;
    bool map = nodes[node].kind == NODE_MAP;
    if (nodes[node].kind == NODE_TEXT || !nodes[node].length) {
        const char *fault = nodes[node].length ? "tasks must be a mapping or a list"
                                               : "tasks is empty";
        reject(reader, node, "%s", fault);
        return;
    }
    uint32_t at = node_first(&reader->tree, node);
    room_make(reader, nodes[node].length / (map ? 2 : 1));
    while (at && !reader_is_done(reader)) {
        task_read(reader, map ? at : 0, map ? nodes[at].next : at, bundle);
        at = map ? nodes[nodes[at].next].next : nodes[at].next;
    }
}

// ---- The file ---------------------------------------------------------------

static void field_take(struct reader *reader, enum top_key key, uint32_t node)
{
    static const char *const failures[] = {"block", "fail_job"};
    static const char *const policies[] = {"plan", "pull", "claim"};
    static const enum rota_policy policy_of[]
        = {ROTA_POLICY_PLAN, ROTA_POLICY_PULL, ROTA_POLICY_CLAIM};
    struct jobfile *file = reader->file;
    const char *word = top_words[key];
    int64_t version;
    uint32_t choice;
    switch (key) {
    case TOP_ROTA: node_number(reader, node, word, 1, 1, &version); break;
    case TOP_NAME: job_name_read(reader, node); break;
    case TOP_SCHEDULE: schedule_read(reader, node); break;
    case TOP_LANES: lanes_read(reader, node); break;
    case TOP_DEFAULTS: defaults_read(reader, node); break;
    case TOP_ON_FAILURE:
        if (node_choice(reader, node, word, failures, 2, &choice))
            file->on_failure = choice ? ROTA_FAILURE_FAIL_JOB : ROTA_FAILURE_BLOCK;
        break;
    case TOP_POLICY:
        if (node_choice(reader, node, word, policies, 3, &choice)) file->policy = policy_of[choice];
        break;
    default: break;  // the tasks come last
    }
}

static void fields_take(struct reader *reader, const uint32_t *fields)
{
    for (int key = 0; key < TOP_KEYS; key++)
        if (fields[key]) field_take(reader, (enum top_key)key, fields[key]);
}

static void map_read(struct reader *reader, uint32_t root)
{
    uint32_t fields[TOP_KEYS] = {0};
    if (!node_fields(reader, root, "the file", top_words, TOP_KEYS, fields)) return;
    fields_take(reader, fields);
    if (fields[TOP_TASKS])
        tasks_read(reader, fields[TOP_TASKS], 0);
    else if (!reader->file->error_count)
        reject(reader, root, "the file has no tasks");
}

static bool key_is(const struct tree *tree, uint32_t key, const char *word)
{
    const struct node *node = &tree->nodes[key];
    return node->kind == NODE_TEXT && node->length == strlen(word)
           && memcmp(tree->text + node->text, word, node->length) == 0;
}

// Whether the first line applies to the whole file: it has a top-level key and no command.
static bool is_header(const struct tree *tree, uint32_t node)
{
    bool header = false;
    if (tree->nodes[node].kind != NODE_MAP) return false;
    for (uint32_t key = node_first(tree, node); key;
         key = tree->nodes[tree->nodes[key].next].next) {
        if (key_is(tree, key, "run") || key_is(tree, key, "tasks")) return false;
        for (int i = 0; i < TOP_KEYS; i++) header |= key_is(tree, key, top_words[i]);
    }
    return header;
}

static void lines_read(struct reader *reader, uint32_t list)
{
    const struct tree *tree = &reader->tree;
    uint32_t fields[TOP_KEYS] = {0}, node = node_first(tree, list);
    if (node && is_header(tree, node)) {
        node_fields(reader, node, "the first line", top_words, TOP_KEYS, fields);
        fields_take(reader, fields);
        node = tree->nodes[node].next;
    }
    if (!node) reject(reader, list, "the file has no tasks");
    room_make(reader, tree->nodes[list].length);
    for (; node && !reader_is_done(reader); node = tree->nodes[node].next) {
        if (tree->nodes[node].kind == NODE_MAP)
            task_read(reader, 0, node, 0);
        else
            reject(reader, node, "expected an object with a task");
    }
}

void top_read(struct reader *reader, enum jobfile_format format)
{
    if (reader->tree.count < 2)
        refuse_at(reader->file, (struct jobfile_place){1, 1}, "the file is empty");
    else if (format == JOBFILE_JSON_LINES)
        lines_read(reader, 1);
    else
        map_read(reader, 1);
}
