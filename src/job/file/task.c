// task.c - parses the keys of one task.
#include "job/file/internal.h"

#include <string.h>

enum { CPUS_MAX = 65536, RETRIES_MAX = 1000, CODES_MAX = 256 };

typedef void key_fn(struct reader *reader, struct jobfile_task *task, uint32_t node);

// ---- The command -----------------------------------------------------------

static void words_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    const struct node *nodes = reader->tree.nodes;
    if (!nodes[node].length) {
        reject(reader, node, "run is an empty list; expected a program and its arguments");
        return;
    }
    task->argv = jobfile_take(reader->file, (nodes[node].length + 1) * sizeof *task->argv);
    if (!task->argv) return;
    for (uint32_t item = node_first(&reader->tree, node); item; item = nodes[item].next) {
        const char *word = task->argc ? node_text(reader, item, "a word of run")
                                      : node_filled(reader, item, "the program in run");
        if (!word) return;
        task->argv[task->argc++] = (char *)word;
    }
    command_join(reader->file, task);
}

static void run_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    if (reader->tree.nodes[node].kind == NODE_LIST) {
        words_read(reader, task, node);
        return;
    }
    const char *text = node_filled(reader, node, "run");
    if (!text) return;
    if (text[strspn(text, " \t\n\r")])
        command_split(reader->file, task, text);
    else
        reject(reader, node, "run is empty");
}

// ---- Names, which are resolved when all tasks are known -------------------------

static void named_add(struct reader *reader, struct named_list *list, uint32_t node,
                      const char *name)
{
    struct named *named = ARRAY_ADD(reader->file, list->items, list->count, list->capacity);
    if (named) *named = (struct named){name, reader->file->task_count - 1, node};
}

static void needs_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    (void)task;
    uint32_t count;
    for (uint32_t item = node_items(reader, node, &count); item && count; count--) {
        const char *name = node_filled(reader, item, "a name in needs");
        if (name) named_add(reader, &reader->needs, item, name);
        item = reader->tree.nodes[item].next;
    }
}

static void when_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    (void)task;
    const char *text = node_filled(reader, node, "when");
    if (text) named_add(reader, &reader->conditions, node, text);
}

static void bundle_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    if (task->bundle) {
        reject(reader, node, "the task is already in a bundle");
        return;
    }
    const char *name = node_filled(reader, node, "bundle");
    if (name && node_name_check(reader, node, name, "bundle"))
        named_add(reader, &reader->bundles, node, name);
}

// ---- Lanes -----------------------------------------------------------------

static void lane_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    const char *name = node_filled(reader, node, "lane");
    if (!name) return;
    task->lane = table_find(&reader->lanes, name);
    if (task->lane) return;
    reject(reader, node, "no such lane: %s (list it under lanes at the top of the file)",
           QUOTED(name));
}

static void access_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    static const char *const words[] = {"read", "write"};
    uint32_t choice;
    if (node_choice(reader, node, "access", words, 2, &choice))
        task->access = choice ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ;
}

// ---- Values that go into one field ---------------------------------------------

static void value_read(struct reader *reader, struct jobfile_task *task, enum task_key key,
                       uint32_t node)
{
    const char *word = task_words[key];
    int64_t number;
    switch (key) {
    case KEY_GROUP: task->group = node_filled(reader, node, word); break;
    case KEY_MACHINE: task->machine = node_filled(reader, node, word); break;
    case KEY_CWD: task->cwd = node_filled(reader, node, word); break;
    case KEY_CPUS:
        if (node_number(reader, node, word, 0, CPUS_MAX, &number)) task->cores = (uint32_t)number;
        break;
    case KEY_PRIORITY:
        if (node_number(reader, node, word, -128, 127, &number)) task->priority = (int16_t)number;
        break;
    case KEY_MEM: node_size(reader, node, word, &task->memory_mib); break;
    case KEY_GRACE: node_duration(reader, node, word, &task->grace); break;
    case KEY_CACHE: node_flag(reader, node, word, &task->cache); break;
    case KEY_TIMEOUT:
        if (node_duration(reader, node, word, &task->timeout) && !task->timeout)
            reject(reader, node, "timeout is 0; omit the key for no timeout");
        break;
    default: break;  // a key that is not of a command
    }
}

// ---- Retries ---------------------------------------------------------------

static void codes_read(struct reader *reader, struct jobfile_retries *retries, uint32_t node)
{
    uint32_t count;
    int64_t code;
    uint32_t item = node_items(reader, node, &count);
    if (!count || count > CODES_MAX) {
        reject(reader, node, "codes has %u exit codes; expected 1 to %d", count, CODES_MAX);
        return;
    }
    int32_t *codes = jobfile_take(reader->file, count * sizeof *codes);
    if (!codes) return;
    retries->codes = codes;
    for (; item && retries->code_count < count; item = reader->tree.nodes[item].next) {
        if (!node_number(reader, item, "an exit code", 1, 255, &code)) return;
        codes[retries->code_count++] = (int32_t)code;
    }
}

static void retries_max_read(struct reader *reader, struct jobfile_retries *retries, uint32_t node)
{
    int64_t number;
    if (node_number(reader, node, "retries", 0, RETRIES_MAX, &number))
        retries->max = (uint32_t)number;
}

static void retries_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    static const char *const words[] = {"max", "backoff", "factor", "codes"};
    uint32_t fields[4] = {0};
    struct jobfile_retries *retries = &task->retries;
    if (reader->tree.nodes[node].kind != NODE_MAP) {
        retries_max_read(reader, retries, node);
        return;
    }
    node_fields(reader, node, "retries", words, 4, fields);
    if (fields[0])
        retries_max_read(reader, retries, fields[0]);
    else
        reject(reader, node, "retries has no max");
    if (fields[1]) node_duration(reader, fields[1], "backoff", &retries->backoff);
    if (fields[2]) node_percent(reader, fields[2], "factor", &retries->factor_percent);
    if (fields[3]) codes_read(reader, retries, fields[3]);
}

// ---- Creating a task --------------------------------------------------------

// The others are read by value_read().
static key_fn *const readers[TASK_KEYS] = {
    [KEY_RUN] = run_read,         [KEY_NEEDS] = needs_read,       [KEY_WHEN] = when_read,
    [KEY_BUNDLE] = bundle_read,   [KEY_LANE] = lane_read,         [KEY_ACCESS] = access_read,
    [KEY_IN] = task_inputs_read,  [KEY_OUT] = task_outputs_read,  [KEY_KEEP] = task_keep_read,
    [KEY_STDIN] = task_stdin_read, [KEY_RETRIES] = retries_read,
};

static size_t words_size(char *const *words, uint32_t count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) size += strlen(words[i]) + 1;
    return size;
}

static void task_check(struct reader *reader, struct jobfile_task *task, const struct draft *draft)
{
    const uint32_t *fields = draft->fields;
    size_t size = words_size(task->argv, task->argc) + words_size(task->env, task->env_count);
    if (!fields[KEY_RUN]) reject(reader, draft->node, "task %s has no run", QUOTED(task->name));
    if (size > JOBFILE_WORDS_MAX)
        reject(reader, draft->node,
               "task %s: the command and its environment have %zu bytes, more than 128 KiB",
               QUOTED(task->name), size);
    if (!fields[KEY_LANE] && fields[KEY_GROUP])
        reject(reader, fields[KEY_GROUP], "group needs a lane");
    if (!fields[KEY_LANE] && fields[KEY_ACCESS])
        reject(reader, fields[KEY_ACCESS], "access needs a lane");
    if (task->lane && !task->access) task->access = ROTA_ACCESS_WRITE;
}

uint32_t task_add(struct reader *reader, uint32_t node, const char *name)
{
    struct jobfile *file = reader->file;
    if (file->task_count == JOBFILE_TASKS_MAX) {
        reject(reader, node, "more than %d tasks", JOBFILE_TASKS_MAX);
        return 0;
    }
    if (!node_name_check(reader, node, name, "task")) return 0;
    if (!jobfile_reserve(file, &file->tasks, &file->task_capacity, file->task_count,
                         sizeof *file->tasks))
        return 0;
    uint32_t known = table_put(file, &reader->names, name, file->task_count + 1);
    if (known & FAMILY)
        reject(reader, node, "%s is already the name of an expanded task", QUOTED(name));
    else if (known)
        reject(reader, node, "duplicate task %s, first in line %u", QUOTED(name),
               file->tasks[known - 1].place.line);
    if (known) return 0;
    struct jobfile_task *task = &file->tasks[file->task_count++];
    *task = (struct jobfile_task){.name = name, .cores = 1, .grace = -1};
    task->retries.factor_percent = 100;
    task->place = node_place(reader, node);
    return file->task_count;
}

uint32_t task_make(struct reader *reader, const struct draft *draft, const char *name)
{
    uint32_t number = task_add(reader, draft->node, name);
    if (!number) return 0;
    struct jobfile_task *task = &reader->file->tasks[number - 1];
    task->bundle = draft->bundle;
    for (int key = 0; key < TASK_KEYS; key++) {
        uint32_t node = draft->fields[key];
        if (node && readers[key])
            readers[key](reader, task, node);
        else if (node)
            value_read(reader, task, (enum task_key)key, node);
    }
    task_environment_read(reader, task, draft);
    task_check(reader, task, draft);
    return number;
}

// ---- Tasks of the file -------------------------------------------------------

void defaults_read(struct reader *reader, uint32_t node)
{
    static const enum task_key own[] = {KEY_NAME, KEY_RUN, KEY_FOREACH, KEY_MATRIX, KEY_TASKS};
    node_fields(reader, node, "defaults", task_words, TASK_KEYS, reader->defaults);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        uint32_t *field = &reader->defaults[own[i]];
        if (*field) reject(reader, *field, "defaults cannot have %s", task_words[own[i]]);
        *field = 0;
    }
}

static void bundle_with_tasks_read(struct reader *reader, const uint32_t *own,
                                   const struct draft *draft)
{
    for (int key = 0; key < TASK_KEYS; key++)
        if (own[key] && key != KEY_NAME && key != KEY_TASKS)
            reject(reader, own[key], "a bundle cannot have %s", task_words[key]);
    if (draft->bundle) {
        reject(reader, draft->node, "a bundle cannot be a member of a bundle");
        return;
    }
    const char *name = node_filled(reader, draft->fields[KEY_NAME], "the name of a task");
    uint32_t number = name ? task_add(reader, draft->node, name) : 0;
    if (!number) return;
    reader->file->tasks[number - 1].is_bundle = true;
    reader->file->bundle_count++;
    tasks_read(reader, own[KEY_TASKS], number);
}

static void draft_merge(const struct reader *reader, const uint32_t *own, struct draft *draft)
{
    for (int key = 0; key < TASK_KEYS; key++)
        draft->fields[key] = own[key] ? own[key] : reader->defaults[key];
    if (draft->bundle && !own[KEY_BUNDLE]) draft->fields[KEY_BUNDLE] = 0;
    draft->own_env = own[KEY_ENV];
    draft->default_env = reader->defaults[KEY_ENV];
}

void task_read(struct reader *reader, uint32_t key, uint32_t node, uint32_t bundle)
{
    struct draft draft = {.node = key ? key : node, .bundle = bundle};
    const struct node *value = &reader->tree.nodes[node];
    uint32_t own[TASK_KEYS] = {0};
    if (value->kind == NODE_MAP)
        node_fields(reader, node, "a task", task_words, TASK_KEYS, own);
    else if (value->kind == NODE_LIST || value->length)
        own[KEY_RUN] = node;
    if (key && own[KEY_NAME])
        reject(reader, own[KEY_NAME], "the key of the task is already its name");
    if (key) own[KEY_NAME] = key;
    if (!own[KEY_NAME]) {
        reject(reader, node, "the task has no name");
        return;
    }
    draft_merge(reader, own, &draft);
    if (own[KEY_TASKS])
        bundle_with_tasks_read(reader, own, &draft);
    else if (own[KEY_FOREACH] || own[KEY_MATRIX])
        task_expand(reader, &draft);
    else {
        const char *name = node_text(reader, own[KEY_NAME], "the name of a task");
        if (name) task_make(reader, &draft, name);
    }
}
