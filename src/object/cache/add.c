// add.c - adds a file made by a task to the cache: by moving it if allowed, else by a copy.
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *kind_text(mode_t mode)
{
    if (S_ISLNK(mode)) return "a symbolic link";
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISDIR(mode)) return "a directory";
    return S_ISREG(mode) ? "a file" : "a device";
}

static bool refuse_kind(mode_t mode, const char *name, enum cache_kind kind,
                        struct cache_error *error)
{
    return cache_fail(error, CACHE_REFUSED, "%s is %s, not a %s", name, kind_text(mode),
                      kind == CACHE_FILE ? "file" : "directory");
}

static bool refuse_open(int directory_fd, const char *name, enum cache_kind kind,
                        struct cache_error *error)
{
    int reason = errno;
    struct stat at;
    if (reason == ENOENT) return cache_fail(error, CACHE_REFUSED, "%s is missing", name);
    bool seen = fstatat(directory_fd, name, &at, AT_SYMLINK_NOFOLLOW) == 0;
    if (seen && (kind == CACHE_FILE ? !S_ISREG(at.st_mode) : !S_ISDIR(at.st_mode)))
        return refuse_kind(at.st_mode, name, kind, error);
    if (reason == ELOOP || reason == EXDEV)
        return cache_fail(error, CACHE_REFUSED, "%s is below a symbolic link", name);
    bool ours = reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EIO;
    return cache_fail(error, ours ? CACHE_BROKEN : CACHE_REFUSED, "cannot open %s: %s", name,
                      strerror(reason));
}

int cache_source_open(int directory_fd, const char *name, enum cache_kind kind,
                      struct cache_error *error)
{
    struct stat at;
    const char *fault = tree_name_fault(name);
    if (fault) return cache_fail(error, CACHE_REFUSED, "the name \"%s\" %s", name, fault) - 1;
    int fd = tree_open_below(directory_fd, name,
                             O_RDONLY | (kind == CACHE_DIRECTORY ? O_DIRECTORY : 0));
    if (fd < 0) return refuse_open(directory_fd, name, kind, error) - 1;
    bool fine = fstat(fd, &at) == 0;
    if (!fine)
        cache_fail_system(error, "inspect", name);
    else if (kind == CACHE_FILE ? !S_ISREG(at.st_mode) : !S_ISDIR(at.st_mode))
        fine = refuse_kind(at.st_mode, name, kind, error);
    else if (kind == CACHE_FILE && at.st_mode & (S_ISUID | S_ISGID))
        fine = cache_fail(error, CACHE_REFUSED, "%s is set-user-id or set-group-id", name);
    if (fine) return fd;
    close(fd);
    return -1;
}

static bool is_unchanged(int fd, const struct stat *before)
{
    struct stat after;
    return fstat(fd, &after) == 0 && after.st_size == before->st_size
           && after.st_mode == before->st_mode && after.st_mtim.tv_sec == before->st_mtim.tv_sec
           && after.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

static bool refuse_change(const char *name, struct cache_error *error)
{
    return cache_fail(error, CACHE_REFUSED, "%s changed while it was collected", name);
}

static void entry_fill(struct cache_entry *entry, const struct stat *at)
{
    entry->kind = CACHE_FILE;
    entry->bytes = (uint64_t)at->st_size;
    entry->executable = at->st_mode & S_IXUSR;
}

// The worker may read more than its commands: a hard link to such a file must not make it readable.
static bool may_collect(const struct cache *cache, const struct stat *at)
{
    return !cache->owner || at->st_uid == cache->owner || at->st_mode & S_IROTH;
}

// The name may belong to another file since it was opened, or be below a link now: only the file
// itself is moved, and nothing outside of the directory.
static bool file_is_moved(struct cache *cache, int directory_fd, const char *name,
                          const struct stat *at, const char *temporary)
{
    struct stat moved;
    const char *leaf;
    int parent = tree_open_parent(directory_fd, name, &leaf);
    bool renamed = parent >= 0 && renameat(parent, leaf, cache->own, temporary) == 0;
    tree_close_parent(directory_fd, parent);
    if (!renamed) return false;
    if (fstatat(cache->own, temporary, &moved, AT_SYMLINK_NOFOLLOW) == 0
        && moved.st_ino == at->st_ino && moved.st_dev == at->st_dev)
        return true;
    os_tree_remove_at(cache->own, temporary);
    return false;
}

static bool file_copy(struct cache *cache, int fd, const char *name, const struct stat *at,
                      struct cache_entry *out, struct cache_error *error)
{
    char temporary[24];
    int copy = cache_temporary(cache, temporary, error);
    if (copy < 0) return false;
    bool fine = cache_copy(fd, copy, at->st_size)
                || cache_fail_system(error, "copy into the cache", name);
    fine = fine && cache_hash_file(cache, copy, at->st_size, out->hash, name, error);
    fine = fine && (is_unchanged(fd, at) || refuse_change(name, error));
    if (fine) return cache_content_install(cache, out, temporary, copy, CACHE_UNSYNCED, error);
    close(copy);
    os_tree_remove_at(cache->own, temporary);
    return false;
}

// Hashes the file in place. If the content is known, nothing has to be moved.
static bool file_move(struct cache *cache, int directory_fd, const char *name, int fd,
                      const struct stat *at, struct cache_entry *out, struct cache_error *error)
{
    char temporary[24];
    if (!cache_hash_file(cache, fd, at->st_size, out->hash, name, error)) return false;
    if (!is_unchanged(fd, at)) return refuse_change(name, error);
    if (cache_content_reuse(cache, out)) return true;
    if (!cache_own(cache, error)) return false;
    snprintf(temporary, sizeof temporary, "%" PRIu64, ++cache->serial);
    if (!file_is_moved(cache, directory_fd, name, at, temporary))
        return file_copy(cache, fd, name, at, out, error);
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (kept >= 0) return cache_content_install(cache, out, temporary, kept, CACHE_UNSYNCED, error);
    os_tree_remove_at(cache->own, temporary);
    return cache_fail_system(error, "keep open", name);
}

bool cache_add_file(struct cache *cache, int directory_fd, const char *name, enum cache_how how,
                    struct cache_entry *out, struct cache_error *error)
{
    struct stat at;
    *out = (struct cache_entry){0};
    int fd = cache_source_open(directory_fd, name, CACHE_FILE, error);
    if (fd < 0) return false;
    bool fine = fstat(fd, &at) == 0 || cache_fail_system(error, "inspect", name);
    if (fine && how != CACHE_COPY_LOG && !may_collect(cache, &at))
        fine = cache_fail(error, CACHE_REFUSED, "%s belongs to another user", name);
    if (fine) entry_fill(out, &at);
    bool alone = at.st_nlink == 1 && at.st_uid == geteuid();
    if (fine && how == CACHE_ONLY_LOOK)
        fine = cache_hash_file(cache, fd, at.st_size, out->hash, name, error)
               && (is_unchanged(fd, &at) || refuse_change(name, error));
    else if (fine && how == CACHE_MAY_MOVE && alone)
        fine = file_move(cache, directory_fd, name, fd, &at, out, error);
    else if (fine)
        fine = file_copy(cache, fd, name, &at, out, error);
    close(fd);
    return fine;
}

static bool add(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
                enum cache_how how, struct cache_entry *out, struct cache_error *error)
{
    cache_enter(cache);
    bool fine = kind == CACHE_DIRECTORY
                    ? cache_add_tree(cache, directory_fd, name, how, out, error)
                    : cache_add_file(cache, directory_fd, name, how, out, error);
    cache_leave(cache);
    if (cache_bytes(cache) > cache->evict_above) cache_evict(cache);
    return fine;
}

bool cache_add(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
               struct cache_entry *out, struct cache_error *error)
{
    return add(cache, directory_fd, name, kind, CACHE_MAY_MOVE, out, error);
}

bool cache_add_copy(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
                    struct cache_entry *out, struct cache_error *error)
{
    return add(cache, directory_fd, name, kind, CACHE_MUST_COPY, out, error);
}
