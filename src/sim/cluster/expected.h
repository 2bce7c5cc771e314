// expected.h - what clients asked for, and what has become of it in truth: the judges' own memory.
#pragma once

#include "sim/cluster/base.h"

enum { GHOST_NEEDS = 3, GHOST_LANES = 3, GHOST_GROUPS = 4, GHOST_CLAUSES = 5 };

struct ghost_clause {
    uint32_t kind, task;  // of the same job
};


struct ghost_task {
    uint32_t needs[GHOST_NEEDS], need_count;  // numbers from 1
    uint32_t lane, group;                     // from 1; 0: none
    uint8_t access;
    uint32_t cores, retries;
    uint32_t failures;                        // so many of its attempts fail
    uint32_t starts, running, successes, failed;
    uint32_t recorded, told_failures;         // successes, failures that the server said it keeps
    uint64_t token;                           // the last it was given with
    uint32_t given;                           // the last attempt that a worker was told of
    uint64_t given_in;                        // and with which words of the server
    uint32_t ended_attempt;                   // the last that has ended, and how
    uint64_t ended_token;                     // of that one
    bool ended_well, ended_badly;
    bool kept;                                // the server has said that it keeps a success
    bool came_well;                           // a success came to the server before any cancel
    bool cancelled;                           // acknowledged, and nobody has asked for it since
    bool asked_again, asked_off;              // a retry, a cancel was sent
    bool called_off;                          // a cancel has come to the server
    bool makes;                               // an object
    bool is_unfetchable;                      // which no other worker can get
    uint32_t lack_attempt, lacks;             // the last that lacked an input; so many counted
    uint32_t reads;                           // bits: those of its needs that are objects
    bool flows;                               // it writes a stream, for the next task
    bool drinks;                              // it reads that of its only need
    uint32_t read_attempt;                    // whose writing was read to its end last
    uint32_t heard_attempt;                   // the newest whose success has come to the server
    uint64_t kept_attempts;                   // bits: those whose success is recorded
    uint32_t failed_attempt;                  // the last whose failure is
    uint64_t failed_in;                       // and with which words of the server that was told
    uint32_t unwanted_attempt;                // the last that ended when nobody wanted it any more
    uint32_t read_by, read_writing;           // its newest attempt that read, and whose writing
    bool had_enough;                          // and it ended before that
    uint32_t refusals;                        // in clear weather: its stream was not there
    uint32_t given_to;                        // bits: workers that were told to run it
    bool was_lost;                            // a copy of what it makes: it may run again
    struct ghost_clause when[GHOST_CLAUSES];  // its start condition, in postfix order
    uint32_t when_count, bundle;              // bundle: its number; 0: none
    bool is_bundle;
    bool is_forced;                           // somebody wants it to start, whatever it waits for
    uint32_t unstarted;                       // attempts that could not be started
};

struct ghost_job {
    uint32_t caller, request;
    struct ghost_task *tasks;
    uint32_t count;
    uint32_t first;   // so many come with the first submission, the others when it is accepted
    bool grows, grown;  // the rest was sent; was accepted
    uint32_t number;  // as the server calls it; 0: it has not said so
    bool told;        // the server has said so
    bool claims;      // handlers fetch its tasks
    bool rests;       // a pause of it was acknowledged, and nobody wants otherwise
};

static inline uint64_t attempt_bit(uint32_t attempt)  // the last 64 of a task are told apart
{
    return (uint64_t)1 << attempt % 64;
}

struct ghost_job *ghost_make(struct world *world, uint32_t caller);
struct ghost_job *ghost_find(struct world *world, uint32_t number);  // null: no such job
struct request_id {
    uint64_t high, low;
};
void ghost_submit(struct world *world, uint32_t job, bool is_more, struct request_id id,
                  struct wire_out *out);
void ghost_task_make(struct world *world, struct ghost_task *task, uint32_t lane);  // 0: none
// conditions.c: bundles and start conditions
void when_make(struct world *world, struct ghost_job *job, uint32_t more, uint32_t lane);
bool when_was_true(const struct ghost_job *job, const struct ghost_task *task);
bool when_is_true(const struct world *world, const struct ghost_job *job,
                  const struct ghost_task *task);
bool when_may_leave_out(const struct ghost_job *job, const struct ghost_task *task);
void judge_bundle(struct world *world, const struct ghost_job *job, uint32_t index);
rota_object_id ghost_object(uint32_t job, uint32_t index);
struct ghost_task *ghost_maker(struct world *world, rota_object_id object);  // null: nobody
