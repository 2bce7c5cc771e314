// parser.c - takes the words of a statement one by one, and reports errors in them.
//
// The first error ends the statement: the words taken after it are ignored.
#include "sim/play/internal.h"

#include <stdarg.h>
#include <string.h>

// ---- Mistakes and failures -------------------------------------------------

void play_wrong(struct play *play, const char *format, ...)
{
    if (play->halt) return;
    play->halt = PLAY_STOPS;
    play->wrong = true;
    va_list arguments;
    va_start(arguments, format);
    fprintf(play->out, "%s:%u: ", play->file, play->line);
    vfprintf(play->out, format, arguments);
    fputc('\n', play->out);
    va_end(arguments);
}

void play_fail(struct play *play, const char *expected, const char *actual)
{
    int length = (int)strcspn(play->line_text, "\r\n");
    const char *text = play->line_text + strspn(play->line_text, " \t");
    length -= (int)(text - play->line_text);
    play->failures++;
    fprintf(play->out, "%s:%u: %.*s\n", play->file, play->line, length, text);
    fprintf(play->out, "    expected: %s\n", expected);
    fprintf(play->out, "    actual:   %s\n", actual);
    if (!play->decisions.count) return;
    fprintf(play->out, "    the last decisions of the core:\n");
    for (uint32_t i = 0; i < play->decisions.count; i++) {
        fprintf(play->out, "        %s\n", play->decisions.items[i]);
    }
}

// ---- Words -----------------------------------------------------------------

const char *take_name_if_any(struct play *play)
{
    for (uint32_t i = 0; i < play->word_count; i++) {
        struct word *word = &play->words[i];
        if (word->used || word->value) continue;
        word->used = true;
        return word->text;
    }
    return NULL;
}

const char *take_name(struct play *play)
{
    const char *name = take_name_if_any(play);
    if (!name) play_wrong(play, "a word is missing at the end");
    return name ? name : "";
}

const char *take_pair(struct play *play, const char *key)
{
    for (uint32_t i = 0; i < play->word_count; i++) {
        struct word *word = &play->words[i];
        if (word->used || !word->value || strcmp(word->text, key) != 0) continue;
        word->used = true;
        return word->value;
    }
    return NULL;
}

bool take_flag(struct play *play, const char *text)
{
    for (uint32_t i = 0; i < play->word_count; i++) {
        struct word *word = &play->words[i];
        if (word->used || word->value || strcmp(word->text, text) != 0) continue;
        word->used = true;
        return true;
    }
    return false;
}

void take_end(struct play *play)
{
    for (uint32_t i = 0; i < play->word_count; i++) {
        const struct word *word = &play->words[i];
        if (word->used) continue;
        play_wrong(play, "'%s%s%s' is unexpected here", word->text, word->value ? "=" : "",
                   word->value ? word->value : "");
        return;
    }
}

// ---- Values ----------------------------------------------------------------

uint32_t take_number(struct play *play, const char *key, uint32_t otherwise)
{
    const char *value = take_pair(play, key);
    uint64_t number = otherwise;
    if (value && !number_parse(value, UINT32_MAX, &number)) {
        play_wrong(play, "%s=%s: not a number from 0 to 4294967295", key, value);
    }
    return (uint32_t)number;
}

rota_time take_time(struct play *play, const char *key, rota_time otherwise)
{
    const char *value = take_pair(play, key);
    rota_time time = otherwise;
    if (value && !time_parse(value, &time)) {
        play_wrong(play, "%s=%s: not a time like 250ms, 60s or 2m", key, value);
    }
    return time;
}

uint64_t take_size(struct play *play, const char *key, uint64_t otherwise)
{
    const char *value = take_pair(play, key);
    uint64_t bytes = otherwise;
    if (value && !size_parse(value, &bytes)) {
        play_wrong(play, "%s=%s: not a size like 10K, 50M or 1G", key, value);
    }
    return bytes;
}

int take_choice(struct play *play, const char *key, const struct choice *choices, int otherwise)
{
    const char *value = take_pair(play, key);
    if (!value) return otherwise;
    for (const struct choice *choice = choices; choice->word; choice++) {
        if (strcmp(choice->word, value) == 0) return choice->value;
    }
    play_wrong(play, "%s=%s: invalid value", key, value);
    return otherwise;
}
