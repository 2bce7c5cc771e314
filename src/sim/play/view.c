// view.c - the values that can be expected: the state of the core and of the play, as strings.
#include "sim/play/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- Lists of tasks --------------------------------------------------------

enum list_about { LIST_OF_ALL, LIST_OF_WORKER, LIST_OF_PULL, LIST_OF_TABLE };

static const struct list_view { const char *what; enum rota_list list; enum list_about about; }
lists[] = {
    { "available", ROTA_LIST_AVAILABLE, LIST_OF_ALL },
    { "fetchable", ROTA_LIST_FETCHABLE, LIST_OF_ALL },
    { "unknown", ROTA_LIST_UNKNOWN, LIST_OF_ALL },
    { "blocked", ROTA_LIST_BLOCKED, LIST_OF_ALL },
    { "held", ROTA_LIST_HELD, LIST_OF_ALL },
    { "offered", ROTA_LIST_OFFERED, LIST_OF_ALL },
    { "assigned", ROTA_LIST_ASSIGNED, LIST_OF_ALL },
    { "running", ROTA_LIST_RUNNING, LIST_OF_ALL },
    { "succeeded", ROTA_LIST_SUCCEEDED, LIST_OF_ALL },
    { "failed", ROTA_LIST_FAILED, LIST_OF_ALL },
    { "aborted", ROTA_LIST_ABORTED, LIST_OF_ALL },
    { "unschedulable", ROTA_LIST_UNSCHEDULABLE, LIST_OF_ALL },
    { "near", ROTA_LIST_NEAR, LIST_OF_WORKER },
    { "input", ROTA_LIST_INPUT, LIST_OF_WORKER },
    { "global", ROTA_LIST_GLOBAL, LIST_OF_PULL },
    { "sched_stage", ROTA_LIST_STAGE, LIST_OF_TABLE },
    { "sched_queue", ROTA_LIST_QUEUE, LIST_OF_TABLE },
    { "sched_wait", ROTA_LIST_WAIT, LIST_OF_TABLE },
    { "sched_ready", ROTA_LIST_READY, LIST_OF_TABLE },
    { "sched_exec", ROTA_LIST_EXEC, LIST_OF_TABLE },
    { "sched_unstage", ROTA_LIST_UNSTAGE, LIST_OF_TABLE },
};

static const struct list_view *list_find(const char *what, bool table)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (strcmp(lists[i].what, what) != 0) continue;
        if ((lists[i].about == LIST_OF_TABLE) == table) return &lists[i];
    }
    return NULL;
}

// In the queues of pull a task has its own name and that of its content key.
static void task_add(const struct play *play, rota_task_id id, bool with_key,
                     struct strings *actual)
{
    uint32_t key = play->tasks[task_row_find(play, id)].key;
    const char *name = task_text(play, id), *key_name = names_text(&play->key_names, key);
    if (!with_key || !key || strcmp(name, key_name) == 0) strings_add(actual, "%s", name);
    else strings_add(actual, "%s|%s", name, key_name);
}

static void list_look(struct play *play, const struct list_view *view, struct strings *actual)
{
    rota_worker_id worker = { 0 };
    if (view->about == LIST_OF_WORKER) worker.number = worker_named(play, take_name(play));
    if (play->halt) return;
    bool with_key = view->about == LIST_OF_WORKER || view->about == LIST_OF_PULL;
    uint32_t count = rota_list(play->rota, view->list, worker, NULL, 0);
    rota_task_id *tasks = array_resize(NULL, count, sizeof *tasks);
    count = rota_list(play->rota, view->list, worker, tasks, count);
    for (uint32_t i = 0; i < count; i++) task_add(play, tasks[i], with_key, actual);
    free(tasks);
}

static void look_table(struct play *play, struct strings *actual)
{
    const char *table = take_name(play);
    const struct list_view *view = list_find(table, true);
    if (!view) play_wrong(play, "there is no table '%s'", table);
    if (play->halt) return;
    list_look(play, view, actual);
    sql_compare_table(play, table, actual);
}

static void look_blockers(struct play *play, struct strings *actual)
{
    rota_task_id id = task_named(play, take_name(play));
    if (play->halt) return;
    uint32_t count = rota_blockers(play->rota, id, NULL, 0);
    rota_task_id *tasks = array_resize(NULL, count, sizeof *tasks);
    count = rota_blockers(play->rota, id, tasks, count);
    for (uint32_t i = 0; i < count; i++) strings_add(actual, "%s", task_text(play, tasks[i]));
    free(tasks);
}

// ---- One task, one job -----------------------------------------------------

static void status_add(const char *status, struct strings *actual)
{
    if (*status) strings_add(actual, "%s", status);
}

static void look_state(struct play *play, struct strings *actual)
{
    rota_task_id id = task_named(play, take_name(play));
    if (!play->halt) status_add(rota_task_status(play->rota, id), actual);
}

static void look_job(struct play *play, struct strings *actual)
{
    rota_job_id id = job_named(play, take_name(play));
    if (!play->halt) status_add(rota_job_status(play->rota, id), actual);
}

static void snapshot_task(struct play *play, struct strings *actual)
{
    struct rota_plan_view view = { .state = "-" };
    rota_task_id id = task_named(play, take_name(play));
    if (play->halt) return;
    rota_plan_look(play->rota, id, &view);
    strings_add(actual, "state=%s", view.state);
    strings_add(actual, "assigned=%s", worker_text(play, view.assigned));
    strings_add(actual, "scheduled=%s", worker_text(play, view.scheduled));
    strings_add(actual, "ready=%s", worker_text(play, view.ready));
}

static void task_look(struct play *play, struct rota_task_view *view)
{
    rota_task_id id = task_named(play, take_name(play));
    *view = (struct rota_task_view) { 0 };
    if (play->halt) return;
    rota_task_look(play->rota, id, view);
    rota_task_id leader = view->leader;
    if (view->state == ROTA_TASK_SHARED) rota_task_look(play->rota, leader, view);
}

static void look_worker(struct play *play, struct strings *actual)
{
    struct rota_task_view view;
    task_look(play, &view);
    if (view.worker.number) strings_add(actual, "%s", worker_text(play, view.worker));
}

static void snapshot_attempt(struct play *play, struct strings *actual)
{
    struct rota_task_view view;
    task_look(play, &view);
    strings_add(actual, "%" PRIu32, view.attempt);
}

static void look_why(struct play *play, struct strings *actual)
{
    char text[400];
    rota_task_id id = task_named(play, take_name(play));
    if (play->halt) return;
    play_why(play, id, text, sizeof text);
    strings_add(actual, "%s", text);
}

static void look_started(struct play *play, struct strings *actual)
{
    strings_add_all(actual, &play->started);
}

// ---- Lanes -----------------------------------------------------------------

static void look_groups(struct play *play, struct strings *actual)
{
    uint32_t lane = lane_named(play, take_name(play));
    if (play->halt) return;
    uint32_t count = rota_lane_groups(play->rota, lane, NULL, 0);
    uint32_t *groups = array_resize(NULL, count, sizeof *groups);
    count = rota_lane_groups(play->rota, lane, groups, count);
    for (uint32_t i = 0; i < count; i++) {
        strings_add(actual, "%s", names_text(&play->group_names, groups[i]));
    }
    free(groups);
}

static void look_counter(struct play *play, struct strings *actual)
{
    int32_t counter = 0;
    uint32_t lane = lane_named(play, take_name(play));
    if (!play->halt && rota_lane_counter(play->rota, lane, &counter)) {
        strings_add(actual, "%" PRId32, counter);
    }
}

// ---- Objects and workers ---------------------------------------------------

static void object_set_add(struct play *play, rota_object_id id, enum rota_object_set set,
                           const char *word, struct strings *actual)
{
    uint32_t count = rota_object_workers(play->rota, id, set, NULL, 0);
    rota_worker_id *workers = array_resize(NULL, count, sizeof *workers);
    struct strings names = { 0 };
    count = rota_object_workers(play->rota, id, set, workers, count);
    for (uint32_t i = 0; i < count; i++) {
        strings_add(&names, "%s", worker_text(play, workers[i]));
    }
    char *list = strings_join(&names, ",");
    strings_add(actual, "%s=%s", word, *list ? list : "-");
    free(list);
    strings_release(&names);
    free(workers);
}

static void look_object(struct play *play, struct strings *actual)
{
    static const char *const states[] = {
        [ROTA_OBJECT_NONE] = "Removed",  // and forgotten
        [ROTA_OBJECT_UNFINISHED] = "Unfinished",
        [ROTA_OBJECT_FINISHED] = "Finished",
        [ROTA_OBJECT_REMOVED] = "Removed",
    };
    char size[32];
    rota_object_id id = object_named(play, take_name(play));
    if (play->halt) return;
    strings_add(actual, "state=%s", states[rota_object_state(play->rota, id)]);
    object_set_add(play, id, ROTA_SET_SCHEDULED, "scheduled", actual);
    object_set_add(play, id, ROTA_SET_ASSIGNED, "assigned", actual);
    object_set_add(play, id, ROTA_SET_LOCATED, "located", actual);
    size_text(rota_object_bytes(play->rota, id), size, sizeof size);
    strings_add(actual, "size=%s", size);
}

static void look_locate(struct play *play, struct strings *actual)
{
    const char *name = take_name(play);
    bool known = names_find(&play->object_names, name) || names_find(&play->key_names, name);
    if (!known) return;  // it was never reported
    rota_object_id id = object_named(play, name);
    rota_worker_id worker = rota_locate(play->rota, id);
    if (worker.number) strings_add(actual, "%s", worker_text(play, worker));
}

static void look_picked(struct play *play, struct strings *actual)
{
    uint32_t number = worker_named(play, take_name(play));
    if (play->halt) return;
    rota_task_id picked = play->workers[number].picked;
    if (picked.task) task_add(play, picked, true, actual);
}

static void look_free(struct play *play, struct strings *actual)
{
    char size[32];
    struct rota_worker_view view;
    rota_worker_id id = { worker_named(play, take_name(play)) };
    if (play->halt || !rota_worker_look(play->rota, id, &view)) return;
    size_text((uint64_t)view.memory_mib_free << 20, size, sizeof size);
    strings_add(actual, "cpus=%" PRIu32, view.cores_free);
    strings_add(actual, "mem=%s", size);
}

// ---- What clients and workers were told, and everything -----------------------------------------

static bool strings_have(const struct strings *strings, const char *text)
{
    for (uint32_t i = 0; i < strings->count; i++) {
        if (strcmp(strings->items[i], text) == 0) return true;
    }
    return false;
}

// The end of a wait repeats the confirmations; only new ones count. The list starts again after
// each query.
static void look_told(struct play *play, struct strings *actual)
{
    uint32_t number = names_add(&play->client_names, take_name(play));
    struct play_client *client = client_meet(play, number);
    strings_add_all(actual, &client->confirms);
    for (uint32_t i = 0; i < client->waits.count; i++) {
        const char *wait = client->waits.items[i];
        if (!strings_have(actual, wait)) strings_add(actual, "%s", wait);
    }
    strings_release(&client->confirms);
    strings_release(&client->waits);
}

static void look_dropped(struct play *play, struct strings *actual)
{
    strings_add_all(actual, &play->dropped);
    strings_release(&play->dropped);
}

static void look_completed(struct play *play, struct strings *actual)
{
    if (strcmp(play->completed, "-") != 0) strings_add(actual, "%s", play->completed);
}

static void look_deadline(struct play *play, struct strings *actual)
{
    char text[32];
    time_text(rota_deadline(play->rota), text, sizeof text);
    strings_add(actual, "%s", text);
}

static void look_plans(struct play *play, struct strings *actual)
{
    strings_add(actual, "%" PRIu64, rota_plans(play->rota));
}

static const struct {
    const char *what;
    enum view_shape shape;
    void (*look)(struct play *play, struct strings *actual);
} views[] = {
    { "state", VIEW_SET, look_state },       { "bundle", VIEW_SET, look_state },
    { "job", VIEW_SET, look_job },           { "task", VIEW_FIELDS, snapshot_task },
    { "worker", VIEW_SET, look_worker },     { "attempt", VIEW_SET, snapshot_attempt },
    { "why", VIEW_TEXT, look_why },          { "started", VIEW_ORDER, look_started },
    { "table", VIEW_SET, look_table },       { "blockers", VIEW_SET, look_blockers },
    { "groups", VIEW_SET, look_groups },     { "counter", VIEW_SET, look_counter },
    { "object", VIEW_FIELDS, look_object },  { "locate", VIEW_SET, look_locate },
    { "picked", VIEW_SET, look_picked },     { "free", VIEW_FIELDS, look_free },
    { "told", VIEW_SET, look_told },         { "completed", VIEW_SET, look_completed },
    { "deadline", VIEW_TIME, look_deadline }, { "plans", VIEW_SET, look_plans },
    { "sql", VIEW_TEXT, look_sql },          { "dropped", VIEW_SET, look_dropped },
};

bool view_look(struct play *play, const char *what, enum view_shape *shape, struct strings *actual)
{
    const struct list_view *list = list_find(what, false);
    size_t count = sizeof views / sizeof *views, i = 0;
    *shape = VIEW_SET;
    if (list) {
        list_look(play, list, actual);
    } else {
        while (i < count && strcmp(views[i].what, what) != 0) i++;
        if (i == count) {
            play_wrong(play, "unknown expectation '%s'", what);
            return false;
        }
        *shape = views[i].shape;
        views[i].look(play, actual);
    }
    take_end(play);
    return !play->halt;
}
