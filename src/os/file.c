// file.c - reads and writes whole files.
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool os_file_is_there(const char *path)
{
    return access(path, R_OK) == 0;
}

static char *stream_read(FILE *file, size_t max, size_t *size)
{
    char *bytes = NULL;
    size_t capacity = 0, got = 0;
    *size = 0;
    do {
        *size += got;
        if (*size > max) {
            free(bytes);
            errno = EFBIG;
            return NULL;
        }
        if (*size + 1 >= capacity) {
            capacity = capacity ? capacity * 2 : 4096;
            char *grown = realloc(bytes, capacity);
            if (!grown) free(bytes);
            bytes = grown;
            if (!bytes) return NULL;
        }
        got = fread(bytes + *size, 1, capacity - *size - 1, file);
    } while (got);
    bytes[*size] = 0;
    return bytes;
}

char *os_file_read(const char *path, size_t max, size_t *size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file) return NULL;
    errno = 0;
    char *bytes = stream_read(file, max, size);
    int reason = errno;
    if (bytes && ferror(file)) {
        free(bytes);
        bytes = NULL;
        if (!reason) reason = EIO;
    }
    if (file != stdin) fclose(file);
    errno = reason;
    return bytes;
}

// A device, pipe or terminal such as /dev/stdout is written in place: a rename would replace it.
static bool is_special(const char *path)
{
    struct stat at;
    return stat(path, &at) == 0 && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode);
}

static bool special_write(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool written = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

bool os_file_write(const char *path, const char *bytes, size_t size)
{
    char name[8192];
    if (is_special(path)) return special_write(path, bytes, size);
    int length = snprintf(name, sizeof name, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *file = fopen(name, "w");
    if (!file) return false;
    bool written = fwrite(bytes, 1, size, file) == size;
    written = fclose(file) == 0 && written && rename(name, path) == 0;
    if (!written) unlink(name);
    return written;
}

bool os_write_at(int file, const void *bytes, size_t size, uint64_t at)
{
    const char *from = bytes;
    while (size) {
        ssize_t wrote = pwrite(file, from, size, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return false;
        from += wrote;
        at += (uint64_t)wrote;
        size -= (size_t)wrote;
    }
    return true;
}
