// internal.h - shared by the files of jobfile.h: tree, tables, values, errors.
#pragma once

#include "job/file/jobfile.h"

// ---- memory.c: one arena per file, growing arrays, hash tables of names -------------

// If memory runs out, the file gets that as its last error and nothing more is read. The caller
// reports nothing itself and returns null or false, as after any error.
void jobfile_no_memory(struct jobfile *file);
void *jobfile_take(struct jobfile *file, size_t size);  // zeroed
char *jobfile_text(struct jobfile *file, const char *text, size_t length);

// Makes room for one more item; new items are not zeroed.
bool jobfile_reserve(struct jobfile *file, void *items, uint32_t *capacity, uint32_t count,
                     size_t size);
#define ARRAY_ADD(file, items, count, capacity)                                                    \
    (jobfile_reserve((file), &(items), &(capacity), (count), sizeof *(items))                      \
         ? &(items)[(count)++]                                                                     \
         : NULL)

struct table {
    struct table_slot {
        const char *name;
        uint32_t hash, value;
    } * slots;
    uint32_t capacity, count;
};

uint32_t table_find(const struct table *table, const char *name);  // 0: none
// Returns the existing value. 0: the new value was stored, or memory ran out.
uint32_t table_put(struct jobfile *file, struct table *table, const char *name, uint32_t value);
bool table_reserve(struct jobfile *file, struct table *table, uint32_t more);
void table_release(struct table *table);

// ---- tree.c: the nodes of a file, independent of its format -------------------------

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };
enum node_style {
    NODE_PLAIN = 1,    // not quoted, so that an empty text means no value
    NODE_EXACT = 2,    // the file contains its text on one line, without escapes
    NODE_SHIFTED = 4,  // the text begins after a quote
};
enum { DEPTH_MAX = 64, NODES_MAX = 32 << 20 };

// Children directly follow their parent and are linked by `next`; in a mapping, keys and values
// alternate. Node 0 means none.
struct node {
    uint32_t text;    // offset of its text
    uint32_t length;  // of its text, or the number of children
    uint32_t next;
    uint32_t line;
    uint32_t column : 26, kind : 2, style : 4;
};

struct tree {
    struct jobfile *file;
    char *text;
    struct node *nodes;
    uint32_t count, capacity;
    uint32_t text_count, text_capacity;
    struct {
        uint32_t node, last;
    } open[DEPTH_MAX + 1];
    uint32_t depth;
};

bool tree_init(struct tree *tree, struct jobfile *file, size_t size);
// 0: out of memory.
uint32_t tree_add(struct tree *tree, enum node_kind kind, struct jobfile_place place);
// False: too deep, too many nodes, or out of memory.
bool tree_open(struct tree *tree, enum node_kind kind, struct jobfile_place place);
void tree_close(struct tree *tree);
static inline uint32_t node_first(const struct tree *tree, uint32_t node)
{
    return tree->nodes[node].length && tree->nodes[node].kind != NODE_TEXT ? node + 1 : 0;
}

// ---- keys.c: the keys of a job file -------------------------------------------------

// In the order in which they are processed.
enum task_key {
    KEY_NAME, KEY_FOREACH, KEY_MATRIX, KEY_TASKS, KEY_RUN, KEY_NEEDS, KEY_WHEN, KEY_BUNDLE,
    KEY_LANE, KEY_GROUP, KEY_ACCESS, KEY_IN, KEY_OUT, KEY_KEEP, KEY_CPUS, KEY_MEM, KEY_MACHINE,
    KEY_ENV, KEY_CWD, KEY_STDIN, KEY_TIMEOUT, KEY_GRACE, KEY_RETRIES, KEY_PRIORITY, KEY_CACHE,
    TASK_KEYS
};
enum top_key {
    TOP_ROTA, TOP_NAME, TOP_SCHEDULE, TOP_DEFAULTS, TOP_LANES, TOP_ON_FAILURE, TOP_POLICY,
    TOP_TASKS, TOP_KEYS
};
extern const char *const task_words[TASK_KEYS], *const top_words[TOP_KEYS];
// The key that corresponds to a key of another program, such as run for command; or null.
const char *key_synonym(const char *word, const char *const *words, uint32_t count);
// The key that a misspelt key was probably meant to be, of rota or of another program; or null.
const char *key_meant(const char *word, const char *const *words, uint32_t count);

// ---- reader.c: the state of the parser, and errors ----------------------------------

struct binding {
    const char *name, *text;
};

struct bindings {
    const struct binding *items;
    uint32_t count;
};

struct named {  // a name that is resolved later
    const char *name;
    uint32_t task, node;
};

struct named_list {
    struct named *items;
    uint32_t count, capacity;
};

struct family {  // tasks created from one task of the file
    const char *name;
    uint32_t first, count;
};

struct made {
    uint32_t task, output;
};

struct reader;
// The matches, sorted. If there are none, the node is reported as an error.
typedef bool glob_fn(struct reader *reader, uint32_t node, const char *pattern,
                     const char ***paths, uint32_t *count);

struct reader {
    struct jobfile *file;
    struct tree tree;
    glob_fn *glob;  // null: the job file is not on disk
    uint32_t defaults[TASK_KEYS];
    char **default_env;
    uint32_t default_env_count;
    struct bindings bound;
    struct table names;    // task number + 1, or a family with FAMILY set
    struct table outputs;  // index in made[] + 1
    struct table lanes;    // lane number
    struct family *families;
    struct made *made;
    struct named_list needs, conditions, bundles;
    struct clause_room *clauses;  // reused for each condition
    uint32_t family_count, family_capacity, made_count, made_capacity;
};
enum { FAMILY = 1u << 30 };

struct jobfile_place node_place(const struct reader *reader, uint32_t node);
// The line and column of a byte of the node's text, if known; else those of the node.
struct jobfile_place node_place_inside(const struct reader *reader, uint32_t node, uint32_t byte);
void reject(struct reader *reader, uint32_t node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void refuse_at(struct jobfile *file, struct jobfile_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Too many errors, too much memory, or out of memory.
bool reader_is_done(const struct reader *reader);
const char *suggestion(const char *word, const char *const *words, uint32_t count);
// "", or " (did you mean x?)".
const char *suggestion_text(struct reader *reader, const char *word);

struct quoted {
    char text[72];
};
struct quoted quoted(const char *text, size_t length);  // shortened, and safe to print
#define QUOTED(word) quoted((word), strlen(word)).text

// ---- file.c: from the bytes of a file to its tasks --------------------------------------

bool file_begin(struct jobfile *file, const char *path);  // false: out of memory
// The bytes are followed by a zero.
bool file_tree_read(struct reader *reader, enum jobfile_format format, char *bytes, size_t size);
bool file_parse(struct reader *reader, enum jobfile_format format, char *bytes, size_t size);

// ---- yaml.c, json.c: from bytes to a tree -----------------------------------------------

bool yaml_read(struct reader *reader, const char *bytes, size_t size);
// The tree refers to the bytes, which are modified in place.
bool json_read(struct reader *reader, char *bytes, size_t size, enum jobfile_format format);

// ---- value.c: the values of nodes ---------------------------------------------------

// These report an error and return false or null if the value is invalid; `what` is the key to
// name.
const char *node_text(struct reader *reader, uint32_t node, const char *what);
const char *node_filled(struct reader *reader, uint32_t node, const char *what);  // not empty
bool node_number(struct reader *reader, uint32_t node, const char *what, int64_t low, int64_t high,
                 int64_t *number);
bool node_flag(struct reader *reader, uint32_t node, const char *what, bool *flag);
bool node_duration(struct reader *reader, uint32_t node, const char *what, rota_time *time);
bool node_size(struct reader *reader, uint32_t node, const char *what, uint32_t *mebibytes);
bool node_percent(struct reader *reader, uint32_t node, const char *what, uint32_t *percent);
// The index of the node's text in `words`, which the error message lists.
bool node_choice(struct reader *reader, uint32_t node, const char *what, const char *const *words,
                 uint32_t count, uint32_t *choice);
// Sets one value per word. Unknown and duplicate keys are errors. False: not a mapping.
bool node_fields(struct reader *reader, uint32_t node, const char *what, const char *const *words,
                 uint32_t count, uint32_t *fields);
// The first item of a list, or the node itself. Items are linked by `next`.
uint32_t node_items(const struct reader *reader, uint32_t node, uint32_t *count);
bool node_name_check(struct reader *reader, uint32_t node, const char *name, const char *what);

// ---- template.c: {{names}} in texts -------------------------------------------------

bool template_is(const char *text, size_t length);
const char *template_fill(struct reader *reader, uint32_t node);
// The name without its {{...}} and the punctuation next to it; may be empty.
const char *template_base(struct reader *reader, const char *text, size_t length);

// ---- command.c: arguments for exec --------------------------------------------------

void command_split(struct jobfile *file, struct jobfile_task *task, const char *text);
void command_join(struct jobfile *file, struct jobfile_task *task);  // sets `command` from argv

// ---- header.c, task.c, expand.c, data.c, environment.c: from a tree to tasks ------------

struct draft {
    uint32_t fields[TASK_KEYS];  // nodes of the task's keys, or of the defaults
    uint32_t own_env, default_env;
    uint32_t node;               // position of the task
    uint32_t bundle;             // the bundle that contains it
};

void top_read(struct reader *reader, enum jobfile_format format);
void tasks_read(struct reader *reader, uint32_t node, uint32_t bundle);  // a mapping or a list
void task_read(struct reader *reader, uint32_t key, uint32_t node, uint32_t bundle);
void defaults_read(struct reader *reader, uint32_t node);
void task_expand(struct reader *reader, const struct draft *draft);  // foreach, matrix
uint32_t task_make(struct reader *reader, const struct draft *draft, const char *name);
// Adds a task of that name; 0: refused.
uint32_t task_add(struct reader *reader, uint32_t node, const char *name);

void task_inputs_read(struct reader *reader, struct jobfile_task *task, uint32_t node);
void task_outputs_read(struct reader *reader, struct jobfile_task *task, uint32_t node);
void task_keep_read(struct reader *reader, struct jobfile_task *task, uint32_t node);
void task_stdin_read(struct reader *reader, struct jobfile_task *task, uint32_t node);
void task_environment_read(struct reader *reader, struct jobfile_task *task,
                           const struct draft *draft);

// ---- resolve.c, condition.c, cycle.c: relations between tasks -----------------------

void names_resolve(struct reader *reader);
void streams_gather(struct jobfile *file);  // stream_order.c
void streams_branch(struct jobfile *file);  // stream_split.c
void condition_resolve(struct reader *reader, const struct named *condition,
                       const uint32_t *bundles, uint32_t bundle_count, uint32_t task);
void cycle_check(struct reader *reader);
