// copy.c - a copy of a file or a tree that is there as a whole or not at all.
#define _GNU_SOURCE
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };  // one open directory each

static bool copy_bytes(int from, int to, uint64_t *bytes)
{
    for (;;) {
        ssize_t count = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
        if (count == 0) return true;
        if (count > 0) {
            *bytes += (uint64_t)count;
            continue;
        }
        if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
            return false;
        break;
    }
    char block[64 << 10];
    for (ssize_t count; (count = read(from, block, sizeof block)) != 0;) {
        if (count < 0) return false;
        for (ssize_t done = 0, wrote; done < count; done += wrote) {
            wrote = write(to, block + done, (size_t)(count - done));
            if (wrote < 0) return false;
        }
        *bytes += (uint64_t)count;
    }
    return true;
}

static bool copy_file(int from_in, const char *from, int to_in, const char *to, uint64_t *bytes)
{
    int in = openat(from_in, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0) return false;
    struct stat status;
    bool done = fstat(in, &status) == 0;
    if (done && !S_ISREG(status.st_mode)) errno = EINVAL, done = false;
    int out = -1;
    if (done) out = openat(to_in, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    done = out >= 0 && copy_bytes(in, out, bytes) && fchmod(out, status.st_mode & 0777) == 0;
    int reason = errno;
    if (out >= 0 && close(out) != 0) done = false, reason = errno;
    close(in);
    errno = reason;
    return done;
}

static bool copy_link(int from_in, const char *from, int to_in, const char *to)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(from_in, from, target, sizeof target - 1);
    if (length < 0) return false;
    target[length] = 0;
    return symlinkat(target, to_in, to) == 0;
}

static bool copy_any(int from_in, const char *from, int to_in, const char *to, int depth,
                     uint64_t *bytes);

static bool copy_entries(DIR *directory, int to, int depth, uint64_t *bytes)
{
    for (struct dirent *entry; (errno = 0, entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (!copy_any(dirfd(directory), name, to, name, depth, bytes)) return false;
    }
    return errno == 0;
}

static bool copy_directory(int from_in, const char *from, int to_in, const char *to, int depth,
                           uint64_t *bytes)
{
    if (depth == DEPTH_MAX) {
        errno = ELOOP;
        return false;
    }
    int in = openat(from_in, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), out = -1;
    DIR *directory = in >= 0 ? fdopendir(in) : NULL;
    if (!directory) return false;
    if (mkdirat(to_in, to, 0777) == 0)
        out = openat(to_in, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool done = out >= 0 && copy_entries(directory, out, depth + 1, bytes);
    int reason = errno;
    if (out >= 0) close(out);
    closedir(directory);
    errno = reason;
    return done;
}

static bool copy_any(int from_in, const char *from, int to_in, const char *to, int depth,
                     uint64_t *bytes)
{
    struct stat status;
    if (fstatat(from_in, from, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISREG(status.st_mode)) return copy_file(from_in, from, to_in, to, bytes);
    if (S_ISLNK(status.st_mode)) return copy_link(from_in, from, to_in, to);
    if (S_ISDIR(status.st_mode)) return copy_directory(from_in, from, to_in, to, depth, bytes);
    errno = EINVAL;  // a device, a FIFO or a socket
    return false;
}

// A directory cannot be renamed over one that has something in it: the two change places.
static bool put_in_place(const char *from, const char *to)
{
    if (rename(from, to) == 0) return true;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EISDIR && errno != ENOTDIR) return false;
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0 && os_tree_remove(from);
}

bool os_tree_copy(const char *from, const char *to, uint64_t *bytes)
{
    char beside[PATH_MAX];
    int length = snprintf(beside, sizeof beside, "%s.rota-%" PRIx64, to, (uint64_t)os_ticks());
    if (length < 0 || (size_t)length >= sizeof beside) {
        errno = ENAMETOOLONG;
        return false;
    }
    *bytes = 0;
    if (!os_parents_make(to) || !os_tree_remove(beside)) return false;
    if (copy_any(AT_FDCWD, from, AT_FDCWD, beside, 0, bytes) && put_in_place(beside, to))
        return true;
    int reason = errno;
    os_tree_remove(beside);
    errno = reason;
    return false;
}
