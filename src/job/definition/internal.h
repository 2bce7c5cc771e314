// internal.h - shared by the files of definitions: keys, values, mistakes.
#pragma once

#include "job/calendar/internal.h"
#include "job/definition/definition.h"

// ---- keys.c: the words -----------------------------------------------

enum key_kind {
    KEY_LINE,    // a text to the end of the line, comments included
    KEY_TEXT,    // a text without comments
    KEY_NAME,    // one word that may stand in a condition
    KEY_CHOICE,  // one of some words
    KEY_NUMBER,
    KEY_SIZE,  // with a unit, kept in MiB
    KEY_TIME,  // with a unit
};

struct choice {
    const char *word;
    uint32_t value;
};

struct key {
    const char *word;
    enum key_kind kind;
    size_t place;                  // in struct definition
    const struct choice *choices;  // the first with a value is its proper word; ends with null
    uint32_t max;                  // of a number
    const char *refusal;           // follows an invalid value in the message
    bool of_bundle;                // a bundle may have it
};

extern const struct key definition_keys[DEFINITION_KEYS];
extern const char *const definition_actions[];

// DEFINITION_KEYS, or -1 for actions: no such word.
enum definition_key key_find(const char *word);
int action_find(const char *word);
// The key or action that was probably meant, or null.
const char *word_suggest(const char *word);

const char **key_text(struct definition *definition, enum definition_key key);
uint32_t *key_number(struct definition *definition, enum definition_key key);

// ---- value.c: values from and to text -----------------------------------

// Null: fine, and the value is in its place. Otherwise the rest of the message after the quoted
// text.
const char *value_read(struct definition *definition, enum definition_key key, const char *text);
// The value of a key that is no text, as value_read() takes it.
void value_write(const struct definition *definition, enum definition_key key, char *out,
                 size_t size);
const char *name_fault(const char *name);

// ---- read.c: a file while it is read -------------------------------------

struct reader {
    struct definitions *definitions;
    const char *bytes;  // as they came; the copy in definitions->text is cut to pieces
    size_t size;
    uint32_t line;
    const char *words[DEFINITION_KEYS];  // where the keys of the last definition stand
};

// Notes a mistake at a place of definitions->text.
void reader_refuse(struct reader *reader, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct quoted text_quote(const char *text);
// The first byte that is not UTF-8 or not printable, or null.
const char *text_fault(const char *text, size_t length);

// ---- check.c: what must hold ------------------------------------------------

void definition_check(struct reader *reader, struct definition *definition);
void definitions_check(struct reader *reader);  // between the actions of a file
