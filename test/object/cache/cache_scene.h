// cache_scene.h - a temporary folder with a cache in it, and files to put into it.
#pragma once

#include "os/os.h"
#include "object/cache/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include <cmocka.h>

struct scene {
    char path[64];  // of the folder
    int folder;     // open
    char cache_path[80];
    struct cache cache;
    struct cache_error error;
};

int scene_begin(void **state);  // with a cache of 1 GiB at most
int scene_end(void **state);
void scene_reopen(struct scene *scene, uint64_t bytes_max);

void file_write(const struct scene *scene, const char *name, const char *text);
void bytes_write(const struct scene *scene, const char *name, uint64_t seed, size_t count);
// The complete file, to be freed, or null.
char *file_read(const struct scene *scene, const char *name, size_t *size);
void file_is(const struct scene *scene, const char *name, const char *text);
bool file_is_there(const struct scene *scene, const char *name);
uint32_t files_in(const struct scene *scene, const char *name);  // in the tree, folders included
mode_t mode_of(const struct scene *scene, const char *name);
ino_t inode_of(const struct scene *scene, const char *name);

struct cache_entry added(struct scene *scene, const char *name, enum cache_kind kind);
struct cache_entry text_added(struct scene *scene, const char *text);
void refused(struct scene *scene, const char *name, enum cache_kind kind, const char *reason);
// The path of the content, relative to the scene's folder.
void content_path(const struct cache_entry *entry, char path[160]);
