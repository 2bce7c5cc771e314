// directory.c - creates directories and their parents.
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_parts(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST || access(path, F_OK) == 0;
        *at = '/';
        if (!made) return false;
    }
    return true;
}

bool os_parents_make(const char *path)
{
    char copy[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof copy) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return false;
    }
    memcpy(copy, path, length + 1);
    return make_parts(copy);
}

bool os_directory_make(const char *path)
{
    if (mkdir(path, 0777) == 0) return true;
    if (errno == ENOENT && os_parents_make(path) && mkdir(path, 0777) == 0) return true;
    if (errno != EEXIST) return false;
    struct stat stat_of;
    if (stat(path, &stat_of) != 0) return false;
    if (S_ISDIR(stat_of.st_mode)) return true;
    errno = ENOTDIR;
    return false;
}
