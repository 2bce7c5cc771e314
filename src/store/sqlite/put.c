// put.c - writes records as rows, by kind.
#include "store/sqlite/sqlite.h"

static void put_lane(struct sqlite_store *store, const struct rota_record *record)
{
    if (record->gone) {
        statement_run_on(store, DROP_LANE, record->lane.lane);
        return;
    }
    sqlite3_stmt *statement = statement_get(store, PUT_LANE);
    bind_number(statement, 2, record->lane.flags);
    bind_number(statement, 3, record->lane.patience);
    statement_run_on(store, PUT_LANE, record->lane.lane);
}

static void put_worker(struct sqlite_store *store, const struct rota_record *record)
{
    line_add_word(&store->events, "worker w");
    line_add_number(&store->events, record->worker.id.number);
    bool silent = record->worker.silent_since != ROTA_NEVER;
    line_add_word(&store->events, record->gone ? " left\n" : silent ? " silent\n" : " here\n");
    if (record->gone) {
        statement_run_on(store, DROP_WORKER, record->worker.id.number);
        return;
    }
    sqlite3_stmt *statement = statement_get(store, PUT_WORKER);
    bind_number(statement, 2, record->worker.cores);
    bind_number(statement, 3, record->worker.memory_mib);
    // Slots have 32 bits; the next two bits say that the worker is paused, and that it wants to
    // leave.
    int64_t rests = record->worker.paused | record->worker.leaves << 1;
    bind_number(statement, 4, rests << 32 | record->worker.slots);
    bind_number(statement, 5, record->worker.machine);
    bind_number(statement, 6, record->worker.asks);
    bind_number(statement, 7, record->worker.order);
    bind_number(statement, 8, record->worker.silent_since);
    statement_run_on(store, PUT_WORKER, record->worker.id.number);
}

static void put_job(struct sqlite_store *store, const struct rota_record *record)
{
    uint32_t job = record->job.id.number;
    line_add_word(&store->events, "job ");
    line_add_number(&store->events, job);
    line_add_char(&store->events, ' ');
    line_add_word(&store->events,
                  record->gone         ? "gone"
                  : record->job.paused ? "PAUSED"
                                       : word_of(words_job_state, record->job.state));
    line_add_char(&store->events, '\n');
    if (record->gone) {
        put_job_gone(store, job);
        statement_run_on(store, DROP_GRAPH, job);
        statement_run_on(store, DROP_SUBMITS, job);
        statement_run_on(store, DROP_BODIES, job);
        statement_run_on(store, DROP_OBJECTS, job);
        return;
    }
    sqlite3_stmt *statement = statement_get(store, PUT_GRAPH);
    bind_text(statement, 2, word_of(words_job_state, record->job.state));
    bind_text(statement, 3, word_of(words_policy, record->job.policy));
    bind_text(statement, 4, word_of(words_on_failure, record->job.on_failure));
    bind_number(statement, 5, (int64_t)record->job.client);
    bind_number(statement, 6, (int64_t)record->job.key);
    // As for workers: the bit after the 32 of the number says that the job is paused.
    bind_number(statement, 7, (int64_t)record->job.paused << 32 | record->job.failed_task);
    statement_run_on(store, PUT_GRAPH, job);
}

static void put_object(struct sqlite_store *store, const struct rota_record *record)
{
    if (record->gone) {
        bind_object(store, DROP_OBJECT, 1, record->object.id);
        statement_run(store, DROP_OBJECT);
        bind_object(store, DROP_REPLICAS, 1, record->object.id);
        statement_run(store, DROP_REPLICAS);
        return;
    }
    char content[CONTENT_TEXT];
    sqlite3_stmt *statement = statement_get(store, PUT_OBJECT);
    bind_object(store, PUT_OBJECT, 1, record->object.id);
    bind_number(statement, 2, record->object.job.number);
    bind_number(statement, 3, record->object.flags);
    bind_number(statement, 4, (int64_t)record->object.bytes);
    if (record->object.content.kind) {
        content_write(&record->object.content, content);
        sqlite3_bind_text(statement, 5, content, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(statement, 5);
    }
    statement_run(store, PUT_OBJECT);
}

static void put_replica(struct sqlite_store *store, const struct rota_record *record)
{
    enum statement which = record->gone ? DROP_REPLICA : PUT_REPLICA;
    sqlite3_stmt *statement = statement_get(store, which);
    bind_object(store, which, 1, record->replica.object);
    bind_number(statement, 2, record->replica.worker.number);
    if (!record->gone) {
        bind_number(statement, 3, record->replica.flags);
        bind_number(statement, 4, (int64_t)record->replica.bytes);
    }
    statement_run(store, which);
}

static void put_wait(struct sqlite_store *store, const struct rota_record *record)
{
    enum statement which = record->gone ? DROP_WAIT_FOR : PUT_WAIT_FOR;
    sqlite3_stmt *statement = statement_get(store, which);
    bind_number(statement, 2, record->wait.index);
    if (!record->gone) {
        bind_number(statement, 3, (int64_t)record->wait.client);
        bind_number(statement, 4, row_id(record->wait.task));
        bind_object(store, which, 5, record->wait.object);
        bind_text(statement, 6, word_of(words_wait_mode, record->wait.mode));
    }
    statement_run_on(store, which, record->wait.number);
}

void put_record(struct sqlite_store *store, const struct rota *rota,
                const struct rota_record *record)
{
    if (record->kind != ROTA_RECORD_TASK) put_run(store);
    switch (record->kind) {
    case ROTA_RECORD_CORE: store->core = *record; break;
    case ROTA_RECORD_LANE: put_lane(store, record); break;
    case ROTA_RECORD_WORKER: put_worker(store, record); break;
    case ROTA_RECORD_JOB: put_job(store, record); break;
    case ROTA_RECORD_SUBMIT: put_submit(store, rota, record); break;
    case ROTA_RECORD_TASK: put_task(store, record); break;
    case ROTA_RECORD_OBJECT: put_object(store, record); break;
    case ROTA_RECORD_REPLICA: put_replica(store, record); break;
    case ROTA_RECORD_WAIT: put_wait(store, record); break;
    }
}
