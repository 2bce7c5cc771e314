// job_draw.c - draws the tasks layer by layer, each on a line with its dependencies.
#include "cli/show/job.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 6, WIDTH_MAX = 40 };

struct drawing {
    const struct jobfile *file;
    FILE *out;
    uint32_t *layers;  // by task, from 1
    uint32_t *order;   // the tasks by layer
    uint32_t *stack, *next;
    int width;
};

// Finds the length of the longest path to a task. There are no cycles, so revisiting a task when
// its dependencies are known is enough.
static void layer_find(struct drawing *drawing, uint32_t start)
{
    uint32_t height = 0, other, *deepest = drawing->order;  // `order` is not used until later
    drawing->stack[height++] = start;
    while (height) {
        uint32_t task = drawing->stack[height - 1];
        uint32_t next = jobfile_waits(&drawing->file->tasks[task], drawing->next[task], &other);
        if (!next) {
            drawing->layers[task] = deepest[task] + 1;
            height--;
        } else if (!drawing->layers[other]) {
            drawing->stack[height++] = other;
        } else {
            if (drawing->layers[other] > deepest[task]) deepest[task] = drawing->layers[other];
            drawing->next[task] = next;
        }
    }
}

// A counting sort.
static void layers_order(struct drawing *drawing)
{
    uint32_t count = drawing->file->task_count, layers = 0, *first = drawing->next;
    memset(first, 0, (count + 2) * sizeof *first);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t layer = drawing->layers[i];
        first[layer + 1]++;
        if (layer > layers) layers = layer;
    }
    for (uint32_t i = 1; i <= layers + 1; i++) first[i] += first[i - 1];
    for (uint32_t i = 0; i < count; i++) drawing->order[first[drawing->layers[i]]++] = i;
}

// ---- Lines -----------------------------------------------------------------

struct line {
    FILE *out;
    uint32_t shown, left_out;
    int blanks;  // before the first item
};

static void item_say(struct line *line, const char *before, const char *name, const char *after)
{
    if (line->shown == SHOWN_MAX) {
        line->left_out++;
        return;
    }
    if (!line->shown) fprintf(line->out, "%*s", line->blanks, "");
    fprintf(line->out, "%s%s%s%s", line->shown++ ? ", " : " ← ", before, name, after);
}

static void waits_say(struct line *line, const struct jobfile *file,
                      const struct jobfile_task *task)
{
    static const char *const words[] = {[ROTA_CLAUSE_SUCCESS] = "su(",
                                        [ROTA_CLAUSE_FAILED] = "fa(",
                                        [ROTA_CLAUSE_NOT_RUNNING] = "nr(",
                                        [ROTA_CLAUSE_DONE] = "done("};
    for (uint32_t i = 0; i < task->need_count; i++)
        item_say(line, "", file->tasks[task->needs[i]].name, "");
    for (uint32_t i = 0; i < task->member_count; i++)
        item_say(line, "", file->tasks[task->members[i]].name, "");
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &task->clauses[i];
        if (clause->task.task)
            item_say(line, words[clause->kind], file->tasks[clause->task.task - 1].name, ")");
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (!input->producer) continue;
        const struct jobfile_task *producer = &file->tasks[input->producer - 1];
        if (producer->outputs[input->output - 1].kind == JOBFILE_STREAM)
            item_say(line, "stream of ", producer->name, "");
    }
}

static int width_of(const char *name)
{
    int width = 0;
    for (; *name; name++) width += (*name & 0xc0) != 0x80;
    return width;
}

static void task_say(const struct drawing *drawing, uint32_t number, bool last)
{
    const struct jobfile *file = drawing->file;
    const struct jobfile_task *task = &file->tasks[number];
    int blanks = drawing->width - width_of(task->name);
    struct line line = {.out = drawing->out, .blanks = blanks > 0 ? blanks : 0};
    fprintf(line.out, "%s %s", last ? "└─" : "├─", task->name);
    waits_say(&line, file, task);
    if (line.left_out) fprintf(line.out, " and %u more", line.left_out);
    if (task->is_bundle) fputs("  (bundle)", line.out);
    if (task->lane) fprintf(line.out, "  (lane %s)", file->lanes[task->lane - 1].name);
    putc('\n', line.out);
}

static void layers_say(struct drawing *drawing)
{
    const struct jobfile *file = drawing->file;
    for (uint32_t i = 0; i < file->task_count; i++) {
        int width = width_of(file->tasks[i].name);
        if (width > drawing->width && width <= WIDTH_MAX) drawing->width = width;
    }
    layers_order(drawing);
    for (uint32_t i = 0; i < file->task_count; i++) {
        uint32_t task = drawing->order[i], layer = drawing->layers[task];
        bool first = i == 0 || drawing->layers[drawing->order[i - 1]] != layer;
        bool last = i + 1 == file->task_count || drawing->layers[drawing->order[i + 1]] != layer;
        if (first) fprintf(drawing->out, "%u\n", layer);
        task_say(drawing, task, last);
    }
}

void jobfile_draw(const struct jobfile *file, FILE *out)
{
    size_t count = (size_t)file->task_count + 2;
    uint32_t *numbers = calloc(4 * count, sizeof *numbers);
    if (!numbers) return;
    struct drawing drawing = {.file = file, .out = out};
    drawing.layers = numbers;
    drawing.order = numbers + count;
    drawing.stack = numbers + 2 * count;
    drawing.next = numbers + 3 * count;
    for (uint32_t i = 0; i < file->task_count; i++)
        if (!drawing.layers[i]) layer_find(&drawing, i);
    layers_say(&drawing);
    free(numbers);
}
