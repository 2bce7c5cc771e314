// line_buffer.h - columns as readable text: words for enums, lists and conditions as text.
#pragma once

#include "rota.h"

// ---- enum_names.c: enums as words ------------------------------------------------

struct words {
    const char *const *items;
    uint32_t count;
};
extern const struct words words_state, words_outcome, words_policy, words_on_failure,
    words_job_state, words_access, words_wait_mode;

const char *word_of(struct words words, uint32_t number);
bool word_find(struct words words, const char *text, uint32_t *number);

// ---- line_buffer.c: fast building and parsing of text -------------------------------

// The buffer is reused for many rows.
struct line {
    char *data;  // zero-terminated once something was added
    size_t length, capacity;
    bool failed;  // out of memory; cleared with the line
};

void line_clear(struct line *line);
void line_release(struct line *line);
void line_add(struct line *line, const char *text, size_t length);
void line_add_char(struct line *line, char c);
void line_add_word(struct line *line, const char *word);
void line_add_number(struct line *line, uint64_t number);
void line_add_task(struct line *line, rota_task_id task);    // "7.3"
void line_add_object(struct line *line, rota_object_id id);  // "7-1f", in hexadecimal

// Each parses a value at *text and moves *text past it. False: there is no such value.
bool text_read_char(const char **text, char c);
bool text_read_word(const char **text, const char *word);
bool text_read_number(const char **text, uint64_t *number);
bool text_read_object(const char **text, rota_object_id *id);

// "f:ab12...": the kind of the content, and its hash. False: the text is not exactly that.
enum { CONTENT_TEXT = 2 + 64 + 1 };
void content_write(const struct rota_content *content, char text[CONTENT_TEXT]);
bool content_read(const char *text, struct rota_content *content);

// ---- spec_text.c: conditions, inputs and outputs as columns -------------------

void condition_write(struct line *line, const struct rota_clause *clauses, uint32_t count);
int condition_read(const char *text, struct rota_clause *clauses, uint32_t max);  // -1: invalid
void input_write(struct line *line, const struct rota_input *input);
bool input_read(const char **text, struct rota_input *input);
void output_write(struct line *line, const struct rota_output *output);
bool output_read(const char **text, struct rota_output *output);
