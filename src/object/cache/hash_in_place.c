// hash_in_place.c - hashes a file or folder in place, without adding it.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Links in the user's own path are followed.
static bool place_find(struct cache_survey *survey, const char *path, struct stat *at,
                       struct cache_error *error)
{
    survey->folder = realpath(path, NULL);
    if (!survey->folder || stat(survey->folder, at) != 0)
        return cache_fail_system(error, "read", path);
    if (S_ISDIR(at->st_mode)) return true;
    char *slash = strrchr(survey->folder, '/');
    survey->leaf = strdup(slash + 1);
    slash[slash == survey->folder] = '\0';
    return survey->leaf || cache_fail(error, CACHE_BROKEN, "out of memory");
}

static bool list_read(struct cache_survey *survey, int list, off_t size)
{
    off_t done = 0;
    survey->list = malloc((size_t)size + 1);
    survey->list_bytes = (uint64_t)size;
    for (ssize_t got = 1; survey->list && done < size && got > 0; done += got > 0 ? got : 0)
        got = pread(list, survey->list + done, (size_t)(size - done), done);
    return survey->list && done == size;
}

static bool list_make(struct cache *cache, struct cache_survey *survey, const char *path,
                      struct cache_error *error)
{
    struct stat at;
    int list = memfd_create("rota-tree", MFD_CLOEXEC);
    bool fine = (list >= 0 && cache_manifest_write(survey->tree, list) && fstat(list, &at) == 0
                 && list_read(survey, list, at.st_size))
                || cache_fail_system(error, "list", path);
    fine = fine && cache_hash_file(cache, list, at.st_size, survey->entry.hash, path, error);
    if (list >= 0) close(list);
    return fine;
}

static bool tree_survey(struct cache *cache, struct cache_survey *survey, int folder,
                        const char *path, struct cache_error *error)
{
    survey->tree = calloc(1, sizeof *survey->tree);
    if (!survey->tree) return cache_fail(error, CACHE_BROKEN, "out of memory");
    if (!cache_tree_look(cache, folder, path, survey->tree, error)) return false;
    survey->entry.kind = CACHE_DIRECTORY;
    survey->entry.bytes = survey->tree->bytes;
    return list_make(cache, survey, path, error);
}

bool cache_survey(struct cache *cache, const char *path, struct cache_survey *survey,
                  struct cache_error *error)
{
    struct stat at;
    *survey = (struct cache_survey){0};
    bool fine = place_find(survey, path, &at, error);
    int folder = fine ? open(survey->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fine && folder < 0) fine = cache_fail_system(error, "open the folder of", path);
    if (fine && survey->leaf)
        fine = cache_add_file(cache, folder, survey->leaf, CACHE_ONLY_LOOK, &survey->entry, error);
    else if (fine)
        fine = tree_survey(cache, survey, folder, path, error);
    if (folder >= 0) close(folder);
    if (!fine) cache_survey_release(survey);
    return fine;
}

bool cache_survey_part(const struct cache_survey *survey, uint32_t *at, struct cache_part *part)
{
    const struct cache_manifest *tree = survey->tree;
    while (tree && *at < tree->count && tree->items[*at].kind != CACHE_ITEM_FILE) ++*at;
    if (*at > (tree ? tree->count : 0)) return false;
    if (tree && *at < tree->count)
        *part = (struct cache_part){tree->items[*at].entry, tree->items[*at].path,
                                    tree->items[*at].entry.bytes};
    else if (tree)
        *part = (struct cache_part){survey->entry, NULL, survey->list_bytes};
    else
        *part = (struct cache_part){survey->entry, survey->leaf, survey->entry.bytes};
    ++*at;
    return true;
}

int cache_survey_open(const struct cache_survey *survey, const struct cache_part *part)
{
    int folder = open(survey->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : tree_open_below(folder, part->path, O_RDONLY);
    int reason = errno;
    if (folder >= 0) close(folder);
    errno = reason;
    return fd;
}

void cache_survey_release(struct cache_survey *survey)
{
    if (survey->tree) cache_manifest_release(survey->tree);
    free(survey->tree);
    free(survey->folder);
    free(survey->leaf);
    free(survey->list);
    *survey = (struct cache_survey){0};
}
