// wait.c - `rota wait`: a server tells when jobs or tasks are over, all of them or the first.
#include "cli/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota wait [--server ADDRESS] [--key FILE] [--json] [--any] ID...\n\n"
      "    rota wait 7             until nothing of job 7 can go on\n"
      "    rota wait 7.3           until task 3 of job 7 has ended, or cannot run\n"
      "    rota wait 7 8.1         until both are over\n"
      "    rota wait --any 7 8.1   until one of them is; without any ID that is at once\n\n"
      "A line is printed for each that is over. A server that goes away meanwhile is waited for,\n"
      "up to five minutes.\n"
      "Exit status: 0 all of it succeeded, with --any what was over first, 1 it did not, 2 there\n"
      "is no such job or task, 4 the server cannot be reached.\n";

enum { IDS_MAX = 64 };
enum wanted_state { WANTED_OPEN, WANTED_FINE, WANTED_BAD };

// A job is watched first, and looked at behind that, with the task. So if the job goes on, each end
// is told, and if it was forgotten, its own was told before the answer to the look.
struct wanted {
    rota_task_id id;         // task 0: the whole job
    enum wanted_state state;
    bool is_there;           // the task was seen
    bool is_over;            // its job is; with so many tasks
    uint32_t tasks;
};

struct watcher {
    struct reach reach;
    struct wanted wanted[IDS_MAX];
    uint32_t count, unanswered;
    bool json, any;
};

enum { LOOK_TASK = 1, LOOK_JOB };  // the upper half of a request; the lower is the place

// -1: go on; else the exit status.
static int words_read(struct watcher *watcher, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        const char *word = words[i];
        taken = reach_take(&watcher->reach, count - i, words + i);
        if (taken > 0) continue;
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--json") == 0) {
            watcher->json = true;
        } else if (strcmp(word, "--any") == 0) {
            watcher->any = true;
        } else if (watcher->count == IDS_MAX) {
            return reach_fail(&watcher->reach, "that is too much to wait for: 64 are allowed", 2);
        } else if (!task_name_read(word, &watcher->wanted[watcher->count++].id)) {
            fprintf(stderr, "rota wait: '%s' is not understood here\n%s", word, usage);
            return 2;
        }
    }
    if (watcher->count) return -1;
    if (watcher->any) return 0;  // none of none is over
    fputs(usage, stderr);
    return 2;
}

// ---- What is over ------------------------------------------------------------------------------

static bool is_open(const struct wanted *wanted, uint32_t job)
{
    return wanted->state == WANTED_OPEN && wanted->id.job == job;
}

static void job_over(const struct watcher *watcher, struct wanted *wanted,
                     const struct wire_over *over)
{
    wanted->state = over->succeeded == over->tasks ? WANTED_FINE : WANTED_BAD;
    printf(watcher->json
               ? "{\"event\":\"over\",\"job\":%u,\"ok\":%u,\"failed\":%u,\"aborted\":%u}\n"
               : "job %u: %u ok, %u failed, %u aborted\n",
           over->job, over->succeeded, over->failed, over->aborted);
}

static void task_over(const struct watcher *watcher, struct wanted *wanted, const char *how,
                      int32_t status)
{
    wanted->state = strcmp(how, "ok") == 0 ? WANTED_FINE : WANTED_BAD;
    printf(watcher->json ? "{\"event\":\"over\",\"task\":\"%u.%u\",\"outcome\":\"%s\","
                           "\"status\":%d}\n"
                         : "task %u.%u: %s, status %d\n",
           wanted->id.job, wanted->id.task, how, status);
}

static const char *outcome_word(uint32_t outcome)
{
    if (outcome == ROTA_OUTCOME_OK) return "ok";
    return outcome == ROTA_OUTCOME_ABORTED ? "aborted" : "failed";
}

static void on_ended(struct watcher *watcher, const struct wire_ended *ended)
{
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        if (is_open(wanted, ended->task.job) && wanted->id.task == ended->task.task)
            task_over(watcher, wanted, outcome_word(ended->outcome), ended->status);
    }
}

static void on_over(struct watcher *watcher, const struct wire_over *over)
{
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        if (!is_open(wanted, over->job)) continue;
        wanted->is_over = true;
        wanted->tasks = over->tasks;
        if (!wanted->id.task)
            job_over(watcher, wanted, over);
        else if (wanted->is_there)
            task_over(watcher, wanted, "blocked", 0);
    }
}

// The exit status, or -1: not yet.
static int status_of(const struct watcher *watcher)
{
    bool bad = false, open = false;
    for (uint32_t i = 0; i < watcher->count; i++) {
        enum wanted_state state = watcher->wanted[i].state;
        if (watcher->any && state != WANTED_OPEN) return state == WANTED_FINE ? 0 : 1;
        bad |= state == WANTED_BAD;
        open |= state == WANTED_OPEN;
    }
    return open ? -1 : bad;
}

// ---- The server --------------------------------------------------------------------------------

static bool is_first_of_job(const struct watcher *watcher, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_open(&watcher->wanted[i], watcher->wanted[at].id.job)) return false;
    return true;
}

static void look_put(struct wire_out *out, uint32_t what, uint32_t at, rota_task_id id)
{
    struct wire_message message = {.kind = WIRE_LOOK_MESSAGE};
    message.look.high = what;
    message.look.low = at;
    message.look.task = id;
    wire_put(out, &message);
}

static void all_ask(struct watcher *watcher)
{
    struct wire_out *out = &watcher->reach.client.link->out;
    watcher->unanswered = 0;
    for (uint32_t i = 0; i < watcher->count; i++) {
        struct wanted *wanted = &watcher->wanted[i];
        struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
        wanted->is_there = wanted->is_over = false;
        if (wanted->state != WANTED_OPEN) continue;
        message.watch.job = wanted->id.job;
        if (is_first_of_job(watcher, i)) wire_put(out, &message);
        if (wanted->id.task) look_put(out, LOOK_TASK, i, wanted->id);
        look_put(out, LOOK_JOB, i, (rota_task_id){wanted->id.job, 0});
        watcher->unanswered++;
    }
}

static int no_such(const struct watcher *watcher, rota_task_id id)
{
    char reason[80];
    if (id.task)
        snprintf(reason, sizeof reason, "there is no such task: %u.%u", id.job, id.task);
    else
        snprintf(reason, sizeof reason, "there is no such job: %u", id.job);
    return reach_fail(&watcher->reach, reason, 2);
}

// Of a job that is forgotten all have succeeded. -1: go on; else the exit status.
static int on_seen(struct watcher *watcher, const struct wire_seen *seen)
{
    struct wanted *wanted = &watcher->wanted[seen->low % IDS_MAX];
    if (seen->high == LOOK_TASK) wanted->is_there = true;
    if (seen->high != LOOK_JOB) return -1;
    watcher->unanswered--;
    if (wanted->state != WANTED_OPEN || !wanted->id.task) return -1;
    if (!wanted->is_there && (!wanted->is_over || wanted->id.task > wanted->tasks))
        return no_such(watcher, wanted->id);
    if (wanted->is_over) task_over(watcher, wanted, wanted->is_there ? "blocked" : "ok", 0);
    return -1;
}

// -1: go on; else the exit status.
static int on_refuse(const struct watcher *watcher, const struct wire_refuse *refuse)
{
    if (refuse->high == LOOK_TASK) return -1;
    if (refuse->code != WIRE_REFUSED_NOT_FOUND)
        return reach_fail(&watcher->reach, refuse->reason.bytes, 2);
    uint32_t job = refuse->high ? watcher->wanted[refuse->low % IDS_MAX].id.job
                                : (uint32_t)refuse->low;
    return no_such(watcher, (rota_task_id){job, 0});
}

// -1: the connection is gone; else the exit status.
static int watch(struct watcher *watcher)
{
    struct client *client = &watcher->reach.client;
    struct wire_message message;
    all_ask(watcher);
    while (client_send(client) && client_next(client, &message, 0)) {
        int status = -1;
        switch (message.kind) {
        case WIRE_REFUSE_MESSAGE: status = on_refuse(watcher, &message.refuse); break;
        case WIRE_SEEN_MESSAGE: status = on_seen(watcher, &message.seen); break;
        case WIRE_ENDED_MESSAGE: on_ended(watcher, &message.ended); break;
        case WIRE_OVER_MESSAGE: on_over(watcher, &message.over); break;
        default: break;
        }
        if (status < 0 && !watcher->unanswered) status = status_of(watcher);
        if (status >= 0) return status;
    }
    return -1;
}

int command_wait(int count, char **words)
{
    struct watcher watcher = {.count = 0};
    reach_init(&watcher.reach, "wait");
    int status = words_read(&watcher, count, words);
    if (status >= 0) return status;
    status = reach_open(&watcher.reach);
    if (!status) status = watch(&watcher);
    while (status < 0)
        status = reach_again(&watcher.reach) ? watch(&watcher) : reach_lost(&watcher.reach);
    reach_close(&watcher.reach);
    return status;
}
