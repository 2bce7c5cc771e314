// done_note.c - a file in .rota that says that everything is done, so that `rota run` of a large
// job need not read its database.
#define _GNU_SOURCE
#include "run/loop.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// For fewer tasks, reading the database is fast enough.
enum { TASKS_LEAST = 10 };

char *runner_path(const struct runner *runner, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", runner->hidden, name) < 0) os_out_of_memory();
    return path;
}

static char *done_path(const struct runner *runner)
{
    char name[40];
    uint64_t hash = run_hash(runner->path, strlen(runner->path));
    snprintf(name, sizeof name, "done-%016llx", (unsigned long long)hash);
    return runner_path(runner, name);
}

static uint64_t database_stamp(const struct runner *runner)
{
    return hash_mix(os_stamp(runner->hidden, "rota.db"), os_stamp(runner->hidden, "rota.db-wal"));
}

bool runner_has_nothing_to_do(const struct runner *runner)
{
    size_t size;
    if (runner->options.fresh || runner->options.only) return false;
    char *path = done_path(runner), *text = os_file_read(path, JOBFILE_SIZE_MAX, &size);
    bool holds
        = text
          && run_done_holds(text, runner->digest, database_stamp(runner), runner->folder, os_stamp);
    free(path);
    free(text);
    return holds;
}

void runner_note_done(const struct runner *runner)
{
    if (!runner->is_done || runner->file.task_count < TASKS_LEAST) return;
    char *path = done_path(runner);
    char *text = run_done_text(runner->digest, database_stamp(runner), runner->watched);
    os_file_write(path, text, strlen(text));  // if this fails, the next run only takes longer
    free(path);
    free(text);
}
