// open.c - opens and closes a worker: signals, files, folder, /proc.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/user.h"
#include "worker/process/signal_wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

// ---- Signals ------------------------------------------------------------------------------------

// The C library reserves two signals and refuses to change them, but passes them on as ignored to
// the processes it starts: children of make have them ignored. The system call has no such
// restriction.
static void signal_reset(int number)
{
    unsigned long plain[4] = {0};  // in the layout of the kernel: handler, flags, restorer, mask
    syscall(SYS_rt_sigaction, number, plain, NULL, sizeof *plain);
}

// No handlers, so that a new process need not reset them, and a mask that it only has to empty.
// Signals of the terminal are for the server to handle.
static int hold_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP) signal_reset(number);
    sigset_t held, children;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&held, faults[i]);
    sigprocmask(SIG_SETMASK, &held, NULL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

// ---- Files -------------------------------------------------------------------------------------

// The standard input of the worker is that of its commands: /dev/null.
static bool open_standard_files(struct worker *worker)
{
    worker->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (worker->null < 0) return false;
    bool has_errors = fcntl(2, F_GETFD) >= 0;
    if (worker->null < 3) {  // some were closed
        int moved = fcntl(worker->null, F_DUPFD_CLOEXEC, 3);
        if (moved < 0) return false;
        close(worker->null);
        worker->null = moved;
    }
    return dup2(worker->null, 0) == 0 && dup2(worker->null, 1) == 1
           && (has_errors || dup2(worker->null, 2) == 2);
}

// Six files for each core are enough for pipes and logs, and one more of each while another ends;
// the cache has up to a hundred.
static void raise_file_limit(struct worker *worker)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)worker->cores * 6 + 192;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need) return;
    worker->files_max = (uint32_t)limit.rlim_cur;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) worker->files_max = 0;
}

// Two workers with one folder could run a task twice. A worker whose server was killed still has to
// end its commands: this one waits for that, and the system ends the wait if that worker is killed,
// too.
static bool folder_lock(const char *folder)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (file >= 0 && flock(file, LOCK_EX) != 0)
        if (errno != EINTR) return false;
    return file >= 0;
}

bool worker_folder_is_free(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/cache", folder) >= (int)sizeof path) return false;
    if (access(path, F_OK) == 0 || errno != ENOENT) return false;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_free = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
    if (file >= 0) close(file);
    return is_free;
}

// The subfolders are created when they are first needed.
static bool find_folder(struct worker *worker, const char *folder)
{
    char path[PATH_MAX];
    if (!os_directory_make(folder)) return false;
    worker->folder = realpath(folder, NULL);
    worker->cwd = getcwd(NULL, 0);
    if (!worker->cwd) worker->cwd = strdup("");
    if (!worker->folder || !worker->cwd || !folder_lock(worker->folder)) return false;
    snprintf(path, sizeof path, "%s/work", worker->folder);
    return os_tree_remove(path);
}

// ---- Processes ---------------------------------------------------------------------------------

// In its own namespace the /proc of another is worse than none, because it shows other process ids.
static void open_proc(struct worker *worker)
{
    char path[64];
    ssize_t length = readlink("/proc/self", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    worker->has_proc = strtol(path, NULL, 10) == worker->pid;
    worker->children = -1;
    if (!worker->has_proc) return;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)worker->pid);
    worker->children = open(path, O_RDONLY | O_CLOEXEC);
}

static bool watch(struct worker *worker, int file, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, file, &event) == 0;
}

bool worker_init(struct worker *worker, int socket, const struct worker_options *options)
{
    *worker = (struct worker){.options = options, .socket = socket};
    worker->started_due = INT64_MAX;
    worker->epoll = worker->signals = worker->children = worker->null = worker->domain = -1;
    worker->tee_loop = -1;
    worker->cores = options->cores ? options->cores : 1;
    worker->log_max = options->log_max ? options->log_max : WORKER_LOG_MAX;
    worker->pid = getpid();
    worker->is_init = worker->pid == 1 && options->contain == WORKER_CONTAIN_BEST;
    if (!worker->is_init) prctl(PR_SET_CHILD_SUBREAPER, 1);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    raise_file_limit(worker);
    open_proc(worker);
    if (!open_standard_files(worker) || !find_folder(worker, options->folder)) return false;
    worker->files.folder = worker->folder;
    if (!user_prepare(worker)) return false;
    worker->files.user = options->user;
    worker->files.cache_max = options->cache_max ? options->cache_max : WORKER_CACHE_MAX;
    if (options->separates_commands) worker->domain = signal_wall_open();
    // Commands inherit it. Where they can signal each other it would not protect them.
    worker->keeps_limits = worker->domain >= 0 && limit_filter_enter();
    worker->signals = hold_signals();
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->spawn_stack = spawn_stack();
    worker->waste = malloc(LOG_RAW);
    return worker->signals >= 0 && worker->epoll >= 0 && worker->spawn_stack && worker->waste
           && environment_init(&worker->environment, options, environ)
           && watch(worker, socket, &worker->socket)
           && watch(worker, worker->signals, &worker->signals) && fence_begin(worker);
}

// ---- Closing --------------------------------------------------------------------------------

static void list_release(struct attempt_list *list)
{
    for (struct attempt *attempt; (attempt = attempt_take_first(list));) {
        free(attempt->command.block);
        free(attempt);
    }
}

static void close_all(struct worker *worker)
{
    const int files[]
        = {worker->epoll, worker->signals, worker->children, worker->null, worker->socket,
           worker->tee_loop, worker->domain};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0) close(files[i]);
}

void worker_release(struct worker *worker)
{
    streams_release(worker);
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct attempt *attempt = worker->running[i];
        if (attempt->log) log_writer_end(attempt->log), log_writer_close(attempt->log);
        output_close(worker, attempt->output);
        attempt_append(&worker->idle, attempt);
    }
    for (struct output *output = worker->outputs, *next; output; output = next) {
        next = output->next;
        output_close(worker, output);
    }
    for (struct log_writer *log = worker->logs, *next; log; log = next) {
        next = log->next;
        log_writer_close(log);
    }
    list_release(&worker->queue);
    list_release(&worker->ended);
    list_release(&worker->pouring);
    list_release(&worker->idle);
    files_release(&worker->files);
    environment_release(&worker->environment);
    finder_release(&worker->finder);
    wire_in_release(&worker->in);
    wire_out_release(&worker->out);
    free(worker->running);
    free(worker->strays);
    free(worker->folder);
    free(worker->cwd);
    free(worker->waste);
    close_all(worker);
}
