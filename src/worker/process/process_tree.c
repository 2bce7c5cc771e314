// process_tree.c - finds and signals all processes of an attempt, even if they try to hide.
//
// A process belongs to an attempt by its parent, its process group, its session, or the variables
// ROTA_TASK, ROTA_ATTEMPT and ROTA_TOKEN in its environment; if all these are gone, by the time it
// began. All processes are read from /proc. Processes that lose their parent become children of the
// worker, which is the subreaper or the first process of a namespace, so none can escape.
//
// The result of a scan belongs to the call that made it; a process id may be reused at any moment,
// so a process is held by a pidfd and checked again before it is signalled. Processes may start or
// end during a scan: signals are repeated until none is found. Without /proc only the process group
// can be signalled. In a namespace that runs a single command, one kill() reaches all.
#define _GNU_SOURCE
#include "worker/process/internal.h"
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group, session;
    uint64_t began;   // clock ticks since the machine was booted
    struct attempt *attempt;  // null: not known
    char state;
    int threads;
    bool is_ours;     // a descendant of the worker
    bool is_nobodys;  // of an attempt that has ended
};

struct processes {
    struct process *items;
    uint32_t count, capacity;
};

// ---- Reading /proc -----------------------------------------------------------------------------

static ssize_t read_proc(pid_t pid, const char *what, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t total = 0;
    for (ssize_t got; (size_t)total + 1 < size; total += got) {
        got = read(file, out + total, size - 1 - (size_t)total);
        if (got <= 0) break;
    }
    close(file);
    out[total] = 0;
    return total;
}

static bool process_read(struct process *process, pid_t pid)
{
    char text[1024];
    *process = (struct process){.pid = pid};
    if (read_proc(pid, "stat", text, sizeof text) <= 0) return false;
    const char *after_name = strrchr(text, ')');  // the name may contain any character
    if (!after_name) return false;
    int count = sscanf(after_name + 1,
                       " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d"
                       " %" SCNu64,
                       &process->state, &process->parent, &process->group, &process->session,
                       &process->threads, &process->began);
    return count == 6;
}

// The first thread of a process may have ended while others continue.
static bool is_dead(const struct process *process)
{
    return process->state == 'X' || (process->state == 'Z' && process->threads <= 1);
}

static int by_pid(const void *a, const void *b)
{
    const struct process *one = a, *other = b;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

static void processes_read(struct processes *all)
{
    DIR *directory = opendir("/proc");
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end || pid <= 0) continue;
        if (!ARRAY_MORE_RAW(&memory_heap, all->items, all->count, all->capacity)) break;
        all->count += process_read(&all->items[all->count], (pid_t)pid);
    }
    closedir(directory);
    if (all->count) qsort(all->items, all->count, sizeof *all->items, by_pid);
}

static struct process *process_find(const struct processes *all, pid_t pid)
{
    struct process key = {.pid = pid};
    return all->count ? bsearch(&key, all->items, all->count, sizeof key, by_pid) : NULL;
}

// ---- Which attempt a process belongs to -----------------------------------------------------

static struct attempt *attempt_of_leader(const struct worker *worker, pid_t pid)
{
    for (uint32_t i = 0; i < worker->running_count; i++)
        if (worker->running[i]->state == ATTEMPT_RUNNING && worker->running[i]->pid == pid)
            return worker->running[i];
    return NULL;
}

static struct attempt *attempt_of_group(const struct worker *worker, const struct process *process)
{
    for (uint32_t i = 0; i < worker->running_count; i++) {
        pid_t pid = worker->running[i]->pid;
        if (process->group == pid || process->session == pid) return worker->running[i];
    }
    return NULL;
}

static bool has_mark(const char *text, size_t length, const char *mark)
{
    size_t size = strlen(mark) + 1;
    for (const char *at = text; at < text + length; at += strlen(at) + 1)
        if ((size_t)(text + length - at) + 1 >= size && memcmp(at, mark, size) == 0) return true;
    return false;
}

static struct attempt *attempt_of_marks(const struct worker *worker, const struct process *process)
{
    enum { ENVIRONMENT_MAX = 256 << 10 };
    char *text = malloc(ENVIRONMENT_MAX);
    if (!text) return NULL;
    ssize_t length = read_proc(process->pid, "environ", text, ENVIRONMENT_MAX);
    struct attempt *found = NULL;
    for (uint32_t i = 0; i < worker->running_count && length > 0 && !found; i++) {
        char *const *marks = worker->running[i]->command.envp;  // id, attempt and token come first
        bool is_it = true;
        for (int k = 0; k < 3; k++) is_it = is_it && has_mark(text, (size_t)length, marks[k]);
        if (is_it) found = worker->running[i];
    }
    free(text);
    return found;
}

// When the process began, by the clock of the timers.
static int64_t ticks_of(const struct process *process)
{
    struct timespec boot, now;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t apart
        = (int64_t)(boot.tv_sec - now.tv_sec) * 1000000 + (boot.tv_nsec - now.tv_nsec) / 1000;
    return (int64_t)process->began * 1000000 / sysconf(_SC_CLK_TCK) - apart;
}

// It can only belong to an attempt that began before it. The clock of processes is coarse.
static struct attempt *attempt_of_time(const struct worker *worker, struct process *process)
{
    enum { COARSE = 20000 };
    int64_t began = ticks_of(process);
    uint32_t count = 0;
    struct attempt *found = NULL;
    for (uint32_t i = 0; i < worker->running_count; i++) {
        if (worker->running[i]->ticks > began + COARSE) continue;
        found = worker->running[i];
        count++;
    }
    process->is_nobodys = count == 0;
    return count == 1 ? found : NULL;
}

static void attribute_child(const struct worker *worker, struct process *process)
{
    process->is_ours = true;
    process->attempt = attempt_of_leader(worker, process->pid);
    if (!process->attempt) process->attempt = attempt_of_group(worker, process);
    if (!process->attempt) process->attempt = attempt_of_marks(worker, process);
    if (!process->attempt) process->attempt = attempt_of_time(worker, process);
}

static bool attribute_below(const struct processes *all, struct process *process)
{
    if (process->is_ours) return false;
    const struct process *parent = process_find(all, process->parent);
    if (!parent || !parent->is_ours) return false;
    process->is_ours = true;
    process->attempt = parent->attempt;
    process->is_nobodys = parent->is_nobodys;
    return true;
}

static void attribute_all(const struct worker *worker, struct processes *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].parent == worker->pid) attribute_child(worker, &all->items[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < all->count; i++) changed |= attribute_below(all, &all->items[i]);
    }
}

// All processes at present, and the attempt of each. The caller frees the items.
static struct processes processes_look(const struct worker *worker)
{
    struct processes all = {0};
    processes_read(&all);
    attribute_all(worker, &all);
    return all;
}

// ---- Signals -----------------------------------------------------------------------------------

// A stopped process is continued, because it would not receive the signal before.
static void send_signal(int process, int signal)
{
    syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
    if (signal == SIGTERM) syscall(SYS_pidfd_send_signal, process, SIGCONT, NULL, 0);
}

// The process id may have been reused, so the process is held first and checked again.
static void process_signal(const struct process *process, int signal)
{
    int held = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (held < 0) {
        if (errno != ESRCH) kill(process->pid, signal);
        return;
    }
    struct process again;
    if (process_read(&again, process->pid) && again.began == process->began)
        send_signal(held, signal);
    close(held);
}

static void remember_stray(struct worker *worker, const struct process *process)
{
    if (!process->attempt || process->parent != worker->pid) return;
    if (process->attempt->pid == process->pid) return;
    tree_forget(worker, process->pid);
    if (!ARRAY_MORE_RAW(&memory_heap, worker->strays, worker->stray_count, worker->stray_capacity))
        return;
    worker->strays[worker->stray_count++] = (struct stray){process->pid, process->attempt};
}

void tree_forget(struct worker *worker, pid_t pid)
{
    for (uint32_t i = 0; i < worker->stray_count; i++)
        if (worker->strays[i].pid == pid)
            worker->strays[i--] = worker->strays[--worker->stray_count];
}

void tree_forget_attempt(struct worker *worker, const struct attempt *attempt)
{
    for (uint32_t i = 0; i < worker->stray_count; i++)
        if (worker->strays[i].attempt == attempt)
            worker->strays[i--] = worker->strays[--worker->stray_count];
}

// Without /proc only the process group is known, and whether an attempt is the only one.
static uint32_t group_signal(const struct worker *worker, const struct attempt *attempt, int signal)
{
    bool is_alone = worker->is_init && worker->running_count == 1;
    return kill(is_alone ? -1 : -attempt->pid, signal) == 0;
}

uint32_t tree_signal(struct worker *worker, struct attempt *attempt, int signal)
{
    if (!worker->has_proc) return group_signal(worker, attempt, signal);
    // No process can be started in between if all are killed with one call.
    if (signal == SIGKILL && worker->is_init && worker->running_count == 1) kill(-1, SIGKILL);
    struct processes all = processes_look(worker);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        const struct process *process = &all.items[i];
        if (!process->is_ours || is_dead(process)) continue;
        if (process->attempt == attempt || process->is_nobodys) {
            count += process->attempt == attempt;
            if (signal) process_signal(process, process->is_nobodys ? SIGKILL : signal);
        } else {
            remember_stray(worker, process);
        }
    }
    free(all.items);
    if (count && attempt->state == ATTEMPT_LEFT) attempt->output_is_shared = true;
    return count;
}

uint32_t tree_signal_all(struct worker *worker, int signal)
{
    if (worker->is_init) return kill(-1, signal) == 0;
    struct processes all = processes_look(worker);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        const struct process *process = &all.items[i];
        if (!process->is_ours || is_dead(process)) continue;
        process_signal(process, signal);
        count++;
    }
    free(all.items);
    return count;
}

// ---- Cheap checks ---------------------------------------------------------------------------

static bool is_known(const struct worker *worker, const struct attempt *attempt, pid_t pid)
{
    if (attempt_of_leader(worker, pid)) return true;
    for (uint32_t i = 0; i < worker->stray_count; i++)
        if (worker->strays[i].pid == pid) return worker->strays[i].attempt != attempt;
    return false;
}

// Processes that lost their parent are children of the worker now, and the kernel has a list of
// these.
bool tree_may_have_left(struct worker *worker, struct attempt *attempt)
{
    if (worker->children < 0) return true;
    char text[16 << 10];
    ssize_t length = pread(worker->children, text, sizeof text - 1, 0);
    if (length < 0 || length == sizeof text - 1) return true;
    text[length] = 0;
    char *end;
    for (const char *at = text; *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at) break;
        if (!is_known(worker, attempt, (pid_t)pid)) return true;
    }
    return false;
}

static bool has_open(pid_t pid, const char *path)
{
    char folder[64], name[PATH_MAX];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(folder);
    if (!directory) return false;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, name, sizeof name - 1);
        if (length <= 0) continue;
        name[length] = 0;
        found = strcmp(name, path) == 0;
    }
    closedir(directory);
    return found;
}

bool tree_has_open(struct worker *worker, struct attempt *attempt, const char *path)
{
    struct processes all = processes_look(worker);
    bool found = false;
    for (uint32_t i = 0; i < all.count && !found; i++)
        found = all.items[i].attempt == attempt && has_open(all.items[i].pid, path);
    free(all.items);
    return found;
}
