// killer.c - preloaded into a program: kills it right before its n-th call that writes or syncs.
//
// KILL_AT in the environment is n. strace can do the same, and sees what the C library writes by
// itself, but makes every other call of the program slow.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static long kill_at;

// At the start: a worker removes such variables from its environment.
__attribute__((constructor)) static void kill_at_read(void)
{
    const char *at = getenv("KILL_AT");
    if (at) kill_at = strtol(at, NULL, 10);
}

static void *next_call(const char *name)
{
    if (kill_at && atomic_fetch_add(&calls, 1) + 1 == kill_at) kill(getpid(), SIGKILL);
    return dlsym(RTLD_NEXT, name);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at)
{
    ssize_t (*call)(int, const void *, size_t, off64_t) = next_call("pwrite64");
    return call(file, data, size, at);
}

int fdatasync(int file)
{
    int (*call)(int) = next_call("fdatasync");
    return call(file);
}

int fsync(int file)
{
    int (*call)(int) = next_call("fsync");
    return call(file);
}

int ftruncate64(int file, off64_t size)
{
    int (*call)(int, off64_t) = next_call("ftruncate64");
    return call(file, size);
}

int unlink(const char *path)
{
    int (*call)(const char *) = next_call("unlink");
    return call(path);
}
