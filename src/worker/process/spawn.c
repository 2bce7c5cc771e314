// spawn.c - starts a process that shares the memory of the worker until it executes its command.
#define _GNU_SOURCE
#include "worker/process/signal_wall.h"
#include "worker/process/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 64 << 10 };

void *spawn_stack(void)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    return stack == MAP_FAILED ? NULL : stack + STACK;
}

static int fail(struct spawn *spawn, enum spawn_step step)
{
    spawn->error = errno;
    spawn->step = step;
    _exit(127);
}

static bool limit(int resource, rlim_t value)
{
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) return false;
    limits.rlim_cur = value < limits.rlim_max ? value : limits.rlim_max;
    return setrlimit(resource, &limits) == 0;
}

static bool read_from(const char *path)
{
    // A FIFO without a writer must not block: the worker sleeps until the command has started.
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return false;
    bool done = dup2(file, 0) == 0 && fcntl(0, F_SETFL, 0) == 0;
    close(file);
    return done;
}

// By system calls: the functions of the C library change all threads, and remember the ids.
static bool become_user(const struct worker_user *user)
{
    return syscall(SYS_setgroups, user->group_count, user->groups) == 0
           && syscall(SYS_setresgid, user->gid, user->gid, user->gid) == 0
           && syscall(SYS_setresuid, user->uid, user->uid, user->uid) == 0
           && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Runs in the child, in the memory of the worker: system calls only, and nothing is stored. The
// worker has no signal handlers, so none can run here once the signals are unblocked.
__attribute__((no_sanitize("address", "undefined"))) static int become(void *context)
{
    struct spawn *spawn = context;
    setpgid(0, 0);
    if (spawn->user && !become_user(spawn->user)) return fail(spawn, SPAWN_USER);
    if (spawn->domain >= 0 && !signal_wall_enter(spawn->domain)) return fail(spawn, SPAWN_LIMIT);
    if (spawn->dies_with_worker) prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(spawn->output, 1);
    dup2(spawn->output, 2);
    if (spawn->directory && chdir(spawn->directory) != 0) return fail(spawn, SPAWN_DIRECTORY);
    if (spawn->stdin_path && !read_from(spawn->stdin_path)) return fail(spawn, SPAWN_STDIN);
    if (spawn->data_max && !limit(RLIMIT_DATA, spawn->data_max)) return fail(spawn, SPAWN_LIMIT);
    if (spawn->files_max && !limit(RLIMIT_NOFILE, spawn->files_max))
        return fail(spawn, SPAWN_LIMIT);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(spawn->path, spawn->argv, spawn->envp);
    return fail(spawn, SPAWN_EXEC);
}

pid_t spawn_start(struct spawn *spawn)
{
    spawn->error = 0;
    pid_t pid = clone(become, spawn->stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn);
    if (pid < 0) {
        spawn->error = errno;
        spawn->step = SPAWN_FORK;
        return -1;
    }
    if (!spawn->error) return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    return -1;
}
