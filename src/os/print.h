// print.h - output for terminals: what the terminal can do, and safe printing of untrusted text.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// ---- terminal.c ---------------------------------------------------------------------------------

bool terminal_is_able(FILE *out);  // whether lines can be overwritten
bool colour_is_wanted(FILE *out);  // the same, and NO_COLOR is not set

// ---- plain_text.c: untrusted text, without characters that could harm a terminal ----------------

size_t plain_write(FILE *out, const char *text, size_t length);  // on one line; returns its columns
// In quotes if a shell would split or expand it.
void plain_word_write(FILE *out, const char *word);
void plain_lines_write(FILE *out, const char *text, size_t length);  // newlines and tabs are kept

// Prints the output of a command that arrives in pieces, which may split a character.
enum { PLAIN_CUT = 4 };
struct plain_log {
    char cut[PLAIN_CUT];  // the start of an incomplete character
    size_t cut_length;
    bool is_open;         // the last line has no newline yet
};
void plain_log_add(struct plain_log *log, const char *bytes, size_t count);
void plain_log_end(struct plain_log *log);  // adds a missing newline
