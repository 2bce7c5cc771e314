// open.c - reads the tasks and attempts of a job from the database.
#include "query/query.h"
#include "base/base.h"
#include "store/line_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, EXIT_BROKEN = 70 };

struct query_block {
    struct query_block *next;
    size_t used, size;
    max_align_t bytes[];
};

// ---- Memory ---------------------------------------------------------------------------------

void query_no_memory(void)
{
    fputs("rota: out of memory\n", stderr);
    exit(EXIT_BROKEN);
}

void *query_allocate(struct query *query, size_t size)
{
    struct query_block *block = query->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = calloc(1, sizeof *block + room);
        if (!block) query_no_memory();
        block->next = query->blocks;
        block->size = room;
        query->blocks = block;
    }
    void *at = (char *)block->bytes + block->used;
    block->used += size;
    return at;
}

static const char *text_keep(struct query *query, const char *text)
{
    if (!text || !*text) return "";
    size_t size = strlen(text) + 1;
    return memcpy(query_allocate(query, size), text, size);
}

// ---- Tasks ----------------------------------------------------------------------------------

static const char *name_keep(struct query *query, const struct snapshot_task *from)
{
    char id[32];
    snprintf(id, sizeof id, "%u.%u", from->id.job, from->id.task);
    return text_keep(query, from->name && *from->name ? from->name : id);
}

// Tasks are numbered without gaps, so the index is the number minus one.
static bool task_take(void *context, const struct snapshot_task *from)
{
    struct query *query = context;
    if (from->id.task != query->task_count + 1) return true;
    if (!ARRAY_MORE(&memory_heap, query->tasks, query->task_count, query->task_capacity))
        return false;
    struct query_task *task = &query->tasks[query->task_count++];
    *task = (struct query_task){
        .id = from->id,
        .name = name_keep(query, from),
        .command = text_keep(query, from->command),
        .details = text_keep(query, from->details),
        .condition = text_keep(query, from->condition),
        .status = text_keep(query, from->status),
        .access = text_keep(query, from->access),
        .outcome = text_keep(query, from->outcome),
        .inputs = text_keep(query, from->inputs),
        .outputs = text_keep(query, from->outputs),
        .edges = text_keep(query, from->needs),
        .bundle = from->parent,
        .machine = from->machine,
        .lane = from->lane,
        .group = from->group,
        .cores = from->cores,
        .memory_mib = from->memory_mib,
        .retries = from->retries - (from->retries < query->losses ? from->retries : query->losses),
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

static void need_add(struct query *query, struct needs *needs, uint64_t number)
{
    if (!number || number > query->task_count) return;
    if (!ARRAY_MORE_RAW(&memory_heap, needs->items, needs->count, needs->capacity))
        query_no_memory();
    needs->items[needs->count++] = (uint32_t)number - 1;
}

static void edges_add(struct query *query, struct needs *needs, const char *text)
{
    uint64_t number;
    while (*text) {
        if (!text_read_number(&text, &number)) break;
        need_add(query, needs, number);
        text_read_char(&text, ' ');
    }
}

// "su(3)&fa(7.4)": task numbers are in parentheses.
static void condition_add(struct query *query, struct needs *needs, const char *text)
{
    while ((text = strchr(text, '('))) {
        uint64_t number, task;
        text++;
        if (!text_read_number(&text, &number)) continue;
        if (!text_read_char(&text, '.'))
            need_add(query, needs, number);
        else if (text_read_number(&text, &task) && number == query->job.number)
            need_add(query, needs, task);
    }
}

static void inputs_add(struct query *query, struct needs *needs, const char *text)
{
    struct rota_input input;
    while (*text && input_read(&text, &input)) {
        uint64_t job = input.object.high >> 32;
        if (job == query->job.number) need_add(query, needs, (uint32_t)input.object.high);
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

// ---- Conditions, with the names of the job file -----------------------------------------------

// Adds the name of the task "3" (of this job) or "7.3".
static void name_add(struct line *line, const struct query *query, const char **text)
{
    const char *begin = *text;
    uint64_t job = query->job.number, task = 0;
    text_read_number(text, &task);
    if (text_read_char(text, '.')) {
        job = task;
        text_read_number(text, &task);
    }
    if (job == query->job.number && task && task <= query->task_count)
        line_add_word(line, query->tasks[task - 1].name);
    else
        line_add(line, begin, (size_t)(*text - begin));
}

// The function of a condition, as most users write it: the short forms are for files of other
// programs.
static void function_add(struct line *line, const char **text)
{
    static const char *const words[][2]
        = {{"su", "success"}, {"fa", "failed"}, {"nr", "notrunning"}, {"done", "done"}};
    size_t length = strcspn(*text, "(");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool same = strlen(words[i][0]) == length && memcmp(*text, words[i][0], length) == 0;
        if (same) line_add_word(line, words[i][1]);
    }
    *text += length;
}

// "su(3)" as "success(build)".
static const char *condition_named(struct query *query, const char *text)
{
    struct line line = {0};
    if (!*text) return text;
    while (*text) {
        char c = *text;
        if (c >= '0' && c <= '9') {
            name_add(&line, query, &text);
            continue;
        }
        if (c >= 'a' && c <= 'z') {
            function_add(&line, &text);
            continue;
        }
        bool joins = c == '&' || c == '|';
        if (joins) line_add_char(&line, ' ');
        line_add_char(&line, c);
        if (joins) line_add_char(&line, ' ');
        text++;
    }
    if (line.failed) query_no_memory();
    char *kept = query_allocate(query, line.length + 1);
    memcpy(kept, line.data, line.length);
    line_release(&line);
    return kept;
}

static void needs_make(struct query *query)
{
    struct needs needs = {0};
    for (uint32_t i = 0; i < query->task_count; i++) {
        struct query_task *task = &query->tasks[i];
        needs.count = 0;
        edges_add(query, &needs, task->edges);
        condition_add(query, &needs, task->condition);
        task->when = condition_named(query, task->condition);
        inputs_add(query, &needs, task->inputs);
        needs_clean(&needs);
        uint32_t *kept = query_allocate(query, needs.count * sizeof *kept);
        if (needs.count) memcpy(kept, needs.items, needs.count * sizeof *kept);
        task->needs = kept;
        task->need_count = needs.count;
    }
    free(needs.items);
}

// ---- Attempts -------------------------------------------------------------------------------

static struct query_attempt *attempt_add(struct query *query)
{
    if (!ARRAY_MORE(&memory_heap, query->attempts, query->attempt_count, query->attempt_capacity))
        return NULL;
    return &query->attempts[query->attempt_count++];
}

static bool attempt_take(void *context, const struct snapshot_attempt *from)
{
    struct query *query = context;
    if (!from->it.task.task || from->it.task.task > query->task_count) return true;
    struct query_attempt *attempt = attempt_add(query);
    if (!attempt) return false;
    *attempt = (struct query_attempt){
        .task = from->it.task.task - 1,
        .attempt = from->it.attempt,
        .worker = from->worker,
        .flags = from->it.flags,
        .status = text_keep(query, from->status),
        .end = text_keep(query, from->it.end),
        .reason = text_keep(query, from->it.reason),
        .code = from->it.status,
        .began = from->it.began,
        .ended = from->it.ended,
        .user = from->it.user,
        .system = from->it.system,
        .memory_bytes = from->it.memory_bytes,
        .log_bytes = from->it.log_bytes,
        .is_carried = from->worker == QUERY_WORKER_CARRIED,
        .ran = *from->it.end != 0,
    };
    return true;
}

static bool is_out(const struct query_task *task)
{
    return !task->is_bundle && strcmp(task->status, "RUNNING") == 0;
}

static void attempts_out(struct query *query)
{
    for (uint32_t i = 0; i < query->task_count; i++) {
        const struct query_task *task = &query->tasks[i];
        if (!is_out(task)) continue;
        struct query_attempt *attempt = attempt_add(query);
        if (!attempt) query_no_memory();
        *attempt = (struct query_attempt){.task = i,
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
    const struct query_attempt *left = one, *right = other;
    if (left->task != right->task) return left->task < right->task ? -1 : 1;
    return left->attempt < right->attempt ? -1 : left->attempt > right->attempt;
}

static void attempts_deal(struct query *query)
{
    if (query->attempt_count)
        qsort(query->attempts, query->attempt_count, sizeof *query->attempts, attempt_compare);
    for (uint32_t i = 0; i < query->attempt_count; i++) {
        struct query_task *task = &query->tasks[query->attempts[i].task];
        if (!task->count++) task->first = i;
        bool is_over = query->attempts[i].ended != 0;
        if (is_over && query->attempts[i].attempt == task->attempt)
            task->since = query->attempts[i].ended;
    }
}

// ---- The job --------------------------------------------------------------------------------

// `rota run` stores the path of the job file as the machine name of its tasks.
static const char *path_find(struct query *query)
{
    uint32_t machine = 0;
    for (uint32_t i = 0; i < query->task_count && !machine; i++) machine = query->tasks[i].machine;
    for (uint32_t i = 0; i < query->catalog.name_count && machine; i++) {
        const struct catalog_name *name = &query->catalog.names[i];
        const char *end = strrchr(name->name, ':');
        if (name->kind != CATALOG_MACHINE || name->number != machine || !end) continue;
        char *path = query_allocate(query, (size_t)(end - name->name) + 1);
        return memcpy(path, name->name, (size_t)(end - name->name));
    }
    return "";
}

bool query_open(struct query *query, struct store *store, rota_job_id job)
{
    *query = (struct query){.store = store, .job = job, .path = ""};
    query->losses = look_is_of_server(store) ? STORE_LOSSES : 0;
    query->is_paused = snapshot_job_is_paused(store, job.number);
    bool fine = snapshot_tasks(store, job.number, task_take, query);
    if (!fine || !query->task_count) return false;
    needs_make(query);
    fine = snapshot_attempts(store, job.number, attempt_take, query)
           && store_catalog(store, &query->catalog);
    if (!fine) return false;
    attempts_out(query);
    attempts_deal(query);
    query->path = path_find(query);
    return true;
}

struct rota *query_core(struct query *query, const char **reason)
{
    struct rota_config config = rota_config_default();
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    if (query->rota) return query->rota;
    *reason = "out of memory";
    config.tasks_max = config.groups_max = config.objects_max = 1u << 28;
    config.edges_max = config.jobs_max = 1u << 28;
    config.lanes_max = config.workers_max = 1u << 20;
    if (query->waits.known) {
        config.cached_wait = query->waits.cached;
        config.inputs_wait = query->waits.inputs;
    }
    if (rota_open(&config, &query->rota)) return NULL;
    query->rows = event.restore.records = store_rows(query->store, &event.restore.count);
    query->row_count = event.restore.count;
    bool fine = !store_error(query->store)->fault
                && (!event.restore.count || rota_step(query->rota, &event) == ROTA_OK);
    if (fine) return query->rota;
    *reason = "its rows are inconsistent; run rota verify";
    rota_close(query->rota);
    return query->rota = NULL;
}

void query_release(struct query *query)
{
    rota_close(query->rota);
    catalog_rows_release(&query->catalog);
    free(query->tasks);
    free(query->attempts);
    while (query->blocks) {
        struct query_block *next = query->blocks->next;
        free(query->blocks);
        query->blocks = next;
    }
    *query = (struct query){0};
}
