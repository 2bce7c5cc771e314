// affected.c - which other definitions get a new job when some definitions change.
//
// The core has no event that changes a job. A changed definition gets a new job, and so do the
// definitions that share the old job, its bundle or its members, and those whose conditions name
// it.
#include "server/definitions/definitions.h"

#include "base/base.h"

// All arrays are by entry and exist as long as the turn.
struct spread {
    struct define *define;
    uint32_t *first, *users;  // users[first[i + 1] ... first[i + 2]) are affected with i
    uint32_t *next;           // the next entry of the same old job, plus 1
    struct map jobs;          // by old job: its first entry, plus 1
    uint32_t *stack, height;  // entries whose users have not been visited
};

// Called for each pair of which the second is affected with the first.
typedef void pair_fn(struct spread *spread, uint32_t with, uint32_t user);

static void pairs_each(struct spread *spread, pair_fn *call)
{
    const struct catalog *catalog = &spread->define->catalog;
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct entry *entry = &catalog->entries[i];
        for (uint32_t n = 0; n < entry->named_count; n++)
            if (entry->named[n] < catalog->count) call(spread, entry->named[n], i);
        if (!entry->parent) continue;
        call(spread, entry->parent - 1, i);
        call(spread, i, entry->parent - 1);
    }
}

static void pair_count(struct spread *spread, uint32_t with, uint32_t user)
{
    (void)user;
    spread->first[with + 1]++;
}

static void pair_put(struct spread *spread, uint32_t with, uint32_t user)
{
    spread->users[--spread->first[with + 1]] = user;
}

static bool spread_build(struct spread *spread)
{
    const struct catalog *catalog = &spread->define->catalog;
    uint32_t count = catalog->count;
    spread->first = server_keep(catalog->server, (size_t)count + 2, sizeof(uint32_t));
    spread->next = server_keep(catalog->server, (size_t)count + 1, sizeof(uint32_t));
    spread->stack = server_keep(catalog->server, (size_t)count + 1, sizeof(uint32_t));
    if (!spread->first || !spread->next || !spread->stack) return false;
    pairs_each(spread, pair_count);
    for (uint32_t i = 1; i <= count + 1; i++) spread->first[i] += spread->first[i - 1];
    spread->users
        = server_keep(catalog->server, (size_t)spread->first[count + 1] + 1, sizeof(uint32_t));
    if (!spread->users || !map_reserve(&memory_heap, &spread->jobs, count)) return false;
    pairs_each(spread, pair_put);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t job = catalog->entries[i].task.job;
        if (!job) continue;
        spread->next[i] = map_find(&spread->jobs, job);
        map_put(&spread->jobs, job, i + 1);
    }
    return true;
}

static void entry_join(struct spread *spread, uint32_t index)
{
    struct entry *entry = &spread->define->catalog.entries[index];
    if (entry->rebuilt || entry->fate == ENTRY_DELETED) return;
    entry->rebuilt = true;
    spread->stack[spread->height++] = index;
}

// Each job is visited once.
static void job_join(struct spread *spread, uint32_t job)
{
    uint32_t at = job ? map_find(&spread->jobs, job) : 0;
    if (at) map_remove(&spread->jobs, job);
    for (; at; at = spread->next[at - 1]) entry_join(spread, at - 1);
}

static void spread_run(struct spread *spread)
{
    const struct catalog *catalog = &spread->define->catalog;
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct entry *entry = &catalog->entries[i];
        if (entry->fate == ENTRY_STAYS) continue;
        entry_join(spread, i);
        job_join(spread, entry->task.job);
    }
    while (spread->height) {
        uint32_t index = spread->stack[--spread->height];
        job_join(spread, catalog->entries[index].task.job);
        for (uint32_t i = spread->first[index + 1]; i < spread->first[index + 2]; i++)
            entry_join(spread, spread->users[i]);
    }
}

static bool active_check(struct define *define)
{
    const struct server *server = define->catalog.server;
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        const struct entry *entry = &define->catalog.entries[i];
        if (!entry->rebuilt || !entry->task.job || !task_is_active(server, entry->task)) continue;
        return define_refuse(define, entry,
                             "not possible while task \"%.100s\" is active, which is affected by"
                             " the change",
                             entry->what.name);
    }
    return true;
}

bool define_spread(struct define *define)
{
    struct spread spread = {.define = define};
    bool fine = spread_build(&spread);
    if (fine) spread_run(&spread);
    map_release(&memory_heap, &spread.jobs);
    return fine ? active_check(define) : define_no_memory(define);
}
