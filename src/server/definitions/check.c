// check.c - checks the references of definitions: parents, conditions, time zones.
#include "server/definitions/definitions.h"

#include <stdio.h>
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

// A definition that stays names one that is deleted: the deletion is refused, and all that need it
// are listed.
static bool refuse_delete(struct define *define, const struct entry *entry,
                          const struct entry *target)
{
    struct definition_error *error = define->error;
    size_t length = strlen(error->reason);
    if (!define->needed)
        define_refuse(define, target, "\"%.80s\" is needed by %.80s", target->what.name,
                      entry->what.name);
    else if (define->needed == target)
        snprintf(error->reason + length, sizeof error->reason - length, ", %s", entry->what.name);
    define->needed = define->needed ? define->needed : target;
    return true;  // the next one may need it, too
}

static bool refuse_missing(struct define *define, const struct entry *entry, const char *word,
                           const struct entry *target, const char *name, size_t length)
{
    if (target && !is_touched(entry)) return refuse_delete(define, entry, target);
    int shown = length > 100 ? 100 : (int)length;
    return define_refuse(define, entry, "%s: no such task: \"%.*s\"", word, shown, name);
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
                                  room->lengths[i]);  // true: enough is reported about this one
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
    return !define->needed;
}

bool define_check(struct define *define)
{
    struct room *room = malloc(sizeof *room);
    bool fine = room ? entries_check(define, room) : define_no_memory(define);
    free(room);
    return fine;
}
