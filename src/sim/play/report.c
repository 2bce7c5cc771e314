// report.c - reports of workers, and workers that become silent or leave.
#include "sim/play/internal.h"

#include <stdlib.h>
#include <string.h>

// ---- About tasks -----------------------------------------------------------

// A report needs a worker, even about a task that no worker has; the core refuses that report.
static rota_worker_id any_worker(const struct play *play)
{
    for (uint32_t i = 1; i < play->worker_capacity; i++) {
        if (play->workers[i].known) return (rota_worker_id) { i };
    }
    return (rota_worker_id) { UINT32_MAX };
}

// The attempt as its worker knows it; for a shared key, that of the leader.
static void report_fill(struct play *play, struct rota_event *event)
{
    rota_task_id id = task_named(play, take_name(play));
    struct rota_task_view view = { 0 };
    bool there = rota_task_look(play->rota, id, &view);
    if (there && view.state == ROTA_TASK_SHARED) {
        id = view.leader;
        rota_task_look(play->rota, id, &view);
    }
    const char *worker = take_pair(play, "on");
    event->report.task = view.run_as.task ? view.run_as : id;
    event->report.attempt = take_number(play, "attempt", view.attempt);
    event->report.worker = view.worker;
    if (!view.worker.number) event->report.worker = play->tasks[task_row_find(play, id)].sent_to;
    if (!event->report.worker.number) event->report.worker = any_worker(play);
    if (worker) event->report.worker.number = worker_named(play, worker);
}

void verb_start(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_TASK_STARTED };
    report_fill(play, &event);
    if (statement_send(play, &event)) worker_started(play, &event);
}

static void take_outcome(struct play *play, enum rota_outcome *outcome, int32_t *status)
{
    const char *value = take_pair(play, "exit");
    uint64_t number = 0;
    *outcome = ROTA_OUTCOME_OK;
    if (value && !number_parse(value, INT32_MAX, &number)) {
        play_wrong(play, "exit=%s: not the status of a command", value);
    }
    *status = (int32_t)number;
    if (number) *outcome = ROTA_OUTCOME_EXIT;
    else if (take_flag(play, "error")) *outcome = ROTA_OUTCOME_ERROR;
    else if (take_flag(play, "aborted")) *outcome = ROTA_OUTCOME_ABORTED;
    else if (take_flag(play, "lost")) *outcome = ROTA_OUTCOME_LOST;
    else take_flag(play, "ok");
}

// In a play the hash of a content is any word.
static struct rota_content content_of(const char *word)
{
    struct rota_content content = { .kind = 0 };
    if (!word || !*word) return content;
    content.kind = 'f';
    for (size_t i = 0; i < sizeof content.hash && word[i]; i++) content.hash[i] = (uint8_t)word[i];
    return content;
}

// size=O:SIZE,P:SIZE:CONTENT
static void take_sizes(struct play *play, struct rota_event *event)
{
    struct strings list = { 0 };
    strings_split(&list, take_pair(play, "size"), ',');
    struct rota_output *sizes = turn_keep(play, list.count, sizeof *sizes);
    for (uint32_t i = 0; i < list.count; i++) {
        char *size = strchr(list.items[i], ':');
        if (size) *size++ = 0;
        char *content = size ? strchr(size, ':') : NULL;
        if (content) *content++ = 0;
        if (!size || !size_parse(size, &sizes[i].bytes)) {
            play_wrong(play, "size=%s: it must be size=OBJECT:SIZE[:CONTENT]", list.items[i]);
        }
        sizes[i].task = event->report.task.task;
        sizes[i].object = object_named(play, list.items[i]);
        sizes[i].content = content_of(content);
    }
    event->report.sizes = sizes;
    event->report.size_count = list.count;
    strings_release(&list);
}

void verb_finish(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_TASK_FINISHED };
    report_fill(play, &event);
    take_outcome(play, &event.report.outcome, &event.report.status);
    take_sizes(play, &event);
    const char *missing = take_pair(play, "missing");
    if (missing) event.report.missing = object_named(play, missing);
    event.report.rest = take_time(play, "rest", 0);
    event.report.final = take_flag(play, "final");
    event.report.unstarted = take_flag(play, "unstarted");
    statement_send(play, &event);
    if (play->halt) return;
    // Late or not, the attempt has ended on its worker.
    worker_ended(play, event.report.worker.number, event.report.task, event.report.attempt);
}

// ---- About results and copies ----------------------------------------------

// A worker may appear for the first time when it reports something or asks for work.
static uint32_t worker_introduce(struct play *play, const char *name)
{
    uint32_t number;
    struct play_worker *worker = play_worker_meet(play, name, &number);
    if (worker->known) return number;
    *worker = (struct play_worker) {
        .known = true, .manual = true, .cores = 1, .memory_mib = UINT32_MAX,
    };
    return number;
}

static void runs_of_key_end(struct play *play, uint32_t number, rota_object_id key)
{
    struct play_worker *worker = &play->workers[number];
    for (uint32_t i = worker->run_count; i > 0; i--) {
        struct play_run run = worker->runs[i - 1];
        if (play->tasks[task_row_find(play, run.task)].key != key.low) continue;
        worker_ended(play, number, run.task, run.attempt);
    }
}

void verb_complete(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_KEY_COMPLETED };
    uint32_t worker = worker_introduce(play, take_name(play));
    event.completed.worker.number = worker;
    event.completed.key = key_meet(play, take_name(play));
    take_outcome(play, &event.completed.outcome, &event.completed.status);
    if (!statement_send(play, &event)) return;
    play->completed = "-";
    runs_of_key_end(play, worker, event.completed.key);
}

// An unknown name is the content key of a result that no task of the play has asked for.
static rota_object_id object_or_new_key(struct play *play, const char *name)
{
    uint32_t number = names_find(&play->object_names, name);
    bool known = number < play->object_capacity && play->objects[number].known;
    return known ? object_named(play, name) : key_meet(play, name);
}

void verb_located(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_OBJECT_HELD };
    event.replica.worker.number = worker_introduce(play, take_name(play));
    event.replica.object = object_or_new_key(play, take_name(play));
    event.replica.bytes = rota_object_bytes(play->rota, event.replica.object);
    event.replica.content = content_of(take_pair(play, "content"));
    statement_send(play, &event);
}

void verb_lost(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_OBJECT_LOST };
    event.replica.worker.number = worker_named(play, take_name(play));
    event.replica.object = object_named(play, take_name(play));
    statement_send(play, &event);
}

static int by_id(const void *left, const void *right)
{
    const rota_object_id *one = left, *other = right;
    if (one->high != other->high) return one->high < other->high ? -1 : 1;
    return one->low < other->low ? -1 : one->low > other->low;
}

// holds W O,P: exactly these
void verb_holds(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_HELD_ALL };
    struct strings list = { 0 };
    event.held_all.worker.number = worker_named(play, take_name(play));
    const char *names = take_name(play);
    if (strcmp(names, "-") != 0) strings_split(&list, names, ',');
    rota_object_id *objects = turn_keep(play, list.count, sizeof *objects);
    for (uint32_t i = 0; i < list.count; i++) objects[i] = object_named(play, list.items[i]);
    if (list.count) qsort(objects, list.count, sizeof *objects, by_id);
    event.held_all.objects = objects;
    event.held_all.count = list.count;
    strings_release(&list);
    statement_send(play, &event);
}

void verb_progress(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_STREAMED };
    struct rota_task_view view = { 0 };
    event.replica.object = object_named(play, take_name(play));
    const char *size = take_name(play);
    if (!size_parse(size, &event.replica.bytes)) play_wrong(play, "'%s' is not a size", size);
    take_end(play);
    if (play->halt) return;
    uint64_t object = event.replica.object.low;
    uint32_t producer = object < play->object_capacity ? play->objects[object].producer : 0;
    rota_task_look(play->rota, play->tasks[producer].id, &view);
    event.replica.worker = view.worker;
    turn_send(play, &event);
}

// ---- About themselves ------------------------------------------------------

// A worker that works by itself asks for as much as it has room for, now and later.
void verb_pick(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_WORKER_ASKS };
    uint32_t number = worker_introduce(play, take_name(play));
    bool manual = play->workers[number].manual && !take_flag(play, "always");
    take_end(play);
    event.asks.id.number = number;
    event.asks.count = manual ? 1 : ROTA_ASK_ALWAYS;
    if (!turn_send(play, &event) || !manual) return;
    play->workers[number].picks++;
    play->workers[number].picked = (rota_task_id) { 0, 0 };
}

static bool worker_sends(struct play *play, enum rota_event_kind kind, uint32_t number)
{
    struct rota_event event = { .kind = kind };
    event.worker.id.number = number;
    return statement_send(play, &event);
}

void verb_silent(struct play *play)
{
    uint32_t number = worker_named(play, take_name(play));
    if (!worker_sends(play, ROTA_EVENT_WORKER_SILENT, number)) return;
    if (number >= play->worker_capacity) return;
    play->workers[number].silent = true;
    play->workers[number].silent_since = play->now;
}

void verb_leave(struct play *play)
{
    uint32_t number = worker_named(play, take_name(play));
    bool accepted = worker_sends(play, ROTA_EVENT_WORKER_LEFT, number);
    if (accepted && number < play->worker_capacity) worker_forget(&play->workers[number]);
}

// A worker that the core has given up joins again, without tasks.
static void worker_rejoin(struct play *play, uint32_t number)
{
    const struct play_worker *worker = &play->workers[number];
    struct rota_event joins = { .kind = ROTA_EVENT_WORKER_JOINED };
    joins.worker.id.number = number;
    joins.worker.cores = worker->cores;
    joins.worker.memory_mib = worker->memory_mib;
    joins.worker.slots = worker->slots;
    joins.worker.machine = worker->machine;
    struct rota_event asks = { .kind = ROTA_EVENT_WORKER_ASKS,
                               .asks = { { number }, ROTA_ASK_ALWAYS } };
    take_end(play);
    if (turn_send(play, &joins) && !worker->manual) turn_send(play, &asks);
}

void verb_heard(struct play *play)
{
    uint32_t number = worker_named(play, take_name(play));
    struct rota_worker_view view;
    bool known = rota_worker_look(play->rota, (rota_worker_id) { number }, &view);
    if (known || play->refused || play->halt) {
        worker_sends(play, ROTA_EVENT_WORKER_HEARD, number);
    } else {
        worker_rejoin(play, number);
    }
    if (play->answer || play->halt || number >= play->worker_capacity) return;
    struct play_worker *worker = &play->workers[number];
    rota_time quiet = worker->silent ? play->now - worker->silent_since : 0;
    // Like every worker it has ended its tasks before its lease expired.
    if (!known || quiet >= play->config.lease) worker_forget(worker);
    worker->silent = false;
}

// ---- Pausing ------------------------------------------------------------------------------------

void verb_of_pause(struct play *play)
{
    struct rota_event event = { .kind = play->event };
    const char *what = take_name(play), *name = take_name(play);
    if (strcmp(what, "lane") == 0)
        event.pause.lane = lane_named(play, name);
    else if (strcmp(what, "worker") == 0)
        event.pause.worker.number = worker_named(play, name);
    else if (strcmp(what, "job") == 0)
        event.pause.job = job_named(play, name);
    else
        play_wrong(play, "%s: a lane, a worker or a job", what);
    event.pause.leaves = event.kind == ROTA_EVENT_PAUSE && take_flag(play, "leaves");
    statement_send(play, &event);
}
