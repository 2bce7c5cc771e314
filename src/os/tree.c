// tree.c - directories with all that is in them: made and removed.
#define _GNU_SOURCE
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- Making ---------------------------------------------------------------------------------

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

// ---- Removing -------------------------------------------------------------------------------

enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

// A directory may have been left without the right to look into it.
static int open_inside(int parent, const char *name)
{
    int file = openat(parent, name, DIRECTORY);
    if (file < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        file = openat(parent, name, DIRECTORY);
    return file;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

// Removes what can be removed here. 1: a directory that is not empty is in `below`; 0: all is
// gone; -1: something refuses.
static int empty_once(DIR *directory, char *below)
{
    int file = dirfd(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (is_dots(entry->d_name)) continue;
        if (unlinkat(file, entry->d_name, 0) == 0 || errno == ENOENT) continue;
        bool was_refused = errno == EACCES || errno == EPERM;
        if (was_refused && fchmod(file, 0700) == 0 && unlinkat(file, entry->d_name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM) return -1;
        if (unlinkat(file, entry->d_name, AT_REMOVEDIR) == 0) continue;
        if (errno != ENOTEMPTY && errno != EEXIST) return -1;
        memcpy(below, entry->d_name, strlen(entry->d_name) + 1);
        return 1;
    }
    return 0;
}

// Takes the file and closes it. Down and up again with one open directory at a time, so that no
// depth is too much; what was emptied goes when its parent is read again.
static bool empty_all(int file)
{
    char below[NAME_MAX + 1];
    for (long depth = 0; file >= 0;) {
        DIR *directory = fdopendir(file);
        if (!directory) return close(file), false;
        int found = empty_once(directory, below);
        if (found < 0 || (found == 0 && depth == 0)) {
            int reason = errno;
            closedir(directory);
            errno = reason;
            return found == 0;
        }
        int next = found ? open_inside(dirfd(directory), below)
                         : openat(dirfd(directory), "..", DIRECTORY);
        depth += found ? 1 : -1;
        int reason = errno;
        closedir(directory);
        errno = reason;
        file = next;
    }
    return false;
}

bool os_tree_remove(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return false;
    if (rmdir(path) == 0) return true;
    if (errno != ENOTEMPTY && errno != EEXIST) return false;
    return empty_all(open_inside(AT_FDCWD, path)) && rmdir(path) == 0;
}
