// job_record.c - remembers the last job of a job file: stored as the answer to a request, by its
// path.
#include "run/run.h"
#include "store/line_buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Entries ------------------------------------------------------------------------------

static void request_name(struct store_request *request, const char *kind, const char *path)
{
    uint64_t parts[2] = {run_hash(kind, strlen(kind)), run_hash(path, strlen(path))};
    memcpy(request->id, parts, sizeof request->id);
}

bool run_entry_find(struct store *store, const char *path, struct run_entry *entry)
{
    struct store_request request = {0};
    request_name(&request, "run: job", path);
    *entry = (struct run_entry){0};
    if (!store_answer_find(store, &request)) return false;
    entry->job.number = (uint32_t)strtoul(request.answer, NULL, 10);
    entry->digest = request.body_hash;
    const char *end = strchr(request.answer, '\n');
    entry->watched = end ? end + 1 : "";
    return true;
}

void run_entry_put(struct run *run, const char *path, const char *watched)
{
    struct store_request request = {.body_hash = run->digest};
    size_t length = strlen(watched), size = length + 32;
    char *answer = server_keep(run->server, size, 1);
    if (!answer) os_out_of_memory();
    request_name(&request, "run: job", path);
    snprintf(answer, size, "%" PRIu32 "\n%s", run->job.number, watched);
    request.answer = answer;
    store_answer(run->server->store, &request);
}

// ---- Files that are watched ---------------------------------------------------------------

// "12345 PATH": the file must have this stamp. "+ PATH": the file must exist.
static void watch(struct line *line, const char *path, uint64_t stamp)
{
    if (strchr(path, '\n')) return;  // does not fit on a line; it is checked when it is used
    if (stamp)
        line_add_number(line, stamp);
    else
        line_add_char(line, '+');
    line_add_char(line, ' ');
    line_add_word(line, path);
    line_add_char(line, '\n');
}

static void task_watch(struct line *line, const struct run *run, const struct jobfile_task *task,
                       run_stamp_fn *stamp)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        uint64_t now = input->producer ? 0 : stamp(run->file->folder, input->path);
        if (now) watch(line, input->path, now);
    }
    if (task->stdin_path && !task->stdin_input) {
        uint64_t now = stamp(run->file->folder, task->stdin_path);
        if (now) watch(line, task->stdin_path, now);
    }
    for (uint32_t i = 0; i < task->output_count; i++)
        if (task->outputs[i].keep) watch(line, task->outputs[i].name, 0);
}

char *run_watched(const struct run *run, run_stamp_fn *stamp)
{
    struct line line = {0};
    for (uint32_t i = 0; i < run->file->task_count; i++)
        task_watch(&line, run, &run->file->tasks[i], stamp);
    if (line.failed) os_out_of_memory();
    return line.data ? line.data : os_allocate(1, 1);
}

enum watched { WATCHED_SOURCES, WATCHED_ALL };

static bool is_as_it_was(const char *line, size_t length, const char *folder, run_stamp_fn *stamp)
{
    char path[4096], *rest;
    uint64_t was = strtoull(line, &rest, 10);
    bool only_there = *line == '+';
    if (only_there) rest++;
    size_t skipped = (size_t)(rest - line) + 1;
    if (length < skipped || length - skipped >= sizeof path) return false;
    memcpy(path, line + skipped, length - skipped);
    path[length - skipped] = 0;
    uint64_t now = stamp(folder, path);
    return only_there ? now != 0 : now == was;
}

static bool watched_is_same(const char *watched, enum watched which, const char *folder,
                            run_stamp_fn *stamp)
{
    while (*watched) {
        const char *end = strchr(watched, '\n');
        if (!end) return false;
        bool counts = which == WATCHED_ALL || *watched != '+';
        if (counts && !is_as_it_was(watched, (size_t)(end - watched), folder, stamp)) return false;
        watched = end + 1;
    }
    return true;
}

bool run_sources_are_same(const char *watched, const char *folder, run_stamp_fn *stamp)
{
    return watched_is_same(watched, WATCHED_SOURCES, folder, stamp);
}

// ---- The note that everything is done -----------------------------------------------------

// A shortcut: it is valid while the job file, the database and all watched files are unchanged.
char *run_done_text(uint64_t digest, uint64_t database, const char *watched)
{
    size_t size = strlen(watched) + 80;
    char *text = os_allocate(size, 1);
    snprintf(text, size, "%" PRIu64 " %" PRIu64 "\n%s", digest, database, watched);
    return text;
}

bool run_done_holds(const char *text, uint64_t digest, uint64_t database, const char *folder,
                    run_stamp_fn *stamp)
{
    char first[80];
    int length = snprintf(first, sizeof first, "%" PRIu64 " %" PRIu64 "\n", digest, database);
    return strncmp(text, first, (size_t)length) == 0
           && watched_is_same(text + length, WATCHED_ALL, folder, stamp);
}
