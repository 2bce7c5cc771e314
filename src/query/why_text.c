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
    [ROTA_HOLD_NO_WORKER] = "no worker is connected",
    [ROTA_HOLD_MACHINE] = "unschedulable: machine {machine} is unknown, no worker is on it",
    [ROTA_HOLD_TOO_BIG] = "unschedulable: it needs {shortage} more than the largest worker has",
    [ROTA_HOLD_ROOM] = "no room: it needs {needs}; {worker} is short of {shortage}",
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

enum part {
    PART_TASK, PART_WORKER, PART_LANE, PART_GROUP, PART_MACHINE, PART_OTHERS, PART_OTHERS_TOO,
    PART_FAILED, PART_STATUS, PART_OWN_STATUS, PART_ACCESS, PART_INSIDERS, PART_NEEDS,
    PART_SHORTAGE, PART_UNTIL, PARTS
};

static const char *const parts[PARTS] = {
    [PART_TASK] = "task",         [PART_WORKER] = "worker",     [PART_LANE] = "lane",
    [PART_GROUP] = "group",       [PART_MACHINE] = "machine",   [PART_OTHERS] = "others",
    [PART_FAILED] = "failed",     [PART_STATUS] = "status",     [PART_OTHERS_TOO] = "others too",
    [PART_ACCESS] = "access",     [PART_INSIDERS] = "insiders", [PART_OWN_STATUS] = "own status",
    [PART_SHORTAGE] = "shortage", [PART_NEEDS] = "needs",       [PART_UNTIL] = "until",
};

static const char *worker_name(const struct sentence *sentence, rota_worker_id worker)
{
    const char *other = sentence->why->hold == ROTA_HOLD_STOPPING ? "its handler" : "a worker";
    return worker.number ? sentence->names->worker(sentence->names->context, worker) : other;
}

static void own_status_write(struct sentence *sentence)
{
    const struct why_subject *subject = sentence->subject;
    add(sentence, "%s", *subject->status ? subject->status : "forgotten");
    if (subject->worker.number) add(sentence, " on %s", worker_name(sentence, subject->worker));
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

static void part_write(struct sentence *sentence, enum part part)
{
    const struct rota_why *why = sentence->why;
    const struct why_subject *subject = sentence->subject;
    const struct why_names *names = sentence->names;
    const char *text, *plural = why->count > 2 ? "s" : "";
    bool is_aborted = strcmp(subject->other_status, "ABORTED") == 0;
    char until[32];
    switch (part) {
    case PART_TASK:
        text = why->task.task ? names->task(names->context, why->task) : "another task";
        break;
    case PART_WORKER: text = worker_name(sentence, why->worker); break;
    case PART_LANE: text = names->lane(names->context, why->lane); break;
    case PART_GROUP: text = names->group(names->context, why->group); break;
    case PART_MACHINE: text = names->machine(names->context, why->machine); break;
    case PART_FAILED: text = is_aborted ? "was aborted" : "failed"; break;
    case PART_STATUS: text = subject->other_status; break;
    case PART_ACCESS: text = subject->access == ROTA_ACCESS_WRITE ? "write" : "read"; break;
    case PART_UNTIL:
        names->time(why->until, until, sizeof until);
        text = until;
        break;
    case PART_OTHERS:
        if (why->count > 1) add(sentence, " and %u other%s", why->count - 1, plural);
        return;
    case PART_OTHERS_TOO:
        if (why->count > 1) add(sentence, ", and %u other%s too", why->count - 1, plural);
        return;
    case PART_OWN_STATUS: own_status_write(sentence); return;
    case PART_INSIDERS: insiders_write(sentence); return;
    case PART_NEEDS: amount_write(sentence, subject->cores, subject->memory_mib); return;
    case PART_SHORTAGE: amount_write(sentence, why->short_cores, why->short_mib); return;
    default: return;
    }
    add(sentence, "%s", text);
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
        for (int part = 0; part < PARTS; part++)
            if (strlen(parts[part]) == length && memcmp(parts[part], text, length) == 0)
                part_write(&sentence, (enum part)part);
        text += length + 1;
    }
    if (why->planned.number)
        add(&sentence, "; planned for %s", names->worker(names->context, why->planned));
}
