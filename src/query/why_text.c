// why_text.c - the reason why a task does not run, as one English sentence.
#include "query/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// part_write() replaces {task}, {worker} and so on.
static const char *const sentences[ROTA_HOLDS] = {
    [ROTA_HOLD_NONE] = "nothing holds it: it is {own status}",
    [ROTA_HOLD_IDLE] = "idle: it is not staged",
    [ROTA_HOLD_FROZEN] = "frozen: it never runs, and conditions on it are true",
    [ROTA_HOLD_PREREQUISITE] = "waits for dependency {task}{others}",
    [ROTA_HOLD_FAILURE] = "blocked: dependency {task} {failed}{others too}",
    [ROTA_HOLD_BLOCKED] = "blocked: dependency {task} is itself blocked",
    [ROTA_HOLD_CONDITION] = "its condition is not true yet: {task} is {status}",
    [ROTA_HOLD_LOST_INPUT] = "waits for a lost input (data), which {task} makes again",
    [ROTA_HOLD_ORDER] = "held in lane {lane}: after {task}, which is the head of the lane"
                        " (order)",
    [ROTA_HOLD_START] = "held in lane {lane}: the lane is strict (start order), and {task}"
                        " was admitted but has not started",
    [ROTA_HOLD_GROUP] = "held in lane {lane}: group {group} is busy, held by {task}",
    [ROTA_HOLD_ACCESS] = "held in lane {lane}: its access is {access} and {insiders} inside,"
                         " {task} among them",
    [ROTA_HOLD_SHARED] = "shared: {task}, which has the same content key, runs for both",
    [ROTA_HOLD_HANDLER] = "offered: waits for a handler to claim it",
    [ROTA_HOLD_NO_WORKER] = "no worker has joined",
    [ROTA_HOLD_MACHINE] = "unschedulable: machine {machine} is unknown, no worker is on it",
    [ROTA_HOLD_TOO_BIG] = "unschedulable: no worker is big enough, short of {shortage}",
    [ROTA_HOLD_ROOM] = "no room: needs {needs}, best worker {worker} is short of"
                       " {shortage}",
    [ROTA_HOLD_CACHED] = "waits for a worker that has its result (cache) until {until}",
    [ROTA_HOLD_INPUTS] = "waits for a worker that has an input (data, dependency) until"
                         " {until}",
    [ROTA_HOLD_PICK] = "offered to every worker (pull), but none has asked for work (pick)",
    [ROTA_HOLD_PLAN] = "waits for the next plan, due at {until}",
    [ROTA_HOLD_START_REPORT] = "assigned to {worker}, which has not started it",
    [ROTA_HOLD_SILENT] = "runs on {worker}, which is silent; its lease ends at {until}",
    [ROTA_HOLD_REST] = "failed, in backoff until {until}, then it is tried again",
    [ROTA_HOLD_STOPPING] = "told to stop; {worker} has not confirmed that it ended",
    [ROTA_HOLD_LANE_PAUSED] = "held in lane {lane}: the lane is paused",
    [ROTA_HOLD_JOB_PAUSED] = "ready: its job is paused",
    [ROTA_HOLD_WORKER_PAUSED] = "waits for a worker: {worker} has room, but is paused",
    [ROTA_HOLD_STREAM] = "waits for a stream it had not read to its end, which {task} writes"
                         " again",
    [ROTA_HOLD_WORKER_LEAVES] = "waits for a worker: {worker} has room, but is about to end",
};

struct sentence {
    const struct rota_why *why;
    const struct why_subject *subject;
    const struct why_names *names;
    char *out;
    size_t size, length;
};

__attribute__((format(printf, 2, 3)))
static void add(struct sentence *sentence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t left = sentence->size - sentence->length;
    int length = vsnprintf(sentence->out + sentence->length, left, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    sentence->length += (size_t)length < left ? (size_t)length : left - 1;
}

// ---- Placeholders -----------------------------------------------------------

static void task_write(struct sentence *sentence)
{
    rota_task_id task = sentence->why->task;
    add(sentence, "%s", task.task ? sentence->names->task(sentence->names->context, task)
                                  : "another task");
}

static void worker_write(struct sentence *sentence)
{
    rota_worker_id worker = sentence->why->worker;
    const char *other = sentence->why->hold == ROTA_HOLD_STOPPING ? "its handler" : "a worker";
    add(sentence, "%s", worker.number ? sentence->names->worker(sentence->names->context, worker)
                                      : other);
}

static void lane_write(struct sentence *sentence)
{
    add(sentence, "%s", sentence->names->lane(sentence->names->context, sentence->why->lane));
}

static void group_write(struct sentence *sentence)
{
    add(sentence, "%s", sentence->names->group(sentence->names->context, sentence->why->group));
}

static void machine_write(struct sentence *sentence)
{
    add(sentence, "%s", sentence->names->machine(sentence->names->context,
                                                 sentence->why->machine));
}

static void others_write(struct sentence *sentence)
{
    uint32_t others = sentence->why->count > 1 ? sentence->why->count - 1 : 0;
    if (others) add(sentence, " and %u other%s", others, others > 1 ? "s" : "");
}

static void others_too_write(struct sentence *sentence)
{
    uint32_t others = sentence->why->count > 1 ? sentence->why->count - 1 : 0;
    if (others) add(sentence, ", and %u other%s too", others, others > 1 ? "s" : "");
}

static void failed_write(struct sentence *sentence)
{
    bool aborted = strcmp(sentence->subject->other_status, "ABORTED") == 0;
    add(sentence, aborted ? "was aborted" : "failed");
}

static void status_write(struct sentence *sentence)
{
    add(sentence, "%s", sentence->subject->other_status);
}

static void own_status_write(struct sentence *sentence)
{
    const struct why_subject *subject = sentence->subject;
    add(sentence, "%s", *subject->status ? subject->status : "forgotten");
    if (!subject->worker.number) return;
    add(sentence, " on %s", sentence->names->worker(sentence->names->context, subject->worker));
}

static void access_write(struct sentence *sentence)
{
    add(sentence, sentence->subject->access == ROTA_ACCESS_WRITE ? "write" : "read");
}

// The tasks inside have the other access, otherwise this one could join them.
static void insiders_write(struct sentence *sentence)
{
    bool readers = sentence->subject->access == ROTA_ACCESS_WRITE;
    uint32_t count = sentence->why->count;
    add(sentence, "%u %s%s (%s) %s", count, readers ? "reader" : "writer", count == 1 ? "" : "s",
        readers ? "read" : "write", count == 1 ? "is" : "are");
}

static void amount_write(struct sentence *sentence, uint32_t cores, uint32_t memory_mib)
{
    if (cores || !memory_mib) add(sentence, "%u cpu%s", cores, cores == 1 ? "" : "s");
    if (cores && memory_mib) add(sentence, " and ");
    if (memory_mib) add(sentence, "%u MiB of memory", memory_mib);
}

static void needs_write(struct sentence *sentence)
{
    amount_write(sentence, sentence->subject->cores, sentence->subject->memory_mib);
}

static void shortage_write(struct sentence *sentence)
{
    amount_write(sentence, sentence->why->short_cores, sentence->why->short_mib);
}

static void until_write(struct sentence *sentence)
{
    char text[32];
    sentence->names->time(sentence->why->until, text, sizeof text);
    add(sentence, "%s", text);
}

static const struct { const char *name; void (*write)(struct sentence *sentence); } parts[] = {
    { "task", task_write },         { "worker", worker_write },     { "lane", lane_write },
    { "group", group_write },       { "machine", machine_write },   { "others", others_write },
    { "failed", failed_write },     { "status", status_write },     { "access", access_write },
    { "insiders", insiders_write }, { "shortage", shortage_write }, { "needs", needs_write },
    { "until", until_write },       { "others too", others_too_write },
    { "own status", own_status_write },
};

static void part_write(struct sentence *sentence, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strlen(parts[i].name) != length || memcmp(parts[i].name, name, length) != 0) continue;
        parts[i].write(sentence);
        return;
    }
}

void why_text(const struct rota_why *why, const struct why_subject *subject,
              const struct why_names *names, char *out, size_t size)
{
    struct sentence sentence = { why, subject, names, out, size, 0 };
    const char *text = why->hold < ROTA_HOLDS ? sentences[why->hold] : "for an unknown reason";
    *out = 0;
    while (*text) {
        size_t plain = strcspn(text, "{");
        add(&sentence, "%.*s", (int)plain, text);
        text += plain;
        if (!*text) break;
        size_t length = strcspn(++text, "}");
        part_write(&sentence, text, length);
        text += length + 1;
    }
    if (why->planned.number)
        add(&sentence, "; planned for %s", names->worker(names->context, why->planned));
}
