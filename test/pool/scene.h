// scene.h - helpers for tests of the pool: jobs from text, lists as text, gates for functions.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "rota_pool.h"

enum { SECOND = 1000000, PATIENCE = 60 * SECOND };  // longer than any machine is busy
static const rota_task_id any = {0, 0};

struct rota_pool *scene_open(uint32_t threads);  // with lanes 1 to 3
void scene_close(struct rota_pool *pool);  // checks it before

// A job of tasks without functions, for client 5. "0<1,2 1 2" is a task 0 that depends on 1 and 2,
// and those; they are numbered in the order of the text, from 1. The same with lanes: "a:r1/3"
// reads in lane 1 with group 3, "b:w2" writes in lane 2.
uint32_t scene_submit(struct rota_pool *pool, uint64_t client, const char *text);
uint32_t scene_run(struct rota_pool *pool, uint64_t client, const char *text,
                   rota_pool_function *function, void *argument);

// As text, by the first character of the names in the text that was last submitted.
const char *scene_available(struct rota_pool *pool, uint32_t job);
const char *scene_blocked(struct rota_pool *pool, uint32_t job);  // "0:2"
const char *scene_confirmed(struct rota_pool *pool, uint64_t client, uint32_t count);  // "a=ok"
rota_task_id scene_task(uint32_t job, char name);
char scene_name(rota_task_id task);

// A handler fetches, starts and delivers one task.
void fetches(struct rota_pool *pool, rota_task_id task);
void delivers(struct rota_pool *pool, rota_task_id task);
void fails(struct rota_pool *pool, rota_task_id task);

int32_t lane_counter(struct rota_pool *pool, uint32_t lane);
uint32_t lane_groups(struct rota_pool *pool, uint32_t lane);

// ---- A gate: functions wait at it until they are released -----------------------------------

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t change;
    char began[64];    // names of the tasks, in the order in which they came
    atomic_uint count;
    uint64_t passes;   // bit of a name: it may continue
};

void gate_open(struct gate *gate);
void gate_close(struct gate *gate);
int gate_function(void *gate, struct rota_pool_call *call);
void gate_pass(struct gate *gate, char name);
void gate_pass_all(struct gate *gate);
void gate_waits_for(struct gate *gate, const char *began);  // until they came, in this order
void gate_has_all_of(struct gate *gate, const char *began);  // in any order; here by name

// Many threads at once; each gets its number.
void threads_run(uint32_t count, void *(*function)(void *), void *arguments, size_t size);
void nap(int64_t microseconds);
