// scene.c - a fixed story: a graph, a lane and a bundle, with a failure and a worker that leaves.
#define _GNU_SOURCE
#include "scene.h"
#include "store/sqlite/open.h"
#include "both.h"
#include "store/sqlite/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

enum { TASKS = 8, RUNS = 64, EVENTS = 256 };

struct play {
    struct scene *scene;
    struct rota *rota;
    struct store *store;
    rota_time now;
    struct rota_event events[EVENTS];
    uint32_t event_count;
    struct run {
        rota_task_id task;
        rota_worker_id worker;
        uint32_t attempt;
    } runs[RUNS];
    uint32_t run_count;
    uint64_t begun;  // the turn that is being synced
};

// ---- What happens ---------------------------------------------------------------------

static struct rota_event *event_add(struct play *play, enum rota_event_kind kind)
{
    struct rota_event *event = &play->events[play->event_count++];
    *event = (struct rota_event){.kind = kind, .now = play->now};
    return event;
}

static void lane_define(struct play *play)
{
    struct rota_event *event = event_add(play, ROTA_EVENT_LANE);
    event->lane.lane = 1;
    event->lane.patience = ROTA_NEVER;
    rota_step(play->rota, event);
}

static void worker_join(struct play *play, uint32_t number)
{
    struct rota_event *event = event_add(play, ROTA_EVENT_WORKER_JOINED);
    event->worker.id.number = number;
    event->worker.cores = 2;
    event->worker.memory_mib = 64;
    rota_step(play->rota, event);
}

static void worker_leave(struct play *play, uint32_t number)
{
    struct rota_event *event = event_add(play, ROTA_EVENT_WORKER_LEFT);
    event->worker.id.number = number;
    rota_step(play->rota, event);
}

static void job_submit(struct play *play)
{
    static const struct rota_task_spec tasks[TASKS] = {
        {.body = 1, .cores = 1},
        {.body = 2, .cores = 1, .retries_max = 1},
        {.body = 3, .cores = 1, .lane = 1, .group = 4, .access = ROTA_ACCESS_READ},
        {.body = 4, .cores = 1, .lane = 1, .group = 4, .access = ROTA_ACCESS_WRITE},
        {.body = 5, .flags = ROTA_TASK_BUNDLE},
        {.body = 6, .cores = 1, .bundle = 5},
        {.body = 7, .cores = 1, .bundle = 5, .clause_count = 1},
        {.body = 8, .cores = 1},
    };
    static const struct rota_edge edges[] = {{1, 2}, {1, 3}, {2, 8}, {3, 8}};
    static const struct rota_clause clauses[] = {{ROTA_CLAUSE_DONE, {0, 6}}};
    static const struct rota_output outputs[] = {{1, 0, {0, 77}, 100, {{0}, 0}}};
    static const struct rota_input inputs[] = {{8, 0, {0, 77}}};
    static const struct store_text texts[TASKS] = {{.name = "first", .command = "true"}};
    struct rota_event *event = event_add(play, ROTA_EVENT_SUBMIT);
    event->submit = (struct rota_job_spec){.client = 9,
                                           .policy = ROTA_POLICY_PLAN,
                                           .last = true,
                                           .tasks = tasks,
                                           .edges = edges,
                                           .clauses = clauses,
                                           .inputs = inputs,
                                           .outputs = outputs,
                                           .task_count = TASKS,
                                           .edge_count = 4,
                                           .clause_count = 1,
                                           .input_count = 1,
                                           .output_count = 1};
    if (rota_step(play->rota, event) == ROTA_OK) {
        store_define(play->store, &event->submit, texts);
    }
}

static void attempts_end(struct play *play, enum rota_outcome outcome)
{
    for (uint32_t i = 0; i < play->run_count; i++) {
        for (int kind = ROTA_EVENT_TASK_STARTED; kind <= ROTA_EVENT_TASK_FINISHED; kind++) {
            struct rota_event *event = event_add(play, (enum rota_event_kind)kind);
            event->report.worker = play->runs[i].worker;
            event->report.task = play->runs[i].task;
            event->report.attempt = play->runs[i].attempt;
            if (kind == ROTA_EVENT_TASK_FINISHED) event->report.outcome = outcome;
            rota_step(play->rota, event);
        }
    }
    play->run_count = 0;
}

static void jobs_close(struct play *play)
{
    struct rota_event *event = event_add(play, ROTA_EVENT_CLIENT_LEFT);
    event->client_left.client = 9;
    rota_step(play->rota, event);
}

static void turn_fill(struct play *play, uint32_t turn)
{
    static const uint8_t request[16] = {1, 2, 3};
    struct store_request answer = {.body_hash = turn, .answer = "accepted"};
    memcpy(answer.id, request, sizeof request);
    answer.id[15] = (uint8_t)turn;
    if (turn == 1) lane_define(play), worker_join(play, 1), worker_join(play, 2);
    if (turn == 2 || turn == 8) {
        job_submit(play);
        store_answer(play->store, &answer);
        store_audit(play->store, "{\"verb\":\"submit\"}");
    }
    if (turn == 4) worker_leave(play, 2), worker_join(play, 3);
    if (turn > 2) attempts_end(play, turn == 3 ? ROTA_OUTCOME_ERROR : ROTA_OUTCOME_OK);
    if (turn == 7 || turn == SCENE_TURNS) jobs_close(play);
}

// ---- Turns -------------------------------------------------------------------------------

static void actions_keep(struct play *play, const struct rota_effects *effects)
{
    for (uint32_t i = 0; i < effects->action_count && play->run_count < RUNS; i++) {
        const struct rota_action *action = &effects->actions[i];
        if (action->kind != ROTA_ACTION_RUN) continue;
        play->runs[play->run_count++]
            = (struct run){action->run.task, action->run.worker, action->run.attempt};
    }
}

// If turns are acknowledged late, it is the turn before; the last one at the end.
static bool turn_commit(struct play *play, uint32_t turn)
{
    struct scene *scene = play->scene;
    if (!scene->ahead) {
        if (!store_commit(play->store)) return false;
        scene->acknowledged = turn;
        return true;
    }
    uint64_t begun = store_commit_write(play->store);
    if (!begun || !store_sync_begin(play->store)) return false;
    if (play->begun && !store_settle(play->store, play->begun)) return false;
    if (play->begun) scene->acknowledged = turn - 1;
    play->begun = begun;
    if (turn < SCENE_TURNS) return true;
    if (!store_settle(play->store, begun)) return false;
    scene->acknowledged = turn;
    return true;
}

static bool turn_run(struct play *play, uint32_t turn)
{
    struct rota_effects effects;
    play->event_count = 0;
    play->now += 1000000;
    store_begin(play->store, play->now);
    turn_fill(play, turn);
    rota_step(play->rota, event_add(play, ROTA_EVENT_TIME));
    do {
        effects = rota_take(play->rota);
        store_put(play->store, play->rota, effects.records, effects.record_count);
    } while (effects.more);
    play->scene->tried = turn;
    play->scene->digests[turn] = rota_digest(play->rota);
    if (!turn_commit(play, turn)) return false;
    play->scene->was_full |= store_is_full(play->store);
    actions_keep(play, &effects);
    return true;
}

static struct rota *core_open(void)
{
    struct rota_config config = rota_config_default();
    struct rota *rota = NULL;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    if (rota_open(&config, &rota)) abort();
    return rota;
}

bool scene_run(struct scene *scene)
{
    struct play *play = calloc(1, sizeof *play);
    if (!play) abort();
    play->scene = scene;
    play->rota = core_open();
    scene->digests[0] = rota_digest(play->rota);
    scene->acknowledged = scene->tried = 0;
    scene->was_full = false;
    both_remove(scene->path);
    play->store = store_open_sqlite(scene->path, &scene->options, &scene->error);
    bool fine = play->store != NULL;
    uint32_t turns = scene->turns ? scene->turns : SCENE_TURNS;
    for (uint32_t turn = 1; turn <= turns && fine; turn++) fine = turn_run(play, turn);
    if (play->store && !fine) scene->error = *store_error(play->store);
    store_close(play->store);
    rota_close(play->rota);
    free(play);
    return fine;
}

// ---- The judge ----------------------------------------------------------------------------

static const char *digest_judge(const struct scene *scene, struct store *store)
{
    struct rota *rota = core_open();
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    event.restore.records = store_rows(store, &event.restore.count);
    bool refused = event.restore.count && rota_step(rota, &event);
    uint64_t digest = rota_digest(rota);
    rota_close(rota);
    if (refused) return "the core refuses these rows";
    for (uint32_t turn = scene->acknowledged; turn <= scene->tried; turn++) {
        if (scene->digests[turn] == digest) return NULL;
    }
    return "its state was neither acknowledged nor requested";
}

static const char *audit_judge(const char *path)
{
    static const char question[]
        = "SELECT turn FROM sched_request EXCEPT SELECT turn FROM sched_audit UNION ALL"
          " SELECT turn FROM sched_audit WHERE turn NOT IN (SELECT turn FROM sched_request)";
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL)) abort();
    bool has_log = sqlite3_prepare_v2(db, question, -1, &row, NULL) == SQLITE_OK;
    if (!has_log && sqlite3_prepare_v2(db, "SELECT turn FROM sched_request", -1, &row, NULL))
        abort();
    bool apart = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    sqlite3_close(db);
    return apart ? "a request was carried out, or noted, without the other" : NULL;
}

const char *scene_judge(const struct scene *scene)
{
    static char text[600];
    struct store_error error;
    struct store_options options = store_options_default();
    options.ballast_bytes = 0;
    options.wal_pages = 50;
    struct store *store = store_open_sqlite(scene->path, &options, &error);
    if (!store) {
        snprintf(text, sizeof text, "%s", error.text);
        return text;
    }
    const char *wrong = digest_judge(scene, store);
    store_close(store);
    if (!wrong) wrong = audit_judge(scene->path);
    if (wrong) return wrong;
    char *said = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&said, &size);
    if (!out) abort();
    uint32_t broken = store_verify(scene->path, out, &error);
    fclose(out);
    snprintf(text, sizeof text, "%s%s", said, error.text);
    free(said);
    return broken || error.fault ? text : NULL;
}
