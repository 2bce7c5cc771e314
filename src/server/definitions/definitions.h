// definitions.h - definitions: `rota define`, the allocator, and manual actions.
#pragma once

#include "turn/definitions.h"

// ---- apply.c, check.c, affected.c, order.c, submit.c: `rota define` -----------------------------

enum define_result {
    DEFINE_DONE,
    DEFINE_REFUSED,  // `error` has the reason, and nothing has changed
    DEFINE_BROKEN,   // the store's error or the server's reason says why
};

// Executes a file of actions in one turn, or does nothing.
enum define_result define_all(struct server *server, const struct definitions *file, rota_time now,
                              zone_read_fn *zone_read, struct definition_error *error);

// The state of define_all().
struct define {
    struct catalog catalog;
    struct definition_error *error;
    zone_read_fn *zone_read;
    rota_time now;
    const struct entry *needed;  // deleted, but `error` lists others that need it
};
bool define_refuse(struct define *define, const struct entry *entry, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool define_no_memory(struct define *define);
bool define_check(struct define *define);   // parents, conditions, zones
bool define_spread(struct define *define);  // which others get a new job
bool define_submit(struct define *define);  // closes, lanes, submissions, last states
bool define_in_order(struct define *define);
bool define_job(struct define *define, struct entry *const *members, uint32_t count);

// ---- allocator.c: tasks that are due --------------------------------------------------------

struct schedule {
    struct entry *entry;
    struct calendar calendar;
    struct calendar_rules rules;
    struct zone *zone;
    rota_time look_at, ended;
    bool fired;  // in this turn
};

struct allocator {
    struct server *server;
    struct catalog catalog;
    struct schedule *schedules;
    uint32_t count;
    zone_read_fn *zone_read;
};

// Reads the definitions and their calendars. False: as for catalog_open().
bool allocator_open(struct allocator *allocator, struct server *server, rota_time now,
                    zone_read_fn *zone_read);
void allocator_close(struct allocator *allocator);

// Between server_begin() and server_commit(): stages tasks that are due.
void allocator_stage(struct allocator *allocator);
// After the commit: notes which entries have ended in it.
void allocator_note_ends(struct allocator *allocator);
rota_time allocator_look_at(const struct allocator *allocator);  // when to stage again

// ---- manual.c: manual actions for one task --------------------------------------------------

// "stage", "start", "green", "red", "reset", "freeze", "abort". False: unknown action.
bool act_event(const char *word, rota_task_id task, struct rota_event *event);
