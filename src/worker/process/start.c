// start.c - starts the process of a queued run, or finds out why it cannot be started.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/user.h"
#include "worker/process/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(struct run *run, enum wire_end end, int error)
{
    run->state = RUN_ENDED;
    run->end = end;
    run->status = error;
    return false;
}

// Checked first, because a known result is delivered without a command.
static bool is_permitted(const struct worker *worker, struct run *run)
{
    const char *fault = user_run_fault(worker, &run->command.run);
    if (!fault) return true;
    snprintf(run->reason, sizeof run->reason, "%s", fault);
    return refuse(run, WIRE_NOT_STARTED, EPERM);
}

// A folder that will belong to another user is inaccessible to that user, whatever the umask, until
// everything in it has been created and handed over: root must not work where others can swap
// files.
static bool folder_make(const struct worker *worker, const char *directory)
{
    if (!worker->options->user) return os_directory_make(directory);
    mode_t before = umask(0077);
    bool is_made = os_directory_make(directory);
    int reason = errno;
    umask(before);
    errno = reason;
    return is_made;
}

static bool make_private(const struct worker *worker, struct run *run)
{
    if (!(run->command.run.flags & WIRE_RUN_PRIVATE)) return true;
    const char *directory = run->command.directory;
    if (os_tree_remove(directory) && folder_make(worker, directory)) return true;
    int error = errno;
    snprintf(run->reason, sizeof run->reason, "cannot create the directory %s: %s", directory,
             strerror(error));
    return refuse(run, WIRE_NOT_STARTED, error);
}

static bool files_are(struct worker *worker, struct run *run, enum files_result result)
{
    if (result == FILES_READY) return true;
    run->was_cached = result == FILES_CACHED;
    if (run->was_cached) return refuse(run, WIRE_EXITED, run->status);
    int reason = run->lacks_room ? ENOSPC : ENOENT;
    if (worker->files.lost_count) reason = ENODATA;  // the cache has lost it: others may have it
    report_lost(worker);
    return refuse(run, WIRE_BAD_INPUT, reason);
}

static bool look_into_cache(struct worker *worker, struct run *run)
{
    if (!(run->command.run.flags & WIRE_RUN_CACHE)) return true;
    return files_are(worker, run, files_look_up(&worker->files, run));
}

static bool prepare_files(struct worker *worker, struct run *run)
{
    const struct wire_run *message = &run->command.run;
    if (!message->inputs.count && !message->outputs.count) return true;
    if (!streams_join(worker, run, run->reason)) return refuse(run, WIRE_NOT_STARTED, errno);
    return files_are(worker, run, files_prepare(&worker->files, run));
}

// Files in the private folder of the task were created by the worker.
static bool give_private(struct worker *worker, struct run *run)
{
    if (!(run->command.run.flags & WIRE_RUN_PRIVATE)) return true;
    if (user_give_tree(worker, run->command.directory)) return true;
    int error = errno;
    snprintf(run->reason, sizeof run->reason, "cannot give %s to the user of commands: %s",
             run->command.directory, strerror(error));
    return refuse(run, WIRE_NOT_STARTED, error);
}

static void say_why(struct run *run, const struct spawn *spawn)
{
    const char *why = strerror(spawn->error), *word = run->command.argv[0];
    size_t size = sizeof run->reason;
    switch (spawn->step) {
    case SPAWN_FORK:
        snprintf(run->reason, size, "cannot start a process for %s: %s", word, why);
        return;
    case SPAWN_USER: snprintf(run->reason, size, "cannot change the user: %s", why); return;
    case SPAWN_LIMIT:
        snprintf(run->reason, size, "cannot set limits for %s: %s", word, why);
        return;
    case SPAWN_DIRECTORY:
        snprintf(run->reason, size, "%s cannot run in %s: %s", word, spawn->directory, why);
        return;
    case SPAWN_STDIN:
        snprintf(run->reason, size, "%s cannot read %s: %s", word, spawn->stdin_path, why);
        return;
    case SPAWN_EXEC: break;
    }
    if (spawn->error == ENOENT && access(spawn->path, F_OK) == 0)
        why = "the interpreter in its first line does not exist";
    if (spawn->error == ENOEXEC) why = "neither a program nor a script with #! in its first line";
    snprintf(run->reason, size, "cannot run %s: %s", word, why);
}

static bool look_up(struct worker *worker, struct run *run, struct spawn *spawn)
{
    spawn->path = finder_find(&worker->finder, &run->command, &worker->environment);
    if (spawn->path) return true;
    spawn->error = errno;
    const char *word = run->command.argv[0];
    if (errno == ENOENT)
        snprintf(run->reason, sizeof run->reason, "no such command in PATH: \"%s\"", word);
    else
        snprintf(run->reason, sizeof run->reason, "cannot run %s: %s", word, strerror(errno));
    return false;
}

// A program that was found before may have moved since.
static pid_t start(struct worker *worker, struct run *run, struct spawn *spawn)
{
    if (!look_up(worker, run, spawn)) return -1;
    pid_t pid = spawn_start(spawn);
    bool was_looked_up = spawn->path != run->command.argv[0];
    if (pid < 0 && spawn->step == SPAWN_EXEC && spawn->error == ENOENT && was_looked_up) {
        finder_forget(&worker->finder, spawn->path);
        if (!look_up(worker, run, spawn)) return -1;
        pid = spawn_start(spawn);
    }
    if (pid < 0) say_why(run, spawn);
    return pid;
}

static struct spawn spawn_of(struct worker *worker, struct run *run)
{
    const struct command *command = &run->command;
    const char *cwd = command->run.cwd.length ? command->run.cwd.bytes : command->directory;
    return (struct spawn){
        .directory = strcmp(cwd, ".") == 0 || strcmp(cwd, worker->cwd) == 0 ? NULL : cwd,
        .stdin_path = command->stdin_path,
        .argv = command->argv,
        .envp = command->envp,
        .output = run->output->write,
        .data_max = (uint64_t)command->run.memory_mib << 20,
        .files_max = worker->files_max,
        .user = worker->options->user,
        .dies_with_worker = !worker->is_init,
        .domain = worker->domain,
        .stack_end = worker->spawn_stack,
    };
}

bool run_begin(struct worker *worker, struct run *run)
{
    run->began = os_now();
    run->ticks = os_ticks();
    bool fine = is_permitted(worker, run) && look_into_cache(worker, run)
                && make_private(worker, run) && prepare_files(worker, run)
                && give_private(worker, run);
    if (!fine) return false;
    run->output = output_take(worker, run);
    if (!run->output) {
        int error = errno;
        snprintf(run->reason, sizeof run->reason, "cannot create a pipe for the output: %s",
                 strerror(error));
        return refuse(run, WIRE_NOT_STARTED, error);
    }
    struct spawn spawn = spawn_of(worker, run);
    run->pid = start(worker, run, &spawn);
    if (run->pid < 0) return refuse(run, WIRE_NOT_STARTED, spawn.error);
    run->state = RUN_RUNNING;
    int64_t timeout = run->command.run.timeout;
    run->timeout_due = timeout > 0 ? run->ticks + timeout : INT64_MAX;
    run->kill_due = run->sweep_due = INT64_MAX;
    return true;
}
