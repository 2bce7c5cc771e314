// expand.c - expands foreach and matrix: one task of the file becomes many.
#include "job/file/internal.h"

#include <stdio.h>
#include <string.h>

enum { AXES_MAX = 16 };

struct axis {
    const char *name, **values;
    uint32_t count, at;
};

struct axes {
    struct axis items[AXES_MAX];
    uint32_t count;
};

// ---- The values to iterate over ------------------------------------------------

static bool list_read(struct reader *reader, uint32_t node, const char *what, struct axis *axis)
{
    const struct node *value = &reader->tree.nodes[node];
    if (value->kind != NODE_LIST || !value->length) {
        reject(reader, node, value->kind == NODE_LIST ? "%s is an empty list" : "%s is not a list",
               what);
        return false;
    }
    axis->values = jobfile_take(reader->file, value->length * sizeof *axis->values);
    if (!axis->values) return false;
    for (uint32_t item = node_first(&reader->tree, node); item;) {
        const char *text = node_text(reader, item, "an item");
        if (!text) return false;
        axis->values[axis->count++] = text;
        item = reader->tree.nodes[item].next;
    }
    return true;
}

static bool glob_read(struct reader *reader, uint32_t node, struct axis *axis)
{
    static const char *const words[] = {"glob"};
    uint32_t field = 0;
    if (!node_fields(reader, node, "foreach", words, 1, &field)) return false;
    const char *pattern = field ? node_filled(reader, field, "glob") : NULL;
    if (!field) reject(reader, node, "foreach must be a list or {glob: ...}");
    if (!pattern) return false;
    if (!reader->glob) {
        reject(reader, field, "a glob needs a job file on disk");
        return false;
    }
    reader->file->has_globs = true;
    return reader->glob(reader, field, pattern, &axis->values, &axis->count);
}

static bool is_word(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return length && !name[length] && (name[0] < '0' || name[0] > '9');
}

static bool axis_is_new(const struct axes *axes, const char *name)
{
    for (uint32_t i = 0; i < axes->count; i++)
        if (strcmp(axes->items[i].name, name) == 0) return false;
    return strcmp(name, "index") != 0;
}

static bool axis_read(struct reader *reader, uint32_t key, struct axes *axes)
{
    const char *name = node_filled(reader, key, "a key of matrix");
    if (!name) return false;
    if (axes->count == AXES_MAX || !is_word(name) || !axis_is_new(axes, name)) {
        reject(reader, key,
               axes->count == AXES_MAX ? "too many keys in matrix, at %s"
               : !is_word(name)        ? "%s is not a word of letters, digits and _"
                                       : "%s is already used",
               QUOTED(name));
        return false;
    }
    struct axis *axis = &axes->items[axes->count];
    axis->name = name;
    if (!list_read(reader, reader->tree.nodes[key].next, name, axis)) return false;
    axes->count++;
    return true;
}

static bool matrix_read(struct reader *reader, uint32_t node, struct axes *axes)
{
    const struct node *nodes = reader->tree.nodes;
    if (nodes[node].kind != NODE_MAP || !nodes[node].length) {
        reject(reader, node, "matrix must be a mapping of lists");
        return false;
    }
    for (uint32_t key = node_first(&reader->tree, node); key; key = nodes[nodes[key].next].next)
        if (!axis_read(reader, key, axes)) return false;
    return true;
}

static bool axes_read(struct reader *reader, const struct draft *draft, struct axes *axes)
{
    uint32_t foreach = draft->fields[KEY_FOREACH], matrix = draft->fields[KEY_MATRIX];
    if (foreach && matrix) {
        reject(reader, foreach, "foreach cannot be combined with matrix; add a key to matrix");
        return false;
    }
    if (matrix) return matrix_read(reader, matrix, axes);
    axes->items[0].name = "item";
    axes->count = 1;
    if (reader->tree.nodes[foreach].kind == NODE_MAP)
        return glob_read(reader, foreach, &axes->items[0]);
    return list_read(reader, foreach, "foreach", &axes->items[0]);
}

// ---- Creating the tasks -----------------------------------------------------

static void axes_bind(const struct axes *axes, struct binding *bindings, const char *index)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        const struct axis *axis = &axes->items[i];
        bindings[i] = (struct binding){axis->name, axis->values[axis->at]};
    }
    bindings[axes->count] = (struct binding){"index", index};
}

// The last key changes fastest.
static void axes_step(struct axes *axes)
{
    for (uint32_t i = axes->count; i-- > 0;) {
        struct axis *axis = &axes->items[i];
        if (++axis->at < axis->count) return;
        axis->at = 0;
    }
}

static uint64_t axes_size(const struct axes *axes)
{
    uint64_t size = 1;
    for (uint32_t i = 0; i < axes->count && size <= JOBFILE_TASKS_MAX; i++)
        size *= axes->items[i].count;
    return size;
}

static const char *name_make(struct reader *reader, uint32_t node, const char *index)
{
    const struct node *value = &reader->tree.nodes[node];
    const char *text = reader->tree.text + value->text;
    if (template_is(text, value->length)) return template_fill(reader, node);
    size_t length = value->length + strlen(index) + 1;
    char *name = jobfile_take(reader->file, length + 1);
    if (name) snprintf(name, length + 1, "%.*s-%s", (int)value->length, text, index);
    return name;
}

// False: another task has the name of the group. Tasks created later join the group.
static bool family_add(struct reader *reader, uint32_t node)
{
    const struct node *value = &reader->tree.nodes[node];
    const char *base = template_base(reader, reader->tree.text + value->text, value->length);
    if (!base) return false;
    if (!*base) return true;
    if (table_put(reader->file, &reader->names, base, FAMILY | reader->family_count)) {
        reject(reader, node, "the group name %s is already the name of a task",
               QUOTED(base));
        return false;
    }
    struct family *family = ARRAY_ADD(reader->file, reader->families, reader->family_count,
                                      reader->family_capacity);
    if (family) *family = (struct family){base, reader->file->task_count, 0};
    return family != NULL;
}

static void member_add(struct reader *reader, struct family *family)
{
    reader->file->tasks[reader->file->task_count - 1].family = family->name;
    family->count++;
}

// `family` is the last group, or none if nothing is left of the name without its template parts.
static void all_make(struct reader *reader, const struct draft *draft, struct axes *axes,
                     uint32_t count, uint32_t family)
{
    struct binding bindings[AXES_MAX + 1];
    char index[16];
    for (uint32_t i = 0; i < count && !reader_is_done(reader); i++) {
        snprintf(index, sizeof index, "%u", i + 1);
        axes_bind(axes, bindings, index);
        reader->bound = (struct bindings){bindings, axes->count + 1};
        const char *name = name_make(reader, draft->fields[KEY_NAME], index);
        if (!name || !task_make(reader, draft, name)) break;
        if (family < reader->family_count) member_add(reader, &reader->families[family]);
        axes_step(axes);
    }
    reader->bound = (struct bindings){0};
}

void task_expand(struct reader *reader, const struct draft *draft)
{
    struct axes axes = {0};
    uint32_t name = draft->fields[KEY_NAME];
    if (reader->tree.nodes[name].kind != NODE_TEXT) {
        reject(reader, name, "the name of a task is not a string");
        return;
    }
    if (!axes_read(reader, draft, &axes)) return;
    uint64_t size = axes_size(&axes);
    uint32_t family = reader->family_count;
    if (size > JOBFILE_TASKS_MAX)
        reject(reader, draft->node, "more than %d tasks", JOBFILE_TASKS_MAX);
    else if (family_add(reader, name))
        all_make(reader, draft, &axes, (uint32_t)size, family);
}
