// copy.c - copies a file, by sharing its blocks if the file system can.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static bool write_all(int to, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(to, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        count -= (size_t)done;
    }
    return true;
}

static bool copy_through(char *buffer, int from, int to, off_t size)
{
    while (size > 0) {
        ssize_t got = read(from, buffer, size < CACHE_BUFFER ? (size_t)size : CACHE_BUFFER);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        if (!write_all(to, buffer, (size_t)got)) return false;
        size -= got;
    }
    return true;
}

static bool copy_by_hand(int from, int to, off_t size)
{
    char *buffer = malloc(CACHE_BUFFER);
    if (!buffer) return false;
    bool done = copy_through(buffer, from, to, size);
    int reason = errno;
    free(buffer);
    errno = reason;
    return done;
}

bool cache_copy(int from, int to, off_t size)
{
    while (size > 0) {
        ssize_t done = copy_file_range(from, NULL, to, NULL, (size_t)size, 0);
        if (done > 0) size -= done;
        if (done > 0 || (done < 0 && errno == EINTR)) continue;
        bool never = errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
        return (done == 0 || never) && copy_by_hand(from, to, size);
    }
    return true;
}
