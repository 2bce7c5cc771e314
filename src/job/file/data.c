// data.c - the data of a task: in, out, keep, stdin.
#include "job/file/internal.h"

#include <string.h>

enum { PATH_LENGTH_MAX = 4095 };

// ---- Paths -----------------------------------------------------------------

// A quick check: false means that the path may need cleaning.
static bool is_clean(const char *path)
{
    const char *at = path;
    while (*at > ' ' && *at < 0x7f && (*at != '/' || (at[1] && at[1] != '/' && at[1] != '.'))) at++;
    return !*at && *path && *path != '/' && *path != '.' && at - path <= JOBFILE_NAME_MAX;
}

// The path without ".", doubled or trailing slashes. `fault` says why it cannot name a file in the
// folder of a task; null: it can.
static const char *path_clean(struct reader *reader, const char *path, const char **fault)
{
    *fault = NULL;
    if (is_clean(path)) return path;
    char *clean = jobfile_take(reader->file, strlen(path) + 1), *out = clean;
    *fault = "is too long (out of memory)";
    if (!clean) return path;
    *fault = path[0] == '/' ? "is not relative" : NULL;
    while (*path) {
        size_t length = strcspn(path, "/");
        bool skipped = length == 0 || (length == 1 && *path == '.');
        if (length == 2 && memcmp(path, "..", 2) == 0) *fault = "contains ..";
        if (length > JOBFILE_NAME_MAX) *fault = "has a part of more than 255 bytes";
        if (!skipped && out > clean) *out++ = '/';
        if (!skipped) memcpy(out, path, length);
        if (!skipped) out += length;
        path += length + (path[length] == '/');
    }
    if (!*clean) *fault = "is empty";
    if (out - clean > PATH_LENGTH_MAX) *fault = "has more than 4095 bytes";
    for (const char *at = clean; *at; at++)
        if ((uint8_t)*at < 0x20 || *at == 0x7f) *fault = "contains a control character";
    return clean;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// ---- Inputs ----------------------------------------------------------------

static bool input_fill(struct reader *reader, uint32_t node, uint32_t name_node, uint32_t path_node,
                       struct jobfile_input *input)
{
    const char *fault, *path = node_filled(reader, path_node, "a path in in");
    if (!path) return false;
    const char *clean = path_clean(reader, path, &fault);
    input->path = fault ? path : clean;  // the user's files may be anywhere
    input->name = fault ? last_part(path) : clean;
    if (name_node && !(input->name = node_filled(reader, name_node, "a name in in"))) return false;
    const char *name = path_clean(reader, input->name, &fault);
    if (fault) reject(reader, node, "the name of an input %s: %s", fault, QUOTED(input->name));
    input->name = name;
    return !fault;
}

static bool input_item_read(struct reader *reader, uint32_t node, struct jobfile_input *input)
{
    static const char *const words[] = {"name", "path"};
    uint32_t fields[2] = {0};
    if (reader->tree.nodes[node].kind != NODE_MAP) return input_fill(reader, node, 0, node, input);
    node_fields(reader, node, "an input", words, 2, fields);
    if (!fields[0] && !fields[1]) {
        reject(reader, node, "an input has neither a name nor a path");
        return false;
    }
    return input_fill(reader, node, fields[0], fields[1] ? fields[1] : fields[0], input);
}

void task_inputs_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    uint32_t count;
    struct table seen = {0};
    uint32_t item = node_items(reader, node, &count);
    task->inputs = jobfile_take(reader->file, count * sizeof *task->inputs);
    if (!task->inputs) return;
    for (; item && count; count--, item = reader->tree.nodes[item].next) {
        struct jobfile_input *input = &task->inputs[task->input_count];
        if (!input_item_read(reader, item, input)) continue;
        if (table_put(reader->file, &seen, input->name, 1))
            reject(reader, item, "duplicate input %s", QUOTED(input->name));
        else
            task->input_count++;
    }
    table_release(&seen);
}

// ---- Outputs ---------------------------------------------------------------

static bool output_name_read(struct reader *reader, uint32_t node, struct jobfile_output *output)
{
    const char *fault, *text = node_filled(reader, node, "the name of an output");
    if (!text) return false;
    output->name = path_clean(reader, text, &fault);
    if (fault) reject(reader, node, "the name of an output %s: %s", fault, QUOTED(text));
    if (text[strlen(text) - 1] == '/') output->kind = JOBFILE_DIRECTORY;
    return !fault;
}

static bool output_item_read(struct reader *reader, uint32_t node, struct jobfile_output *output)
{
    static const char *const words[] = {"name", "kind", "keep"};
    static const char *const kinds[] = {"file", "directory", "stream"};
    uint32_t fields[3] = {0}, kind;
    if (reader->tree.nodes[node].kind != NODE_MAP) return output_name_read(reader, node, output);
    node_fields(reader, node, "an output", words, 3, fields);
    if (!fields[0]) {
        reject(reader, node, "an output has no name");
        return false;
    }
    bool fine = output_name_read(reader, fields[0], output);
    if (fields[1] && node_choice(reader, fields[1], "kind", kinds, 3, &kind))
        output->kind = (enum jobfile_kind)kind;
    if (fields[2]) node_flag(reader, fields[2], "keep", &output->keep);
    return fine;
}

static void output_add(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    const struct jobfile *file = reader->file;
    const char *name = task->outputs[task->output_count].name;
    if (!jobfile_reserve(reader->file, &reader->made, &reader->made_capacity, reader->made_count,
                         sizeof *reader->made))
        return;
    uint32_t known = table_put(reader->file, &reader->outputs, name, reader->made_count + 1);
    if (known) {
        const struct jobfile_task *other = &file->tasks[reader->made[known - 1].task];
        reject(reader, node, "%s is already an output of %s, in line %u", QUOTED(name),
               QUOTED(other->name), other->place.line);
        return;
    }
    reader->made[reader->made_count++]
        = (struct made){(uint32_t)(task - file->tasks), task->output_count++};
}

void task_outputs_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    uint32_t count;
    uint32_t item = node_items(reader, node, &count);
    task->outputs = jobfile_take(reader->file, count * sizeof *task->outputs);
    if (!task->outputs) return;
    for (; item && count; count--, item = reader->tree.nodes[item].next)
        if (output_item_read(reader, item, &task->outputs[task->output_count]))
            output_add(reader, task, item);
}

// ---- Kept outputs -----------------------------------------------------------

static void kept_find(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    const char *fault, *text = node_filled(reader, node, "a name in keep");
    if (!text) return;
    uint32_t known = table_find(&reader->outputs, path_clean(reader, text, &fault));
    const struct made *made = known ? &reader->made[known - 1] : NULL;
    if (made && &reader->file->tasks[made->task] == task)
        task->outputs[made->output].keep = true;
    else
        reject(reader, node, "keep lists %s, which is not an output of the task", QUOTED(text));
}

void task_keep_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    bool keep;
    uint32_t count;
    if (reader->tree.nodes[node].kind != NODE_LIST) {
        if (!node_flag(reader, node, "keep", &keep)) return;
        for (uint32_t i = 0; i < task->output_count; i++) task->outputs[i].keep |= keep;
        return;
    }
    for (uint32_t item = node_items(reader, node, &count); item;) {
        kept_find(reader, task, item);
        item = reader->tree.nodes[item].next;
    }
}

void task_stdin_read(struct reader *reader, struct jobfile_task *task, uint32_t node)
{
    const char *fault, *text = node_filled(reader, node, "stdin");
    if (!text) return;
    const char *clean = path_clean(reader, text, &fault);
    task->stdin_path = fault ? text : clean;
    for (uint32_t i = 0; i < task->input_count && !fault; i++)
        if (strcmp(task->inputs[i].name, clean) == 0) task->stdin_input = i + 1;
}
