// definitions.h - all definitions of a database, and the numbers of their names.
#pragma once

#include "job/definition/definition.h"
#include "store/sqlite/definition_rows.h"
#include "turn/turn.h"

// Reads a time zone file. Null: there is no such zone, or it is invalid; `reason` says why.
typedef struct zone *zone_read_fn(const char *name, const char **reason);

enum entry_fate { ENTRY_STAYS, ENTRY_NEW, ENTRY_CHANGED, ENTRY_DELETED };

// A definition, and its changes in a turn.
struct entry {
    struct definition what;
    const char *text;   // the text that it was parsed from, or that will be stored
    rota_task_id task;  // 0: the core does not know it yet
    struct calendar_state state;
    enum entry_fate fate;
    uint32_t parent;       // the index of its bundle plus 1, or 0
    uint32_t *named;       // per clause of its condition: the index of the definition it names,
    uint32_t named_count;  // or the number of entries if it names none
    struct rota_clause *clauses;
    bool rebuilt;               // it gets a new job
    bool active, ended;         // after the last turn; finished in that turn
    enum rota_task_state last;  // before it got the new job
};

// All definitions, in order of their names.
struct catalog {
    struct server *server;
    struct catalog_rows rows;
    struct definitions parsed;  // owns the texts of the entries
    struct entry *entries;
    uint32_t count, capacity;
};

// False: the store has failed, or a row is invalid; server->reason says which.
bool catalog_open(struct catalog *catalog, struct server *server);
void catalog_close(struct catalog *catalog);
struct entry *catalog_find(const struct catalog *catalog, const char *name, size_t length);
struct entry *catalog_find_task(const struct catalog *catalog, rota_task_id task);
struct entry *catalog_add(struct catalog *catalog, const struct definition *what);  // null: memory
void catalog_sort(struct catalog *catalog);

// Returns the number of a name, and assigns one to a new name. 0: out of memory.
uint32_t catalog_number(struct catalog *catalog, enum catalog_kind kind, const char *name);
