// open_below.c - opens files and lists names below a directory, never through links.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *tree_name_fault(const char *name)
{
    if (!*name) return "is empty";
    if (*name == '/') return "is absolute";
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t length = strcspn(part, "/");
        if (length == 0) return "has an empty part";
        if (length == 1 && part[0] == '.') return "contains '.'";
        if (length == 2 && part[0] == '.' && part[1] == '.') return "contains '..'";
    }
    return NULL;
}

int tree_open_below(int directory_fd, const char *name, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    if (flags & O_PATH) how.flags &= ~(uint64_t)(O_NONBLOCK | O_NOCTTY);
    for (int tries = 0;; tries++) {  // EAGAIN: a folder was renamed meanwhile
        int fd = (int)syscall(SYS_openat2, directory_fd, name, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || tries == 1000) return fd;
    }
}

// Opens the folder, creating each missing part of the path; the path is modified.
static int folders_make(int directory_fd, char *path)
{
    int folder = directory_fd;
    for (char *part = path, *next; part && folder >= 0; part = next) {
        next = strchr(part, '/');
        if (next) *next++ = '\0';
        bool made = mkdirat(folder, part, 0777) == 0 || errno == EEXIST;
        int inner = made ? tree_open_below(folder, part, O_PATH | O_DIRECTORY) : -1;
        int reason = errno;
        tree_close_parent(directory_fd, folder);
        errno = reason;
        folder = inner;
    }
    return folder;
}

int tree_open_parent(int directory_fd, const char *name, const char **leaf)
{
    const char *slash = strrchr(name, '/');
    *leaf = slash ? slash + 1 : name;
    if (!slash) return directory_fd;
    char *folder = strndup(name, (size_t)(slash - name));
    if (!folder) return -1;
    int parent = tree_open_below(directory_fd, folder, O_PATH | O_DIRECTORY);
    if (parent < 0 && errno == ENOENT) parent = folders_make(directory_fd, folder);
    int reason = errno;
    free(folder);
    errno = reason;
    return parent;
}

void tree_close_parent(int directory_fd, int parent)
{
    if (parent >= 0 && parent != directory_fd) close(parent);
}

// ---- Names in a folder ------------------------------------------------------------------------

static bool is_name(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool cache_list(int parent_fd, const char *folder, cache_list_fn *call, void *context)
{
    int fd = tree_open_below(parent_fd, folder, O_RDONLY | O_DIRECTORY);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        if (fd >= 0) close(fd);
        return false;
    }
    struct dirent *found;
    errno = 0;
    while ((found = readdir(stream))) {
        if (is_name(found->d_name) && !call(context, fd, found->d_name)) break;
        errno = 0;
    }
    int reason = found ? 0 : errno;
    closedir(stream);
    errno = reason;
    return reason == 0;
}
