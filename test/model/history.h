// history.h - a random history of the core, checked against the model after every event.
#pragma once

#include <stdio.h>

#include "choice.h"
#include "model.h"

enum feature {
    FEATURE_EDGES,
    FEATURE_LANES,
    FEATURE_GROUPS,
    FEATURE_BUNDLES,
    FEATURE_CONDITIONS,
    FEATURE_IDLE,
    FEATURE_MANUAL,
    FEATURE_OBJECTS,
    FEATURE_KEEP,
    FEATURE_AWAY,
    FEATURE_STREAMS,
    FEATURE_KEYS,
    FEATURE_CLAIM,
    FEATURE_PULL,
    FEATURE_FAIL_JOB,
    FEATURE_RETRIES,
    FEATURE_FAILURES,
    FEATURE_WORKER_FAULTS,
    FEATURE_CANCEL,
    FEATURE_RETRY,
    FEATURE_CLOSE,
    FEATURE_EXTEND,
    FEATURE_BAD,
    FEATURE_RESTART,
    FEATURE_WAITS,
    FEATURE_SLOW_PLAN,
    FEATURE_OVERBOOK,
    FEATURE_TOLD_IS_BEGUN,  // not drawn by itself: see config_make()
    FEATURES
};

enum {
    HISTORY_EVENTS_MAX = 300,
    HISTORY_BYTES = 6144,
    TURN_EVENTS = 4,
    STATS_KINDS = ROTA_EVENTS + 1
};

// Counts of what happened; in memory that the parent process shares.
struct history_stats {
    uint64_t histories, events;
    uint64_t accepted[STATS_KINDS], refused[STATS_KINDS];
    uint64_t states[ROTA_TASK_STATES], moves[ROTA_TASK_STATES][ROTA_TASK_STATES];
    uint64_t regenerations, restarts, actions[16];
    uint64_t current_seed;
};

// A submission, and room for all it points to.
struct submission {
    struct rota_job_spec spec;
    struct rota_task_spec tasks[12];
    struct rota_edge edges[64];
    struct rota_clause clauses[64];
    struct rota_input inputs[48];
    struct rota_output outputs[48];
};

struct history_store;  // store.c: the rows that the core stores

struct history {
    struct choice choice;
    struct model *model;
    struct rota *rota;
    struct rota_config config;
    struct history_store *store;
    struct history_stats *stats;
    FILE *play;  // where to write the play; null: nowhere
    bool features[FEATURES];
    rota_time now;
    uint32_t events, objects_made;
    struct submission submissions[TURN_EVENTS];
    rota_task_id waits[TURN_EVENTS][8];
    struct rota_output sizes[TURN_EVENTS];
    uint32_t slot;  // which of those the next event may use
    struct {
        rota_task_id id;
        enum rota_task_state state;
    } before[MODEL_TASKS];
    uint32_t before_count;  // the tasks before the last step
    uint32_t refusals;      // steps without memory
    uint32_t turns;     // number of TIME events; a turn without memory takes two
    uint64_t digest;        // of the core at the end, before all jobs are closed
};

// ---- history.c: the turns --------------------------------------------------------

// The input of a history.
struct history_setup {
    const uint8_t *bytes;  // its choices
    size_t size;
    struct history_stats *stats;
    FILE *play;              // where to write the play; null: nowhere
    uint64_t without;        // bit f: feature f stays off
    rota_resize_fn *resize;  // the core's memory; null: the heap
    void *resize_context;
};

// Runs one history; false when core and model disagree (model->difference says how).
bool history_run(struct history *history, struct model *model, const struct history_setup *setup);

bool history_chance(struct history *history, uint32_t in);  // one in `in`; never without bytes
uint32_t history_pick(struct history *history, uint32_t count);
bool history_has(struct history *history,
                 enum feature feature);  // the feature is on, and chosen now

// ---- history_submit.c, history_events.c: the next events ----------------------------------------

void history_event_submit(struct history *history, struct rota_event *event);
void history_event_make(struct history *history, struct rota_event *event);
void history_event_lane(struct history *history, struct rota_event *event);
void history_event_worker(struct history *history, struct rota_event *event);
void history_event_finish_something(struct history *history, struct rota_event *event);

// ---- store.c: a tiny store; test/store brings another -----------------------------------

struct history_store *history_store_open(void);
void history_store_close(struct history_store *store);
// The effects of a turn, or of a restore, taken from history->rota.
void history_store_take(const struct history *history, const struct rota_effects *effects);
const struct rota_record *history_store_rows(struct history_store *store, uint32_t *count);

// ---- play.c: a history as text ----------------------------------------------------------

void history_play_open(FILE *out, const struct rota_config *config);
void history_play_event(FILE *out, const struct model *model, const struct rota_event *event,
                        bool accepted);
void history_play_effects(FILE *out, const struct rota_effects *effects);
