// top_snapshot.c - `rota top`: reads a snapshot of a database.
#include "cli/show/top.h"
#include "base/base.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

static bool row_take(void *context, const struct snapshot_row *told)
{
    struct top_list *list = context;
    if (!ARRAY_MORE_RAW(&memory_heap, list->rows, list->count, list->capacity)) return false;
    struct top_row *row = &list->rows[list->count++];
    *row = (struct top_row){.fast = 0};
    memcpy(row->numbers, told->numbers, sizeof row->numbers);
    for (int i = 0; i < SNAPSHOT_TEXTS; i++)
        if (!(row->texts[i] = strdup(told->texts[i]))) return false;
    return true;
}

static void paces_note(struct top *top)
{
    const struct top_list *lately = &top->lists[SNAPSHOT_LATELY],
                          *jobs = &top->lists[SNAPSHOT_JOBS];
    for (uint32_t i = 0; i < lately->count; i++) {
        const int64_t *numbers = lately->rows[i].numbers;
        top->fast += (uint64_t)numbers[1];
        top->slow += (uint64_t)numbers[2];
        for (uint32_t j = 0; j < jobs->count; j++) {
            if (jobs->rows[j].numbers[0] != numbers[0]) continue;
            jobs->rows[j].fast = (uint32_t)numbers[1];
            jobs->rows[j].slow = (uint32_t)numbers[2];
        }
    }
}

static void list_release(struct top_list *list)
{
    for (uint32_t j = 0; j < list->count; j++)
        for (int k = 0; k < SNAPSHOT_TEXTS; k++) free(list->rows[j].texts[k]);
    free(list->rows);
    *list = (struct top_list){0};
}

// Rows of workers and running tasks stay until the next run.
static void nothing_runs(struct top *top)
{
    const struct top_list *jobs = &top->lists[SNAPSHOT_JOBS];
    list_release(&top->lists[SNAPSHOT_WORKERS]);
    for (uint32_t i = 0; i < jobs->count; i++) jobs->rows[i].numbers[5] = 0;
}

bool top_load(struct top *top, const char *path, struct store_error *error)
{
    *top = (struct top){.now = os_now(), .is_running = store_is_held(path)};
    struct store *store = snapshot_open(path, error);
    bool fine = store;
    for (int i = 0; fine && i < SNAPSHOT_LISTS; i++)
        fine = snapshot_list(store, (enum snapshot_list)i, top->now, row_take, &top->lists[i]);
    if (store && !fine) *error = *store_error(store);
    store_close(store);
    if (!top->is_running) nothing_runs(top);
    if (fine) paces_note(top);
    return fine;
}

void top_release(struct top *top)
{
    for (int i = 0; i < SNAPSHOT_LISTS; i++) list_release(&top->lists[i]);
    *top = (struct top){0};
}

uint64_t top_count(const struct top *top, const char *status)
{
    const struct top_list *counts = &top->lists[SNAPSHOT_COUNTS];
    for (uint32_t i = 0; i < counts->count; i++)
        if (strcmp(counts->rows[i].texts[0], status) == 0)
            return (uint64_t)counts->rows[i].numbers[1];
    return 0;
}

uint64_t top_over(const struct top_row *job)
{
    return (uint64_t)(job->numbers[2] + job->numbers[3] + job->numbers[4] + job->numbers[7]);
}

// Blocked tasks are not counted, because they never run.
rota_time top_left(const struct top_row *job)
{
    int64_t left = job->numbers[1] - (int64_t)top_over(job) - job->numbers[6];
    if (left <= 0) return 0;
    if (job->fast) return left * 10000000 / job->fast;
    return job->slow ? left * 60000000 / job->slow : -1;
}
