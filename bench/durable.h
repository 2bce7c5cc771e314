// durable.h - how rota-bench drives the core together with a database file.
#pragma once

#include "core.h"
#include "store/store.h"

// Turns of a server under load: each reports the tasks that were handed out and are durable, closes
// the finished jobs, and submits as many new tasks as it has reported. While the disk writes, the
// next turn is prepared, so two batches are in progress.
struct durable {
    struct driver driver;
    struct store *store;
    const char *path;
    struct rota_task_spec *tasks;
    struct store_text *texts;
    const struct rota_edge *edges;  // of the next submission; one less than its tasks
    struct rota_event submit;
    uint32_t batch;
    uint64_t submitted, recorded;  // tasks; those whose end is committed
    uint64_t begun;                // the turn that is being written
    struct run *ready;             // handed out, and that is durable
    uint32_t ready_count, ready_capacity;
    rota_job_id *over;             // jobs to close; the first over_ready now
    uint32_t over_ready, over_count, over_capacity;
};

void durable_open(struct durable *durable, const char *path, uint32_t batch);
void durable_close(struct durable *durable);  // the files are removed, too
void durable_leave(struct durable *durable);  // the files stay
void durable_turn(struct durable *durable, uint32_t new_tasks);
void durable_settle(struct durable *durable);

int durable_command(const char **arguments);  // durable.c
int waiting_command(const char **arguments);  // durable_reopen.c
int reopen_command(const char **arguments);
