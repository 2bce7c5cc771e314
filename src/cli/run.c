// run.c - `rota run FILE`: a job file with real processes, on this machine.
#define _GNU_SOURCE
#include "cli/runner.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[]
    = "usage: rota run [OPTION...] FILE\n\n"
      "    rota run build.yaml            run it; again, and it goes on where it stopped\n"
      "    rota run -j 8 -k build.yaml    eight at a time, and go on after failures\n"
      "    rota run -n build.yaml         only say what would run\n\n"
      "    -j, --jobs N      so many at a time (as many as there are processors)\n"
      "    -k, --keep-going  after a failure run all that does not need what failed\n"
      "    -n, --dry-run     run nothing; list what would run\n"
      "    --fresh           forget what was done before\n"
      "    --only NAME,...   only these tasks and what they need\n"
      "    --json            one object a line for each event\n"
      "    -q, --quiet       only failures\n"
      "    -v, --verbose     a line for each task, on a terminal too\n\n"
      "Exit status: 0 all is done, 1 a task failed, 2 the file or an option is wrong, 3 "
      "cancelled,\n"
      "5 nothing can go on, 70 the disk or the worker failed, 130 interrupted.\n";

// A shortcut pays when reading the database takes longer than the rest.
enum {
    SHORTCUT_TASKS = 10,
    HEAP_BYTES = 768 << 10,
    OVERBOOK = 32,
    WAL_PAGES = 2048,
    FRESH = 256,
    ONLY,
    JSON,
    CONTAIN
};

// ---- Options ---------------------------------------------------------------------------------

static bool number_read(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || !*text || *text == '-' || value < 1 || value > 100000) return false;
    *number = (uint32_t)value;
    return true;
}

static bool option_take(struct run_options *options, int option)
{
    switch (option) {
    case 'j': return number_read(optarg, &options->jobs);
    case 'k': return options->keep_going = true;
    case 'n': return options->dry = true;
    case 'q': return options->quiet = true;
    case 'v': return options->verbose = true;
    case FRESH: return options->fresh = true;
    case JSON: return options->json = true;
    case ONLY: return *(options->only = optarg) != 0;
    case CONTAIN:
        options->contain = WORKER_CONTAIN_TREE;
        return strcmp(optarg, "tree") == 0 || strcmp(optarg, "best") == 0;
    default: return false;
    }
}

// -1: go on; else the exit status.
static int options_read(struct run_options *options, int count, char **words)
{
    static const struct option longs[] = {{"jobs", required_argument, NULL, 'j'},
                                          {"keep-going", no_argument, NULL, 'k'},
                                          {"dry-run", no_argument, NULL, 'n'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"fresh", no_argument, NULL, FRESH},
                                          {"only", required_argument, NULL, ONLY},
                                          {"json", no_argument, NULL, JSON},
                                          {"contain", required_argument, NULL, CONTAIN},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;
    optind = 1;
    while ((option = getopt_long(count + 1, words - 1, "j:knqvh", longs, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option_take(options, option)) continue;
        if (option != '?') fprintf(stderr, "rota run: '%s' cannot be used there\n", optarg);
        fputs("'rota run --help' says more\n", stderr);
        return 2;
    }
    if (options->quiet && options->verbose) {
        fputs("rota run: --quiet and --verbose cannot both be meant\n", stderr);
        return 2;
    }
    if (optind != count) {
        fputs(usage, stderr);
        return 2;
    }
    options->path = words[optind - 1];
    return -1;
}

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

static char *hidden_path(const struct runner *runner, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", runner->hidden, name) < 0) run_no_memory();
    return path;
}

static int store_open(struct runner *runner)
{
    struct store_options options = store_options_default();
    struct store_error error;
    char *path = hidden_path(runner, "rota.db");
    options.wal_pages = WAL_PAGES;
    options.brief = true;
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
    config.overbook = runner->cores * 2 > OVERBOOK ? runner->cores * 2 : OVERBOOK;
    if (!server_open(&runner->session.server, runner->session.store, &config))
        return session_failed(&runner->session);
    runner->run.server = &runner->session.server;
    return 0;
}

// ---- Beginning --------------------------------------------------------------------------------

// In the first turn: a job of an earlier run goes on, or a new one begins.
static int job_begin(struct runner *runner)
{
    struct run *run = &runner->run;
    struct server *server = run->server;
    struct run_entry entry;
    runner->watched = run_watched(run, os_stamp);
    bool known = run_entry_find(runner->session.store, runner->path, &entry);
    bool same = known && entry.digest == run->digest && !runner->options.fresh
                && run_watched_is_same(entry.watched, runner->folder, os_stamp);
    server_begin(server, os_now());
    if (!run_machines(run)) return session_failed(&runner->session);
    run_join(run, runner->cores, runner->memory_mib);
    if (same) {
        run->job = entry.job;
        run_resume(run, &runner->held);
        return 0;
    }
    run_replace_worker(run);
    bool *carried = run_allocate(run->file->task_count, sizeof *carried);
    rota_job_id old = {known && !runner->options.fresh ? entry.job.number : 0};
    run_carry(run, old, &runner->held, os_stamp, carried);
    enum rota_error error = run_submit(run, carried);
    if (error) {
        fprintf(stderr, "%s: %s\n", runner->options.path, server->reason);
        free(carried);
        return 2;
    }
    if (known) {
        struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {entry.job}};
        server_step(server, &event);
    }
    run_entry_put(run, runner->path, runner->watched);
    run_carry_out(run, carried, &runner->held);
    free(carried);
    return 0;
}

static int first_turn(struct runner *runner)
{
    struct run *run = &runner->run;
    int status = job_begin(runner);
    if (status) return status;
    runner->turn = server_commit_write(run->server);
    if (!runner->turn) return session_failed(&runner->session);
    run_perform(run, &runner->out);
    return 0;
}

// ---- Ending -----------------------------------------------------------------------------------

static void worker_end(struct runner *runner)
{
    if (runner->worker <= 0) return;
    if (!runner->quitting && !runner->worker_is_gone) runner_quit(runner, 0);
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
    int status = first_turn(runner);
    if (status) return status;
    progress_open(&runner->progress, &runner->options, &runner->run, runner->hidden);
    runner_loop(runner);
    status = status_of(runner);
    runner->is_done = status == 0 && !runner->options.only;
    summary_print(&runner->progress, os_now(), status);
    return status;
}

// ---- The shortcut -----------------------------------------------------------------------------

static char *done_path(const struct runner *runner)
{
    char name[40];
    uint64_t hash = run_hash(runner->path, strlen(runner->path));
    snprintf(name, sizeof name, "done-%016llx", (unsigned long long)hash);
    return hidden_path(runner, name);
}

static uint64_t database_stamp(const struct runner *runner)
{
    return hash_mix(os_stamp(runner->hidden, "rota.db"), os_stamp(runner->hidden, "rota.db-wal"));
}

static bool nothing_to_do(const struct runner *runner)
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

// The database is closed: it is as the next run will find it.
static void done_note(const struct runner *runner)
{
    char *path = done_path(runner);
    char *text = run_done_text(runner->digest, database_stamp(runner), runner->watched);
    os_file_write(path, text, strlen(text));  // without it the next run only takes longer
    free(path);
    free(text);
}

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

static int worker_begin(struct runner *runner)
{
    struct worker_options options = {.folder = runner->hidden, .name = "local"};
    options.cores = runner->options.jobs ? runner->options.jobs : os_processors();
    options.memory_mib = os_memory_mib();
    options.contain = runner->options.contain;
    runner->worker = worker_fork(&options, &runner->socket);
    if (runner->worker > 0) return 0;
    fprintf(stderr, "rota: no worker can be started: %s\n", strerror(errno));
    return 70;
}

static int file_load(struct runner *runner)
{
    if (!jobfile_read(&runner->file, runner->options.path)) {
        jobfile_errors_write(&runner->file, stderr);
        return 2;
    }
    runner->file.path = runner->path;
    run_open(&runner->run, &runner->file, runner->folder);
    runner->run.digest = runner->digest;
    gethostname(runner->host, sizeof runner->host - 1);
    runner->run.host = runner->host;
    run_sign(&runner->run, os_stamp);
    const char *unknown
        = runner->options.only ? run_only(&runner->run, runner->options.only) : NULL;
    if (!unknown) return 0;
    fprintf(stderr, "rota run: --only: there is no task '%.*s' in %s\n", (int)strcspn(unknown, ","),
            unknown, runner->options.path);
    return 2;
}

// What a run would do now, and nothing else.
static int dry_run(struct runner *runner)
{
    struct run *run = &runner->run;
    struct run_entry entry = {0};
    bool *done = run_allocate(run->file->task_count, sizeof *done);
    bool known = runner->session.store && !runner->options.fresh
                 && run_entry_find(runner->session.store, runner->path, &entry);
    if (runner->session.store)
        run_carry(run, known ? entry.job : (rota_job_id){0}, NULL, os_stamp, done);
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        const struct jobfile_task *task = &run->file->tasks[run->order[i]];
        if (task->is_bundle || done[run->order[i]] || !run_wants(run, run->order[i])) continue;
        count++;
        if (runner->options.json) {
            fputs("{\"task\":", stdout), json_text(stdout, task->name);
            fputs(",\"command\":", stdout), json_text(stdout, task->command), puts("}");
        } else {
            printf("%s: %s\n", task->name, task->command);
        }
    }
    if (!runner->options.json)
        printf("%u of %u would run\n", count, run->file->task_count - run->file->bundle_count);
    free(done);
    return 0;
}

static int run_dry(struct runner *runner)
{
    char *path = hidden_path(runner, "rota.db");
    bool there = os_file_is_there(path);
    free(path);
    int status = file_load(runner);
    if (!status && there) status = store_open(runner);
    if (!status && there) status = server_make(runner);
    return status ? status : dry_run(runner);
}

static int run_file(struct runner *runner)
{
    int status = file_digest(runner);
    if (status) return status;
    if (runner->options.dry) return run_dry(runner);
    if (nothing_to_do(runner)) {
        if (!runner->options.quiet && !runner->options.json) puts("nothing to do");
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
    status = server_make(runner);
    return status ? status : work(runner);
}

// What we open next must not become our standard output: a text would end in a database. And a
// umask may not lock us out of our own files.
static void surroundings_mend(void)
{
    int file;
    while ((file = open("/dev/null", O_RDWR)) >= 0 && file <= STDERR_FILENO) continue;
    if (file >= 0) close(file);
    umask(umask(0777) & ~0700u);
}

int command_run(int count, char **words)
{
    struct runner runner = {.socket = -1, .settled = -1, .control = -1};
    surroundings_mend();
    int status = options_read(&runner.options, count, words);
    if (status >= 0) return status;
    status = places_find(&runner) ? run_file(&runner) : 2;
    worker_end(&runner);
    run_release(&runner.run);
    run_held_release(&runner.held);
    progress_release(&runner.progress);
    wire_in_release(&runner.in);
    wire_out_release(&runner.out);
    session_close(&runner.session);
    if (runner.is_done && runner.file.task_count >= SHORTCUT_TASKS) done_note(&runner);
    free(runner.watched);
    jobfile_release(&runner.file);
    free(runner.path), free(runner.folder), free(runner.hidden);
    return status;
}
