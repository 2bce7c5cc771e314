// load_submit.c - turns the rows of a submission and its tasks into the submission of the client.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

// The arrays of one submission while its rows are read; reused for the next.
struct draft {
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    uint32_t task_capacity, edge_capacity, clause_capacity, input_capacity, output_capacity;
    struct rota_job_spec spec;
    uint64_t sequence;
    void *swap;  // for restoring the original order
    uint32_t swap_capacity;
    bool no_memory;
};

enum column {
    COLUMN_ID,
    COLUMN_KIND,
    COLUMN_CONDITION,
    COLUMN_NEEDS,
    COLUMN_PARENT,
    COLUMN_MACHINE,
    COLUMN_PRIORITY,
    COLUMN_LANE,
    COLUMN_GROUP,
    COLUMN_ACCESS,
    COLUMN_CORES,
    COLUMN_MEMORY,
    COLUMN_RETRIES,
    COLUMN_ESTIMATE,
    COLUMN_KEY,
    COLUMN_BODY,
    COLUMN_ON_DEMAND,
    COLUMN_INPUTS,
    COLUMN_OUTPUTS,
    COLUMN_STATUS,
    COLUMN_MOVED = COLUMN_STATUS + 12
};

// Reads tables instead of a view: SQLite takes as long to open a view as to read a small job.
static const char task_sql[]
    = "SELECT t.id, kind, condition, needs, parent, machine, priority, lane, grp, access, cores,"
      " memory_mib, retries, estimate, key, body, on_demand, inputs, outputs,"
      " coalesce(s.status, t.status), s.attempt, s.tries, s.outcome, s.exit, s.flags, s.phase,"
      " s.asked, s.since, s.worker, s.handler, s.run_as, s.id FROM sched_task t LEFT JOIN"
      " sched_state s ON s.id = t.id WHERE t.id BETWEEN ? AND ? ORDER BY t.id";

static const char submit_sql[]
    = "SELECT job, sequence, first, tasks, grows, client, key, policy, on_failure, last, uploads,"
      " edge_order, input_order, output_order FROM sched_submit ORDER BY sequence";

static const char *text_at(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static bool reserve(struct draft *draft, void *items, uint32_t *capacity, uint64_t need,
                    size_t size)
{
    if (memory_reserve_raw(&memory_heap, items, capacity, need, size)) return true;
    draft->no_memory = true;
    return false;
}

static void draft_release(struct draft *draft)
{
    free(draft->tasks);
    free(draft->edges);
    free(draft->clauses);
    free(draft->inputs);
    free(draft->outputs);
    free(draft->swap);
}

// ---- The lists of a task ---------------------------------------------------------------

static bool read_needs(struct draft *draft, const char *text, uint32_t task)
{
    while (text && *text) {
        bool there = reserve(draft, &draft->edges, &draft->edge_capacity,
                             (uint64_t)draft->spec.edge_count + 1, sizeof *draft->edges);
        uint64_t number;
        if (!there || !text_read_number(&text, &number)) return false;
        draft->edges[draft->spec.edge_count++] = (struct rota_edge){(uint32_t)number, task};
        if (*text && !text_read_char(&text, ' ')) return false;
    }
    return true;
}

static bool read_inputs(struct draft *draft, const char *text, uint32_t task)
{
    while (text && *text) {
        bool there = reserve(draft, &draft->inputs, &draft->input_capacity,
                             (uint64_t)draft->spec.input_count + 1, sizeof *draft->inputs);
        struct rota_input input = {.task = task};
        if (!there || !input_read(&text, &input)) return false;
        draft->inputs[draft->spec.input_count++] = input;
    }
    return true;
}

static bool read_outputs(struct draft *draft, const char *text, uint32_t task)
{
    while (text && *text) {
        bool there = reserve(draft, &draft->outputs, &draft->output_capacity,
                             (uint64_t)draft->spec.output_count + 1, sizeof *draft->outputs);
        struct rota_output output = {.task = task};
        if (!there || !output_read(&text, &output)) return false;
        draft->outputs[draft->spec.output_count++] = output;
    }
    return true;
}

static bool read_condition(struct draft *draft, const char *text, struct rota_task_spec *task)
{
    if (!text) return true;
    uint32_t max = (uint32_t)strlen(text), first = draft->spec.clause_count;
    bool there = reserve(draft, &draft->clauses, &draft->clause_capacity, (uint64_t)first + max,
                         sizeof *draft->clauses);
    int count = there ? condition_read(text, draft->clauses + first, max) : -1;
    if (count < 0) return false;
    task->clause_first = first;
    task->clause_count = (uint32_t)count;
    draft->spec.clause_count += (uint32_t)count;
    return true;
}

static bool read_task(struct draft *draft, sqlite3_stmt *row, uint32_t index)
{
    struct rota_task_spec *task = &draft->tasks[index];
    uint32_t number = draft->spec.first + index, access;
    const char *kind = text_at(row, COLUMN_KIND), *key = text_at(row, COLUMN_KEY);
    bool bundle = kind && strcmp(kind, "bundle") == 0;
    if (!word_find(words_access, text_at(row, COLUMN_ACCESS), &access)) return false;
    *task = (struct rota_task_spec){
        .body = (uint64_t)sqlite3_column_int64(row, COLUMN_BODY),
        .estimate = sqlite3_column_int64(row, COLUMN_ESTIMATE),
        .flags = (bundle ? ROTA_TASK_BUNDLE : 0u)
                 | (sqlite3_column_int(row, COLUMN_ON_DEMAND) ? ROTA_TASK_ON_DEMAND : 0u),
        .bundle = (uint32_t)sqlite3_column_int64(row, COLUMN_PARENT),
        .lane = (uint32_t)sqlite3_column_int64(row, COLUMN_LANE),
        .group = (uint32_t)sqlite3_column_int64(row, COLUMN_GROUP),
        .machine = (uint32_t)sqlite3_column_int64(row, COLUMN_MACHINE),
        .cores = (uint32_t)sqlite3_column_int64(row, COLUMN_CORES),
        .memory_mib = (uint32_t)sqlite3_column_int64(row, COLUMN_MEMORY),
        .retries_max = (uint32_t)sqlite3_column_int64(row, COLUMN_RETRIES),
        .priority = (int16_t)sqlite3_column_int64(row, COLUMN_PRIORITY),
        .access = (uint8_t)access,
    };
    return (!key || (text_read_object(&key, &task->key) && !*key))
           && read_condition(draft, text_at(row, COLUMN_CONDITION), task)
           && read_needs(draft, text_at(row, COLUMN_NEEDS), number)
           && read_inputs(draft, text_at(row, COLUMN_INPUTS), number)
           && read_outputs(draft, text_at(row, COLUMN_OUTPUTS), number);
}

// ---- The state of a task ------------------------------------------------------------------

// A task that has not changed since its submission has no record of its own.
static bool read_spot(struct sqlite_store *store, struct loaded *loaded, sqlite3_stmt *row,
                      struct spot *spot, bool bundle)
{
    int64_t id = sqlite3_column_int64(row, COLUMN_ID);
    bool moved = sqlite3_column_type(row, COLUMN_MOVED) != SQLITE_NULL;
    struct rota_record *record = loaded_add(loaded, ROTA_RECORD_TASK);
    if (!record) return load_no_memory(store);
    record->task.id = row_task(id);
    if (!load_state(row, COLUMN_STATUS, record)) {
        return load_fail(store, "sched_status", id, "has an invalid state");
    }
    enum place place = place_of((enum rota_task_state)record->task.state, bundle);
    *spot = (struct spot){.attempt = record->task.attempt & ATTEMPT_MAX,
                          .place = (uint32_t)place & 3u,
                          .bundle = bundle,
                          .moved = moved};
    if (!moved) loaded->count--;
    return true;
}

static bool read_tasks(struct sqlite_store *store, struct loaded *loaded, struct draft *draft,
                       sqlite3_stmt *row)
{
    uint32_t job = draft->spec.job.number, first = draft->spec.first;
    uint32_t count = draft->spec.task_count, found = 0;
    struct spot *spots = task_index_add(&store->task_index, job, first, count);
    if (!spots) return load_no_memory(store);
    int64_t id = row_id((rota_task_id){job, first});
    int result = SQLITE_DONE;
    sqlite3_reset(row);
    bind_number(row, 1, id);
    bind_number(row, 2, id + count - 1);
    while (count && (result = sqlite3_step(row)) == SQLITE_ROW) {
        if (sqlite3_column_int64(row, COLUMN_ID) != id + found) break;
        if (!read_task(draft, row, found)) {
            return draft->no_memory ? load_no_memory(store)
                                    : load_fail(store, "sched_job", id + found,
                                                "has an invalid column");
        }
        bool bundle = draft->tasks[found].flags & ROTA_TASK_BUNDLE;
        if (!read_spot(store, loaded, row, &spots[found], bundle)) return false;
        found++;
    }
    if (result != SQLITE_DONE && result != SQLITE_ROW) {
        fail_with(store, result, "cannot be read");
        return false;
    }
    return found == count || load_fail(store, "sched_job", id + found, "is missing");
}

// ---- The original order --------------------------------------------------------------------

static bool reorder(struct draft *draft, const char *text, void *items, uint32_t count, size_t size)
{
    if (!text) return true;
    if (!reserve(draft, &draft->swap, &draft->swap_capacity, (uint64_t)count * size, 1)) {
        return false;
    }
    memset(draft->swap, 0, count * size);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place;
        if (!text_read_number(&text, &place) || place >= count) return false;
        text_read_char(&text, ' ');
        memcpy((char *)draft->swap + place * size, (const char *)items + i * size, size);
    }
    memcpy(items, draft->swap, count * size);
    return !*text;
}

static bool reorder_all(struct draft *draft, sqlite3_stmt *row)
{
    const struct rota_job_spec *spec = &draft->spec;
    return reorder(draft, text_at(row, 11), draft->edges, spec->edge_count, sizeof *draft->edges)
           && reorder(draft, text_at(row, 12), draft->inputs, spec->input_count,
                      sizeof *draft->inputs)
           && reorder(draft, text_at(row, 13), draft->outputs, spec->output_count,
                      sizeof *draft->outputs);
}

// ---- Submissions -------------------------------------------------------------------------------

static bool draft_begin(struct draft *draft, sqlite3_stmt *row)
{
    uint32_t policy, on_failure;
    if (!word_find(words_policy, text_at(row, 7), &policy)) return false;
    if (!word_find(words_on_failure, text_at(row, 8), &on_failure)) return false;
    draft->sequence = (uint64_t)sqlite3_column_int64(row, 1);
    draft->spec = (struct rota_job_spec){
        .job = {(uint32_t)sqlite3_column_int64(row, 0)},
        .first = (uint32_t)sqlite3_column_int64(row, 2),
        .task_count = (uint32_t)sqlite3_column_int64(row, 3),
        .client = (uint64_t)sqlite3_column_int64(row, 5),
        .key = (uint64_t)sqlite3_column_int64(row, 6),
        .policy = (enum rota_policy)policy,
        .on_failure = (enum rota_on_failure)on_failure,
        .last = sqlite3_column_int(row, 9) != 0,
    };
    bool there = reserve(draft, &draft->tasks, &draft->task_capacity, draft->spec.task_count,
                         sizeof *draft->tasks);
    return there && read_outputs(draft, text_at(row, 10), 0);
}

// Makes the record of a submission, with copies of all its data.
static bool draft_end(struct loaded *loaded, struct draft *draft, struct rota_record *record,
                      bool grows)
{
    struct rota_job_spec spec = draft->spec;
    spec.tasks = loaded_copy(loaded, draft->tasks, spec.task_count * sizeof *spec.tasks);
    spec.edges = loaded_copy(loaded, draft->edges, spec.edge_count * sizeof *spec.edges);
    spec.clauses = loaded_copy(loaded, draft->clauses, spec.clause_count * sizeof *spec.clauses);
    spec.inputs = loaded_copy(loaded, draft->inputs, spec.input_count * sizeof *spec.inputs);
    spec.outputs = loaded_copy(loaded, draft->outputs, spec.output_count * sizeof *spec.outputs);
    if (!spec.tasks || !spec.edges || !spec.clauses || !spec.inputs || !spec.outputs) return false;
    record->submit.sequence = draft->sequence;
    record->submit.job = spec.job;
    record->submit.first = spec.first;
    if (!grows) spec.job.number = 0;
    record->submit.spec = loaded_copy(loaded, &spec, sizeof spec);
    return record->submit.spec != NULL;
}

static bool load_submit(struct sqlite_store *store, struct loaded *loaded, struct draft *draft,
                        sqlite3_stmt *row, sqlite3_stmt *tasks)
{
    if (!draft_begin(draft, row)) {
        if (draft->no_memory) return load_no_memory(store);
        int64_t id = sqlite3_column_int64(row, 0) << 32;
        return load_fail(store, "sched_submit", id, "has an invalid column");
    }
    if (!read_tasks(store, loaded, draft, tasks)) return false;
    if (reorder_all(draft, row)) return true;
    if (draft->no_memory) return load_no_memory(store);
    return load_fail(store, "sched_submit", row_id((rota_task_id){draft->spec.job.number, 0}),
                     "has an invalid order of items");
}

static bool load_each(struct sqlite_store *store, struct loaded *loaded, struct draft *draft,
                      sqlite3_stmt *row, sqlite3_stmt *tasks, uint32_t at)
{
    int result;
    while ((result = sqlite3_step(row)) == SQLITE_ROW) {
        if (!load_submit(store, loaded, draft, row, tasks)) return false;
        bool grows = sqlite3_column_int(row, 4) != 0;
        if (!draft_end(loaded, draft, &loaded->records[at++], grows)) return load_no_memory(store);
    }
    if (result == SQLITE_DONE) return true;
    fail_with(store, result, "cannot be read");
    return false;
}

// Records of submissions come first, then those of tasks, which begin at *first.
bool load_submits(struct sqlite_store *store, struct loaded *loaded, uint32_t *first)
{
    struct draft draft = {0};
    sqlite3_stmt *count = load_prepare(store, "SELECT count(*) FROM sched_submit");
    sqlite3_stmt *row = load_prepare(store, submit_sql);
    bool fine = count && row && sqlite3_step(count) == SQLITE_ROW;
    int64_t submits = fine ? sqlite3_column_int64(count, 0) : 0;
    sqlite3_stmt *tasks = submits ? load_prepare(store, task_sql) : NULL;
    uint32_t at = loaded->count;
    for (int64_t i = 0; i < submits && fine; i++) {
        fine = loaded_add(loaded, ROTA_RECORD_SUBMIT) ? true : load_no_memory(store);
    }
    *first = loaded->count;
    fine = fine && (tasks || !submits) && load_each(store, loaded, &draft, row, tasks, at);
    sqlite3_finalize(count);
    sqlite3_finalize(row);
    sqlite3_finalize(tasks);
    draft_release(&draft);
    return fine;
}
