// document.c - a JSON file as nodes that know their line and column.
#include "job/disk/document.h"
#include "job/disk/disk.h"
#include "job/file/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// A file is read before anything is done, so there is nothing to save when memory runs out.
static void *must(void *memory)
{
    if (memory) return memory;
    fputs("rota: out of memory while reading a file\n", stderr);
    exit(2);
}

bool document_open(struct document *document, const char *path)
{
    *document = (struct document){0};
    document->file = must(calloc(1, sizeof *document->file));
    document->reader = must(calloc(1, sizeof *document->reader));
    document->reader->file = document->file;
    return jobfile_tree_read(document->reader, path, &document->bytes);
}

void document_close(struct document *document)
{
    if (document->reader) free(document->reader->tree.nodes);
    if (document->file) jobfile_release(document->file);
    free(document->reader);
    free(document->file);
    free(document->bytes);
    *document = (struct document){0};
}

void document_errors_write(const struct document *document, FILE *out)
{
    jobfile_errors_write(document->file, out);
}

bool document_is_wrong(const struct document *document)
{
    return document->file->error_count > 0;
}

void document_refuse(struct document *document, uint32_t node, const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    struct jobfile_place nowhere = {0};
    refuse_at(document->file, node ? node_place(document->reader, node) : nowhere, "%s", reason);
}

// ---- Nodes -----------------------------------------------------------------------------

static const struct node *node_get(const struct document *document, uint32_t node)
{
    return &document->reader->tree.nodes[node];
}

uint32_t document_root(const struct document *document)
{
    return document->reader->tree.count > 1 ? 1 : 0;
}

bool document_is_object(const struct document *document, uint32_t node)
{
    return node && node_get(document, node)->kind == NODE_MAP;
}

bool document_is_list(const struct document *document, uint32_t node)
{
    return node && node_get(document, node)->kind == NODE_LIST;
}

uint32_t document_first(const struct document *document, uint32_t node)
{
    return node ? node_first(&document->reader->tree, node) : 0;
}

uint32_t document_next(const struct document *document, uint32_t node)
{
    return node ? node_get(document, node)->next : 0;
}

uint32_t document_count(const struct document *document, uint32_t node)
{
    if (!node || node_get(document, node)->kind == NODE_TEXT) return 0;
    uint32_t length = node_get(document, node)->length;
    return document_is_object(document, node) ? length / 2 : length;
}

uint32_t document_find(const struct document *document, uint32_t object, const char *key)
{
    if (!document_is_object(document, object)) return 0;
    size_t length = strlen(key);
    uint32_t at = document_first(document, object);
    while (at) {
        const struct node *node = node_get(document, at);
        const char *text = document->reader->tree.text + node->text;
        if (node->length == length && memcmp(text, key, length) == 0) return node->next;
        at = document_next(document, node->next);
    }
    return 0;
}

const char *document_text(const struct document *document, uint32_t node)
{
    if (!node || node_get(document, node)->kind != NODE_TEXT) return NULL;
    const struct node *at = node_get(document, node);
    return must(jobfile_text(document->file, document->reader->tree.text + at->text, at->length));
}

static bool is_word(const struct document *document, uint32_t node, const char *word)
{
    const struct node *at = node_get(document, node);
    return at->kind == NODE_TEXT && at->style & NODE_PLAIN && at->length == strlen(word)
           && memcmp(document->reader->tree.text + at->text, word, at->length) == 0;
}

static bool document_is_null(const struct document *document, uint32_t node)
{
    return !node || is_word(document, node, "null") || is_word(document, node, "");
}

// ---- Numbers -----------------------------------------------------------------------------

enum { NUMBER_LENGTH = 64 };

static bool number_read(const struct document *document, uint32_t node, double *number)
{
    const struct node *at = node_get(document, node);
    char text[NUMBER_LENGTH], *end;
    bool plain = at->kind == NODE_TEXT && at->style & NODE_PLAIN;
    if (!plain || !at->length || at->length >= sizeof text) return false;
    memcpy(text, document->reader->tree.text + at->text, at->length);
    text[at->length] = 0;
    *number = strtod(text, &end);
    return !*end && isfinite(*number);
}

double document_number(struct document *document, uint32_t node, const char *what, double least,
                       double otherwise)
{
    double number;
    if (document_is_null(document, node) && otherwise >= least) return otherwise;
    if (node && number_read(document, node, &number) && number >= least) return number;
    document_refuse(document, node, "%s must be a number, at least %g", what, least);
    return least;
}

uint32_t document_whole(struct document *document, uint32_t node, const char *what, uint32_t least,
                        uint32_t most)
{
    double number;
    bool fine = node && number_read(document, node, &number) && number >= least && number <= most
                && number == (double)(uint32_t)number;
    if (fine) return (uint32_t)number;
    document_refuse(document, node, "%s must be a whole number from %u to %u", what, least, most);
    return least;
}

bool document_flag(struct document *document, uint32_t node, const char *what)
{
    if (!node || is_word(document, node, "false")) return false;
    if (!is_word(document, node, "true"))
        document_refuse(document, node, "%s must be true or false", what);
    return true;
}
