// layout.c - layout for charts: attempts on separate lines, and the critical path.
#include "query/query.h"

#include <stdlib.h>

// ---- Lines of the chart ---------------------------------------------------------------------

static rota_time ended_of(const struct query_attempt *attempt, rota_time now)
{
    rota_time ended = attempt->ended ? attempt->ended : now;
    return ended > attempt->began ? ended : attempt->began;
}

static int began_compare(const void *one, const void *other)
{
    const struct query_attempt *left = *(struct query_attempt *const *)one;
    const struct query_attempt *right = *(struct query_attempt *const *)other;
    if (left->began != right->began) return left->began < right->began ? -1 : 1;
    return left < right ? -1 : left > right;
}

// A worker starts the next command before it records the end of the last one, so a small overlap is
// ignored.
enum { OVERLAP = 5000, OVERLAP_PART = 4 };

struct slot {
    rota_time began, ended;  // of the last bar on the line
};

// An attempt that ended before the last one of a line cannot follow it there.
static bool is_free(const struct slot *slot, const struct query_attempt *attempt, rota_time now)
{
    rota_time slack = (slot->ended - slot->began) / OVERLAP_PART;
    return slot->ended - (slack < OVERLAP ? slack : OVERLAP) <= attempt->began
           && slot->ended <= ended_of(attempt, now);
}

static void slot_take(struct slot *slot, struct query_attempt *attempt, rota_time now)
{
    attempt->drawn = attempt->began > slot->ended ? attempt->began : slot->ended;
    *slot = (struct slot){attempt->drawn, ended_of(attempt, now)};
}

uint32_t query_slots(struct query *query, rota_time now)
{
    struct query_attempt **order = query_allocate(query, query->attempt_count * sizeof(void *));
    struct slot *slots = query_allocate(query, query->attempt_count * sizeof *slots);
    uint32_t slot_count = 0, count = 0;
    for (uint32_t i = 0; i < query->attempt_count; i++)
        if (query->attempts[i].ran) order[count++] = &query->attempts[i];
    if (count) qsort(order, count, sizeof *order, began_compare);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < slot_count && !is_free(&slots[at], order[i], now)) at++;
        if (at == slot_count) slot_count++;
        order[i]->slot = at;
        slot_take(&slots[at], order[i], now);
    }
    return slot_count;
}

// ---- The critical path ----------------------------------------------------------------------

rota_time query_duration(const struct query *query, uint32_t at, rota_time now)
{
    const struct query_task *task = &query->tasks[at];
    rota_time sum = 0;
    for (uint32_t i = task->first; i < task->first + task->count; i++)
        if (query->attempts[i].ran)
            sum += ended_of(&query->attempts[i], now) - query->attempts[i].began;
    return sum;
}

// A bundle finishes with its members, and its members wait for its dependencies. Calls `visit` for
// each such edge of a task.
typedef void edge_fn(void *context, uint32_t before, uint32_t after);

static void edges_visit(const struct query *query, edge_fn *visit, void *context)
{
    for (uint32_t i = 0; i < query->task_count; i++) {
        const struct query_task *task = &query->tasks[i];
        for (uint32_t k = 0; k < task->need_count; k++) visit(context, task->needs[k], i);
        if (!task->bundle || task->bundle > query->task_count) continue;
        visit(context, i, task->bundle - 1);
        const struct query_task *bundle = &query->tasks[task->bundle - 1];
        for (uint32_t k = 0; k < bundle->need_count; k++) visit(context, bundle->needs[k], i);
    }
}

struct chain {
    const struct query *query;
    uint32_t *first, *after;  // edges by their first task
    uint32_t *lacks;          // incoming edges not yet visited
    uint32_t *queue, count;
    uint32_t *before;  // predecessor on the longest path, plus 1
    rota_time *length;
};

static void edge_count(void *context, uint32_t before, uint32_t after)
{
    struct chain *chain = context;
    chain->first[before + 1]++;
    chain->lacks[after]++;
}

static void edge_put(void *context, uint32_t before, uint32_t after)
{
    struct chain *chain = context;
    chain->after[chain->first[before]++] = after;
}

static void *array(size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (!items) query_no_memory();
    return items;
}

static void chain_open(struct chain *chain, const struct query *query)
{
    uint32_t count = query->task_count;
    *chain = (struct chain){.query = query};
    chain->first = array(count + 1, sizeof *chain->first);
    chain->lacks = array(count, sizeof *chain->lacks);
    edges_visit(query, edge_count, chain);
    for (uint32_t i = 0; i < count; i++) chain->first[i + 1] += chain->first[i];
    chain->after = array(chain->first[count], sizeof *chain->after);
    edges_visit(query, edge_put, chain);
    for (uint32_t i = count; i > 0; i--) chain->first[i] = chain->first[i - 1];
    chain->first[0] = 0;
    chain->queue = array(count, sizeof *chain->queue);
    chain->before = array(count, sizeof *chain->before);
    chain->length = array(count, sizeof *chain->length);
    for (uint32_t i = 0; i < count; i++)
        if (!chain->lacks[i]) chain->queue[chain->count++] = i;
}

static void chain_release(struct chain *chain)
{
    free(chain->first), free(chain->after), free(chain->lacks), free(chain->queue);
    free(chain->before), free(chain->length);
}

// Tasks on a cycle, which conditions may form, are left out.
static void chain_walk(struct chain *chain, rota_time now)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        uint32_t at = chain->queue[i];
        chain->length[at] += query_duration(chain->query, at, now);
        for (uint32_t k = chain->first[at]; k < chain->first[at + 1]; k++) {
            uint32_t next = chain->after[k];
            if (chain->length[at] > chain->length[next]) {
                chain->length[next] = chain->length[at];
                chain->before[next] = at + 1;
            }
            if (!--chain->lacks[next]) chain->queue[chain->count++] = next;
        }
    }
}

uint32_t query_critical(const struct query *query, rota_time now, uint32_t *path, rota_time *length)
{
    struct chain chain;
    uint32_t last = 0, count = 0;
    *length = 0;
    chain_open(&chain, query);
    chain_walk(&chain, now);
    for (uint32_t i = 0; i < chain.count; i++) {
        uint32_t at = chain.queue[i];
        if (chain.length[at] <= *length) continue;
        *length = chain.length[at];
        last = at + 1;
    }
    for (; last; last = chain.before[last - 1])
        if (query_duration(query, last - 1, now)) path[count++] = last - 1;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = other;
    }
    chain_release(&chain);
    return count;
}
