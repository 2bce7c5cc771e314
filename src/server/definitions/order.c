// order.c - the order in which definitions become jobs: a named definition comes first.
#include "server/definitions/definitions.h"

// A unit is a callable without a bundle, or a bundle with its members: it becomes one job. Units
// are identified by the index of their first entry. All arrays exist as long as the turn.
struct order {
    struct define *define;
    uint32_t *next;   // by entry: the next member of its unit, plus 1
    uint32_t *lacks;  // by unit: number of named units that have no job yet
    uint32_t *first;  // by unit: first index of its dependents in `dependents`
    uint32_t *dependents;
    uint32_t *queue;  // units for which nothing is missing
    uint32_t queued;
    struct entry **members;
};

static uint32_t unit_of(const struct define *define, uint32_t index)
{
    uint32_t parent = define->catalog.entries[index].parent;
    return parent ? parent - 1 : index;
}

// Called for each name in a condition that leads from one unit to another that has no job.
typedef void link_fn(struct order *order, uint32_t from, uint32_t to);

static void links_each(struct order *order, link_fn *call)
{
    const struct catalog *catalog = &order->define->catalog;
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct entry *entry = &catalog->entries[i];
        uint32_t from = unit_of(order->define, i);
        for (uint32_t n = 0; n < entry->named_count && entry->rebuilt; n++) {
            uint32_t target = entry->named[n];
            if (target >= catalog->count || !catalog->entries[target].rebuilt) continue;
            uint32_t to = unit_of(order->define, target);
            if (to != from) call(order, from, to);
        }
    }
}

static void link_count(struct order *order, uint32_t from, uint32_t to)
{
    order->lacks[from]++;
    order->first[to + 1]++;
}

// Fills each part from its end, so that `first` finally is its beginning.
static void link_put(struct order *order, uint32_t from, uint32_t to)
{
    order->dependents[--order->first[to + 1]] = from;
}

static bool order_build(struct order *order, uint32_t count)
{
    struct server *server = order->define->catalog.server;
    size_t links = 0;
    for (uint32_t i = 0; i < count; i++) links += order->define->catalog.entries[i].named_count;
    order->next = server_keep(server, count + 1, sizeof(uint32_t));
    order->lacks = server_keep(server, count + 1, sizeof(uint32_t));
    order->first = server_keep(server, count + 2, sizeof(uint32_t));
    order->queue = server_keep(server, count + 1, sizeof(uint32_t));
    order->dependents = server_keep(server, links + 1, sizeof(uint32_t));
    order->members = server_keep(server, count + 1, sizeof(struct entry *));
    bool there = order->next && order->lacks && order->first && order->queue && order->dependents
                 && order->members;
    if (!there) return false;
    links_each(order, link_count);
    for (uint32_t i = 1; i <= count + 1; i++) order->first[i] += order->first[i - 1];
    // Now first[u + 1] is the end of the part of u; filling moves it to its beginning.
    links_each(order, link_put);
    return true;
}

static void members_chain(struct order *order)
{
    const struct catalog *catalog = &order->define->catalog;
    for (uint32_t i = catalog->count; i-- > 0;) {
        const struct entry *entry = &catalog->entries[i];
        if (!entry->rebuilt || !entry->parent) continue;
        order->next[i] = order->next[entry->parent - 1];
        order->next[entry->parent - 1] = i + 1;
    }
}

static uint32_t members_add(struct order *order, uint32_t unit, uint32_t count)
{
    for (uint32_t at = unit + 1; at; at = order->next[at - 1])
        order->members[count++] = &order->define->catalog.entries[at - 1];
    return count;
}

static bool is_unit(const struct order *order, uint32_t index)
{
    const struct entry *entry = &order->define->catalog.entries[index];
    return entry->rebuilt && !entry->parent;
}

static bool unit_submit(struct order *order, uint32_t unit)
{
    if (!define_job(order->define, order->members, members_add(order, unit, 0))) return false;
    for (uint32_t i = order->first[unit + 1]; i < order->first[unit + 2]; i++) {
        uint32_t dependent = order->dependents[i];
        if (--order->lacks[dependent] == 0) order->queue[order->queued++] = dependent;
    }
    return true;
}

bool define_in_order(struct define *define)
{
    struct order order = {.define = define};
    uint32_t count = define->catalog.count, rest = 0;
    if (!order_build(&order, count)) return define_no_memory(define);
    members_chain(&order);
    for (uint32_t i = 0; i < count; i++)
        if (is_unit(&order, i) && !order.lacks[i]) order.queue[order.queued++] = i;
    for (uint32_t i = 0; i < order.queued; i++)
        if (!unit_submit(&order, order.queue[i])) return false;
    // The remaining units name each other. With bundles that is possible without a cycle; the core
    // decides.
    for (uint32_t i = 0; i < count; i++)
        if (is_unit(&order, i) && order.lacks[i]) rest = members_add(&order, i, rest);
    return !rest || define_job(define, order.members, rest);
}
