// manifest.c - the list of a tree: a line for each file, folder and link, sorted by path.
//
//     rota tree 1
//     d - bin                        a folder
//     x:812:HASH - bin/tool          a file, with its entry
//     l tool bin/alias               a link, with its target
//
// Bytes that would break a line are written as \xHH.
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "rota tree 1\n"

enum { MANIFEST_BYTES_MAX = 1 << 29, PATH_BYTES_MAX = 4095 };

static void item_release(struct cache_item *item)
{
    free(item->path);
    free(item->target);
}

void cache_manifest_release(struct cache_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->count; i++) item_release(&manifest->items[i]);
    free(manifest->items);
    *manifest = (struct cache_manifest){0};
}

bool cache_manifest_add(struct cache_manifest *manifest, struct cache_item item)
{
    bool fine = item.path && (item.kind != CACHE_ITEM_LINK || item.target)
                && manifest->count < CACHE_TREE_ENTRIES_MAX
                && ARRAY_MORE_RAW(&memory_heap, manifest->items, manifest->count,
                                  manifest->capacity);
    if (fine)
        manifest->items[manifest->count++] = item;
    else
        item_release(&item);
    return fine;
}

static int item_compare(const void *one, const void *other)
{
    return strcmp(((const struct cache_item *)one)->path, ((const struct cache_item *)other)->path);
}

void cache_manifest_sort(struct cache_manifest *manifest)
{
    if (manifest->count)
        qsort(manifest->items, manifest->count, sizeof *manifest->items, item_compare);
}

uint32_t cache_path_depth(const char *path)
{
    uint32_t depth = 0;
    for (; *path; path++) depth += *path == '/';
    return depth;
}

// A link may go up at most to the top of the tree, and only before it goes down: the parts on the
// way down may be links as well, for which the same holds.
static const char *target_fault(const char *target, uint32_t depth)
{
    if (!*target) return "is empty";
    if (*target == '/') return "is absolute";
    for (bool down = false; *target; target += *target == '/') {
        size_t length = strcspn(target, "/");
        bool up = length == 2 && target[0] == '.' && target[1] == '.';
        if (up && (down || depth-- == 0)) return "leaves the tree";
        if (!up && length && !(length == 1 && target[0] == '.')) down = true;
        target += length;
    }
    return NULL;
}

static bool parent_is_folder(const struct cache_manifest *manifest, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return true;
    struct cache_item wanted = {.path = strndup(path, (size_t)(slash - path))};
    const struct cache_item *found
        = wanted.path
              ? bsearch(&wanted, manifest->items, manifest->count, sizeof wanted, item_compare)
              : NULL;
    free(wanted.path);
    return found && found->kind == CACHE_ITEM_FOLDER;
}

static const char *item_fault(const struct cache_manifest *manifest, uint32_t at)
{
    const struct cache_item *item = &manifest->items[at];
    if (tree_name_fault(item->path)) return "has a path that is absolute or contains '..'";
    if (strlen(item->path) > PATH_BYTES_MAX) return "has a path of more than 4095 bytes";
    if (cache_path_depth(item->path) >= CACHE_TREE_DEPTH_MAX) return "is more than 64 deep";
    if (at && item_compare(item - 1, item) >= 0) return "has duplicate or unsorted paths";
    if (!parent_is_folder(manifest, item->path)) return "has a path outside of its folders";
    if (item->kind == CACHE_ITEM_LINK && target_fault(item->target, cache_path_depth(item->path)))
        return "has a link that is absolute or leaves the tree";
    return NULL;
}

const char *cache_manifest_fault(struct cache_manifest *manifest)
{
    const char *fault = NULL;
    manifest->bytes = 0;
    for (uint32_t i = 0; i < manifest->count && !fault; i++) {
        fault = item_fault(manifest, i);
        uint64_t more
            = manifest->items[i].kind == CACHE_ITEM_FILE ? manifest->items[i].entry.bytes : 0;
        if (__builtin_add_overflow(manifest->bytes, more, &manifest->bytes))
            fault = "has too many bytes";
    }
    return fault;
}

static void escaped_write(const char *text, FILE *file)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte > ' ' && byte != '\\' && byte != 127)
            putc_unlocked(byte, file);
        else
            fprintf(file, "\\x%02x", byte);
    }
}

static void item_write(const struct cache_item *item, FILE *file)
{
    char text[CACHE_ENTRY_TEXT] = {(char)item->kind, '\0'};
    if (item->kind == CACHE_ITEM_FILE) cache_entry_write(&item->entry, text);
    fprintf(file, "%s ", text);
    escaped_write(item->target ? item->target : "-", file);
    putc_unlocked(' ', file);
    escaped_write(item->path, file);
    putc_unlocked('\n', file);
}

bool cache_manifest_write(const struct cache_manifest *manifest, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    if (!file && copy >= 0) close(copy);
    if (!file) return false;
    fputs(HEADER, file);
    for (uint32_t i = 0; i < manifest->count; i++) item_write(&manifest->items[i], file);
    bool fine = fflush(file) == 0 && !ferror(file);
    int reason = errno;
    fclose(file);
    errno = reason;
    return fine;
}

// In place. False: an invalid escape.
static bool unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text != '\\') {
            *to++ = *text;
            continue;
        }
        int high = text[1] == 'x' ? wire_hex_digit(text[2]) : -1;
        int low = high < 0 ? -1 : wire_hex_digit(text[3]);
        if (low < 0 || high * 16 + low == 0) return false;
        *to++ = (char)(high * 16 + low);
        text += 3;
    }
    *to = '\0';
    return true;
}

static bool line_parse(struct cache_manifest *manifest, char *line)
{
    char *target = strchr(line, ' ');
    char *path = target ? strchr(target + 1, ' ') : NULL;
    if (!path || strchr(path + 1, ' ')) return false;
    *target++ = *path++ = '\0';
    struct cache_item item = {.kind = CACHE_ITEM_FILE};
    if (strcmp(line, "d") == 0 || strcmp(line, "l") == 0)
        item.kind = (enum cache_item_kind)line[0];
    else if (!cache_entry_read(line, &item.entry) || item.entry.kind != CACHE_FILE)
        return false;
    if (!unescape(path) || !unescape(target)) return false;
    if (item.kind != CACHE_ITEM_LINK && strcmp(target, "-") != 0) return false;
    item.path = strdup(path);
    item.target = item.kind == CACHE_ITEM_LINK ? strdup(target) : NULL;
    return cache_manifest_add(manifest, item);
}

// Null, or why the text is invalid. The text is modified.
static const char *cache_manifest_parse(struct cache_manifest *manifest, char *text)
{
    if (strncmp(text, HEADER, strlen(HEADER)) != 0) return "is not a list of a tree";
    for (char *line = text + strlen(HEADER), *next; *line; line = next) {
        next = strchr(line, '\n');
        if (!next) return "is incomplete";
        *next++ = '\0';
        if (manifest->count == CACHE_TREE_ENTRIES_MAX) return "has more than 1000000 entries";
        if (!line_parse(manifest, line)) return "has an invalid line";
    }
    return cache_manifest_fault(manifest);
}

static char *content_read(struct cache *cache, const struct cache_entry *entry, off_t size)
{
    int fd = cache_content_open(cache, entry);
    char *text = fd < 0 || size > MANIFEST_BYTES_MAX ? NULL : malloc((size_t)size + 1);
    off_t at = 0;
    for (ssize_t got = 1; text && at < size && got > 0; at += got > 0 ? got : 0)
        got = pread(fd, text + at, (size_t)(size - at), at);
    if (fd >= 0) close(fd);
    if (text) text[at] = '\0';
    if (!text || (at == size && !memchr(text, '\0', (size_t)at))) return text;
    free(text);
    return NULL;
}

bool cache_manifest_peek(struct cache *cache, const struct cache_entry *entry,
                         struct cache_manifest *manifest)
{
    char name[CACHE_NAME];
    struct stat at;
    *manifest = (struct cache_manifest){0};
    cache_name(entry, name);
    if (fstatat(cache->content, name, &at, AT_SYMLINK_NOFOLLOW) != 0) return false;
    char *text = content_read(cache, entry, at.st_size);
    bool fine = text && !cache_manifest_parse(manifest, text);
    free(text);
    if (!fine) cache_manifest_release(manifest);
    return fine;
}

bool cache_manifest_load(struct cache *cache, const struct cache_entry *entry,
                         struct cache_manifest *manifest, struct cache_error *error)
{
    struct stat at;
    char hex[CACHE_HEX + 1];
    *manifest = (struct cache_manifest){0};
    if (!cache_content_check(cache, entry, &at, error)) return false;
    char *text = content_read(cache, entry, at.st_size);
    const char *fault = text ? cache_manifest_parse(manifest, text) : "cannot be read";
    free(text);
    if (!fault && manifest->bytes != entry->bytes) fault = "has a wrong size";
    if (!fault) return true;
    cache_manifest_release(manifest);
    wire_hex(entry->hash, hex);
    return cache_fail(error, CACHE_REFUSED, "the tree %s %s", hex, fault);
}
