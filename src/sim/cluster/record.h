// record.h - what the core was told and what it gave out: as a play, and beside it for judges.
#pragma once

#include "sim/cluster/base.h"

// ---- play_record.c, play_record_text.c: as a play -----------------------------------------------

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

// ---- journal.c: for who follows ----------------------------------------------------------------

struct journal_turn {
    rota_time at;
    char *text;  // lines; null: none
    uint32_t length, capacity;
};

struct journal {
    struct journal_turn *turns;  // the first has the number 1
    uint32_t count, capacity;
};

struct journal_place {
    uint64_t sequence;  // 0: before all
    uint32_t line;      // so many of that turn were told
};

void journal_add(struct journal *journal, uint64_t sequence, const struct rota_record *record);
void journal_written(struct journal *journal, uint64_t sequence, rota_time at);
void journal_cut(struct journal *journal, uint64_t last);  // what comes behind is gone
bool journal_tell(struct journal *journal, uint64_t first, uint64_t last, store_turn_fn *take,
                  void *context);
void journal_release(struct journal *journal);
struct wire_event;
// At the far end, and where it is sent.
void judge_followed(struct world *world, struct journal_place *last,
                    const struct wire_event *event);
void judge_event(struct world *world, const struct wire_event *event);
struct journal *disk_journal(struct store *store);
uint64_t disk_journal_durable(struct store *store);

// ---- core_record.c: beside the core -------------------------------------------------------------

struct entry_task {
    uint32_t lane, group, bundle;
    uint8_t access;
    bool is_cancelled;
    uint32_t attempt;  // the last before that
    rota_time backoff_until;  // a loss of it said so; 0: none did
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
// Its last loss was followed by a backoff that is not over.
bool ledger_backs_off(struct world *world, rota_task_id id);
void ledger_restart(struct world *world);
void ledger_release(struct ledger *ledger);
void judge_actions(struct world *world);  // of the turn that was decided
