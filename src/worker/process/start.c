// start.c - starts the process of a queued attempt, or finds out why it cannot be started.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(struct attempt *attempt, enum wire_end end, int error)
{
    attempt->state = ATTEMPT_ENDED;
    attempt->end = end;
    attempt->status = error;
    return false;
}

// Checked first, because a known result is delivered without a command.
static bool is_permitted(const struct worker *worker, struct attempt *attempt)
{
    const char *fault = user_run_fault(worker, &attempt->command.run);
    if (!fault) return true;
    snprintf(attempt->reason, sizeof attempt->reason, "%s", fault);
    return refuse(attempt, WIRE_NOT_STARTED, EPERM);
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

static bool make_private(const struct worker *worker, struct attempt *attempt)
{
    if (!(attempt->command.run.flags & WIRE_RUN_PRIVATE)) return true;
    const char *directory = attempt->command.directory;
    if (os_tree_remove(directory) && folder_make(worker, directory)) return true;
    int error = errno;
    snprintf(attempt->reason, sizeof attempt->reason, "cannot create the directory %s: %s",
             directory, strerror(error));
    return refuse(attempt, WIRE_NOT_STARTED, error);
}

static bool files_are(struct worker *worker, struct attempt *attempt, enum files_result result)
{
    if (result == FILES_READY) return true;
    attempt->was_cached = result == FILES_CACHED;
    if (attempt->was_cached) return refuse(attempt, WIRE_EXITED, attempt->status);
    int reason = attempt->lacks_room ? ENOSPC : ENOENT;
    if (worker->files.lost_count) reason = ENODATA;  // the cache has lost it: others may have it
    report_lost(worker);
    return refuse(attempt, WIRE_BAD_INPUT, reason);
}

static bool look_into_cache(struct worker *worker, struct attempt *attempt)
{
    if (!(attempt->command.run.flags & WIRE_RUN_CACHE)) return true;
    return files_are(worker, attempt, files_look_up(&worker->files, attempt));
}

static bool prepare_files(struct worker *worker, struct attempt *attempt)
{
    const struct wire_run *message = &attempt->command.run;
    if (!message->inputs.count && !message->outputs.count) return true;
    if (!streams_join(worker, attempt, attempt->reason))
        return refuse(attempt, WIRE_NOT_STARTED, errno);
    return files_are(worker, attempt, files_prepare(&worker->files, attempt));
}

// Files in the private folder of the task were created by the worker.
static bool give_private(struct worker *worker, struct attempt *attempt)
{
    if (!(attempt->command.run.flags & WIRE_RUN_PRIVATE)) return true;
    if (user_give_tree(worker, attempt->command.directory)) return true;
    int error = errno;
    snprintf(attempt->reason, sizeof attempt->reason, "cannot give %s to the user of commands: %s",
             attempt->command.directory, strerror(error));
    return refuse(attempt, WIRE_NOT_STARTED, error);
}

static void say_why(struct attempt *attempt, const struct spawn *spawn)
{
    const char *why = strerror(spawn->error), *word = attempt->command.argv[0];
    size_t size = sizeof attempt->reason;
    switch (spawn->step) {
    case SPAWN_FORK:
        snprintf(attempt->reason, size, "cannot start a process for %s: %s", word, why);
        return;
    case SPAWN_USER: snprintf(attempt->reason, size, "cannot change the user: %s", why); return;
    case SPAWN_LIMIT:
        snprintf(attempt->reason, size, "cannot set limits for %s: %s", word, why);
        return;
    case SPAWN_DIRECTORY:
        snprintf(attempt->reason, size, "%s cannot run in %s: %s", word, spawn->directory, why);
        return;
    case SPAWN_STDIN:
        snprintf(attempt->reason, size, "%s cannot read %s: %s", word, spawn->stdin_path, why);
        return;
    case SPAWN_EXEC: break;
    }
    if (spawn->error == ENOENT && access(spawn->path, F_OK) == 0)
        why = "the interpreter in its first line does not exist";
    if (spawn->error == ENOEXEC) why = "neither a program nor a script with #! in its first line";
    snprintf(attempt->reason, size, "cannot run %s: %s", word, why);
}

static bool look_up(struct worker *worker, struct attempt *attempt, struct spawn *spawn)
{
    spawn->path = finder_find(&worker->finder, &attempt->command, &worker->environment);
    if (spawn->path) return true;
    spawn->error = errno;
    const char *word = attempt->command.argv[0];
    if (errno == ENOENT)
        snprintf(attempt->reason, sizeof attempt->reason, "no such command in PATH: \"%s\"", word);
    else
        snprintf(attempt->reason, sizeof attempt->reason, "cannot run %s: %s", word,
                 strerror(errno));
    return false;
}

// A program that was found before may have moved since.
static pid_t start(struct worker *worker, struct attempt *attempt, struct spawn *spawn)
{
    if (!look_up(worker, attempt, spawn)) return -1;
    pid_t pid = spawn_start(spawn);
    bool was_looked_up = spawn->path != attempt->command.argv[0];
    if (pid < 0 && spawn->step == SPAWN_EXEC && spawn->error == ENOENT && was_looked_up) {
        finder_forget(&worker->finder, spawn->path);
        if (!look_up(worker, attempt, spawn)) return -1;
        pid = spawn_start(spawn);
    }
    if (pid < 0) say_why(attempt, spawn);
    return pid;
}

static struct spawn spawn_of(struct worker *worker, struct attempt *attempt)
{
    const struct command *command = &attempt->command;
    const char *cwd = command->run.cwd.length ? command->run.cwd.bytes : command->directory;
    return (struct spawn){
        .directory = strcmp(cwd, ".") == 0 || strcmp(cwd, worker->cwd) == 0 ? NULL : cwd,
        .stdin_path = command->stdin_path,
        .argv = command->argv,
        .envp = command->envp,
        .output = attempt->output->write,
        .data_max = (uint64_t)command->run.memory_mib << 20,
        .files_max = worker->files_max,
        .user = worker->options->user,
        .dies_with_worker = !worker->is_init,
        .domain = worker->domain,
        .stack_end = worker->spawn_stack,
    };
}

bool attempt_begin(struct worker *worker, struct attempt *attempt)
{
    attempt->began = os_now();
    attempt->ticks = os_ticks();
    bool fine = is_permitted(worker, attempt) && look_into_cache(worker, attempt)
                && make_private(worker, attempt) && prepare_files(worker, attempt)
                && give_private(worker, attempt);
    if (!fine) return false;
    attempt->output = output_take(worker, attempt);
    if (!attempt->output) {
        int error = errno;
        snprintf(attempt->reason, sizeof attempt->reason, "cannot create a pipe for the output: %s",
                 strerror(error));
        return refuse(attempt, WIRE_NOT_STARTED, error);
    }
    struct spawn spawn = spawn_of(worker, attempt);
    attempt->pid = start(worker, attempt, &spawn);
    if (attempt->pid < 0) return refuse(attempt, WIRE_NOT_STARTED, spawn.error);
    attempt->state = ATTEMPT_RUNNING;
    int64_t timeout = attempt->command.run.timeout;
    attempt->timeout_due = timeout > 0 ? attempt->ticks + timeout : INT64_MAX;
    attempt->kill_due = attempt->sweep_due = INT64_MAX;
    return true;
}
