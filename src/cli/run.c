// run.c - `rota run FILE`: a job file with real processes, on this machine.
#define _GNU_SOURCE
#include "run/loop.h"
#include "os/os.h"

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

// Anything else may have no end, or keep us waiting, and its folder is not ours to write in.
static bool file_is_regular(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) return true;
    fprintf(stderr, "%s: this is not a regular file\n", path);
    return false;
}

// Others may not change what is done here, nor see what is printed, whatever the umask says.
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
        run_no_memory();
    if (runner->options.dry || hidden_make(runner->hidden)) return true;
    fprintf(stderr, "rota: %s: %s\n", runner->hidden, strerror(errno));
    return false;
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
    if (error.fault == STORE_IN_USE) fprintf(stderr, "rota: another rota run is at work here\n");
    fprintf(stderr, "rota: %s\n", error.text);
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

// "500M"; 0: it is not said how large the cache may be.
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
    fprintf(stderr, "rota: ROTA_CACHE_MAX is not a size such as 500M or 20G: %s\n", text);
    return false;
}

static int worker_begin(struct runner *runner)
{
    struct worker_options options = {.folder = runner->hidden, .name = "local"};
    if (!cache_max_read(&options.cache_max)) return 2;
    struct os_share share;
    os_share_read(&share);
    options.cores = runner->options.jobs ? runner->options.jobs : share.processors;
    options.memory_mib = share.memory_mib;
    options.contain = runner->options.contain;
    options.is_known = runner->all_held = worker_folder_is_free(runner->hidden);
    runner->cores = options.cores;
    runner->memory_mib = options.memory_mib;
    runner->worker = worker_fork(&options, &runner->socket);
    if (runner->worker > 0) return 0;
    fprintf(stderr, "rota: no worker can be started: %s\n", strerror(errno));
    return 70;
}

static int only_refuse(const struct jobfile *file, const char *names, const char *path)
{
    struct word_meant meant = {0};
    char *name = strndup(names, strcspn(names, ","));
    if (!name) run_no_memory();
    for (uint32_t i = 0; i < file->task_count; i++) word_try(&meant, name, file->tasks[i].name);
    fprintf(stderr, "rota run: --only: there is no task '");
    plain_write(stderr, name, strlen(name));
    fprintf(stderr, "' in %s", path);
    if (meant.word) fprintf(stderr, "; did you mean '%s'?", meant.word);
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
            "%s: %s and those it shares streams with run side by side; they take %u"
            " processors, and there are %u: try -j %u\n",
            runner->options.path, runner->file.tasks[task].name, need, runner->cores, need);
    return false;
}

static int run_dry(struct runner *runner)
{
    char *path = runner_path(runner, "rota.db");
    bool there = os_file_is_there(path);
    free(path);
    int status = file_load(runner);
    struct os_share share;
    os_share_read(&share);
    runner->cores = runner->options.jobs ? runner->options.jobs : share.processors;
    if (!status && !streams_fit(runner)) return 2;
    if (!status && there) status = store_open(runner);
    if (!status && there) status = server_make(runner);
    return status ? status : runner_look(runner);
}

static void nothing_print(const struct run_options *options)
{
    if (options->json)
        puts("{\"event\":\"over\",\"exit\":0,\"ok\":0,\"nothing_to_do\":true}");
    else if (!options->quiet)
        puts("nothing to do");
}

static int run_file(struct runner *runner)
{
    int status = file_digest(runner);
    if (status) return status;
    if (runner->options.dry) return run_dry(runner);
    if (runner_has_nothing_to_do(runner)) {
        nothing_print(&runner->options);
        return 0;
    }
    runner->signals = os_signals_open();
    status = worker_begin(runner);  // early: the less we have, the less it begins with
    if (status) return status;
    os_memory_ready(HEAP_BYTES);
    status = store_open(runner);
    if (!status) status = file_load(runner);
    if (status) return status;
    if (!runner_meet(runner)) return runner->fault;
    if (!streams_fit(runner)) return 2;
    status = server_make(runner);
    return status ? status : work(runner);
}

int command_run(int count, char **words)
{
    struct runner runner = {.socket = -1, .settled = -1, .control = -1};
    int status = run_options_read(&runner.options, count, words);
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
