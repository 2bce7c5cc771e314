// query_options.c - which queries a server answers: commands that only read, with options of theirs
// that name no file and no host.
#include "server/loop/loop.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 64, WORD_MAX = 4096 };

// Commands whose plain words are names of tasks; those of the others would be files.
static const struct {
    const char *name;
    bool names_tasks;
} commands[] = {{"ps", false},    {"show", true},    {"why", true},   {"lanes", false},
                {"data", false},  {"trace", false},  {"report", false}, {"jobs", false},
                {"history", false}, {"top", false}};

// The options that a query may have, if the table of commands has them for its command. None of
// them names a file or a host; an option that is not here is refused.
static const struct allowed {
    const char *name;
    bool has_value;
    const char *hidden;  // the command that has it beside the table; null: none
} allowed[] = {{"-a", false, NULL},     {"--all", false, NULL},     {"--json", false, NULL},
               {"--raw", false, NULL},  {"--once", false, NULL},    {"--help", false, NULL},
               {"--job", true, NULL},   {"--task", true, NULL},     {"--content", true, NULL},
               {"--interval", true, NULL}, {"--frame", true, "top"}};

static bool is_word(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

static const struct allowed *allowed_find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (is_word(allowed[i].name, word, length)) return &allowed[i];
    return NULL;
}

// Options stand in the table of commands with blanks between them.
static bool has_option(const char *name, const struct allowed *option)
{
    const struct command *command;
    if (option->hidden) return strcmp(option->hidden, name) == 0;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!command->run || strcmp(command->name, name) != 0) continue;
        for (const char *at = command->options; *at; at += strspn(at, " ")) {
            size_t size = strcspn(at, " ");
            if (is_word(option->name, at, size)) return true;
            at += size;
        }
    }
    return false;
}

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

static bool option_is_fine(const char *name, const char *word, bool *has_value)
{
    size_t length = strcspn(word, "=");
    const struct allowed *option = allowed_find(word, length);
    if (!option || !has_option(name, option)) return false;
    *has_value = option->has_value && !word[length];
    return !word[length] || (option->has_value && !names_file(word + length + 1));
}

static const char *words_fault(const wire_texts *words, bool names_tasks, char *text, size_t size)
{
    const char *name = words->items[0].bytes;
    bool is_value = false;
    for (uint32_t i = 1; i < words->count; i++) {
        const char *word = words->items[i].bytes;
        if (strlen(word) != words->items[i].length || words->items[i].length > WORD_MAX)
            return "a word of the query is too long or contains a zero byte";
        bool is_option = word[0] == '-' && !is_value, has_value = false, fine;
        if (is_option)
            fine = option_is_fine(name, word, &has_value);
        else
            fine = (is_value || names_tasks) && word[0] != '-' && !names_file(word);
        if (!fine) {
            snprintf(text, size, "'%.40s' cannot be part of 'rota %s --server': a query sent to a "
                     "server names no files and no hosts, and options are written in full",
                     word, name);
            return text;
        }
        is_value = has_value;
    }
    return is_value ? "an option of the query needs a value" : NULL;
}

const char *serve_query_fault(const wire_texts *words, char *text, size_t size)
{
    if (!words->count || words->count > WORDS_MAX) return "a query has 1 to 64 words";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(words->items[0].bytes, commands[i].name) == 0)
            return words_fault(words, commands[i].names_tasks, text, size);
    return "a server does not answer this command";
}
