// file_stamp.c - detects whether a file, or anything in a folder, has changed.
#define _GNU_SOURCE
#include "os/os.h"

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

static uint64_t stamp_of(const struct stat *status)
{
    uint64_t stamp = hash_mix((uint64_t)status->st_size, (uint64_t)status->st_ino);
    stamp = hash_mix(stamp, (uint64_t)status->st_mtim.tv_sec);
    return hash_mix(stamp, (uint64_t)status->st_mtim.tv_nsec);
}

static uint64_t name_hash(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++) hash = hash_mix(hash, (uint8_t)*name);
    return hash;
}

// Adds up the stamps, because entries come in no fixed order. Symbolic links are not followed.
static uint64_t folder_stamp(int folder, const char *path, uint32_t depth)
{
    uint64_t sum = 0;
    int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream && fd >= 0) close(fd);
    if (!stream) return 0;
    for (struct dirent *item; (item = readdir(stream));) {
        struct stat status;
        const char *name = item->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        uint64_t stamp = hash_mix(stamp_of(&status), name_hash(name));
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
            stamp = hash_mix(stamp, folder_stamp(fd, name, depth + 1));
        sum += stamp;
    }
    closedir(stream);
    return sum;
}

uint64_t os_stamp(const char *folder, const char *path)
{
    char name[8192];
    struct stat status;
    int length = snprintf(name, sizeof name, "%s%s%s", path[0] == '/' ? "" : folder,
                          path[0] == '/' ? "" : "/", path);
    if (length < 0 || (size_t)length >= sizeof name || stat(name, &status)) return 0;
    uint64_t stamp = stamp_of(&status);
    if (S_ISDIR(status.st_mode)) stamp = hash_mix(stamp, folder_stamp(AT_FDCWD, name, 0));
    stamp >>= 1;  // fits into a signed 64-bit integer of SQL
    return stamp ? stamp : 1;
}
