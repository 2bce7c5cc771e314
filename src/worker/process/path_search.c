// path_search.c - finds the program of a command. Results are cached by its first word.
#define _GNU_SOURCE
#include "worker/process/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOUND_MAX = 256 };

static bool can_run(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        errno = ENOENT;  // also if a directory cannot be searched
        return false;
    }
    if (access(path, X_OK) != 0) return false;
    if (S_ISREG(status.st_mode)) return true;
    errno = EACCES;
    return false;
}

// Searches each directory of PATH. A file that cannot be executed is a better reason than "not
// found".
static bool look(const char *word, const char *path, const char *cwd, char *out)
{
    int reason = ENOENT;
    for (const char *at = path;;) {
        int length = (int)strcspn(at, ":");
        bool is_absolute = at[0] == '/';
        int used = snprintf(out, PATH_MAX, "%s%s%.*s/%s", is_absolute ? "" : cwd,
                            is_absolute ? "" : "/", length, at, word);
        if (used < PATH_MAX && can_run(out)) return true;
        if (errno == EACCES) reason = EACCES;
        if (!at[length]) break;
        at += length + 1;
    }
    errno = reason;
    return false;
}

static const char *remember(struct finder *finder, const char *word, const char *path)
{
    if (finder->count == FOUND_MAX) finder_release(finder);
    if (!finder->items) finder->items = calloc(FOUND_MAX, sizeof *finder->items);
    if (!finder->items) return NULL;
    struct found found = {strdup(word), strdup(path)};
    if (!found.word || !found.path) {
        free(found.word);
        free(found.path);
        errno = ENOMEM;
        return NULL;
    }
    finder->items[finder->count++] = found;
    return found.path;
}

// A command with its own PATH is cached under its word and that PATH.
const char *finder_find(struct finder *finder, const struct command *command,
                        const struct environment *environment)
{
    const char *word = command->argv[0];
    if (strchr(word, '/')) return word;
    const char *path = command_path_variable(command);
    char key[2 * PATH_MAX], found[PATH_MAX];
    bool is_own = path && path != environment->path;
    int length = snprintf(key, sizeof key, "%s%s%s", word, is_own ? ":" : "", is_own ? path : "");
    for (uint32_t i = 0; i < finder->count; i++)
        if (strcmp(finder->items[i].word, key) == 0) return finder->items[i].path;
    if (!word[0] || (size_t)length >= sizeof key) {
        errno = word[0] ? ENAMETOOLONG : ENOENT;
        return NULL;
    }
    if (!look(word, path ? path : environment->path, command->directory, found)) return NULL;
    return remember(finder, key, found);
}

void finder_forget(struct finder *finder, const char *path)
{
    for (uint32_t i = 0; i < finder->count; i++) {
        if (strcmp(finder->items[i].path, path) != 0) continue;
        free(finder->items[i].word);
        free(finder->items[i].path);
        finder->items[i--] = finder->items[--finder->count];
    }
}

void finder_release(struct finder *finder)
{
    for (uint32_t i = 0; i < finder->count; i++) {
        free(finder->items[i].word);
        free(finder->items[i].path);
    }
    free(finder->items);
    *finder = (struct finder){0};
}
