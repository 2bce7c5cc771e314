// signature.c - everything that the result of a task depends on, as one number.
//
// A signature covers the command, its environment, the user's files that it reads, and the
// signatures of all tasks it waits for. While it stays the same, the task need not run again.
#include "run/run.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

uint64_t run_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

// ---- Order ------------------------------------------------------------------------------

enum { LANE_SEEN = UINT32_MAX };

// Depth first, with an explicit stack: chains may have a million tasks. A job file has no cycles.
struct walk {
    uint32_t *stack, *at;  // the tasks on the current path, and the next dependency of each
    uint32_t *older;       // by task: the task before it in a lane that keeps the order, plus 1
    uint8_t *seen;
    uint32_t depth, placed;
};

static void lanes_order(const struct jobfile *file, struct walk *walk)
{
    uint32_t *last = os_allocate(file->lane_count, sizeof *last);
    for (uint32_t i = 0; file->lane_count && i < file->task_count; i++) {
        uint32_t lane = file->tasks[i].lane;
        if (!lane || !file->lanes[lane - 1].submit_order) continue;
        walk->older[i] = last[lane - 1];
        last[lane - 1] = i + 1;
    }
    free(last);
}

// Returns where to continue after the next task that this one waits for. 0: no more tasks.
static uint32_t walk_next(const struct run *run, const struct walk *walk, uint32_t task,
                          uint32_t at, uint32_t *other)
{
    uint32_t next = at == LANE_SEEN ? 0 : jobfile_waits(&run->file->tasks[task], at, other);
    if (next || at == LANE_SEEN || !walk->older[task]) return next;
    *other = walk->older[task] - 1;
    return LANE_SEEN;
}

static void walk_from(struct run *run, struct walk *walk, uint32_t first)
{
    walk->stack[0] = first;
    walk->at[0] = 0;
    walk->seen[first] = 1;
    walk->depth = 1;
    while (walk->depth) {
        uint32_t top = walk->depth - 1, task = walk->stack[top], other;
        walk->at[top] = walk_next(run, walk, task, walk->at[top], &other);
        if (!walk->at[top]) {
            run->order[walk->placed++] = task;
            walk->depth--;
        } else if (!walk->seen[other]) {
            walk->seen[other] = 1;
            walk->stack[walk->depth] = other;
            walk->at[walk->depth++] = 0;
        }
    }
}

static void order_make(struct run *run)
{
    uint32_t count = run->file->task_count;
    struct walk walk = {.stack = os_allocate(count, sizeof *walk.stack)};
    walk.at = os_allocate(count, sizeof *walk.at);
    walk.older = os_allocate(count, sizeof *walk.older);
    walk.seen = os_allocate(count, 1);
    lanes_order(run->file, &walk);
    for (uint32_t i = 0; i < count; i++)
        if (!walk.seen[i]) walk_from(run, &walk, i);
    free(walk.stack), free(walk.at), free(walk.older), free(walk.seen);
}

// ---- Signatures -------------------------------------------------------------------------

static void add(XXH3_state_t *state, const char *text)
{
    size_t length = text ? strlen(text) : SIZE_MAX;  // null differs from ""
    XXH3_64bits_update(state, &length, sizeof length);
    if (text) XXH3_64bits_update(state, text, length);
}

static void add_number(XXH3_state_t *state, uint64_t number)
{
    XXH3_64bits_update(state, &number, sizeof number);
}

static void add_command(XXH3_state_t *state, const struct run *run, const struct jobfile_task *task,
                        run_stamp_fn *stamp)
{
    add_number(state, task->argc);
    for (uint32_t i = 0; i < task->argc; i++) add(state, task->argv[i]);
    add_number(state, task->env_count);
    for (uint32_t i = 0; i < task->env_count; i++) add(state, task->env[i]);
    add(state, task->cwd);
    add(state, task->stdin_path);
    add_number(state, task->stdin_input);
    if (task->stdin_path && !task->stdin_input)
        add_number(state, stamp(run->file->folder, task->stdin_path));
}

static void add_files(XXH3_state_t *state, const struct run *run, const struct jobfile_task *task,
                      run_stamp_fn *stamp)
{
    add_number(state, task->input_count);
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        add(state, input->name);
        add(state, input->path);
        if (!input->producer) add_number(state, stamp(run->file->folder, input->path));
    }
    add_number(state, task->output_count);
    for (uint32_t i = 0; i < task->output_count; i++) {
        add(state, task->outputs[i].name);
        add_number(state, task->outputs[i].kind);
    }
}

static uint64_t signature_make(const struct run *run, uint32_t at, run_stamp_fn *stamp,
                               XXH3_state_t *state)
{
    const struct jobfile_task *task = &run->file->tasks[at];
    uint32_t other;
    XXH3_64bits_reset(state);
    add(state, task->name);
    add_command(state, run, task, stamp);
    add_files(state, run, task, stamp);
    for (uint32_t i = 0; (i = jobfile_waits(task, i, &other)) != 0;)
        add_number(state, run->tasks[other].signature);
    for (uint32_t i = 0; i < task->clause_count; i++) add_number(state, task->clauses[i].kind);
    uint64_t signature = XXH3_64bits_digest(state);
    return signature ? signature : 1;
}

void run_sign(struct run *run, run_stamp_fn *stamp)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) os_out_of_memory();
    order_make(run);
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        uint32_t at = run->order[i];
        run->tasks[at].signature = signature_make(run, at, stamp, state);
    }
    XXH3_freeState(state);
}

// Which tasks a file has may depend on which files exist.
uint64_t run_digest(const struct run *run, uint64_t digest)
{
    for (uint32_t i = 0; run->file->has_globs && i < run->file->task_count; i++) {
        const char *name = run->file->tasks[i].name;
        digest = hash_mix(digest, run_hash(name, strlen(name))) >> 1;
    }
    return digest;
}

// ---- Objects ----------------------------------------------------------------------------

rota_object_id run_output_name(const struct run *run, uint32_t task, uint32_t output)
{
    const struct jobfile_output *it = &run->file->tasks[task].outputs[output];
    uint64_t hash = run_hash(it->name, strlen(it->name));
    if (it->is_again) hash = hash_mix(hash, output);  // several outputs have that name
    return (rota_object_id){run->tasks[task].signature, hash};
}

rota_object_id run_object(const struct run *run, uint32_t task, uint32_t output)
{
    return (rota_object_id){(uint64_t)run->job.number << 32 | (task + 1), output + 1};
}

bool run_object_find(const struct run *run, rota_object_id id, uint32_t *task, uint32_t *output)
{
    *task = (uint32_t)id.high - 1;
    *output = (uint32_t)id.low - 1;
    bool ours = id.high >> 32 == run->job.number && *task < run->file->task_count;
    return ours && *output < run->file->tasks[*task].output_count;
}
