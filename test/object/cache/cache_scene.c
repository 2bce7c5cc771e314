// cache_scene.c - a temporary folder with a cache in it, and files to put into it.
#define _GNU_SOURCE
#include "object/cache/bytes.h"
#include "object/cache/cache_scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int scene_begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene) return -1;
    snprintf(scene->path, sizeof scene->path, "/tmp/rota-cache-XXXXXX");
    if (!mkdtemp(scene->path)) return -1;
    scene->folder = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(scene->cache_path, sizeof scene->cache_path, "%s/cache", scene->path);
    *state = scene;
    return cache_open(&scene->cache, scene->cache_path, 1 << 30, &scene->error) ? 0 : -1;
}

int scene_end(void **state)
{
    struct scene *scene = *state;
    cache_close(&scene->cache);
    close(scene->folder);
    bool gone = os_tree_remove(scene->path);
    free(scene);
    return gone ? 0 : -1;
}

void scene_reopen(struct scene *scene, uint64_t bytes_max)
{
    cache_close(&scene->cache);
    assert_true(cache_open(&scene->cache, scene->cache_path, bytes_max, &scene->error));
}

void file_write(const struct scene *scene, const char *name, const char *text)
{
    int fd = openat(scene->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void bytes_write(const struct scene *scene, const char *name, uint64_t seed, size_t count)
{
    bytes_put(scene->folder, name, seed, count, 0644);
}

char *file_read(const struct scene *scene, const char *name, size_t *size)
{
    struct stat at;
    int fd = openat(scene->folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    assert_int_equal(fstat(fd, &at), 0);
    char *bytes = malloc((size_t)at.st_size + 1);
    assert_non_null(bytes);
    *size = 0;
    for (ssize_t got = 1; got > 0; *size += got > 0 ? (size_t)got : 0)
        got = read(fd, bytes + *size, (size_t)at.st_size - *size);
    bytes[*size] = '\0';
    close(fd);
    return bytes;
}

void file_is(const struct scene *scene, const char *name, const char *text)
{
    size_t size;
    char *bytes = file_read(scene, name, &size);
    assert_non_null(bytes);
    assert_string_equal(bytes, text);
    assert_int_equal(size, strlen(text));
    free(bytes);
}

bool file_is_there(const struct scene *scene, const char *name)
{
    return faccessat(scene->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// Breadth first, over a list of paths that grows while it is read.
uint32_t files_in(const struct scene *scene, const char *name)
{
    char *paths[1000] = {strdup(name)};
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        int fd = openat(scene->folder, paths[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *stream = fd < 0 ? NULL : fdopendir(fd);
        for (struct dirent *found; stream && (found = readdir(stream));) {
            if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
            assert_true(count < 1000);
            assert_true(asprintf(&paths[count++], "%s/%s", paths[i], found->d_name) > 0);
        }
        if (stream) closedir(stream);
    }
    for (uint32_t i = 0; i < count; i++) free(paths[i]);
    return count - 1;
}

static struct stat look(const struct scene *scene, const char *name)
{
    struct stat at = {0};
    assert_int_equal(fstatat(scene->folder, name, &at, AT_SYMLINK_NOFOLLOW), 0);
    return at;
}

mode_t mode_of(const struct scene *scene, const char *name)
{
    return look(scene, name).st_mode & 07777;
}

ino_t inode_of(const struct scene *scene, const char *name)
{
    return look(scene, name).st_ino;
}

struct cache_entry added(struct scene *scene, const char *name, enum cache_kind kind)
{
    struct cache_entry entry;
    if (!cache_add(&scene->cache, scene->folder, name, kind, &entry, &scene->error))
        fail_msg("%s", scene->error.text);
    return entry;
}

struct cache_entry text_added(struct scene *scene, const char *text)
{
    file_write(scene, "text-added", text);
    struct cache_entry entry = added(scene, "text-added", CACHE_FILE);
    unlinkat(scene->folder, "text-added", 0);
    return entry;
}

void refused(struct scene *scene, const char *name, enum cache_kind kind, const char *reason)
{
    struct cache_entry entry;
    scene->error = (struct cache_error){0};
    assert_false(cache_add(&scene->cache, scene->folder, name, kind, &entry, &scene->error));
    assert_int_equal(scene->error.fault, CACHE_REFUSED);
    if (!strstr(scene->error.text, reason)) fail_msg("\"%s\"", scene->error.text);
}

void content_path(const struct cache_entry *entry, char path[160])
{
    int at = snprintf(path, 160, "cache/content/%02x/", entry->hash[0]);
    for (int i = 1; i < CACHE_HASH; i++)
        at += snprintf(path + at, 160 - (size_t)at, "%02x", entry->hash[i]);
    const char *ending = entry->kind == CACHE_DIRECTORY ? ".d" : entry->executable ? ".x" : "";
    snprintf(path + at, 160 - (size_t)at, "%s", ending);
}
