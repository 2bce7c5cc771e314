// list.c - lists the names in a folder.
#include "object/cache/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
