// directory.c - creates directories and their parents, and removes trees.
#define _GNU_SOURCE
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

// ---- Removing ---------------------------------------------------------------------------------

// Nested folders are first moved to the top, so nothing is ever more than two levels deep.
enum { PASSES_MAX = 1 << 20 };

struct removal {
    int top;         // the folder to empty
    uint32_t moved;  // number of folders moved to the top; makes their names unique
    bool progress;   // something was removed, so another pass is useful
    int first_error;
};

static DIR *folder_open(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd < 0) return NULL;
    struct stat at;
    if (fstat(fd, &at) == 0 && (at.st_mode & 0700) != 0700) fchmod(fd, 0700);
    DIR *stream = fdopendir(fd);
    if (!stream) close(fd);
    return stream;
}

static bool is_folder(int parent, const struct dirent *found)
{
    struct stat at;
    if (found->d_type != DT_UNKNOWN) return found->d_type == DT_DIR;
    return fstatat(parent, found->d_name, &at, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(at.st_mode);
}

static void note(struct removal *removal, bool done)
{
    if (done || errno == ENOENT)
        removal->progress = true;
    else if (!removal->first_error)
        removal->first_error = errno;
}

// Moving a folder changes its "..", so a folder without write permission must be made writable
// first.
static bool folder_move_up(struct removal *removal, int parent, const char *name)
{
    char to[40];
    for (bool opened = false;;) {
        snprintf(to, sizeof to, ".rota-removed-%u", removal->moved++);
        if (renameat2(parent, name, removal->top, to, RENAME_NOREPLACE) == 0) return true;
        if (errno == EEXIST) continue;
        if (opened || (errno != EACCES && errno != EPERM)) return false;
        if (fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) != 0) return false;
        opened = true;
    }
}

static void folder_flatten(struct removal *removal, const char *name)
{
    DIR *stream = folder_open(removal->top, name);
    struct dirent *found;
    while (stream && (found = readdir(stream))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
        int fd = dirfd(stream);
        if (!is_folder(fd, found))
            note(removal, unlinkat(fd, found->d_name, 0) == 0);
        else if (unlinkat(fd, found->d_name, AT_REMOVEDIR) != 0)
            note(removal, folder_move_up(removal, fd, found->d_name));
    }
    if (stream) closedir(stream);
    note(removal, unlinkat(removal->top, name, AT_REMOVEDIR) == 0);
}

static void top_pass(struct removal *removal, DIR *stream)
{
    struct dirent *found;
    removal->progress = false;
    removal->first_error = 0;
    rewinddir(stream);
    while ((found = readdir(stream))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
        if (is_folder(removal->top, found))
            folder_flatten(removal, found->d_name);
        else
            note(removal, unlinkat(removal->top, found->d_name, 0) == 0);
    }
}

bool os_tree_remove_at(int directory, const char *name)
{
    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return false;
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0) return true;
    DIR *stream = folder_open(directory, name);
    if (!stream) return false;
    struct removal removal = {.top = dirfd(stream)};
    bool gone = false;
    uint32_t passes = 0;  // limited, because another process may keep creating files
    do {
        top_pass(&removal, stream);
        gone = unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
    } while (!gone && removal.progress && ++passes < PASSES_MAX);
    int reason = removal.first_error ? removal.first_error : errno;
    closedir(stream);
    errno = reason;
    return gone;
}

bool os_tree_remove(const char *path)
{
    return os_tree_remove_at(AT_FDCWD, path);
}
