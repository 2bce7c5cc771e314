// define_check.c - whether definitions hold together: parents, conditions, zones; and which of
// them get a new job when some of them change.
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

enum { CLAUSES_MAX = 4096 };

struct room {
    struct rota_clause clauses[CLAUSES_MAX];
    const char *names[CLAUSES_MAX];
    uint32_t lengths[CLAUSES_MAX];
};

static uint32_t index_of(const struct define *define, const struct entry *entry)
{
    return (uint32_t)(entry - define->catalog.entries);
}

static bool is_there(const struct entry *entry)
{
    return entry && entry->fate != ENTRY_DELETED;
}

static bool is_touched(const struct entry *entry)
{
    return entry->fate == ENTRY_NEW || entry->fate == ENTRY_CHANGED;
}

// Who stays speaks of somebody who goes: that one has to be told.
static bool refuse_missing(struct define *define, const struct entry *entry, const char *word,
                           const struct entry *target, const char *name, size_t length)
{
    int shown = length > 100 ? 100 : (int)length;
    if (target && !is_touched(entry))
        return define_refuse(define, target, "\"%.100s\" still has it: %s %.*s", entry->what.name,
                             word, shown, name);
    return define_refuse(define, entry, "%s: there is no task \"%.*s\"", word, shown, name);
}

static bool parent_check(struct define *define, struct entry *entry)
{
    const char *name = entry->what.parent;
    if (!name || !*name) return true;
    struct entry *parent = catalog_find(&define->catalog, name, strlen(name));
    if (!is_there(parent))
        return refuse_missing(define, entry, "parent", parent, name, strlen(name));
    if (parent->what.type != DEFINITION_BUNDLE)
        return define_refuse(define, entry, "parent: \"%.100s\" is not a bundle", name);
    entry->parent = index_of(define, parent) + 1;
    return true;
}

static bool condition_resolve(struct define *define, struct entry *entry, const struct room *room)
{
    uint32_t count = entry->named_count;
    struct server *server = define->catalog.server;
    entry->named = server_keep(server, count + 1, sizeof *entry->named);
    entry->clauses = server_keep(server, count + 1, sizeof *entry->clauses);
    if (!entry->named || !entry->clauses) return define_no_memory(define);
    for (uint32_t i = 0; i < count; i++) {
        entry->clauses[i] = room->clauses[i];
        entry->named[i] = define->catalog.count;
        if (!room->names[i]) continue;
        struct entry *target = catalog_find(&define->catalog, room->names[i], room->lengths[i]);
        if (!is_there(target))
            return refuse_missing(define, entry, "condition", target, room->names[i],
                                  room->lengths[i]);
        entry->named[i] = index_of(define, target);
    }
    return true;
}

static bool condition_check(struct define *define, struct entry *entry, struct room *room)
{
    uint32_t place;
    const char *reason;
    const char *text = entry->what.condition ? entry->what.condition : "";
    int count = rota_condition_parse(text, room->clauses, room->names, room->lengths, CLAUSES_MAX,
                                     &place, &reason);
    if (count < 0) return define_refuse(define, entry, "condition: %s", reason);
    entry->named_count = (uint32_t)count;
    return condition_resolve(define, entry, room);
}

static bool zone_check(struct define *define, const struct entry *entry)
{
    const char *name = entry->what.schedule.zone, *reason = "";
    if (!is_touched(entry) || !name || !*name) return true;
    struct zone *zone = define->zone_read(name, &reason);
    zone_close(zone);
    return zone || define_refuse(define, entry, "zone: \"%.100s\" %s", name, reason);
}

static bool entries_check(struct define *define, struct room *room)
{
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        struct entry *entry = &define->catalog.entries[i];
        if (!is_there(entry)) continue;
        bool fine = parent_check(define, entry) && condition_check(define, entry, room)
                    && zone_check(define, entry);
        if (!fine) return false;
    }
    return true;
}

bool define_check(struct define *define)
{
    struct room *room = malloc(sizeof *room);
    bool fine = room ? entries_check(define, room) : define_no_memory(define);
    free(room);
    return fine;
}

// ---- Who else gets a new job -----------------------------------------------------------------

// What changes gets a new job, and the core knows no way to change the old one: so those that
// share it come along, and those whose conditions name one of them.
static bool spreads_to(const struct define *define, const struct entry *entry)
{
    const struct entry *entries = define->catalog.entries;
    if (entry->parent && entries[entry->parent - 1].rebuilt) return true;
    for (uint32_t i = 0; i < entry->named_count; i++)
        if (entry->named[i] < define->catalog.count && entries[entry->named[i]].rebuilt)
            return true;
    return false;
}

// Every definition of a job that one of them takes down with it.
static bool job_spread(struct define *define, uint32_t job)
{
    bool more = false;
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        struct entry *entry = &define->catalog.entries[i];
        bool joins = entry->task.job == job && is_there(entry) && !entry->rebuilt;
        entry->rebuilt |= joins;
        more |= joins;
    }
    return more;
}

static bool spread_once(struct define *define)
{
    bool more = false;
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        struct entry *entry = &define->catalog.entries[i];
        bool joins = is_there(entry) && !entry->rebuilt && spreads_to(define, entry);
        if (!joins) continue;
        entry->rebuilt = more = true;
        if (entry->task.job) job_spread(define, entry->task.job);
    }
    return more;
}

// A member that comes to a bundle changes the bundle.
static bool parents_spread(struct define *define)
{
    bool more = false;
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        const struct entry *entry = &define->catalog.entries[i];
        if (!entry->rebuilt || !entry->parent) continue;
        struct entry *parent = &define->catalog.entries[entry->parent - 1];
        if (parent->rebuilt) continue;
        parent->rebuilt = more = true;
        if (parent->task.job) job_spread(define, parent->task.job);
    }
    return more;
}

static bool rebuilt_check(struct define *define)
{
    const struct server *server = define->catalog.server;
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        const struct entry *entry = &define->catalog.entries[i];
        if (!entry->rebuilt || !entry->task.job || !task_is_active(server, entry->task)) continue;
        return define_refuse(define, entry,
                             "not effective on active task \"%.100s\", which hangs"
                             " together with what changes",
                             entry->what.name);
    }
    return true;
}

bool define_spread(struct define *define)
{
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        struct entry *entry = &define->catalog.entries[i];
        entry->rebuilt |= is_touched(entry);
        if (entry->fate != ENTRY_STAYS && entry->task.job) job_spread(define, entry->task.job);
    }
    bool more;
    do {
        more = spread_once(define);
        more |= parents_spread(define);
    } while (more);
    return rebuilt_check(define);
}
