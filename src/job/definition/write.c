// write.c - formats a definition as text that parses to the same definition.
#include "job/definition/internal.h"

#include <stdio.h>
#include <string.h>

struct sink {
    char *out;
    size_t size, length;
};

static void sink_add(struct sink *sink, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (sink->length + i + 1 < sink->size) sink->out[sink->length + i] = text[i];
    sink->length += length;
}

static bool has_comment(const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (text[i] == '#' && (i == 0 || is_blank(text[i - 1]))) return true;
    return false;
}

// Whether parsing the line gives this text back.
static bool text_fits(const char *text, enum key_kind kind)
{
    size_t length = strlen(text);
    if (text_fault(text, length)) return false;
    if (length && (is_blank(text[0]) || is_blank(text[length - 1]))) return false;
    if (kind == KEY_NAME && length && name_fault(text)) return false;
    return kind == KEY_LINE || !has_comment(text);
}

static void line_add(struct sink *sink, const char *indent, const char *word, const char *value)
{
    sink_add(sink, indent);
    sink_add(sink, word);
    sink_add(sink, *value ? ": " : ":");
    sink_add(sink, value);
    sink_add(sink, "\n");
}

static bool key_add(struct sink *sink, struct definition *definition, enum definition_key key)
{
    const struct key *about = &definition_keys[key];
    char number[64];
    const char *value = number;
    if (about->kind <= KEY_NAME)
        value = *key_text(definition, key);
    else
        value_write(definition, key, number, sizeof number);
    if (!value || !text_fits(value, about->kind)) return false;
    if (!*value && definition->action == DEFINITION_INSERT) return false;
    line_add(sink, "    ", about->word, value);
    return true;
}

int definition_write(const struct definition *definition, char *out, size_t size)
{
    struct sink sink = {out, size, 0};
    struct definition copy = *definition;
    if (name_fault(copy.name) || !text_fits(copy.name, KEY_NAME)) return -1;
    line_add(&sink, "", definition_actions[copy.action], copy.name);
    for (int key = 0; key < DEFINITION_KEYS; key++) {
        if (!definition_has(&copy, (enum definition_key)key)) continue;
        if (!key_add(&sink, &copy, (enum definition_key)key)) return -1;
    }
    if (size) out[sink.length < size ? sink.length : size - 1] = 0;
    return sink.length <= INT32_MAX ? (int)sink.length : -1;
}
