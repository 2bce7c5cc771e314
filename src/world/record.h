// record.h - what the core was told and what it gave out: as a play, and beside it for judges.
#pragma once

#include "world/ground.h"

// ---- story.c, story_words.c: as a play ---------------------------------------------------------

struct story {
    FILE *out;              // null: nobody wants to know
    bool is_open;           // a turn
    bool is_empty;          // the last one: nothing was said in it
    bool is_pending;        // the core has not taken the last event yet
    bool restarts;          // with the next turn
    rota_time first, last;  // of the events so far
};

void story_open(struct story *story, FILE *out, const struct rota_config *config);
// `job`: the number of the next new one.
void story_comes(struct story *story, const struct rota_event *event, uint64_t turn, uint32_t job);
void story_taken(struct story *story, const struct rota_event *event);
void story_idle(struct story *story);  // the core has done nothing in this turn
void story_crash(struct story *story, uint64_t turns);  // so many are left
// False: the language has no word for it.
bool story_words(FILE *out, const struct rota_event *event, uint32_t next_job);

// ---- ledger.c: beside the core -----------------------------------------------------------------

struct entry_task {
    uint32_t lane, group, bundle;
    uint8_t access;
    bool is_cancelled;
};

struct entry_job {
    struct entry_task *tasks;
    uint32_t count, capacity;
};

// Somebody's in a lane: a worker's, or a handler's.
struct place {
    rota_task_id task;
    uint32_t attempt, worker;
    uint64_t handler;
};

struct ledger {
    struct entry_job *jobs;    // by number
    struct place *places;
    rota_time *silent_since;   // by worker; ROTA_NEVER: it is not
    uint32_t job_capacity, place_count, place_capacity, worker_capacity;
};

void ledger_comes(struct world *world, const struct rota_event *event);
void ledger_taken(struct world *world, const struct rota_event *event);
void ledger_restart(struct world *world);
void ledger_release(struct ledger *ledger);
void judge_actions(struct world *world);  // of the turn that was decided
