// summary.c - the summary of a run: counts, time, the critical path, failures, and how to continue.
#include "run/loop.h"
#include "os/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 6, FAILURES = 20, REASON = 320 };

// ---- The critical path -------------------------------------------------------------------------

struct path {
    rota_time *length;  // of the longest path that ends with each task
    uint32_t *steps;    // the number of its tasks that ran
    uint32_t *before;   // the task before it on that path, plus 1
    uint32_t last;      // plus 1
};

static rota_time duration(const struct run_task *task)
{
    return task->phase == RUN_OK && task->ended > task->began ? task->ended - task->began : 0;
}

// A fast task may begin and end at the same time. One that was done before has no times.
static bool has_run(const struct run_task *task)
{
    return task->phase == RUN_OK && task->began && task->ended;
}

// Of paths that take as long, the one with more tasks.
static bool is_longer(const struct path *path, uint32_t one, uint32_t other)
{
    if (path->length[one] != path->length[other]) return path->length[one] > path->length[other];
    return path->steps[one] > path->steps[other];
}

static void path_find(const struct run *run, struct path *path)
{
    uint32_t count = run->file->task_count, other;
    path->length = os_allocate(count, sizeof *path->length);
    path->steps = os_allocate(count, sizeof *path->steps);
    path->before = os_allocate(count, sizeof *path->before);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = run->order[i];
        for (uint32_t k = 0; (k = jobfile_waits(&run->file->tasks[at], k, &other)) != 0;) {
            if (!is_longer(path, other, at)) continue;
            path->length[at] = path->length[other];
            path->steps[at] = path->steps[other];
            path->before[at] = other + 1;
        }
        path->length[at] += duration(&run->tasks[at]);
        path->steps[at] += has_run(&run->tasks[at]);
        bool is_last = path->steps[at] && (!path->last || is_longer(path, at, path->last - 1));
        if (is_last) path->last = at + 1;
    }
}

static void path_print(const struct run *run)
{
    struct path path = {0};
    const char *names[NAMES];
    uint32_t count = 0, steps = 0;
    path_find(run, &path);
    for (uint32_t at = path.last; at; at = path.before[at - 1]) {
        if (!has_run(&run->tasks[at - 1])) continue;
        if (count < NAMES) names[count++] = run->file->tasks[at - 1].name;
        steps++;
    }
    if (steps) printf("    critical path %.2f s:", (double)path.length[path.last - 1] / 1e6);
    if (steps > count) printf(" ... >");
    while (count) printf(" %s%s", names[count - 1], count > 1 ? " >" : "\n"), count--;
    free(path.length);
    free(path.steps);
    free(path.before);
}

// ---- How to continue ---------------------------------------------------------------------------

// A job file in another folder must be named, too.
static void logs_print(const struct run_options *options, const char *name)
{
    fputs("    (rota logs ", stdout);
    if (strchr(options->path, '/')) {
        plain_word_write(stdout, options->path);
        putchar(' ');
    }
    plain_word_write(stdout, name);
    puts(")");
}

// The same command, but without --fresh, which would repeat finished tasks.
static void again_print(const struct run_options *options)
{
    fputs("    to continue: rota run ", stdout);
    if (options->jobs) printf("-j %u ", options->jobs);
    if (options->keep_going) fputs("-k ", stdout);
    if (options->only) {
        fputs("--only ", stdout);
        plain_word_write(stdout, options->only);
        putchar(' ');
    }
    plain_word_write(stdout, options->path);
    putchar('\n');
}

// ---- Failures ----------------------------------------------------------------------------------

static void failure_print(const struct progress *progress, uint32_t task)
{
    const struct run *run = progress->run;
    const char *name = run->file->tasks[task].name;
    printf("    failed: %s", name);
    const char *reason = run->tasks[task].reason;
    if (reason) fputs(": ", stdout), plain_lines_write(stdout, reason, strlen(reason));
    if (progress->server)
        printf("    (rota logs %s%u.%u)\n", progress->server, run->job.number, task + 1);
    else
        logs_print(progress->options, name);
}

static bool is_among(const uint32_t *tasks, uint32_t count, uint32_t task)
{
    for (uint32_t i = 0; i < count; i++)
        if (tasks[i] == task) return true;
    return false;
}

// In the order in which they failed. A task that failed may have succeeded in a later attempt, or
// have failed twice.
static void failures_print(const struct progress *progress)
{
    const struct run *run = progress->run;
    uint32_t told[FAILURES], count = 0;
    for (uint32_t i = 0; i < progress->failed_count && count < FAILURES; i++) {
        uint32_t task = progress->failed[i];
        if (run->tasks[task].phase != RUN_FAILED || is_among(told, count, task)) continue;
        told[count++] = task;
        failure_print(progress, task);
    }
    if (run->count[RUN_FAILED] > count) printf("    and %u more\n", run->count[RUN_FAILED] - count);
}

// ---- Tasks that cannot run here ----------------------------------------------------------------

// Why a task can never start in this run. False: it waits for another reason, or does not wait.
static bool lack_of(const struct run *run, uint32_t at, char reason[REASON])
{
    const struct jobfile_task *task = &run->file->tasks[at];
    if (task->is_bundle || run->tasks[at].phase != RUN_WAITING) return false;
    rota_task_id id = {run->job.number, at + 1};
    struct rota_why why = rota_why(run->server->rota, id);
    switch (why.hold) {
    case ROTA_HOLD_MACHINE:
        snprintf(reason, REASON, "it needs the machine %.200s; this machine is %.80s",
                 task->machine, run->host);
        return true;
    case ROTA_HOLD_TOO_BIG:
        if (task->cores > run->cores)
            snprintf(reason, REASON, "it needs %u cpus, but there are only %u", task->cores,
                     run->cores);
        else
            snprintf(reason, REASON, "it needs %u MiB of memory, but there are only %u",
                     task->memory_mib, run->memory_mib);
        return true;
    case ROTA_HOLD_ORDER:  // nothing runs any more, so the first task of the lane never will
        if (why.task.job != run->job.number) return false;
        snprintf(reason, REASON, "%.255s is ahead of it in its lane and cannot run",
                 run->file->tasks[why.task.task - 1].name);
        return true;
    default: return false;
    }
}

static void lacks_print(const struct run *run, bool is_json)
{
    char reason[REASON];
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        if (!lack_of(run, i, reason)) continue;
        if (is_json) {
            struct json json = {.out = stdout};
            json_open(&json, NULL, '{');
            json_string(&json, "event", "stuck");
            json_plain(&json, "id", "%u.%u", run->job.number, i + 1);
            json_string(&json, "task", run->file->tasks[i].name);
            json_string(&json, "reason", reason);
            json_line(&json);
        } else if (count < FAILURES) {
            printf("    cannot run: %s    (%s)\n", run->file->tasks[i].name, reason);
        }
        count++;
    }
    if (!is_json && count > FAILURES) printf("    and %u more\n", count - FAILURES);
}

// ---- The summary -------------------------------------------------------------------------------

static void count_print(uint32_t count, const char *word)
{
    if (count) printf(", %u %s", count, word);
}

static void json_print(const struct progress *progress, rota_time now, int status)
{
    const struct run *run = progress->run;
    const struct {
        const char *key;
        uint32_t count;
    } counts[] = {{"ok", run->count[RUN_OK]},
                  {"done_before", run->count[RUN_DONE]},
                  {"cached", run->hits},
                  {"failed", run->count[RUN_FAILED]},
                  {"aborted", run->count[RUN_ABORTED]},
                  {"not_needed", run->count[RUN_NOT_NEEDED]},
                  {"not_run", run_left(run)}};
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "event", "over");
    json_number(&json, "job", "%u", run->job.number);
    json_number(&json, "exit", "%d", status);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_number(&json, counts[i].key, "%u", counts[i].count);
    json_number(&json, "seconds", "%.3f", (double)(now - progress->began) / 1e6);
    json_line(&json);
}

void summary_print(struct progress *progress, rota_time now, int status)
{
    const struct run *run = progress->run;
    bool here = !progress->server && run->server;
    if (here && status == 5 && progress->options->json) lacks_print(run, true);
    if (progress->options->json) {
        json_print(progress, now, status);
        return;
    }
    if (progress->options->quiet && !status) return;
    if (status == 70) return;  // the counted results may not be durable
    if (!status && !run->count[RUN_OK]) {
        puts("nothing to do");
        return;
    }
    printf("%u ok", run->count[RUN_OK]);
    count_print(run->hits, "of them from the cache");
    count_print(run->count[RUN_DONE], "done before");
    count_print(run->count[RUN_FAILED], "failed");
    count_print(run->count[RUN_ABORTED], "stopped");
    count_print(run->count[RUN_NOT_NEEDED], "not needed");
    count_print(run_left(run), "not run");
    printf(" in %.2f s\n", (double)(now - progress->began) / 1e6);
    if (run->count[RUN_OK] > 1) path_print(run);
    failures_print(progress);
    if (here && status == 5) lacks_print(run, false);
    if (status && progress->server)
        printf("    to continue: rota retry %sTASK\n", progress->server);
    else if (status)
        again_print(progress->options);
}
