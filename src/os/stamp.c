// stamp.c - whether a file is as it was.
#include "os/os.h"

#include "base/base.h"

#include <stdio.h>
#include <sys/stat.h>

uint64_t os_stamp(const char *folder, const char *path)
{
    char name[8192];
    struct stat status;
    int length = snprintf(name, sizeof name, "%s%s%s", path[0] == '/' ? "" : folder,
                          path[0] == '/' ? "" : "/", path);
    if (length < 0 || (size_t)length >= sizeof name || stat(name, &status)) return 0;
    uint64_t stamp = hash_mix((uint64_t)status.st_size, (uint64_t)status.st_ino);
    stamp = hash_mix(stamp, (uint64_t)status.st_mtim.tv_sec);
    stamp = hash_mix(stamp, (uint64_t)status.st_mtim.tv_nsec) >> 1;  // fits a number of SQL
    return stamp ? stamp : 1;
}
