// durable_reopen.c - a file full of waiting tasks is opened, and the core rebuilt from it.
#include "durable.h"
#include "store/sqlite/open.h"

#include <stdio.h>
#include <stdlib.h>

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

// All wait for the first task, which runs on a worker that never reports.
int waiting_command(const char **arguments)
{
    uint32_t count = number_parse(arguments[1]);
    struct durable durable;
    struct rota_edge *edges = allocate(count, sizeof *edges);
    for (uint32_t i = 1; i < count; i++) edges[i - 1] = (struct rota_edge){1, i + 1};
    durable_open(&durable, arguments[0], 1);
    durable.edges = edges;
    durable_turn(&durable, count);
    durable_leave(&durable);
    free(edges);
    printf("%u\n", count);
    return 0;
}

int reopen_command(const char **arguments)
{
    struct store_options options = store_options_default();
    struct store_error error;
    struct driver driver;
    options.ballast_bytes = 0;
    double began = seconds_now();
    struct store *store = store_open_sqlite(arguments[0], &options, &error);
    if (!store) stop(error.text);
    driver_open(&driver, COUNTING_OFF);
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    event.restore.records = store_rows(store, &event.restore.count);
    if (!event.restore.records) stop(store_error(store)->text);
    double loaded = seconds_now();
    driver_step(&driver, &event);
    store_rows_release(store);
    double ended = seconds_now();
    printf("%.4f load=%.4f restore=%.4f\n", ended - began, loaded - began, ended - loaded);
    store_close(store);
    driver_close(&driver);
    return 0;
}
