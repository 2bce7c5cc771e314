// environment.c - the environment of a task: its own variables and the defaults, sorted by name.
#include "job/file/internal.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    char *text;  // NAME=VALUE
    uint32_t name_length, node;
    bool is_default;
};

static int by_name(const void *left, const void *right)
{
    const struct entry *one = left, *other = right;
    uint32_t least = one->name_length < other->name_length ? one->name_length : other->name_length;
    int order = memcmp(one->text, other->text, least);
    if (order) return order;
    if (one->name_length != other->name_length) return one->name_length > least ? 1 : -1;
    if (one->is_default != other->is_default) return one->is_default ? 1 : -1;
    return one->node > other->node ? 1 : -1;
}

static bool same_name(const struct entry *one, const struct entry *other)
{
    return one->name_length == other->name_length
           && memcmp(one->text, other->text, one->name_length) == 0;
}

static bool entry_read(struct reader *reader, uint32_t key, struct entry *entry)
{
    const char *name = node_filled(reader, key, "a name in env");
    if (!name) return false;
    if (strchr(name, '=')) {
        reject(reader, key, "a name in env contains =: %s", QUOTED(name));
        return false;
    }
    const char *value = node_text(reader, reader->tree.nodes[key].next, "a value in env");
    if (!value) return false;
    size_t name_length = strlen(name), length = strlen(value);
    entry->text = jobfile_take(reader->file, name_length + length + 2);
    if (!entry->text) return false;
    memcpy(entry->text, name, name_length);
    entry->text[name_length] = '=';
    memcpy(entry->text + name_length + 1, value, length);
    entry->name_length = (uint32_t)name_length;
    entry->node = key;
    return true;
}

// Returns the number of entries so far.
static uint32_t map_read(struct reader *reader, uint32_t node, struct entry *entries,
                         uint32_t count)
{
    const struct node *nodes = reader->tree.nodes;
    if (!node) return count;
    if (nodes[node].kind != NODE_MAP) {
        reject(reader, node, "env is not a mapping; expected NAME: VALUE");
        return count;
    }
    for (uint32_t key = node_first(&reader->tree, node); key; key = nodes[nodes[key].next].next)
        count += entry_read(reader, key, &entries[count]);
    return count;
}

static uint32_t room_of(const struct reader *reader, uint32_t node)
{
    return node ? reader->tree.nodes[node].length / 2 : 0;
}

static void entries_keep(struct reader *reader, struct jobfile_task *task,
                         const struct entry *entries, uint32_t count)
{
    task->env = jobfile_take(reader->file, (count + 1) * sizeof *task->env);
    if (!task->env) return;
    for (uint32_t i = 0; i < count; i++) {
        if (i && same_name(&entries[i - 1], &entries[i])) {
            if (entries[i - 1].is_default == entries[i].is_default)
                reject(reader, entries[i].node, "duplicate name in env");
        } else {
            task->env[task->env_count++] = entries[i].text;
        }
    }
}

static void both_read(struct reader *reader, struct jobfile_task *task, const struct draft *draft)
{
    uint32_t own = draft->own_env, common = draft->default_env;
    uint32_t room = room_of(reader, own) + room_of(reader, common);
    struct entry *entries = calloc(room + 1, sizeof *entries);
    if (!entries) {
        jobfile_no_memory(reader->file);
        return;
    }
    uint32_t own_count = map_read(reader, own, entries, 0);
    uint32_t count = map_read(reader, common, entries, own_count);
    for (uint32_t i = own_count; i < count; i++) entries[i].is_default = true;
    qsort(entries, count, sizeof *entries, by_name);
    entries_keep(reader, task, entries, count);
    free(entries);
}

// Most tasks have only the default environment and share it.
void task_environment_read(struct reader *reader, struct jobfile_task *task,
                           const struct draft *draft)
{
    bool common = !draft->own_env && !reader->bound.count;
    if (!common || !reader->default_env) both_read(reader, task, draft);
    if (common && !reader->default_env) {
        reader->default_env = task->env;
        reader->default_env_count = task->env_count;
    } else if (common) {
        task->env = reader->default_env;
        task->env_count = reader->default_env_count;
    }
}
