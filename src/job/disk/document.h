// document.h - a JSON file as nodes that know their line and column.
//
//     struct document document;
//     if (document_open(&document, "graph.json")) ...
//     document_errors_write(&document, stderr);
//     document_close(&document);
//
// Node 0 means none. Every function returns an empty result for it, so calls can be chained.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct document {
    struct jobfile *file;  // has the path and the errors
    struct reader *reader;
    char *bytes;
};

bool document_open(struct document *document, const char *path);  // must be closed in either case
void document_close(struct document *document);
void document_errors_write(const struct document *document, FILE *out);
bool document_is_wrong(const struct document *document);
void document_refuse(struct document *document, uint32_t node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

uint32_t document_root(const struct document *document);
bool document_is_object(const struct document *document, uint32_t node);
bool document_is_list(const struct document *document, uint32_t node);
uint32_t document_find(const struct document *document, uint32_t object, const char *key);
// First child of a list or an object.
uint32_t document_first(const struct document *document, uint32_t node);
uint32_t document_next(const struct document *document, uint32_t node);
uint32_t document_count(const struct document *document, uint32_t node);
const char *document_text(const struct document *document, uint32_t node);  // null: not a text

// Returns a number of at least `least`. A missing number or null means `otherwise`, unless that is
// below `least`. An invalid number is reported as an error.
double document_number(struct document *document, uint32_t node, const char *what, double least,
                       double otherwise);
uint32_t document_whole(struct document *document, uint32_t node, const char *what, uint32_t least,
                        uint32_t most);
bool document_flag(struct document *document, uint32_t node, const char *what);  // missing: false
