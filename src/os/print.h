// print.h - text for terminals: whether one is there, and texts of others made harmless.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// ---- terminal.c ---------------------------------------------------------------------------------

bool terminal_is_able(FILE *out);  // to write over what it shows
bool colour_is_wanted(FILE *out);  // NO_COLOR is not set, either

// ---- plain_text.c: texts of others, with nothing in them that could harm a terminal -------------

size_t plain_write(FILE *out, const char *text, size_t length);  // on one line; its columns
void plain_word_write(FILE *out, const char *word);  // in quotes if a shell would take it apart
void plain_lines_write(FILE *out, const char *text, size_t length);  // newlines and tabs stay

// Prints the output of a command, in pieces that may cut a character.
enum { PLAIN_CUT = 4 };
struct plain_log {
    char cut[PLAIN_CUT];  // a character that is not whole so far
    size_t cut_length;
    bool is_open;         // the last line has no end
};
void plain_log_add(struct plain_log *log, const char *bytes, size_t count);
void plain_log_end(struct plain_log *log);  // with the end of a line, if that is missing
