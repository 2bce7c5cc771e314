// files_source.c - hashes of the user's files and folders, which are never moved into the cache.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"
#include "worker/process/user.h"
#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Within a tick of the clock a file can change without a new time stamp, so hashes of recently
// changed files are not kept.
enum { SECONDS_OLD = 2, DEPTH_MAX = 64 };

static uint64_t look_of(const struct stat *at)
{
    uint64_t look = hash_mix((uint64_t)at->st_dev, (uint64_t)at->st_ino);
    look = hash_mix(look, (uint64_t)at->st_size);
    look = hash_mix(hash_mix(look, (uint64_t)at->st_mtim.tv_sec), (uint64_t)at->st_mtim.tv_nsec);
    return hash_mix(hash_mix(look, (uint64_t)at->st_ctim.tv_sec), (uint64_t)at->st_ctim.tv_nsec);
}

static void remember(struct files *files, const struct stat *at, const uint8_t hash[CACHE_HASH])
{
    if ((int64_t)at->st_ctim.tv_sec + SECONDS_OLD > os_now() / 1000000) return;
    bool there = ARRAY_MORE(&memory_heap, files->hashes, files->hash_count, files->hash_capacity);
    if (!there || !map_reserve(&memory_heap, &files->hashed, 1)) return;
    memcpy(files->hashes[files->hash_count++], hash, CACHE_HASH);
    map_put(&files->hashed, look_of(at), files->hash_count);
}

static bool file_hash(struct files *files, int fd, const struct stat *at, uint8_t hash[CACHE_HASH])
{
    struct stat after;
    uint32_t known = map_find(&files->hashed, look_of(at));
    if (known) {
        memcpy(hash, files->hashes[known - 1], CACHE_HASH);
        return true;
    }
    bool fine = cache_hash_file(files->cache, fd, at->st_size, hash, "", NULL)
                && fstat(fd, &after) == 0 && look_of(at) == look_of(&after);
    if (fine) remember(files, at, hash);
    return fine;
}

// ---- Folders: a list of everything in them, which is hashed ---------------------------------

static bool folder_list(struct files *files, int fd, FILE *list, uint32_t depth);

// With a link that may lead out of the folder it is unknown what a command reads.
static bool link_list(int folder, const char *name, FILE *list)
{
    char target[4096];
    ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
    if (length <= 0) return false;
    target[length] = 0;
    fprintf(list, "l%s%c%s%c", name, 0, target, 0);
    return !tree_name_fault(target);
}

static bool item_list(struct files *files, int folder, const char *name, FILE *list, uint32_t depth)
{
    struct stat at;
    uint8_t hash[CACHE_HASH];
    if (fstatat(folder, name, &at, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISLNK(at.st_mode)) return link_list(folder, name, list);
    if (!S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode)) return false;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool fine = fstat(fd, &at) == 0;
    bool is_folder = S_ISDIR(at.st_mode);
    fprintf(list, "%c%s%c", is_folder ? 'd' : at.st_mode & S_IXUSR ? 'x' : 'f', name, 0);
    if (fine && is_folder) {
        fine = folder_list(files, fd, list, depth + 1);
    } else if (fine) {
        fine = file_hash(files, fd, &at, hash);
        fwrite(hash, 1, sizeof hash, list);
    }
    close(fd);
    return fine;
}

static int any_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int name_compare(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name);
}

static bool folder_list(struct files *files, int fd, FILE *list, uint32_t depth)
{
    struct dirent **names = NULL;
    int count = depth < DEPTH_MAX ? scandirat(fd, ".", &names, any_name, name_compare) : -1;
    bool fine = count >= 0;
    for (int i = 0; i < count; i++) {
        fine = fine && item_list(files, fd, names[i]->d_name, list, depth);
        free(names[i]);
    }
    free(names);
    fputc('e', list);
    return fine;
}

static bool folder_hash(struct files *files, int fd, uint8_t hash[CACHE_HASH])
{
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list) return false;
    bool fine = folder_list(files, fd, list, 0);
    fine = fclose(list) == 0 && fine && cache_hash_begin(files->cache, NULL);
    if (fine) cache_hash_add(files->cache, text, size);
    if (fine) cache_hash_end(files->cache, hash);
    free(text);
    return fine;
}

struct source {
    struct files *files;
    const char *path;
    struct cache_entry *entry;
};

static bool source_hash(void *context)
{
    const struct source *source = context;
    struct files *files = source->files;
    struct cache_entry *entry = source->entry;
    struct stat at;
    int fd = open(source->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool fine = fstat(fd, &at) == 0;
    *entry = (struct cache_entry){.kind = S_ISDIR(at.st_mode) ? CACHE_DIRECTORY : CACHE_FILE};
    if (fine && S_ISDIR(at.st_mode)) {
        fine = folder_hash(files, fd, entry->hash);
    } else {
        entry->executable = at.st_mode & S_IXUSR;
        entry->bytes = (uint64_t)at.st_size;
        fine = fine && S_ISREG(at.st_mode) && file_hash(files, fd, &at, entry->hash);
    }
    close(fd);
    return fine;
}

bool files_source_hash(struct files *files, const char *path, struct cache_entry *entry)
{
    return user_call(files->user, source_hash, &(struct source){files, path, entry});
}
