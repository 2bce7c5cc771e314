// options.c - parses the options and arguments of every command, by the table.
//
// Options and arguments come in any order. Long options are written in full, with their value as
// the next word or after '='; letters may share a word (-kj8). After the word "--" all words are
// arguments. A shortened option is refused: `rota run --job 2` must not mean --jobs.
#include "cli/options.h"
#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct option_row option_help
    = {'h', "help", "", "show this page", OPTION_FLAG, .in_query = true};

int command_wrong(const struct command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rota %s: ", command->name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nsee 'rota %s --help'\n", command->name);
    return 2;
}

const struct option_row *option_shown(const struct command *command, const struct option_row *row)
{
    for (row = row ? row + 1 : command->options; *row->name; row++)
        if (!row->is_hidden) return row;
    return NULL;
}

bool verb_meant(const struct command *command, const char *word, char out[VERB_MAX])
{
    uint32_t fewest = UINT32_MAX;
    for (const char *at = command->verbs; at && *at; at += strspn(at, " ")) {
        char verb[VERB_MAX];
        struct word_meant meant = {0};
        size_t length = strcspn(at, " ");
        snprintf(verb, sizeof verb, "%.*s", (int)length, at);
        word_try(&meant, word, verb);
        if (meant.word && meant.mistakes < fewest) {
            fewest = meant.mistakes;
            memcpy(out, verb, sizeof verb);
        }
        at += length;
    }
    return fewest != UINT32_MAX;
}

// ---- Finding an option -------------------------------------------------------------------------

static const struct option_row *letter_find(const struct command *command, char letter)
{
    for (const struct option_row *row = command->options; *row->name; row++)
        if (row->letter == letter) return row;
    return letter == option_help.letter ? &option_help : NULL;
}

static bool begins_with(const struct option_row *row, const char *name, size_t length)
{
    return length && strncmp(row->name, name, length) == 0;
}

static const struct option_row *name_find(const struct command *command, const char *name,
                                          size_t length)
{
    const struct option_row *row = command->options;
    while (*row->name && !(begins_with(row, name, length) && !row->name[length])) row++;
    if (*row->name) return row;
    return begins_with(&option_help, name, length) && !option_help.name[length] ? &option_help
                                                                                : NULL;
}

// For a shortened name: suggests the first option that begins with it.
static const char *name_meant(const struct command *command, const char *name, size_t length)
{
    struct word_meant meant = {0};
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    for (const struct option_row *row = NULL; (row = option_shown(command, row));) {
        if (begins_with(row, name, length)) return row->name;
        word_try(&meant, word, row->name);
    }
    if (begins_with(&option_help, name, length)) return option_help.name;
    word_try(&meant, word, option_help.name);
    return meant.word;
}

static void unknown_print(const struct command *command, const char *name, size_t length)
{
    const char *meant = name_meant(command, name, length);
    if (meant)
        command_wrong(command, "unknown option --%.*s (did you mean --%s?)", (int)length, name,
                      meant);
    else
        command_wrong(command, "unknown option --%.*s", (int)length, name);
}

// ---- What an option needs ----------------------------------------------------------------------

// "plan, pull or claim" of "plan|pull|claim".
static void choices_write(const char *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *at = words; *at && used < size;) {
        size_t length = strcspn(at, "|");
        bool is_last = !at[length] || !strchr(at + length + 1, '|');
        const char *between = !at[length] ? "" : is_last ? " or " : ", ";
        used += (size_t)snprintf(out + used, size - used, "%.*s%s", (int)length, at, between);
        at += length + (at[length] == '|');
    }
}

static void needs_write(const struct option_row *row, char *out, size_t size)
{
    if (*row->needs)
        snprintf(out, size, "%s", row->needs);
    else if (row->kind == OPTION_DECIMAL || (row->kind == OPTION_NUMBER && row->most == UINT32_MAX))
        snprintf(out, size, "a number");
    else if (row->kind == OPTION_NUMBER)
        snprintf(out, size, "a number from %u to %u", row->least, row->most);
    else if (row->kind == OPTION_SECONDS)
        snprintf(out, size, "a number of seconds");
    else if (row->kind == OPTION_CHOICE)
        choices_write(row->value, out, size);
    else
        snprintf(out, size, row->kind == OPTION_PATH ? "a path" : "a value");
}

static void value_wrong(const struct option_walk *walk)
{
    char needs[160], name[24];
    needs_write(walk->row, needs, sizeof needs);
    if (walk->is_letter)
        snprintf(name, sizeof name, "-%c", walk->row->letter);
    else
        snprintf(name, sizeof name, "--%s", walk->row->name);
    if (walk->is_quiet || (walk->value && walk->row->prints_errors)) return;
    if (walk->value)
        command_wrong(walk->command, "option %s needs %s, not '%s'", name, needs, walk->value);
    else
        command_wrong(walk->command, "option %s needs %s", name, needs);
}

// ---- Word by word ------------------------------------------------------------------------------

// The value of the option is `rest`, or the next word.
static enum walk_step value_take(struct option_walk *walk, char *rest)
{
    walk->value = rest;
    if (walk->value || walk->row->value_optional) return WALK_OPTION;
    if (walk->at < walk->count) {
        walk->value = walk->words[walk->at++];
        return WALK_OPTION;
    }
    value_wrong(walk);
    return WALK_WRONG;
}

static enum walk_step letter_take(struct option_walk *walk)
{
    char letter = *walk->letters++;
    walk->row = letter_find(walk->command, letter);
    walk->is_letter = true;
    if (!walk->row) {
        if (!walk->is_quiet) command_wrong(walk->command, "unknown option -%c", letter);
        return WALK_WRONG;
    }
    walk->value = NULL;
    if (!*walk->row->value) return WALK_OPTION;
    char *rest = *walk->letters ? (char *)(uintptr_t)walk->letters : NULL;
    walk->letters = "";
    return value_take(walk, rest);
}

static enum walk_step name_take(struct option_walk *walk, char *name)
{
    size_t length = strcspn(name, "=");
    char *rest = name[length] ? name + length + 1 : NULL;
    walk->row = name_find(walk->command, name, length);
    walk->is_letter = false;
    if (!walk->row) {
        if (!walk->is_quiet) unknown_print(walk->command, name, length);
        return WALK_WRONG;
    }
    if (*walk->row->value) return value_take(walk, rest);
    walk->value = NULL;
    if (!rest) return WALK_OPTION;
    if (!walk->is_quiet)
        command_wrong(walk->command, "option --%s takes no value", walk->row->name);
    return WALK_WRONG;
}

enum walk_step option_next(struct option_walk *walk)
{
    if (walk->letters && *walk->letters) return letter_take(walk);
    if (walk->at == walk->count) return WALK_END;
    char *word = walk->words[walk->at++];
    walk->value = word;
    if (walk->is_past_dashes || word[0] != '-' || !word[1]) return WALK_ARGUMENT;
    if (word[1] != '-') {
        walk->letters = word + 1;
        return letter_take(walk);
    }
    if (word[2]) return name_take(walk, word + 2);
    walk->is_past_dashes = true;
    return option_next(walk);
}

bool option_is_given(const struct command *command, const char *name, int count, char **words)
{
    struct option_walk walk
        = {.command = command, .count = count, .words = words, .is_quiet = true};
    enum walk_step step;
    while ((step = option_next(&walk)) != WALK_END) {
        if (step == WALK_WRONG) return false;
        if (step == WALK_OPTION && strcmp(walk.row->name, name) == 0) return true;
    }
    return false;
}

// ---- Values ------------------------------------------------------------------------------------

bool seconds_read(const char *text, rota_time *time)
{
    assert(text);
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || *end || !isfinite(value) || value < 0 || value > 1e9) return false;
    *time = (rota_time)(value * 1e6);
    return true;
}

static bool number_read(const struct option_row *row, const char *text, uint32_t *number)
{
    assert(text);
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9') return false;
    if (value < row->least || value > row->most) return false;
    *number = (uint32_t)value;
    return true;
}

static bool decimal_read(const char *text, double *number)
{
    assert(text);
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && *number >= 0 && *number <= 1e15;
}

static bool choice_read(const char *words, const char *text, uint32_t *choice)
{
    assert(text);
    size_t length = strlen(text);
    *choice = 0;
    for (const char *at = words;; at++, ++*choice) {
        size_t size = strcspn(at, "|");
        if (size == length && memcmp(at, text, size) == 0) return true;
        at += size;
        if (!*at) return false;
    }
}

static bool value_store(const struct option_walk *walk, void *values, option_fn *other)
{
    const struct option_row *row = walk->row;
    void *field = (char *)values + row->at;
    switch (row->kind) {
    case OPTION_FLAG: return *(bool *)field = true;
    case OPTION_OFF: *(bool *)field = false; return true;
    case OPTION_TEXT: return (*(const char **)field = walk->value) != NULL;
    case OPTION_PATH: return *(*(const char **)field = walk->value);
    case OPTION_NUMBER: return number_read(row, walk->value, field);
    case OPTION_SECONDS: return seconds_read(walk->value, field);
    case OPTION_DECIMAL: return decimal_read(walk->value, field);
    case OPTION_CHOICE: return choice_read(row->value, walk->value, field);
    default: return other(values, row->at, walk->value);
    }
}

const char *server_hint(void)
{
    const char *server = getenv("ROTA_SERVER");
    return server && *server ? " (to ask $ROTA_SERVER: --server \"$ROTA_SERVER\")" : "";
}

static int unexpected(const struct command *command, const char *word)
{
    char meant[VERB_MAX];
    if (!verb_meant(command, word, meant))
        return command_wrong(command, "unexpected argument '%s'", word);
    return command_wrong(command, "unexpected argument '%s' (did you mean %s?)", word, meant);
}

static int arguments_check(const struct command *command, const struct arguments *arguments)
{
    const struct argument_rule *rule = &command->argument;
    bool could_ask = rule->kind == ARGUMENT_DATABASE && command->remote;
    if (arguments->count > rule->most) return unexpected(command, arguments->items[rule->most]);
    if (arguments->count < rule->least)
        return command_wrong(command, "missing argument %s%s", rule->name,
                             could_ask ? server_hint() : "");
    return -1;
}

int options_read(const struct command *command, void *values, option_fn *other,
                 struct arguments *arguments, int count, char **words)
{
    struct option_walk walk = {.command = command, .count = count, .words = words};
    enum walk_step step;
    *arguments = (struct arguments){.items = words};
    while ((step = option_next(&walk)) != WALK_END) {
        if (step == WALK_WRONG) return 2;
        if (step == WALK_ARGUMENT) {
            words[arguments->count++] = walk.value;
            if (!walk.is_past_dashes) arguments->before_dashes++;
            continue;
        }
        if (walk.row == &option_help) return help_print(command, stdout), 0;
        if (value_store(&walk, values, other)) continue;
        value_wrong(&walk);
        return 2;
    }
    return arguments_check(command, arguments);
}
