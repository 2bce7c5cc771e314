// catalog.h - all definitions of a database, and the numbers that names have in it.
#pragma once

#include "job/definition/definition.h"
#include "store/definition_rows.h"
#include "turn/turn.h"

// Reads the content of a zone file. Null: there is no such zone, and `reason` says why.
typedef struct zone *zone_read_fn(const char *name, const char **reason);

enum entry_fate { ENTRY_STAYS, ENTRY_NEW, ENTRY_CHANGED, ENTRY_DELETED };

// A definition, and what a turn does to it.
struct entry {
    struct definition what;
    const char *text;   // what it was parsed from, or is written as
    rota_task_id task;  // none: the core has not seen it
    struct calendar_state state;
    enum entry_fate fate;
    uint32_t parent;       // the index of its bundle plus 1, or 0
    uint32_t *named;       // the indexes of those that its condition names, one a clause; else the
    uint32_t named_count;  // number of entries
    struct rota_clause *clauses;
    bool rebuilt;               // it gets a new job
    bool active, ended;         // as of the last turn; in it
    enum rota_task_state last;  // before it got one
};

// All definitions, in order of their names.
struct catalog {
    struct server *server;
    struct catalog_rows rows;
    struct definitions parsed;  // the texts of the entries are in here
    struct entry *entries;
    uint32_t count, capacity;
};

// False: the store has failed, or a row is invalid; the server's reason says which.
bool catalog_open(struct catalog *catalog, struct server *server);
void catalog_close(struct catalog *catalog);
struct entry *catalog_find(const struct catalog *catalog, const char *name, size_t length);
struct entry *catalog_find_task(const struct catalog *catalog, rota_task_id task);
struct entry *catalog_add(struct catalog *catalog, const struct definition *what);  // null: memory
void catalog_sort(struct catalog *catalog);

// The number of a name, which gets one if it has none. 0: no memory; none for null and "".
uint32_t catalog_number(struct catalog *catalog, enum catalog_kind kind, const char *name);
