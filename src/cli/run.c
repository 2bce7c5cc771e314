// run.c - `rota run FILE`: runs the tasks of a job file on this machine.
#define _GNU_SOURCE
#include "cli/cli.h"
#include "store/sqlite/open.h"
#include "run/loop.h"
#include "os/os.h"
#include "os/json.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAP_BYTES = 256 << 10, OVERBOOK = 16, WAL_PAGES = 4096 };

// ---- Places -----------------------------------------------------------------------------------

// A pipe or a device may have no end or block, and has no folder of its own for .rota.
static bool file_is_regular(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) return true;
    fprintf(stderr, "%s: not a regular file\n", path);
    return false;
}

// Only the owner may read or change the database and the logs, whatever the umask is.
static bool hidden_make(const char *path)
{
    if (mkdir(path, 0700) == 0) return true;
    return errno == EEXIST && os_directory_make(path);
}

static bool places_find(struct runner *runner)
{
    runner->path = realpath(runner->options.path, NULL);
    char *copy = runner->path ? strdup(runner->path) : NULL;
    if (!copy) {
        fprintf(stderr, "%s: %s\n", runner->options.path, strerror(errno));
        return false;
    }
    if (!file_is_regular(runner->options.path)) return free(copy), false;
    runner->folder = strdup(dirname(copy));
    free(copy);
    if (!runner->folder || asprintf(&runner->hidden, "%s/.rota", runner->folder) < 0)
        os_out_of_memory();
    return true;
}

static int hidden_open(const struct runner *runner)
{
    if (hidden_make(runner->hidden)) return 0;
    fprintf(stderr, "rota: cannot create %s: %s (rota run keeps its database and logs there)\n",
            runner->hidden, strerror(errno));
    return 2;
}

static int store_open(struct runner *runner)
{
    struct store_options options = store_options_default();
    struct store_error error;
    char *path = runner_path(runner, "rota.db");
    options.wal_pages = WAL_PAGES;
    options.brief = options.is_run = true;
    runner->session.store = store_open_sqlite(path, &options, &error);
    free(path);
    if (runner->session.store) return 0;
    fprintf(stderr, "rota: %s%s\n", error.text,
            error.fault == STORE_IN_USE ? "; wait until it ends: one rota run uses a folder" : "");
    return store_exit_status(&error);
}

static int server_make(struct runner *runner)
{
    struct rota_config config = rota_config_default();
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    config.overbook = runner->cores * OVERBOOK;
    config.told_is_begun = true;
    if (!server_open(&runner->session.server, runner->session.store, &config))
        return session_failed(&runner->session);
    runner->run.server = &runner->session.server;
    rota_time now = os_now(), before = runner->session.server.now;
    runner->clock = (now > before ? now : before) - os_ticks();
    return 0;
}

// ---- Ending -----------------------------------------------------------------------------------

static void worker_end(struct runner *runner)
{
    if (runner->worker <= 0) return;
    if (!runner->all_held)
        kill(runner->worker, SIGKILL);  // it may be waiting for the worker of another run
    else if (!runner->quitting && !runner->worker_is_gone)
        runner_quit(runner, 0);
    close(runner->socket);
    waitpid(runner->worker, NULL, 0);
}

static int status_of(const struct runner *runner)
{
    const struct run *run = &runner->run;
    if (runner->fault) return runner->fault;
    if (runner->interrupts) return 130;
    if (run->count[RUN_FAILED]) return 1;
    if (run->count[RUN_ABORTED]) return 3;
    return run_left(run) ? 5 : 0;
}

static int work(struct runner *runner)
{
    int status = runner_begin(runner);
    if (status) return status;
    progress_open(&runner->progress, &runner->options, &runner->run, runner->hidden);
    runner_loop(runner);
    status = status_of(runner);
    runner->is_done = status == 0 && !runner->options.only && !runner->file.has_globs;
    summary_print(&runner->progress, os_now(), status);
    return status;
}

// ---- The command ------------------------------------------------------------------------------

static int file_digest(struct runner *runner)
{
    size_t size;
    char *bytes = os_file_read(runner->path, JOBFILE_SIZE_MAX, &size);
    if (!bytes) {
        fprintf(stderr, "%s: %s\n", runner->options.path, strerror(errno));
        return 2;
    }
    runner->digest = run_hash(bytes, size) >> 1;
    free(bytes);
    return 0;
}

// "500M"; 0: the variable is not set.
static bool cache_max_read(uint64_t *bytes)
{
    static const char suffixes[] = "KMG";
    const char *text = getenv("ROTA_CACHE_MAX");
    char *end;
    *bytes = 0;
    if (!text || !*text) return true;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    *bytes = (uint64_t)number << shift;
    bool fits = !errno && number && *text >= '0' && *text <= '9' && *bytes >> shift == number;
    if (fits && (!*end || (suffix && !end[1]))) return true;
    fprintf(stderr, "rota: ROTA_CACHE_MAX needs a size such as 500M or 20G, not '%s'\n", text);
    return false;
}

// Once: the limits are in files of the kernel.
static void capacity_read(struct runner *runner)
{
    struct os_share share;
    if (runner->cores) return;
    os_share_read(&share);
    runner->cores = runner->options.jobs ? runner->options.jobs : share.processors;
    runner->memory_mib = share.memory_mib;
}

static int worker_begin(struct runner *runner)
{
    struct worker_options options = {.folder = runner->hidden, .name = "local"};
    if (!cache_max_read(&options.cache_max)) return 2;
    capacity_read(runner);
    options.cores = runner->cores;
    options.memory_mib = runner->memory_mib;
    options.contain = runner->options.contain;
    options.is_known = runner->all_held = worker_folder_is_free(runner->hidden);
    runner->worker = worker_fork(&options, &runner->socket);
    if (runner->worker > 0) return 0;
    fprintf(stderr, "rota: cannot start the worker process: %s\n", strerror(errno));
    return 70;
}

static void previous_say(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "rota: %s\n", text);
}

// If a run was killed together with its worker process, its commands may still be ending. The lock
// of the database keeps other runs out of this.
static int worker_succeed(struct runner *runner)
{
    if (!worker_previous_await(runner->hidden, runner->signals, previous_say, NULL)) return 130;
    if (worker_note(runner->hidden, runner->worker)) return 0;
    fprintf(stderr, "rota: %s/process: %s\n", runner->hidden, strerror(errno));
    return 70;
}

static int only_refuse(const struct jobfile *file, const char *names, const char *path)
{
    struct word_meant meant = {0};
    char *name = strndup(names, strcspn(names, ","));
    if (!name) os_out_of_memory();
    for (uint32_t i = 0; i < file->task_count; i++) word_try(&meant, name, file->tasks[i].name);
    fprintf(stderr, "rota run: --only: no such task in %s: ", path);
    plain_write(stderr, name, strlen(name));
    if (meant.word) fprintf(stderr, " (did you mean %s?)", meant.word);
    fputc('\n', stderr);
    free(name);
    return 2;
}

static int file_load(struct runner *runner)
{
    if (!jobfile_load(&runner->file, runner->options.path)) return 2;
    runner->file.path = runner->path;
    run_open(&runner->run, &runner->file, runner->folder);
    runner->run.digest = run_digest(&runner->run, runner->digest);
    gethostname(runner->host, sizeof runner->host - 1);
    runner->run.host = runner->host;
    run_sign(&runner->run, os_stamp);
    runner->run.keep_going |= runner->options.keep_going;
    const char *unknown
        = runner->options.only ? run_only(&runner->run, runner->options.only) : NULL;
    if (!unknown) return 0;
    return only_refuse(&runner->file, unknown, runner->options.path);
}

static bool streams_fit(const struct runner *runner)
{
    uint32_t task, need;
    if (run_streams_fit(&runner->file, runner->cores, &task, &need)) return true;
    fprintf(stderr,
            "%s: %s and the tasks that share streams with it run at the same time and need %u"
            " cores, but there are %u (try -j %u)\n",
            runner->options.path, runner->file.tasks[task].name, need, runner->cores, need);
    return false;
}

static int file_check(struct runner *runner)
{
    int status = file_load(runner);
    capacity_read(runner);
    return status || streams_fit(runner) ? status : 2;
}

static int run_dry(struct runner *runner)
{
    char *path = runner_path(runner, "rota.db");
    bool there = os_file_is_there(path);
    free(path);
    int status = file_check(runner);
    if (!status && there) status = store_open(runner);
    if (!status && there) status = server_make(runner);
    return status ? status : runner_look(runner);
}

static void nothing_print(const struct run_options *options)
{
    struct json json = {.out = stdout};
    if (!options->json) {
        if (!options->quiet) puts("nothing to do");
        return;
    }
    json_open(&json, NULL, '{');
    json_string(&json, "event", "over");
    json_number(&json, "exit", "0");
    json_number(&json, "ok", "0");
    json_bool(&json, "nothing_to_do", true);
    json_line(&json);
}

static int run_file(struct runner *runner)
{
    int status = file_digest(runner);
    if (status) return status;
    if (runner->options.dry) return run_dry(runner);
    bool is_new = !os_file_is_there(runner->hidden);  // a run that is refused leaves no folder
    if (is_new) status = file_check(runner);
    if (!status) status = hidden_open(runner);
    if (status) return status;
    if (runner_has_nothing_to_do(runner)) {
        nothing_print(&runner->options);
        return 0;
    }
    runner->signals = os_signals_open();
    status = worker_begin(runner);  // early: a small process is copied faster
    if (status) return status;
    os_memory_ready(HEAP_BYTES);
    status = store_open(runner);
    if (!status) status = worker_succeed(runner);
    if (!status && !is_new) status = file_load(runner);
    if (status) return status;
    if (!runner_meet(runner)) return runner->fault;
    if (!streams_fit(runner)) return 2;
    status = server_make(runner);
    return status ? status : work(runner);
}

static int options_check(const struct command *command, const struct run_options *options)
{
    if (options->quiet && options->verbose)
        return command_wrong(command, "options --quiet and --verbose exclude each other");
    if (strcmp(options->path, "-") == 0)
        return command_wrong(command, "cannot run a job file from the standard input: it has no "
                                      "folder for the files and the database");
    return -1;
}

static int run(const struct command *command, int count, char **words)
{
    struct runner runner = {.socket = -1, .settled = -1, .control = -1};
    struct arguments arguments;
    int status = options_read(command, &runner.options, NULL, &arguments, count, words);
    if (status < 0) {
        runner.options.path = arguments.items[0];
        status = options_check(command, &runner.options);
    }
    if (status >= 0) return status;
    status = places_find(&runner) ? run_file(&runner) : 2;
    worker_end(&runner);
    run_release(&runner.run);
    run_held_release(&runner.held);
    progress_release(&runner.progress);
    wire_in_release(&runner.in);
    wire_out_release(&runner.out);
    session_close(&runner.session);
    runner_note_done(&runner);
    free(runner.watched);
    jobfile_release(&runner.file);
    free(runner.path), free(runner.folder), free(runner.hidden);
    return status;
}

static const struct option_row rows[] = {
    {'j', "jobs", "N", "number of cores that tasks may use together; a task uses 1, or its cpus",
     OPTION_NUMBER,
     .at = offsetof(struct run_options, jobs), .least = 1, .most = 100000,
     .preset = "the number of cores"},
    {'k', "keep-going", "", "after a failure, run all tasks that do not depend on the failed one; "
     "job files with conditions such as failed(x) or done(x) always do so", OPTION_FLAG,
     .at = offsetof(struct run_options, keep_going)},
    {'n', "dry-run", "", "list the tasks that would run, and run nothing", OPTION_FLAG,
     .at = offsetof(struct run_options, dry)},
    {0, "fresh", "", "run all tasks, as if none had run before", OPTION_FLAG,
     .at = offsetof(struct run_options, fresh)},
    {0, "only", "NAME,...", "run only these tasks and their dependencies", OPTION_PATH,
     .at = offsetof(struct run_options, only), .needs = "names of tasks"},
    {0, "json", "", "print each event as a JSON object on a line of its own", OPTION_FLAG,
     .at = offsetof(struct run_options, json)},
    {'q', "quiet", "", "print only failures", OPTION_FLAG,
     .at = offsetof(struct run_options, quiet)},
    {'v', "verbose", "", "print a line for each task, on a terminal too", OPTION_FLAG,
     .at = offsetof(struct run_options, verbose)},
    {0, "contain", "best|tree", "how to kill every process of a task: with a process namespace "
     "where the system allows one, or always as a tree of processes", OPTION_CHOICE,
     .at = offsetof(struct run_options, contain), .preset = "best"},
    OPTION_ROWS_END};

const struct command run_command = {
    .name = "run",
    .summary = "run the tasks of a job file on this machine, or resume them",
    .group = GROUP_RUN,
    .is_everyday = true,
    .argument = {ARGUMENT_FILE, "FILE", 1, 1},
    .run = run,
    .options = rows,
    .usage = "[OPTION...] FILE\n",
    .text = "Runs the tasks that have not succeeded yet, and those that have changed: their "
            "command, their environment, the files they read or a dependency. A run can be "
            "interrupted or killed at any time; the next one resumes it.\n"
            "The database, the logs and the cache are in the folder .rota next to the job file. "
            "$ROTA_CACHE_MAX limits the size of the cache, such as 500M (default: 10G).\n"
            "SIGINT or SIGTERM stops the running tasks, which have 5 seconds to end; a second "
            "signal kills them.\n",
    .examples = "rota run build.yaml\trun a job file; the same command resumes it\n"
                "rota run -j 8 -k build.yaml\tuse up to 8 cores, and continue after failures\n"
                "rota run -n build.yaml\tlist what would run\n",
    .exits = "0\tall tasks succeeded\n1\ta task failed\n"
             "2\tthe job file or an option is wrong, or another rota run uses this folder\n"
             "3\tthe job was cancelled\n5\tthe remaining tasks cannot run\n"
             "70\tthe disk or the worker process failed\n130\tinterrupted\n",
};
