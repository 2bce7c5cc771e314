// scene.h - a server with a client and a worker, in memory or with a database.
#pragma once

#include "peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

extern struct peers peers;
extern struct played client, worker;
extern struct store *store;
extern const char *command;  // of the tasks that are submitted
extern uint32_t grows_to;    // the job to which they are added; 0: none

int begin(void **state);
int end(void **state);
int begin_on_disk(void **state);
int begin_on_disk_at(rota_time now);
int end_on_disk(void **state);  // and the files are removed

void greets(struct played *played, enum wire_role role, const char *name, uint64_t number);
void joins(struct played *played, struct wire_attempt *attempts, uint32_t count);
void submits(uint64_t low, uint32_t tasks, uint32_t retries, uint32_t flags);
void reports(struct played *played, const struct wire_run *run, enum wire_end how, int32_t status);
struct wire_run given(struct played *played);  // the first RUN that it gets
void a_cluster_of_one(void);
// A cluster of one worker, and a job of one task with this request id: its first RUN.
struct wire_run given_first(uint64_t low, uint32_t retries);
uint32_t accepted(void);  // after a turn: the job; 0: none

// A submission with tasks only.
struct wire_message draft_of(uint64_t low, uint32_t job, struct wire_spec *specs, uint32_t count);
void rows_are(const char *table, int count);
