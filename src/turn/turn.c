// turn.c - one turn: gives the events to the core, the records to the store, then the actions to
// the caller.
#include "base/planted.h"
#include "turn/turn.h"
#include "turn/refusal.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A block of memory of a turn, which is given out from its front.
struct kept {
    struct kept *next;
    size_t used;
    max_align_t bytes[];
};

enum { KEPT_SIZE = 65536 };  // of a block; one that is larger is given out as a whole

// ---- Memory of a turn -----------------------------------------------------------------------

static void *kept_add(struct server *server, struct kept *kept, size_t used)
{
    if (!kept) return NULL;
    *kept = (struct kept){.next = server->kept, .used = used};
    server->kept = kept;
    return kept->bytes;
}

static void *keep_raw(struct server *server, size_t size)
{
    size_t need = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct kept *kept = server->kept;
    if (!kept || kept->used + need > KEPT_SIZE)
        return kept_add(server, malloc(sizeof *kept + KEPT_SIZE), need);
    void *place = (char *)kept->bytes + kept->used;
    kept->used += need;
    return place;
}

// Large blocks come from the system, which has zeroed them.
void *server_keep(struct server *server, size_t count, size_t size)
{
    assert(size > 0);
    if (count > (SIZE_MAX - sizeof(struct kept)) / size) return NULL;
    if (count * size > KEPT_SIZE)
        return kept_add(server, calloc(1, sizeof(struct kept) + count * size), KEPT_SIZE);
    void *place = keep_raw(server, count * size);
    return place ? memset(place, 0, count * size) : NULL;
}

static void keep_release(struct server *server)
{
    while (server->kept) {
        struct kept *next = server->kept->next;
        free(server->kept);
        server->kept = next;
    }
}

// The next turn uses the block again if one was enough.
static void keep_nothing(struct server *server)
{
    struct kept *kept = server->kept;
    if (kept && !kept->next && kept->used < KEPT_SIZE)
        kept->used = 0;
    else
        keep_release(server);
}

static void say(struct server *server, const char *reason)
{
    assert(reason);
    snprintf(server->reason, sizeof server->reason, "%s", reason);
}

// ---- Opening and closing --------------------------------------------------------------------

// Jobs are numbered consecutively, and a submission may refer to tasks of a job that was submitted
// in the same turn. So the next number must be known before any reply is sent.
static rota_job_id next_job_of(const struct rota_record *records, uint32_t count)
{
    assert(records || !count);
    for (uint32_t i = 0; i < count; i++)
        if (records[i].kind == ROTA_RECORD_CORE) return (rota_job_id){records[i].core.jobs};
    return (rota_job_id){1};
}

static bool turn_time(void *context, const struct store_turn *turn)
{
    *(rota_time *)context = turn->at;
    return true;
}

// When the last turn was written. 0: no turn so far, or this store has no journal.
static rota_time last_written(struct store *store)
{
    uint64_t last = store_journal_last(store);
    rota_time at = 0;
    return last && store_journal(store, last, last, turn_time, &at) ? at : 0;
}

// The time of a task in backoff is in the future, but the backoff began before the last turn was
// written.
static rota_time task_time(const struct rota_record *record, rota_time written)
{
    bool waits
        = record->task.state == ROTA_TASK_WAITING || record->task.state == ROTA_TASK_BLOCKED;
    return waits && record->task.since > written ? written : record->task.since;
}

// The clock may have been set back since the last turn. Timers must not wait until the old time
// comes again.
static rota_time latest_time(const struct rota_record *records, uint32_t count, rota_time written)
{
    assert(records || !count);
    rota_time latest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rota_record *record = &records[i];
        rota_time at = 0;
        if (record->kind == ROTA_RECORD_CORE) at = record->core.plan_end;
        if (record->kind == ROTA_RECORD_WORKER) at = record->worker.silent_since;
        if (record->kind == ROTA_RECORD_TASK) at = task_time(record, written);
        if (at != ROTA_NEVER && at > latest) latest = at;
    }
    return latest;
}

static bool core_restore(struct server *server, server_rows_fn *tell, void *context)
{
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE, .now = server->now};
    if (rota_open(&server->config, &server->rota)) {
        say(server, "out of memory for the core");
        return false;
    }
    event.restore.records = store_rows(server->store, &event.restore.count);
    if (store_error(server->store)->fault) return false;
    server->next_job = next_job_of(event.restore.records, event.restore.count);
    server->written = last_written(server->store);
    rota_time latest
        = latest_time(event.restore.records, event.restore.count, server->written);
    if (latest > server->now && !PLANTED(PLAN_LATE)) server->now = latest;
    bool fine = !event.restore.count || rota_step(server->rota, &event) == ROTA_OK;
    if (!fine) say(server, rota_reason(server->rota));
    if (fine && tell) tell(context, event.restore.records, event.restore.count);
    store_rows_release(server->store);
    return fine;
}

bool server_open(struct server *server, struct store *store, const struct rota_config *config)
{
    return server_open_telling(server, store, config, NULL, NULL);
}

bool server_open_telling(struct server *server, struct store *store,
                         const struct rota_config *config, server_rows_fn *tell, void *context)
{
    assert(store);
    *server = (struct server){.store = store, .config = *config, .now = INT64_MIN};
    return core_restore(server, tell, context);
}

void server_close(struct server *server)
{
    rota_close(server->rota);
    keep_release(server);
    free(server->actions);
    *server = (struct server){0};
}

bool server_undo(struct server *server)
{
    assert(server->store);
    keep_nothing(server);
    rota_close(server->rota);
    server->rota = NULL;
    char reason[sizeof server->reason];
    memcpy(reason, server->reason, sizeof reason);
    store_begin(server->store, server->now);  // discards definitions that were not written
    bool restored = core_restore(server, NULL, NULL);
    if (restored) memcpy(server->reason, reason, sizeof reason);
    return restored;
}

int server_exit_status(const struct server *server)
{
    const struct store_error *error = store_error(server->store);
    return error->fault ? store_exit_status(error) : 70;
}

// ---- A turn --------------------------------------------------------------------------

void server_begin(struct server *server, rota_time now)
{
    assert(!server->is_decided);
    if (now > server->now) server->now = now;  // if the clock is set back, our time stops
    server->action_count = 0;
    server->reason[0] = 0;
    store_begin(server->store, server->now);
}

static bool is_new_work(const struct rota_event *event)
{
    return event->kind == ROTA_EVENT_SUBMIT || event->kind == ROTA_EVENT_STAGE
           || event->kind == ROTA_EVENT_RETRY
           || (event->kind == ROTA_EVENT_MANUAL && event->manual.action == ROTA_MANUAL_START);
}

enum rota_error server_step(struct server *server, const struct rota_event *event)
{
    assert(!server->is_decided);
    if (is_new_work(event) && store_is_full(server->store)) {
        say(server, "the disk is full: running tasks may finish, new work is refused");
        return ROTA_TOO_MANY;
    }
    struct rota_event *kept = keep_raw(server, sizeof *kept);
    server->event = kept;
    if (!kept) {
        say(server, "out of memory for an event");
        return ROTA_NO_MEMORY;
    }
    *kept = *event;
    kept->now = server->now;
    if (server->watch) server->watch->comes(server->watch->context, kept);
    enum rota_error error = rota_step(server->rota, kept);
    if (error)
        refusal_write(server->rota, kept, error, server->next_job.number, server->reason,
                      sizeof server->reason);
    if (error && event->kind == ROTA_EVENT_SUBMIT) server->fault = rota_fault(server->rota);
    if (!error && server->watch) server->watch->taken(server->watch->context, kept);
    if (!error && event->kind == ROTA_EVENT_SUBMIT && !event->submit.job.number)
        server->next_job.number++;
    return error;
}

enum rota_error server_submit(struct server *server, const struct rota_job_spec *spec,
                              const struct store_text *texts)
{
    assert(spec);
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT, .submit = *spec};
    server->fault = (struct rota_fault){0};
    enum rota_error error = server_step(server, &event);
    if (error) return error;
    // The store finds the texts by the address of the submission that the core has.
    store_define(server->store, &server->event->submit, texts);
    return ROTA_OK;
}

// Effects are valid only until the next step, and the caller may step while it performs them.
static bool actions_copy(struct server *server, const struct rota_effects *effects)
{
    assert(server->action_count == 0 || server->actions);
    uint32_t count = server->action_count;
    if (!ARRAY_RESERVE_RAW(&memory_heap, server->actions, server->action_capacity,
                           (uint64_t)count + effects->action_count))
        return false;
    if (effects->action_count)
        memcpy(server->actions + count, effects->actions,
               effects->action_count * sizeof *server->actions);
    server->action_count += effects->action_count;
    return true;
}

bool server_decide(struct server *server)
{
    struct rota_event time = {.kind = ROTA_EVENT_TIME};
    struct rota_effects *effects = &server->effects;
    if (server_step(server, &time)) return false;
    *effects = rota_take(server->rota);
    while (effects->more) {
        store_put(server->store, server->rota, effects->records, effects->record_count);
        *effects = rota_take(server->rota);
    }
    server->is_decided = actions_copy(server, effects);
    if (!server->is_decided) say(server, "out of memory for actions");
    return server->is_decided;
}

bool server_advance(struct server *server)
{
    const struct rota_effects *effects = &server->effects;
    if (!server->is_decided && !server_decide(server)) return false;
    store_put(server->store, server->rota, effects->records, effects->record_count);
    server->is_decided = false;
    return true;
}

static uint64_t turn_end(struct server *server, uint64_t turn)
{
    keep_nothing(server);
    if (!turn) server->action_count = 0;
    return turn;
}

uint64_t server_commit_write(struct server *server)
{
    return turn_end(server, server_advance(server) ? store_commit_write(server->store) : 0);
}

bool server_commit(struct server *server)
{
    return turn_end(server, server_advance(server) && store_commit(server->store));
}

bool task_is_active(const struct server *server, rota_task_id task)
{
    assert(server->rota);
    enum rota_task_state state = rota_task_state(server->rota, task);
    return state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING;
}
