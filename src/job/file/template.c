// template.c - fills in {{names}}.
#define _GNU_SOURCE
#include "job/file/internal.h"

#include <string.h>

enum { FILLED_MAX = 1 << 20 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct hole {
    const char *start, *name, *end;
    size_t name_length;
};

// Whether {{name}} begins here. Two braces around anything else are text: {{.Names}}, {{ 1 }}.
static bool hole_at(const char *text, const char *end, struct hole *hole)
{
    const char *at = text + 2;
    while (at < end && *at == ' ') at++;
    hole->start = text;
    hole->name = at;
    while (at < end && (is_letter(*at) || (at > hole->name && *at >= '0' && *at <= '9'))) at++;
    hole->name_length = (size_t)(at - hole->name);
    while (at < end && *at == ' ') at++;
    hole->end = at + 2;
    return hole->name_length && end - at >= 2 && at[0] == '}' && at[1] == '}';
}

static bool hole_find(const char *text, const char *end, struct hole *hole)
{
    while ((text = memmem(text, (size_t)(end - text), "{{", 2))) {
        if (hole_at(text, end, hole)) return true;
        text++;
    }
    return false;
}

bool template_is(const char *text, size_t length)
{
    struct hole hole;
    return memchr(text, '{', length) && hole_find(text, text + length, &hole);
}

static const char *bound_text(const struct reader *reader, const struct hole *hole)
{
    for (uint32_t i = 0; i < reader->bound.count; i++) {
        const struct binding *binding = &reader->bound.items[i];
        if (strncmp(binding->name, hole->name, hole->name_length) == 0
            && !binding->name[hole->name_length])
            return binding->text;
    }
    return NULL;
}

// Writes the text, or only computes its length if `out` is null. Returns the length.
static size_t fill(const struct reader *reader, const char *text, const char *end, char *out,
                   struct hole *unbound)
{
    size_t length = 0;
    struct hole hole;
    while (hole_find(text, end, &hole)) {
        const char *value = bound_text(reader, &hole);
        if (!value) *unbound = hole;
        if (!value) return 0;
        size_t before = (size_t)(hole.start - text), added = strlen(value);
        if (out) memcpy(out + length, text, before);
        if (out) memcpy(out + length + before, value, added);
        length += before + added;
        text = hole.end;
    }
    if (out) memcpy(out + length, text, (size_t)(end - text));
    return length + (size_t)(end - text);
}

const char *template_fill(struct reader *reader, uint32_t node)
{
    const struct node *value = &reader->tree.nodes[node];
    const char *text = reader->tree.text + value->text, *end = text + value->length;
    struct hole unbound = {0};
    size_t length = fill(reader, text, end, NULL, &unbound);
    if (unbound.start) {
        refuse_at(reader->file, node_place_inside(reader, node, (uint32_t)(unbound.start - text)),
                  "%s is not defined here",
                  quoted(unbound.start, (size_t)(unbound.end - unbound.start)).text);
        return NULL;
    }
    if (length > FILLED_MAX) {
        reject(reader, node, "the text is longer than 1 MiB after filling in");
        return NULL;
    }
    char *out = jobfile_take(reader->file, length + 1);
    if (out) fill(reader, text, end, out, &unbound);
    return out;
}

static size_t trimmed_length(const char *text, size_t length)
{
    while (length && strchr("-_.: ", text[length - 1])) length--;
    return length;
}

const char *template_base(struct reader *reader, const char *text, size_t length)
{
    const char *end = text + length;
    char *base = jobfile_take(reader->file, length + 1);
    size_t used = 0;
    struct hole hole;
    if (!base) return NULL;
    while (hole_find(text, end, &hole)) {
        memcpy(base + used, text, (size_t)(hole.start - text));
        used = trimmed_length(base, used + (size_t)(hole.start - text));
        text = hole.end;
    }
    memcpy(base + used, text, (size_t)(end - text));
    base[trimmed_length(base, used + (size_t)(end - text))] = 0;
    return base + strspn(base, "-_.: ");
}
