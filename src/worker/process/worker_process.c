// worker_process.c - starts the worker as a separate process, in its own namespace where possible.
#define _GNU_SOURCE
#include "worker/process/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOCKET = 3, FENCE = 4 };

// In a plain chroot the root is not a mount, and nothing can be mounted only for the worker. A
// namespace without its own /proc is worse than none.
static bool root_is_mount(void)
{
    struct statx about;
    if (statx(AT_FDCWD, "/", 0, STATX_TYPE, &about) != 0) return false;
    return about.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

// The caller's next child will be the first process of a new namespace. Returns a descriptor of the
// caller's own namespace, to return to; -1 if there is no new one. A user who is root only in a
// user namespace may create a namespace but not return, and could start no process once the worker
// has ended. So this enters its own namespace first, which needs the same permission and changes
// nothing.
static int enter_namespace(const struct worker_options *options)
{
    if (options->contain != WORKER_CONTAIN_BEST || !root_is_mount()) return -1;
    int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (own < 0) return -1;
    if (setns(own, CLONE_NEWPID) == 0 && unshare(CLONE_NEWPID) == 0) return own;
    close(own);
    return -1;
}

static void leave_namespace(int own)
{
    if (own < 0) return;
    int reason = errno;
    setns(own, CLONE_NEWPID);
    close(own);
    errno = reason;
}

// Mounts of others appear here, ours nowhere else. Without its own /proc the worker continues with
// less containment; it checks for that.
static void mount_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0) return;
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) return;
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

// Files that the server has open are closed: a database that another process closes loses its
// locks.
static bool keep_only(int socket, int *fence)
{
    int moved = *fence ? fcntl(*fence, F_DUPFD_CLOEXEC, FENCE + 1) : 0;
    if (moved < 0 || (socket != SOCKET && dup3(socket, SOCKET, O_CLOEXEC) < 0)) return false;
    if (moved && dup3(moved, FENCE, O_CLOEXEC) < 0) return false;
    *fence = moved ? FENCE : 0;
    close_range(moved ? FENCE + 1 : SOCKET + 1, ~0u, 0);
    return true;
}

// In the session of the worker's terminal a command could type there for the user of the worker
// (TIOCSTI), which may be root. Commands of `rota run` keep the terminal of their caller.
static void leave_group(const struct worker_options *options)
{
    if (!options->separates_commands || setsid() < 0) setpgid(0, 0);
}

// The agent may be killed while this process is stopped and cannot notice it. With a fence the
// kernel then kills this process, too, and the namespace with it. Without a namespace it has to
// live, to kill the rest: the kernel lets it continue.
static void follow_agent(const struct worker_options *options, bool has_namespace)
{
    if (!has_namespace) prctl(PR_SET_PDEATHSIG, SIGCONT);
    else if (options->fence) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int become_worker(int socket, const struct worker_options *options, bool has_namespace)
{
    struct worker_options own = *options;
    leave_group(options);
    follow_agent(options, has_namespace);
    if (has_namespace) mount_proc();
    return keep_only(socket, &own.fence) ? worker_main(SOCKET, &own) : 1;
}

// Some kernels leave a new process on the processor of its parent until that sleeps, even if the
// other processors are idle. It is moved to another one, and then may run on all of them again.
static void set_apart(pid_t pid)
{
    cpu_set_t all, other;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    int own = sched_getcpu(), next = own;
    do next = (next + 1) % CPU_SETSIZE;
    while (next != own && !CPU_ISSET(next, &all));
    if (own < 0 || next == own) return;
    CPU_ZERO(&other);
    CPU_SET(next, &other);
    sched_setaffinity(pid, sizeof other, &other);
    sched_setaffinity(pid, sizeof all, &all);
}

pid_t worker_fork(const struct worker_options *options, int *socket)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    int own = enter_namespace(options);
    pid_t pid = fork();
    if (pid == 0) _exit(become_worker(ends[1], options, own >= 0));
    if (pid > 0) set_apart(pid);
    leave_namespace(own);
    int reason = errno;
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    errno = reason;
    *socket = ends[0];
    return pid;
}
