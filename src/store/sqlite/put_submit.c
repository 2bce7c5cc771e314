// put_submit.c - writes a submission: one row for itself, and one row per task.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

// ---- Items by task ------------------------------------------------------------------------------

// owner(spec, i) is 0 for items of no task, else the index of the task plus 1.
typedef uint32_t task_owner_fn(const struct rota_job_spec *spec, uint32_t first, uint32_t item);

static bool by_task_build(struct by_task *by_task, const struct rota_job_spec *spec,
                          uint32_t first, uint32_t count, task_owner_fn *owner)
{
    uint32_t owners = spec->task_count + 1;  // the first is for items of no task
    if (!ARRAY_MORE(&memory_heap, by_task->item, count, by_task->item_capacity)) return false;
    if (!ARRAY_RESERVE(&memory_heap, by_task->first, by_task->first_capacity, (uint64_t)owners + 2))
        return false;
    memset(by_task->first, 0, ((size_t)owners + 2) * sizeof *by_task->first);
    by_task->sorted = true;
    for (uint32_t i = 0, before = 0; i < count; i++) {
        uint32_t at = owner(spec, first, i);
        by_task->sorted &= at >= before;
        before = at;
        by_task->first[at + 2]++;
    }
    for (uint32_t i = 1; i <= owners; i++) by_task->first[i + 1] += by_task->first[i];
    for (uint32_t i = 0; i < count; i++) {
        by_task->item[by_task->first[owner(spec, first, i) + 1]++] = i;
    }
    return true;
}

void by_task_release(struct by_task *by_task)
{
    free(by_task->item);
    free(by_task->first);
    *by_task = (struct by_task){0};
}

// ---- The task of an item ---------------------------------------------------------

static uint32_t edge_owner(const struct rota_job_spec *spec, uint32_t first, uint32_t item)
{
    return spec->edges[item].after - first + 1;
}

static uint32_t input_owner(const struct rota_job_spec *spec, uint32_t first, uint32_t item)
{
    return spec->inputs[item].task - first + 1;
}

static uint32_t output_owner(const struct rota_job_spec *spec, uint32_t first, uint32_t item)
{
    return spec->outputs[item].task ? spec->outputs[item].task - first + 1 : 0;
}

static bool by_task_fill(struct sqlite_store *store, const struct rota_job_spec *spec,
                         uint32_t first)
{
    return by_task_build(&store->edges, spec, first, spec->edge_count, edge_owner)
           && by_task_build(&store->inputs, spec, first, spec->input_count, input_owner)
           && by_task_build(&store->outputs, spec, first, spec->output_count, output_owner);
}

// ---- Texts ------------------------------------------------------------------------

static void needs_write(struct sqlite_store *store, const struct rota_job_spec *spec,
                        uint32_t owner)
{
    struct line *line = &store->lines[LINE_NEEDS];
    line_clear(line);
    for (uint32_t i = store->edges.first[owner]; i < store->edges.first[owner + 1]; i++) {
        if (line->length) line_add_char(line, ' ');
        line_add_number(line, spec->edges[store->edges.item[i]].before);
    }
}

static void inputs_write(struct sqlite_store *store, const struct rota_job_spec *spec,
                         uint32_t owner)
{
    struct line *line = &store->lines[LINE_INPUTS];
    line_clear(line);
    for (uint32_t i = store->inputs.first[owner]; i < store->inputs.first[owner + 1]; i++) {
        input_write(line, &spec->inputs[store->inputs.item[i]]);
    }
}

static void outputs_write(struct sqlite_store *store, const struct rota_job_spec *spec,
                          uint32_t owner)
{
    struct line *line = &store->lines[LINE_OUTPUTS];
    line_clear(line);
    for (uint32_t i = store->outputs.first[owner]; i < store->outputs.first[owner + 1]; i++) {
        output_write(line, &spec->outputs[store->outputs.item[i]]);
    }
}

// Writes the original index of each item; nothing if the order did not change.
static void order_write(struct line *line, const struct by_task *by_task, uint32_t count)
{
    line_clear(line);
    for (uint32_t i = 0; i < count && !by_task->sorted; i++) {
        if (i) line_add_char(line, ' ');
        line_add_number(line, by_task->item[i]);
    }
}

// ---- Rows -------------------------------------------------------------------------

static void row_write(struct sqlite_store *store, const struct rota_record *record)
{
    const struct rota_job_spec *spec = record->submit.spec;
    sqlite3_stmt *statement = statement_get(store, PUT_SUBMIT);
    outputs_write(store, spec, 0);
    order_write(&store->lines[LINE_NEEDS], &store->edges, spec->edge_count);
    order_write(&store->lines[LINE_INPUTS], &store->inputs, spec->input_count);
    order_write(&store->lines[LINE_CONDITION], &store->outputs, spec->output_count);
    bind_number(statement, 1, record->submit.job.number);
    bind_number(statement, 2, (int64_t)record->submit.sequence);
    bind_number(statement, 3, record->submit.first);
    bind_number(statement, 4, spec->task_count);
    bind_number(statement, 5, spec->job.number != 0);
    bind_number(statement, 6, (int64_t)spec->client);
    bind_number(statement, 7, (int64_t)spec->key);
    bind_text(statement, 8, word_of(words_policy, spec->policy));
    bind_text(statement, 9, word_of(words_on_failure, spec->on_failure));
    bind_number(statement, 10, spec->last);
    bind_line(statement, 11, &store->lines[LINE_OUTPUTS]);
    bind_line(statement, 12, &store->lines[LINE_NEEDS]);
    bind_line(statement, 13, &store->lines[LINE_INPUTS]);
    bind_line(statement, 14, &store->lines[LINE_CONDITION]);
    statement_run(store, PUT_SUBMIT);
}

static void calendar_write(struct sqlite_store *store, rota_task_id task,
                           const struct store_text *text)
{
    const char *const texts[]
        = {text->run_days, text->start_times, text->run_window, text->start_mins,
           text->cron,     text->zone,        text->overlap};
    bool given = false;
    for (int i = 0; i < 7; i++) given |= texts[i] != NULL;
    if (!given) return;
    for (int i = 0; i < 7; i++) bind_text(statement_get(store, PUT_CALENDAR), i + 2, texts[i]);
    statement_run_on(store, PUT_CALENDAR, row_id(task));
}

static void task_texts(struct sqlite_store *store, rota_task_id task, const struct store_text *text)
{
    sqlite3_stmt *statement = statement_get(store, PUT_TASK);
    bind_text(statement, 20, text ? text->name : NULL);
    bind_text(statement, 21, text ? text->command : NULL);
    bind_text(statement, 22, text ? text->details : NULL);
    if (text) calendar_write(store, task, text);
}

// Consecutive tasks often have equal values, and bound values stay bound.
static bool is_alike(const struct rota_task_spec *a, const struct rota_task_spec *b)
{
    return a->bundle == b->bundle && a->machine == b->machine && a->priority == b->priority
           && a->lane == b->lane && a->group == b->group && a->access == b->access
           && a->cores == b->cores && a->memory_mib == b->memory_mib
           && a->retries_max == b->retries_max && a->estimate == b->estimate
           && a->flags == b->flags;
}

static void bind_wants(sqlite3_stmt *statement, const struct rota_task_spec *task)
{
    bind_number(statement, 5, task->bundle);
    bind_number(statement, 6, task->machine);
    bind_number(statement, 7, task->priority);
    bind_number(statement, 8, task->lane);
    bind_number(statement, 9, task->group);
    bind_text(statement, 10, word_of(words_access, task->access));
    bind_number(statement, 11, task->cores);
    bind_number(statement, 12, task->memory_mib);
    bind_number(statement, 13, task->retries_max);
    bind_number(statement, 14, task->estimate);
    bind_number(statement, 17, (task->flags & ROTA_TASK_ON_DEMAND) != 0);
}

static void task_write(struct sqlite_store *store, const struct rota_record *record, uint32_t index)
{
    const struct rota_job_spec *spec = record->submit.spec;
    const struct rota_task_spec *task = &spec->tasks[index];
    sqlite3_stmt *statement = statement_get(store, PUT_TASK);
    rota_task_id id = {record->submit.job.number, record->submit.first + index};
    struct line *condition = &store->lines[LINE_CONDITION];
    line_clear(condition);
    condition_write(condition, spec->clauses + task->clause_first, task->clause_count);
    needs_write(store, spec, index + 1);
    inputs_write(store, spec, index + 1);
    outputs_write(store, spec, index + 1);
    bind_number(statement, 1, row_id(id));
    bool bundle = task->flags & ROTA_TASK_BUNDLE;
    bind_text(statement, 2, bundle ? "bundle" : "callable");
    bind_line(statement, 3, condition);
    bind_line(statement, 4, &store->lines[LINE_NEEDS]);
    if (!index || !is_alike(task, task - 1)) bind_wants(statement, task);
    bind_object(store, PUT_TASK, 15, task->key);
    bind_number(statement, 16, (int64_t)task->body);
    bind_line(statement, 18, &store->lines[LINE_INPUTS]);
    bind_line(statement, 19, &store->lines[LINE_OUTPUTS]);
    statement_run(store, PUT_TASK);
}

// The texts are in the order of the submissions; some submissions may have had no record.
static const struct store_text *texts_find(struct sqlite_store *store,
                                           const struct rota_job_spec *spec)
{
    for (uint32_t i = 0; i < store->definition_count; i++) {
        uint32_t at = (store->definition_at + i) % store->definition_count;
        if (store->definitions[at].spec != spec) continue;
        store->definition_at = at + 1;
        return store->definitions[at].texts;
    }
    return NULL;
}

static void event_add(struct line *line, const struct rota_record *record)
{
    uint32_t first = record->submit.first, count = record->submit.spec->task_count;
    line_add_word(line, "job ");
    line_add_number(line, record->submit.job.number);
    line_add_word(line, " gets ");
    line_add_number(line, count);
    line_add_word(line, " from ");
    line_add_number(line, first);
    line_add_char(line, '\n');
}

static void bundle_put(struct sqlite_store *store, rota_task_id bundle)
{
    bind_number(statement_get(store, PUT_BUNDLE), 2, row_id(bundle));
    statement_run_on(store, PUT_BUNDLE, row_id(bundle));
}

void put_submit(struct sqlite_store *store, const struct rota *rota,
                const struct rota_record *record)
{
    const struct rota_job_spec *spec = record->submit.spec;
    uint32_t job = record->submit.job.number, first = record->submit.first;
    struct spot *spots = task_index_add(&store->task_index, job, first, spec->task_count);
    if (!spots || !by_task_fill(store, spec, first)) {
        turn_fail(store, SQLITE_NOMEM);
        return;
    }
    const struct store_text *texts = texts_find(store, spec);
    row_write(store, record);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        // The state at the end of the turn. A record of the task overwrites it.
        enum rota_task_state state = rota_task_state(rota, (rota_task_id){job, first + i});
        bool bundle = spec->tasks[i].flags & ROTA_TASK_BUNDLE;
        enum place place = place_of(state, bundle);
        spots[i] = (struct spot){.place = (uint32_t)place & 3u, .bundle = bundle};
        bind_text(statement_get(store, PUT_TASK), 23, word_of(words_state, state));
        task_texts(store, (rota_task_id){job, first + i}, texts ? &texts[i] : NULL);
        task_write(store, record, i);
        if (place == PLACE_BUNDLE) bundle_put(store, (rota_task_id){job, first + i});
    }
    event_add(&store->events, record);
    for (int i = 0; i < LINES; i++) {
        if (store->lines[i].failed) turn_fail(store, SQLITE_NOMEM);
    }
}
