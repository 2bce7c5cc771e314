// progress.c - the output of a run: a status line on a terminal, else plain lines.
#include "run/loop.h"
#include "os/os.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20, REDRAW = 90000, LINE = 1024 };

static const char red[] = "\033[31m", green[] = "\033[32m", plain[] = "\033[0m";

void progress_open(struct progress *progress, const struct run_options *options,
                   const struct run *run, const char *folder)
{
    *progress = (struct progress){.options = options, .run = run, .folder = folder};
    progress->began = os_now();
    progress->terminal = !options->json && !options->quiet && terminal_is_able(stdout);
    progress->colour = progress->terminal && colour_is_wanted(stdout);
}

void progress_release(struct progress *progress)
{
    free(progress->failed);
}

void progress_clear(struct progress *progress)
{
    if (progress->is_drawn) fputs("\r\033[K", stdout);
    progress->is_drawn = false;
    fflush(stdout);
}

void progress_say(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    progress_clear(progress);
    va_start(arguments, format);
    fputs("rota: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

// ---- Counts ---------------------------------------------------------------------------------

static uint32_t total(const struct run *run)
{
    uint32_t sum = 0;
    for (int i = 0; i < RUN_PHASES; i++) sum += run->count[i];
    return sum - run->count[RUN_LEFT_OUT];
}

static uint32_t over(const struct run *run)
{
    return run->count[RUN_OK] + run->count[RUN_DONE] + run->count[RUN_FAILED]
           + run->count[RUN_ABORTED];
}

// ---- The status line ------------------------------------------------------------------------

struct status {
    char text[LINE];
    size_t length, limit;
};

static void add(struct status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct status *status, const char *format, ...)
{
    va_list arguments;
    if (status->length >= status->limit) return;
    va_start(arguments, format);
    int length = vsnprintf(status->text + status->length, status->limit - status->length + 1,
                           format, arguments);
    va_end(arguments);
    status->length += (size_t)length;
    if (status->length > status->limit) status->length = status->limit;
}

static void add_bar(struct status *status, uint32_t done, uint32_t all)
{
    char bar[BAR + 1];
    uint32_t full = all ? (uint32_t)((uint64_t)done * BAR / all) : BAR;
    memset(bar, '#', full);
    memset(bar + full, '.', BAR - full);
    bar[BAR] = 0;
    add(status, " [%s] %3u%%", bar, all ? (uint32_t)((uint64_t)done * 100 / all) : 100);
}

// An estimate from the rate so far; reused tasks do not count.
static void add_left(struct status *status, const struct progress *progress, rota_time now)
{
    const struct run *run = progress->run;
    uint64_t done = over(run) - run->count[RUN_DONE], left = total(run) - over(run);
    if (done < 2 || !left) return;
    uint64_t seconds = ((uint64_t)(now - progress->began) * left / done + 999999) / 1000000;
    add(status, " %" PRIu64 ":%02" PRIu64 " left", seconds / 60, seconds % 60);
}

static void add_names(struct status *status, const struct run *run)
{
    uint32_t left = run->count[RUN_RUNNING];
    const char *between = left ? "  " : "";
    for (uint32_t i = 0; left && i < run->file->task_count; i++) {
        if (run->tasks[i].phase != RUN_RUNNING) continue;
        add(status, "%s%s", between, run->file->tasks[i].name);
        between = ", ";
        left--;
    }
}

void progress_draw(struct progress *progress, rota_time now)
{
    const struct run *run = progress->run;
    if (!progress->terminal || now - progress->drawn < REDRAW) {
        if (!progress->is_drawn) fflush(stdout);
        return;
    }
    struct status status = {.limit = os_terminal_width(1) - 1};
    if (status.limit > LINE - 1) status.limit = LINE - 1;
    add(&status, "[%u/%u]", over(run), total(run));
    add_bar(&status, over(run), total(run));
    if (run->count[RUN_FAILED]) add(&status, " %u failed", run->count[RUN_FAILED]);
    add_left(&status, progress, now);
    add_names(&status, run);
    printf("\r%.*s\033[K", (int)status.length, status.text);
    fflush(stdout);
    progress->is_drawn = true;
    progress->drawn = now;
}

// ---- Logs -------------------------------------------------------------------------------------

static bool log_show(void *context, const char *bytes, size_t count)
{
    plain_log_add(context, bytes, count);
    return true;
}

static void log_print(const char *folder, rota_task_id task, uint32_t attempt)
{
    char path[8192];
    struct plain_log log = {0};
    log_path(path, sizeof path, folder, task, attempt);
    log_read(path, log_show, &log);
    plain_log_end(&log);
}

// ---- Finished tasks ---------------------------------------------------------------------------

static struct json json_begin(const struct progress *progress, const char *event, uint32_t task,
                              uint32_t attempt)
{
    const struct run *run = progress->run;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "event", event);
    json_plain(&json, "id", "%u.%u", run->job.number, task + 1);
    json_string(&json, "task", run->file->tasks[task].name);
    json_number(&json, "attempt", "%u", attempt);
    return json;
}

void progress_started(struct progress *progress, uint32_t task)
{
    if (task >= progress->run->file->task_count) return;
    const struct run_task *started = &progress->run->tasks[task];
    struct json json = json_begin(progress, "started", task, started->attempt);
    json_number(&json, "at", "%" PRId64, started->began);
    json_line(&json);
}

static void json_end(const struct progress *progress, const struct run_end *end, const char *word)
{
    const struct run_task *task = &end->as;
    char text[RUN_END_TEXT];
    struct json json = json_begin(progress, "ended", end->task, end->attempt);
    json_string(&json, "status", word);
    json_number(&json, "exit", "%d", task->status);
    json_string(&json, "end", run_end_text(task, text));
    json_number(&json, "began", "%" PRId64, task->began);
    json_number(&json, "ended", "%" PRId64, task->ended);
    json_number(&json, "log_bytes", "%" PRIu64, task->log_bytes);
    json_bool(&json, "cached", task->end_flags & WIRE_CACHED);
    json_line(&json);
}

static void failed_add(struct progress *progress, uint32_t task)
{
    if (!ARRAY_MORE_RAW(&memory_heap, progress->failed, progress->failed_count,
                        progress->failed_capacity))
        os_out_of_memory();
    progress->failed[progress->failed_count++] = task;
}

static void failure_print(struct progress *progress, const struct run_end *end, const char *word)
{
    const struct run *run = progress->run;
    const struct run_task *task = &end->as;
    const struct jobfile_task *said = &run->file->tasks[end->task];
    const bool colour = progress->colour;
    char text[RUN_END_TEXT];
    progress_clear(progress);
    printf("%s%s%s: %s (%s, attempt %u, %.2f s)\n    ", colour ? red : "", word,
           colour ? plain : "", said->name, run_end_text(task, text), end->attempt,
           (double)(task->ended - task->began) / 1e6);
    plain_lines_write(stdout, said->command, strlen(said->command));
    putchar('\n');
    rota_task_id id = {run->job.number, end->task + 1};
    fflush(stdout);
    if (progress->log)
        progress->log(progress->log_context, id, end->attempt);
    else
        log_print(progress->folder, id, end->attempt);
}

static void success_print(struct progress *progress, const struct run_end *end)
{
    const struct run *run = progress->run;
    const struct run_task *task = &end->as;
    if (progress->options->quiet) return;
    if (progress->terminal && !progress->options->verbose) return;
    progress_clear(progress);
    const char *how = task->end_flags & WIRE_CACHED ? " (cached)" : "";
    printf("[%u/%u] %s%s%s%s %.2f s\n", progress->shown, total(run),
           progress->colour ? green : "", run->file->tasks[end->task].name,
           progress->colour ? plain : "", how, (double)(task->ended - task->began) / 1e6);
}

void progress_ended(struct progress *progress, const struct run_end *end)
{
    enum run_phase phase = end->phase;
    bool failed = phase == RUN_FAILED;
    const char *word = failed ? "FAILED" : phase == RUN_ABORTED ? "STOPPED" : "RETRY";
    if (failed) failed_add(progress, end->task);
    if (!progress->shown) progress->shown = progress->run->count[RUN_DONE];
    progress->shown += phase == RUN_OK || failed || phase == RUN_ABORTED;
    if (progress->options->json)
        json_end(progress, end, phase == RUN_OK ? "SUCCESS" : word);
    else if (phase == RUN_OK)
        success_print(progress, end);
    else
        failure_print(progress, end, word);
}
