// record.h - the events that the core was given and what it gave out: as a play, and for judges.
#pragma once

#include "sim/cluster/base.h"

// ---- play_record.c, play_record_text.c: as a play -----------------------------------------------

struct play_record {
    FILE *out;              // null: no play is written
    bool is_open;           // in a turn
    bool is_empty;          // the last turn has no events
    bool is_pending;        // the core has not accepted the last event yet
    bool restarts;          // with the next turn
    rota_time first, last;  // times of the events so far
};

void play_record_open(struct play_record *record, FILE *out, const struct rota_config *config);
// `job`: the number of the next new job.
void play_record_comes(struct play_record *record, const struct rota_event *event, uint64_t turn,
                       uint32_t job);
void play_record_taken(struct play_record *record, const struct rota_event *event);
void play_record_idle(struct play_record *record);  // the core has done nothing in this turn
void play_record_crash(struct play_record *record, uint64_t turns);  // `turns` are left
// False: plays have no statement for it.
bool play_record_text(FILE *out, const struct rota_event *event, uint32_t next_job);

// ---- journal.c: for clients that follow the events ----------------------------------------------

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
    uint64_t sequence;  // 0: before all turns
    uint32_t line;      // number of lines of that turn that were sent
};

void journal_add(struct journal *journal, uint64_t sequence, const struct rota_record *record);
void journal_written(struct journal *journal, uint64_t sequence, rota_time at);
void journal_cut(struct journal *journal, uint64_t last);  // removes the turns after it
bool journal_tell(struct journal *journal, uint64_t first, uint64_t last, store_turn_fn *take,
                  void *context);
void journal_release(struct journal *journal);
struct wire_event;
// At the client, and where it is sent.
void judge_followed(struct sim *sim, struct journal_place *last,
                    const struct wire_event *event);
void judge_event(struct sim *sim, const struct wire_event *event);
struct journal *disk_journal(struct store *store);
uint64_t disk_journal_durable(struct store *store);

// ---- core_record.c: for judges ------------------------------------------------------------------

struct entry_task {
    uint32_t lane, group, bundle;
    uint8_t access;
    bool is_cancelled;
    uint32_t attempt;  // the last one before it
    rota_time backoff_until;  // set by its last loss; 0: not
};

struct entry_job {
    struct entry_task *tasks;
    uint32_t count, capacity;
};

// A place in a lane that a worker or a handler holds.
struct place {
    rota_task_id task;
    uint32_t attempt, worker;
    uint64_t handler;
};

struct core_record {
    struct entry_job *jobs;    // by number
    struct place *places;
    rota_time *silent_since;   // by worker; ROTA_NEVER: it is not silent
    uint32_t job_capacity, place_count, place_capacity, worker_capacity;
};

void core_record_comes(struct sim *sim, const struct rota_event *event);
void core_record_taken(struct sim *sim, const struct rota_event *event);
// Its last loss was followed by a backoff that has not ended.
bool core_record_backs_off(struct sim *sim, rota_task_id id);
void core_record_restart(struct sim *sim);
void core_record_release(struct core_record *record);
void judge_actions(struct sim *sim);  // of the turn that was decided
