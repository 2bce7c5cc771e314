// server_queries.c - which queries a server answers: commands that only read, with the options that
// the table of commands allows in a query. None of them names a file or a host.
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 64, WORD_MAX = 4096 };

static bool names_file(const char *word)
{
    static const char *const endings[] = {".yaml", ".yml", ".json", ".jsonl", ".ndjson"};
    size_t length = strlen(word);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(endings[i]);
        if (length > size && strcmp(word + length - size, endings[i]) == 0) return true;
    }
    return strchr(word, '/');
}

static const struct option_row *allowed_find(const struct command *command, const char *word,
                                             size_t length)
{
    if (length == 6 && memcmp(word, "--help", length) == 0) return &option_help;
    for (const struct option_row *row = command->options; *row->name; row++) {
        bool is_letter = length == 2 && word[1] == row->letter;
        bool is_name = length > 2 && word[1] == '-' && strlen(row->name) == length - 2
                       && memcmp(row->name, word + 2, length - 2) == 0;
        if (is_letter || is_name) return row->in_query ? row : NULL;
    }
    return NULL;
}

// A value is part of the word, or the next word if `needs_value` becomes true.
static bool option_is_allowed(const struct command *command, const char *word, bool *needs_value)
{
    size_t length = strcspn(word, "=");
    const struct option_row *row = allowed_find(command, word, length);
    if (!row) return false;
    *needs_value = *row->value && !word[length];
    return !word[length] || (*row->value && !names_file(word + length + 1));
}

static const char *words_fault(const struct command *command, const wire_texts *words, char *text,
                               size_t size)
{
    bool is_value = false;
    for (uint32_t i = 1; i < words->count; i++) {
        const char *word = words->items[i].bytes;
        if (strlen(word) != words->items[i].length || words->items[i].length > WORD_MAX)
            return "a word of the query is too long or contains a zero byte";
        bool is_option = word[0] == '-' && !is_value, needs_value = false, is_allowed;
        if (is_option)
            is_allowed = option_is_allowed(command, word, &needs_value);
        else
            is_allowed = (is_value || command->query == QUERY_TASKS) && word[0] != '-'
                         && !names_file(word);
        if (!is_allowed) {
            snprintf(text, size, "'%.40s' cannot be part of 'rota %s --server': a query sent to a "
                     "server names no files and no hosts, and options are written in full",
                     word, command->name);
            return text;
        }
        is_value = needs_value;
    }
    return is_value ? "an option of the query needs a value" : NULL;
}

const char *server_query_fault(const wire_texts *words, char *text, size_t size)
{
    const struct command *command;
    if (!words->count || words->count > WORDS_MAX) return "a query has 1 to 64 words";
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->query && strcmp(words->items[0].bytes, command->name) == 0)
            return words_fault(command, words, text, size);
    return "a server does not answer this command";
}
