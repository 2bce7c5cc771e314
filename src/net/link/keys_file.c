// keys_file.c - key files, which only their owner may read.
//
// A file is accepted only if no other user can read or replace it. Checks and use go through open
// file descriptors, so that no user can exchange a file in between. A write replaces all of it.
#define _GNU_SOURCE
#include "net/link/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FILE_MAX = LINK_KEYS_MAX * LINK_LINE_MAX, PATH_LONGEST = 4096 };

// ---- Trusted sources -------------------------------------------------------------------------

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A user who may write in the folder could replace the file.
static const char *folder_wrong(const struct stat *status)
{
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return "its folder belongs to another user";
    if (status->st_mode & (S_IWGRP | S_IWOTH)) return "other users may write in its folder";
    return NULL;
}

static const char *file_wrong(const struct stat *status)
{
    if (!S_ISREG(status->st_mode)) return "not a regular file";
    if (status->st_uid != geteuid()) return "it belongs to another user";
    if (status->st_mode & (S_IRWXG | S_IRWXO)) return "other users may read it (use chmod 600)";
    if (status->st_size > FILE_MAX) return "too large for a key file";
    return NULL;
}

// The folder of a file, if it is safe; else -1.
static int folder_open(const char *path, struct link_error *error)
{
    char folder[PATH_LONGEST];
    size_t length = (size_t)(name_of(path) - path);
    struct stat status;
    if (length >= sizeof folder) {
        link_fail(error, "%.200s: %s", path, strerror(ENAMETOOLONG));
        return -1;
    }
    memcpy(folder, length ? path : ".", length ? length : 1);
    folder[length ? length : 1] = 0;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *wrong = file < 0 || fstat(file, &status) ? strerror(errno) : folder_wrong(&status);
    if (!wrong) return file;
    link_fail(error, "%.200s: %s", path, wrong);
    if (file >= 0) close(file);
    return -1;
}

int link_keys_lock(const char *path, struct link_error *error)
{
    int folder = folder_open(path, error);
    while (folder >= 0 && flock(folder, LOCK_EX) && errno == EINTR) continue;
    return folder;
}

// ---- Reading ------------------------------------------------------------------------------

static ssize_t bytes_read(int file, char *bytes, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t count = read(file, bytes + got, size - got);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        got += (size_t)count;
    }
    return (ssize_t)got;
}

static bool keys_take(struct link_keys *keys, int file, const char *path, struct link_error *error)
{
    struct stat status;
    const char *wrong = fstat(file, &status) ? strerror(errno) : file_wrong(&status);
    if (wrong) return link_fail(error, "%.200s: %s", path, wrong);
    size_t size = (size_t)status.st_size;
    char *bytes = malloc(size + 1);
    ssize_t got = bytes ? bytes_read(file, bytes, size) : -1;
    bool fine = got >= 0 || link_fail(error, "%.200s: %s", path, strerror(errno));
    if (fine)
        fine = certificate_is_text(bytes, (size_t)got)
                   ? certificate_key(keys, bytes, (size_t)got, path, error)
                   : link_keys_parse(keys, bytes, (size_t)got, path, error);
    if (bytes) explicit_bzero(bytes, size);
    free(bytes);
    return fine;
}

// Opens the folder first, then the file in it, so that no user can exchange them in between.
bool link_keys_read(struct link_keys *keys, const char *path, struct link_error *error)
{
    *keys = (struct link_keys){0};
    int folder = folder_open(path, error);
    if (folder < 0) return false;
    int file = openat(folder, name_of(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int reason = errno;
    close(folder);
    if (file < 0)
        return link_fail(error, "%.200s: %s", path,
                         reason == ELOOP ? "a key file must not be a symbolic link"
                                         : strerror(reason));
    bool fine = keys_take(keys, file, path, error);
    close(file);
    return fine;
}

// ---- Writing ------------------------------------------------------------------------------

static bool lines_write(const struct link_keys *keys, int file)
{
    char line[LINK_LINE_MAX];
    bool fine = true;
    for (uint32_t i = 0; fine && i < keys->count; i++) {
        link_key_write(&keys->items[i], line);
        fine = write(file, line, strlen(line)) == (ssize_t)strlen(line);
    }
    explicit_bzero(line, sizeof line);
    return fine && fsync(file) == 0;
}

// Writes a temporary file and renames it, so that a crash leaves no half of a key file. linkat()
// fails if the name exists.
static bool put_in_place(int folder, const char *from, const char *to, enum link_write how)
{
    bool fine = how == LINK_WRITE_OVER ? renameat(folder, from, folder, to) == 0
                                       : linkat(folder, from, folder, to, 0) == 0;
    int reason = errno;
    if (!fine || how == LINK_WRITE_NEW) unlinkat(folder, from, 0);
    errno = reason;
    return fine && fsync(folder) == 0;
}

static bool write_in(const struct link_keys *keys, int folder, const char *name,
                     enum link_write how)
{
    char other[300];
    if (snprintf(other, sizeof other, "%s.new", name) >= (int)sizeof other) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlinkat(folder, other, 0);  // left by a process that was killed
    int file = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    bool fine = fchmod(file, 0600) == 0 && lines_write(keys, file);
    int reason = errno;
    close(file);
    if (fine) return put_in_place(folder, other, name, how);
    unlinkat(folder, other, 0);
    errno = reason;
    return false;
}

bool link_keys_write(const struct link_keys *keys, const char *path, enum link_write how,
                     struct link_error *error)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->items[i].pem)
            return link_fail(error, "%.200s: it contains certificates; use openssl to change them",
                             path);
    int folder = folder_open(path, error);
    if (folder < 0) return false;
    bool fine = write_in(keys, folder, name_of(path), how);
    if (!fine)
        link_fail(error, "%.200s: %s", path,
                  errno == EEXIST ? "the file exists, and is not overwritten"
                                  : strerror(errno));
    close(folder);
    return fine;
}
