// result.c - results of commands: one file for each key, with one entry per line.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "rota result 1"
#define FAILURE "rota failure 1"

enum { RESULT_BYTES_MAX = 1 << 26, HEADER_MAX = 40 };

// ---- Keys: every text is preceded by its length, so that no two commands have the same ------

static void key_number(struct cache *cache, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(number >> 8 * i);
    cache_hash_add(cache, bytes, sizeof bytes);
}

static void key_text(struct cache *cache, wire_text text)
{
    key_number(cache, text.length);
    cache_hash_add(cache, text.bytes ? text.bytes : "", text.length);
}

static void key_texts(struct cache *cache, wire_texts texts)
{
    key_number(cache, texts.count);
    for (uint32_t i = 0; i < texts.count; i++) key_text(cache, texts.items[i]);
}

bool cache_key(struct cache *cache, const struct cache_command *command, uint8_t key[CACHE_HASH],
               struct cache_error *error)
{
    if (!cache_hash_begin(cache, error)) return false;
    key_text(cache, wire_text_of(HEADER));
    key_texts(cache, command->argv);
    key_texts(cache, command->environment);
    key_texts(cache, command->outputs);
    key_text(cache, command->directory);
    key_number(cache, command->input_count);
    for (uint32_t i = 0; i < command->input_count; i++) {
        const struct cache_output *input = &command->inputs[i];
        key_text(cache, input->name);
        key_number(cache, (uint64_t)input->entry.kind * 2 + input->entry.executable);
        cache_hash_add(cache, input->entry.hash, CACHE_HASH);
    }
    cache_hash_end(cache, key);
    return true;
}

// ---- Results: a line for the log, then one for each output ----------------------------

static bool result_write(const char *header, const struct cache_entry *log,
                         const struct cache_output *outputs, uint32_t count, int fd)
{
    char text[CACHE_ENTRY_TEXT] = "-";
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    if (!file && copy >= 0) close(copy);
    if (!file) return false;
    if (log->kind != CACHE_NONE) cache_entry_write(log, text);
    fprintf(file, "%s\n%s\n", header, text);
    for (uint32_t i = 0; i < count; i++) {
        cache_entry_write(&outputs[i].entry, text);
        fprintf(file, "%s %u:", text, outputs[i].name.length);
        fwrite(outputs[i].name.bytes, 1, outputs[i].name.length, file);
        putc('\n', file);
    }
    fputs("end\n", file);
    bool fine = fflush(file) == 0 && !ferror(file);
    int reason = errno;
    fclose(file);
    errno = reason;
    return fine;
}

static bool result_name(struct cache *cache, const char *hex, const char *header,
                        const struct cache_entry *log, const struct cache_output *outputs,
                        uint32_t count, struct cache_error *error)
{
    char temporary[24];
    int fd = cache_temporary(cache, temporary, error);
    if (fd < 0) return false;
    bool fine = result_write(header, log, outputs, count, fd)
                && renameat(cache->own, temporary, cache->result, hex) == 0;
    if (!fine) {
        cache_fail_system(error, "write a result in", cache->path);
        unlinkat(cache->own, temporary, 0);
    }
    close(fd);
    return fine;
}

static bool outputs_ready(struct cache *cache, const struct cache_output *outputs, uint32_t count,
                          struct cache_error *error)
{
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++)
        fine = cache_ready(cache, &outputs[i].entry, error);
    return fine;
}

static bool log_add(struct cache *cache, const char *path, struct cache_entry *log,
                    struct cache_error *error)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int parent = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool fine = parent >= 0 ? cache_add_file(cache, parent, slash ? slash + 1 : path,
                                             CACHE_COPY_LOG, log, error)
                            : cache_fail_system(error, "open the folder of", path);
    if (parent >= 0) close(parent);
    free(folder);
    return fine;
}

static bool put(struct cache *cache, const uint8_t key[CACHE_HASH], const char *header,
                const struct cache_output *outputs, uint32_t count, const char *log_path,
                struct cache_error *error)
{
    char hex[CACHE_HEX + 1];
    struct cache_entry log = {0};
    wire_hex(key, hex);
    cache_enter(cache);
    bool fine = (!log_path || log_add(cache, log_path, &log, error))
                && outputs_ready(cache, outputs, count, error) && cache_sync(cache, error)
                && result_name(cache, hex, header, &log, outputs, count, error);
    for (uint32_t i = 0; i < count && fine; i++) cache_release(cache, &outputs[i].entry);
    if (log.kind != CACHE_NONE) cache_release(cache, &log);
    cache_leave(cache);
    return fine;
}

bool cache_result_put(struct cache *cache, const uint8_t key[CACHE_HASH],
                      const struct cache_output *outputs, uint32_t count, const char *log_path,
                      struct cache_error *error)
{
    char header[HEADER_MAX];
    snprintf(header, sizeof header, HEADER " %u", count);
    return put(cache, key, header, outputs, count, log_path, error);
}

bool cache_failure_put(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t status,
                       const char *log_path, struct cache_error *error)
{
    char header[HEADER_MAX];
    snprintf(header, sizeof header, FAILURE " %d", status);
    return put(cache, key, header, NULL, 0, log_path, error);
}

// A small file as a text, to be freed; null: it does not exist, or is too large.
static char *text_read(int folder_fd, const char *name, size_t *size)
{
    struct stat at;
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    bool fits = fstat(fd, &at) == 0 && at.st_size > 0 && at.st_size < RESULT_BYTES_MAX;
    char *text = fits ? malloc((size_t)at.st_size + 1) : NULL;
    ssize_t got = text ? read(fd, text, (size_t)at.st_size) : -1;
    close(fd);
    *size = got > 0 ? (size_t)got : 0;
    if (text) text[*size] = '\0';
    return text;
}

// Consumes the expected text, or returns false.
static bool expect(char **at, const char *text, size_t length)
{
    if (strnlen(*at, length) < length || memcmp(*at, text, length) != 0) return false;
    *at += length;
    return true;
}

static bool entry_take(char **at, char ending, struct cache_entry *entry)
{
    char *end = strchr(*at, ending);
    *entry = (struct cache_entry){0};
    if (!end) return false;
    *end = '\0';
    bool fine = strcmp(*at, "-") == 0 || cache_entry_read(*at, entry);
    *at = end + 1;
    return fine;
}

static bool output_take(char **at, struct cache_output *output)
{
    char length[16];
    int digits = snprintf(length, sizeof length, "%u:", output->name.length);
    return entry_take(at, ' ', &output->entry) && expect(at, length, (size_t)digits)
           && expect(at, output->name.bytes, output->name.length) && expect(at, "\n", 1);
}

static bool result_parse(char *text, struct cache_output *outputs, uint32_t count,
                         struct cache_entry *log)
{
    char header[HEADER_MAX];
    int length = snprintf(header, sizeof header, HEADER " %u\n", count);
    bool fine = expect(&text, header, (size_t)length) && entry_take(&text, '\n', log);
    for (uint32_t i = 0; i < count && fine; i++) fine = output_take(&text, &outputs[i]);
    return fine && strcmp(text, "end\n") == 0;
}

static bool result_is_there(struct cache *cache, const struct cache_output *outputs, uint32_t count,
                            const struct cache_entry *log)
{
    bool there = log->kind == CACHE_NONE || cache_has(cache, log);
    for (uint32_t i = 0; i < count && there; i++) there = cache_has(cache, &outputs[i].entry);
    return there;
}

bool cache_result_find(struct cache *cache, const uint8_t key[CACHE_HASH],
                       struct cache_output *outputs, uint32_t count, struct cache_entry *log)
{
    char hex[CACHE_HEX + 1];
    size_t size;
    wire_hex(key, hex);
    char *text = text_read(cache->result, hex, &size);
    if (!text) return false;
    bool fine
        = result_parse(text, outputs, count, log) && result_is_there(cache, outputs, count, log);
    free(text);
    if (!fine) unlinkat(cache->result, hex, 0);
    for (uint32_t i = 0; i < count && fine; i++) cache_content_used(cache, &outputs[i].entry);
    return fine;
}

static bool status_take(char **at, int32_t *status)
{
    char *end;
    long number = strtol(*at, &end, 10);
    bool fine = end > *at && *end == '\n' && number > 0 && number <= UINT8_MAX;
    *status = (int32_t)number;
    *at = end + 1;
    return fine;
}

bool cache_failure_find(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t *status,
                        struct cache_entry *log)
{
    char hex[CACHE_HEX + 1];
    size_t size;
    wire_hex(key, hex);
    char *text = text_read(cache->result, hex, &size), *at = text;
    bool fine = text && expect(&at, FAILURE " ", sizeof FAILURE) && status_take(&at, status)
                && entry_take(&at, '\n', log) && strcmp(at, "end\n") == 0
                && result_is_there(cache, NULL, 0, log);
    free(text);
    return fine;
}

// ---- Removing -------------------------------------------------------------------------------

// Whether all contents named at the beginnings of lines exist. The text is modified. Every line
// that looks like an entry counts as one; a name that looks like one costs only the result.
static bool lines_are_there(struct cache *cache, char *text)
{
    struct cache_entry entry;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) next++;
        line[strcspn(line, " \n")] = '\0';
        if (cache_entry_read(line, &entry) && !cache_has(cache, &entry)) return false;
    }
    return true;
}

static bool result_look(void *context, int folder_fd, const char *name)
{
    size_t size;
    char *text = text_read(folder_fd, name, &size);
    if (!text || !lines_are_there(context, text)) unlinkat(folder_fd, name, 0);
    free(text);
    return true;
}

void cache_result_prune(struct cache *cache)
{
    cache_list(cache->folder, "result", result_look, cache);
}

// ---- Content keys for which there is a result: a file for each, with one entry per line -------

static const char ending[] = "end\n";

static bool entries_write(int fd, const struct cache_entry *entries, uint32_t count)
{
    char text[CACHE_ENTRY_TEXT];
    FILE *file = fdopen(fd, "w");
    if (!file) close(fd);
    if (!file) return false;
    for (uint32_t i = 0; i < count; i++) {
        cache_entry_write(&entries[i], text);
        fprintf(file, "%s\n", text);
    }
    fputs(ending, file);
    bool fine = !ferror(file);
    return fclose(file) == 0 && fine;
}

bool cache_known_put(struct cache *cache, rota_object_id key, const struct cache_entry *entries,
                     uint32_t count)
{
    char name[CACHE_OBJECT_NAME], temporary[24];
    int fd = cache_temporary(cache, temporary, NULL);
    if (fd < 0) return false;
    cache_object_name(key, name);
    bool fine = entries_write(fd, entries, count)
                && renameat(cache->own, temporary, cache->known, name) == 0;
    if (!fine) unlinkat(cache->own, temporary, 0);
    return fine;
}

struct telling {
    struct cache *cache;
    cache_known_fn *call;
    void *context;
};

// A file that was cut off by a crash has no end mark.
static bool is_there(struct cache *cache, const char *name)
{
    size_t size, length = sizeof ending - 1;
    char *text = text_read(cache->known, name, &size);
    bool whole = text && size >= length && strcmp(text + size - length, ending) == 0;
    bool there = whole && lines_are_there(cache, text);
    free(text);
    return there;
}

static bool key_look(void *context, int folder_fd, const char *name)
{
    const struct telling *telling = context;
    rota_object_id key;
    if (cache_object_name_read(name, &key) && is_there(telling->cache, name))
        return telling->call(telling->context, key);
    unlinkat(folder_fd, name, 0);
    return true;
}

void cache_known_each(struct cache *cache, cache_known_fn *call, void *context)
{
    struct telling telling = {cache, call, context};
    cache_list(cache->folder, "known", key_look, &telling);
}
