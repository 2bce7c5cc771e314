// identity.c - the id of a worker's folder, and a proof that an earlier process is gone.
//
// The file "id" is written once. It is copied together with the folder, so that the server notices
// the copy. The folder is already locked when it is read.
#define _GNU_SOURCE
#include "worker/agent/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "id", name_new[] = "id.new";

enum { DIGITS = 16 };

static bool fail(const struct agent *agent, const char *what)
{
    agent_say(agent, "%s/%s: %s", agent->options->folder, name, what);
    return false;
}

static bool id_read(int folder, uint64_t *id)
{
    char text[DIGITS + 2] = "", *end;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    errno = EINVAL;  // also for a truncated file
    if (count != DIGITS + 1) return false;
    *id = strtoull(text, &end, 16);
    return *id && *end == '\n';
}

static bool id_write(int folder, uint64_t id)
{
    char text[DIGITS + 2];
    snprintf(text, sizeof text, "%016" PRIx64 "\n", id);
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    int file = openat(folder, name_new, flags, 0600);
    if (file < 0) return false;
    bool fine = write(file, text, DIGITS + 1) == DIGITS + 1 && fsync(file) == 0;
    close(file);
    return fine && renameat(folder, name_new, folder, name) == 0 && fsync(folder) == 0;
}

// Identifies the lock file, the boot of the kernel, and the PID namespace: only one process can
// hold that lock, and only there can the next one wait for its end (process/earlier_worker.c).
static uint64_t place_of(int lock)
{
    struct stat about;
    size_t size = 0;
    char *boot = os_file_read("/proc/sys/kernel/random/boot_id", 100, &size);
    uint64_t space = worker_pid_space();
    bool is_known = boot && size && space && fstat(lock, &about) == 0;
    uint64_t place = is_known ? hash_mix(1, space) : 0;
    for (size_t i = 0; place && i < size; i++) place = hash_mix(place, (uint8_t)boot[i]);
    free(boot);
    return place ? hash_mix(hash_mix(place, about.st_dev), about.st_ino) : 0;
}

bool identity_open(struct agent *agent)
{
    int folder = agent->spool.folder;
    agent->place = place_of(agent->spool.lock);
    if (id_read(folder, &agent->folder_id)) return true;
    if (errno == EINVAL)
        return fail(agent, "not a valid folder id; delete the file to get a new one");
    if (errno != ENOENT) return fail(agent, strerror(errno));
    while (!agent->folder_id)
        if (!os_random(&agent->folder_id, sizeof agent->folder_id))
            return fail(agent, "cannot read random bytes from the system");
    return id_write(folder, agent->folder_id) || fail(agent, strerror(errno));
}
