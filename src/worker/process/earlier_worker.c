// earlier_worker.c - waits until the earlier worker of a folder has ended with its whole namespace.
//
// The lock of the folder is no proof of that: the kernel closes the files of a killed process, and
// so releases its locks, before it kills the rest of the namespace, and commands with much memory
// take a while to end. A pidfd of the first process of a namespace is readable only when the
// namespace is empty. So the parent of each worker notes the worker's pid in the folder, before the
// first command, and the next one waits for it. The note needs no sync: no process outlives a boot,
// and within a boot a file is what was last written to it.
#define _GNU_SOURCE
#include "worker/process/worker.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BOOT = 37, NOTE = 200, STAT = 4096, STARTED = 22, SAY_AFTER = 1000000 };

// The number of a process means nothing after a reboot or in another PID namespace. In a copy of
// the folder it belongs to the worker of the original.
struct previous {
    int pid;
    uint64_t file;     // the inode of the note
    uint64_t started;  // in ticks of the kernel; 0: unknown
    uint64_t space;    // the PID namespace in which it has this number; 0: unknown
    char boot[BOOT];
};

// ---- Processes ----------------------------------------------------------------------------------

// In a namespace without its own /proc, that of another shows other processes.
static bool proc_is_ours(void)
{
    char text[32];
    ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    return strtol(text, NULL, 10) == getpid();
}

// The name of the program is in brackets and may contain anything, also brackets.
static uint64_t started_of(int pid)
{
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    char *text = proc_is_ours() ? os_file_read(path, STAT, &size) : NULL;
    char *at = text ? strrchr(text, ')') : NULL;
    for (int field = 2; at && field < STARTED; field++) at = strchr(at + 1, ' ');
    uint64_t started = at ? strtoull(at, NULL, 10) : 0;
    free(text);
    return started;
}

uint64_t worker_pid_space(void)
{
    struct stat about;
    return proc_is_ours() && stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

static void boot_read(char boot[BOOT])
{
    size_t size;
    char *text = os_file_read("/proc/sys/kernel/random/boot_id", 100, &size);
    snprintf(boot, BOOT, "%.36s", text && *text ? text : "-");
    free(text);
}

// ---- The note -----------------------------------------------------------------------------------

static int note_open(const char *folder, int flags)
{
    char path[PATH_MAX];
    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%s/process", folder) >= (int)sizeof path) return -1;
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static uint64_t inode_of(int file)
{
    struct stat about;
    return fstat(file, &about) == 0 ? about.st_ino : 0;
}

static bool note_read(const char *folder, struct previous *previous)
{
    char text[NOTE + 1] = "";
    int file = note_open(folder, O_RDONLY);
    if (file < 0) return false;
    ssize_t count = read(file, text, NOTE);
    uint64_t inode = inode_of(file);
    close(file);
    return count > 0
           && sscanf(text, "%d %" SCNu64 " %36s %" SCNu64 " %" SCNu64, &previous->pid,
                     &previous->started, previous->boot, &previous->space, &previous->file) == 5
           && previous->pid > 0 && previous->file == inode;
}

// Of a fixed length, so that a full disk has room for the next note.
static bool note_write(int file, pid_t pid)
{
    char text[NOTE + 1], boot[BOOT];
    boot_read(boot);
    int length = snprintf(text, sizeof text, "%d %" PRIu64 " %s %" PRIu64 " %" PRIu64, (int)pid,
                          started_of(pid), boot, worker_pid_space(), inode_of(file));
    snprintf(text + length, sizeof text - (size_t)length, "%*s", NOTE - length, "\n");
    return os_write_at(file, text, NOTE, 0);
}

bool worker_note(const char *folder, pid_t pid)
{
    int file = note_open(folder, O_WRONLY | O_CREAT);
    bool fine = file >= 0 && note_write(file, pid);
    int reason = errno;
    if (file >= 0) close(file);
    errno = reason;
    return fine;
}

// ---- Waiting ------------------------------------------------------------------------------------

// Unknown values count as equal: to wait for another process is the safe mistake.
static bool is_other(uint64_t now, uint64_t then)
{
    return now && then && now != then;
}

static bool is_other_boot(const char *now, const char *then)
{
    return *now != '-' && *then != '-' && strcmp(now, then) != 0;
}

// A pidfd of the earlier worker; -1: it has ended, or has no number here.
static int previous_open(const struct previous *previous)
{
    char boot[BOOT];
    boot_read(boot);
    if (is_other_boot(boot, previous->boot)) return -1;
    if (is_other(worker_pid_space(), previous->space)) return -1;
    int file = (int)syscall(SYS_pidfd_open, previous->pid, 0);
    if (file < 0) return -1;
    if (!is_other(started_of(previous->pid), previous->started)) return file;
    close(file);
    return -1;
}

bool worker_previous_await(const char *folder, int signals, worker_say_fn *say, void *context)
{
    struct previous previous;
    char text[300];
    int file = note_read(folder, &previous) ? previous_open(&previous) : -1;
    if (file < 0) return true;
    struct os_watch watches[] = {{.file = file}, {.file = signals}};
    int64_t until = os_ticks() + SAY_AFTER;
    while (!watches[0].can_read && !watches[1].can_read) {
        if (os_wait(watches, 2, until) || until == INT64_MAX) continue;
        snprintf(text, sizeof text,
                 "waiting for the processes of the earlier worker of this folder to end (process"
                 " %d)", previous.pid);
        say(context, text);
        until = INT64_MAX;
    }
    close(file);
    return watches[0].can_read;
}
