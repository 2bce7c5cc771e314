// open.c - reads the tasks and attempts of a job from the database.
#include "query/query.h"
#include "base/base.h"
#include "store/line_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, EXIT_BROKEN = 70 };

struct ask_block {
    struct ask_block *next;
    size_t used, size;
    max_align_t bytes[];
};

// ---- Memory ---------------------------------------------------------------------------------

void ask_no_memory(void)
{
    fputs("rota: out of memory\n", stderr);
    exit(EXIT_BROKEN);
}

void *ask_allocate(struct ask *ask, size_t size)
{
    struct ask_block *block = ask->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = calloc(1, sizeof *block + room);
        if (!block) ask_no_memory();
        block->next = ask->blocks;
        block->size = room;
        ask->blocks = block;
    }
    void *at = (char *)block->bytes + block->used;
    block->used += size;
    return at;
}

static const char *text_keep(struct ask *ask, const char *text)
{
    if (!text || !*text) return "";
    size_t size = strlen(text) + 1;
    return memcpy(ask_allocate(ask, size), text, size);
}

// ---- Tasks ----------------------------------------------------------------------------------

static const char *name_keep(struct ask *ask, const struct look_task *from)
{
    char id[32];
    snprintf(id, sizeof id, "%u.%u", from->id.job, from->id.task);
    return text_keep(ask, from->name && *from->name ? from->name : id);
}

// Tasks are numbered without gaps, so the index is the number minus one.
static bool task_take(void *context, const struct look_task *from)
{
    struct ask *ask = context;
    if (from->id.task != ask->task_count + 1) return true;
    if (!ARRAY_MORE(&memory_heap, ask->tasks, ask->task_count, ask->task_capacity)) return false;
    struct ask_task *task = &ask->tasks[ask->task_count++];
    *task = (struct ask_task){
        .id = from->id,
        .name = name_keep(ask, from),
        .command = text_keep(ask, from->command),
        .details = text_keep(ask, from->details),
        .condition = text_keep(ask, from->condition),
        .status = text_keep(ask, from->status),
        .access = text_keep(ask, from->access),
        .outcome = text_keep(ask, from->outcome),
        .inputs = text_keep(ask, from->inputs),
        .outputs = text_keep(ask, from->outputs),
        .edges = text_keep(ask, from->needs),
        .bundle = from->parent,
        .machine = from->machine,
        .lane = from->lane,
        .group = from->group,
        .cores = from->cores,
        .memory_mib = from->memory_mib,
        .retries = from->retries - (from->retries < ask->losses ? from->retries : ask->losses),
        .attempt = from->attempt,
        .tries = from->tries,
        .priority = from->priority,
        .exit = from->exit,
        .asked = from->asked,
        .since = from->started,
        .is_bundle = from->is_bundle,
    };
    return true;
}

// ---- Dependencies ---------------------------------------------------------------------------

struct needs {
    uint32_t *items, count, capacity;
};

static void need_add(struct ask *ask, struct needs *needs, uint64_t number)
{
    if (!number || number > ask->task_count) return;
    if (!ARRAY_MORE_RAW(&memory_heap, needs->items, needs->count, needs->capacity)) ask_no_memory();
    needs->items[needs->count++] = (uint32_t)number - 1;
}

static void edges_add(struct ask *ask, struct needs *needs, const char *text)
{
    uint64_t number;
    while (*text) {
        if (!text_read_number(&text, &number)) break;
        need_add(ask, needs, number);
        text_read_char(&text, ' ');
    }
}

// "su(3)&fa(7.4)": task numbers are in parentheses.
static void condition_add(struct ask *ask, struct needs *needs, const char *text)
{
    while ((text = strchr(text, '('))) {
        uint64_t number, task;
        text++;
        if (!text_read_number(&text, &number)) continue;
        if (!text_read_char(&text, '.'))
            need_add(ask, needs, number);
        else if (text_read_number(&text, &task) && number == ask->job.number)
            need_add(ask, needs, task);
    }
}

static void inputs_add(struct ask *ask, struct needs *needs, const char *text)
{
    struct rota_input input;
    while (*text && input_read(&text, &input)) {
        uint64_t job = input.object.high >> 32;
        if (job == ask->job.number) need_add(ask, needs, (uint32_t)input.object.high);
        text_read_char(&text, ' ');
    }
}

static void same_drop(struct needs *needs, uint32_t first)
{
    uint32_t kept = first;
    for (uint32_t i = first; i < needs->count; i++) {
        bool is_new = true;
        for (uint32_t k = first; k < kept && is_new; k++)
            is_new = needs->items[k] != needs->items[i];
        if (is_new) needs->items[kept++] = needs->items[i];
    }
    needs->count = kept;
}

static int place_compare(const void *one, const void *other)
{
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return left < right ? -1 : left > right;
}

enum { FEW = 32 };

// Removes duplicates: a few are compared one by one, many are sorted first.
static void needs_clean(struct needs *needs)
{
    if (needs->count <= FEW) {
        same_drop(needs, 0);
        return;
    }
    qsort(needs->items, needs->count, sizeof *needs->items, place_compare);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < needs->count; i++)
        if (needs->items[i] != needs->items[kept - 1]) needs->items[kept++] = needs->items[i];
    needs->count = kept;
}

static void needs_make(struct ask *ask)
{
    struct needs needs = {0};
    for (uint32_t i = 0; i < ask->task_count; i++) {
        struct ask_task *task = &ask->tasks[i];
        needs.count = 0;
        edges_add(ask, &needs, task->edges);
        condition_add(ask, &needs, task->condition);
        task->when = ask_condition(ask, task->condition);
        inputs_add(ask, &needs, task->inputs);
        needs_clean(&needs);
        uint32_t *kept = ask_allocate(ask, needs.count * sizeof *kept);
        if (needs.count) memcpy(kept, needs.items, needs.count * sizeof *kept);
        task->needs = kept;
        task->need_count = needs.count;
    }
    free(needs.items);
}

// ---- Attempts -------------------------------------------------------------------------------

static struct ask_attempt *attempt_add(struct ask *ask)
{
    if (!ARRAY_MORE(&memory_heap, ask->attempts, ask->attempt_count, ask->attempt_capacity))
        return NULL;
    return &ask->attempts[ask->attempt_count++];
}

static bool attempt_take(void *context, const struct look_attempt *from)
{
    struct ask *ask = context;
    if (!from->it.task.task || from->it.task.task > ask->task_count) return true;
    struct ask_attempt *attempt = attempt_add(ask);
    if (!attempt) return false;
    *attempt = (struct ask_attempt){
        .task = from->it.task.task - 1,
        .attempt = from->it.attempt,
        .worker = from->worker,
        .flags = from->it.flags,
        .status = text_keep(ask, from->status),
        .end = text_keep(ask, from->it.end),
        .reason = text_keep(ask, from->it.reason),
        .code = from->it.status,
        .began = from->it.began,
        .ended = from->it.ended,
        .user = from->it.user,
        .system = from->it.system,
        .memory_bytes = from->it.memory_bytes,
        .log_bytes = from->it.log_bytes,
        .is_carried = from->worker == ASK_WORKER_CARRIED,
        .ran = *from->it.end != 0,
    };
    return true;
}

static bool is_out(const struct ask_task *task)
{
    return !task->is_bundle && strcmp(task->status, "RUNNING") == 0;
}

static void attempts_out(struct ask *ask)
{
    for (uint32_t i = 0; i < ask->task_count; i++) {
        const struct ask_task *task = &ask->tasks[i];
        if (!is_out(task)) continue;
        struct ask_attempt *attempt = attempt_add(ask);
        if (!attempt) ask_no_memory();
        *attempt = (struct ask_attempt){.task = i,
                                        .attempt = task->attempt,
                                        .status = "RUNNING",
                                        .end = "",
                                        .reason = "",
                                        .began = task->since,
                                        .ran = true};
    }
}

static int attempt_compare(const void *one, const void *other)
{
    const struct ask_attempt *left = one, *right = other;
    if (left->task != right->task) return left->task < right->task ? -1 : 1;
    return left->attempt < right->attempt ? -1 : left->attempt > right->attempt;
}

static void attempts_deal(struct ask *ask)
{
    if (ask->attempt_count)
        qsort(ask->attempts, ask->attempt_count, sizeof *ask->attempts, attempt_compare);
    for (uint32_t i = 0; i < ask->attempt_count; i++) {
        struct ask_task *task = &ask->tasks[ask->attempts[i].task];
        if (!task->count++) task->first = i;
        bool is_over = ask->attempts[i].ended != 0;
        if (is_over && ask->attempts[i].attempt == task->attempt)
            task->since = ask->attempts[i].ended;
    }
}

// ---- The job --------------------------------------------------------------------------------

// `rota run` stores the path of the job file as the machine name of its tasks.
static const char *path_find(struct ask *ask)
{
    uint32_t machine = 0;
    for (uint32_t i = 0; i < ask->task_count && !machine; i++) machine = ask->tasks[i].machine;
    for (uint32_t i = 0; i < ask->catalog.name_count && machine; i++) {
        const struct catalog_name *name = &ask->catalog.names[i];
        const char *end = strrchr(name->name, ':');
        if (name->kind != CATALOG_MACHINE || name->number != machine || !end) continue;
        char *path = ask_allocate(ask, (size_t)(end - name->name) + 1);
        return memcpy(path, name->name, (size_t)(end - name->name));
    }
    return "";
}

bool ask_open(struct ask *ask, struct store *store, rota_job_id job)
{
    *ask = (struct ask){.store = store, .job = job, .path = ""};
    ask->losses = look_is_of_server(store) ? STORE_LOSSES : 0;
    ask->is_paused = look_job_is_paused(store, job.number);
    bool fine = look_tasks(store, job.number, task_take, ask);
    if (!fine || !ask->task_count) return false;
    needs_make(ask);
    fine = look_attempts(store, job.number, attempt_take, ask)
           && store_catalog(store, &ask->catalog);
    if (!fine) return false;
    attempts_out(ask);
    attempts_deal(ask);
    ask->path = path_find(ask);
    return true;
}

struct rota *ask_core(struct ask *ask, const char **reason)
{
    struct rota_config config = rota_config_default();
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    if (ask->rota) return ask->rota;
    *reason = "out of memory";
    config.tasks_max = config.groups_max = config.objects_max = 1u << 28;
    config.edges_max = config.jobs_max = 1u << 28;
    config.lanes_max = config.workers_max = 1u << 20;
    if (ask->waits.known) {
        config.cached_wait = ask->waits.cached;
        config.inputs_wait = ask->waits.inputs;
    }
    if (rota_open(&config, &ask->rota)) return NULL;
    ask->rows = event.restore.records = store_rows(ask->store, &event.restore.count);
    ask->row_count = event.restore.count;
    bool fine = !store_error(ask->store)->fault
                && (!event.restore.count || rota_step(ask->rota, &event) == ROTA_OK);
    if (fine) return ask->rota;
    *reason = "its rows are inconsistent; run rota verify";
    rota_close(ask->rota);
    return ask->rota = NULL;
}

void ask_release(struct ask *ask)
{
    rota_close(ask->rota);
    catalog_rows_release(&ask->catalog);
    free(ask->tasks);
    free(ask->attempts);
    while (ask->blocks) {
        struct ask_block *next = ask->blocks->next;
        free(ask->blocks);
        ask->blocks = next;
    }
    *ask = (struct ask){0};
}
