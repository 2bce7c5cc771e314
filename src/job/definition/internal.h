// internal.h - shared by the files of definition.h: keys, values, errors.
#pragma once

#include "job/calendar/internal.h"
#include "job/definition/definition.h"

// ---- keys.c: the keys and actions -------------------------------------------

enum key_kind {
    KEY_LINE,    // text up to the end of the line, `#` included
    KEY_TEXT,    // a text without comments
    KEY_NAME,    // one word that a condition can name
    KEY_CHOICE,  // one word of a list
    KEY_NUMBER,
    KEY_SIZE,  // with a unit, stored in MiB
    KEY_TIME,  // with a unit
};

struct choice {
    const char *word;
    uint32_t value;
};

struct key {
    const char *word;
    enum key_kind kind;
    size_t place;                  // offset in struct definition
    const struct choice *choices;  // the first with a value is written; ends with null
    uint32_t max;                  // of a number
    const char *refusal;           // completes the error message after the invalid value
    bool of_bundle;                // allowed in a bundle
};

extern const struct key definition_keys[DEFINITION_KEYS];
extern const char *const definition_actions[];

// Returns DEFINITION_KEYS, or -1 for actions, if the word is unknown.
enum definition_key key_find(const char *word);
int action_find(const char *word);
// The key or action that the word was probably meant to be, or null.
const char *word_suggest(const char *word);

const char **key_text(struct definition *definition, enum definition_key key);
uint32_t *key_number(struct definition *definition, enum definition_key key);

// ---- value.c: parsing and formatting values ---------------------------------

// Null: the value is valid and stored. Otherwise the rest of the error message after the quoted
// text.
const char *value_read(struct definition *definition, enum definition_key key, const char *text);
// Formats the value of a key that is not a text, in the form that value_read() accepts.
void value_write(const struct definition *definition, enum definition_key key, char *out,
                 size_t size);
const char *name_fault(const char *name);

// ---- read.c: the state of the parser ----------------------------------------

struct reader {
    struct definitions *definitions;
    const char *bytes;  // the original bytes; definitions->text is split into pieces
    size_t size;
    uint32_t line;
    const char *words[DEFINITION_KEYS];  // positions of the keys of the last definition
};

// Adds an error at a position in definitions->text.
void reader_refuse(struct reader *reader, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct quoted text_quote(const char *text);
// The first byte that is not UTF-8 or not printable, or null.
const char *text_fault(const char *text, size_t length);

// ---- check.c: validation ----------------------------------------------------

void definition_check(struct reader *reader, struct definition *definition);
void definitions_check(struct reader *reader);  // between the actions of a file
