// expected.h - what clients submitted and what really happened to it: the judges' own record.
#pragma once

#include "sim/cluster/base.h"

enum { EXPECTED_NEEDS = 3, EXPECTED_LANES = 3, EXPECTED_GROUPS = 4, EXPECTED_CLAUSES = 5 };

struct expected_clause {
    uint32_t kind, task;  // in the same job
};


struct expected_task {
    uint32_t needs[EXPECTED_NEEDS], need_count;  // numbers from 1
    uint32_t lane, group;                     // from 1; 0: no lane, no group
    uint8_t access;
    uint32_t cores, retries;
    uint32_t failures;                        // number of its attempts that fail
    uint32_t starts, running, successes, failed;
    uint32_t recorded, told_failures;         // successes and failures that the server recorded
    uint64_t token;                           // of the newest attempt
    uint32_t given;                           // the newest attempt that a worker was told of
    uint64_t given_in;                        // and in which message of the server
    uint32_t ended_attempt;                   // the last attempt that ended, and how
    uint64_t ended_token;                     // the token of that attempt
    bool ended_well, ended_badly;
    bool kept;                                // the server has said that it recorded a success
    bool came_well;                           // a success reached the server before any cancel
    bool cancelled;                           // acknowledged, and no client sent a retry since
    bool asked_again, asked_off;              // a retry, a cancel was sent
    bool called_off;                          // a cancel has reached the server
    bool makes;                               // it makes an object
    bool is_unfetchable;                      // no other worker can fetch that object
    uint32_t lack_attempt, lacks;             // the last attempt without an input; how many counted
    uint32_t reads;                           // bits: the dependencies that are objects
    bool writes_stream;                               // it writes a stream for the next task
    bool reads_stream;                              // it reads the stream of its only dependency
    uint32_t read_attempt;                    // the attempt whose stream was last read to its end
    uint32_t heard_attempt;                   // the newest attempt whose success reached the server
    uint64_t kept_attempts;                   // bits: attempts whose success is recorded
    uint32_t failed_attempt;                  // the last attempt whose failure is recorded
    uint64_t failed_in;                       // and in which message of the server that was said
    uint32_t unwanted_attempt;                // the last attempt that ended when no task needed it
    uint32_t read_by, read_writing;           // its newest attempt that read, and of which attempt
    bool had_enough;                          // that reader stopped reading before the end
    uint32_t refusals;                        // without faults: how often its stream was missing
    uint32_t given_to;                        // bits: workers that were told to run it
    bool was_lost;                            // a copy of its output was lost: it may run again
    struct expected_clause when[EXPECTED_CLAUSES];  // its start condition, in postfix order
    uint32_t when_count, bundle;              // bundle: its number; 0: none
    bool is_bundle;
    bool is_forced;                           // a client has started it by hand
    uint32_t unstarted;                       // attempts that could not be started
};

struct expected_job {
    uint32_t client, request;
    struct expected_task *tasks;
    uint32_t count;
    uint32_t first;   // tasks of the first submission; the others follow when it is accepted
    bool grows, grown;  // the second submission was sent; was accepted
    uint32_t number;  // the server's number for it; 0: not known yet
    bool told;        // the server has confirmed it
    bool claims;      // external workers run its tasks
    bool is_paused;       // a pause was acknowledged, and no client wants to resume it
};

static inline uint64_t attempt_bit(uint32_t attempt)  // of the last 64 attempts of a task
{
    return (uint64_t)1 << attempt % 64;
}

struct expected_job *sim_expected_make(struct sim *sim, uint32_t client);
struct expected_job *sim_expected_find(struct sim *sim, uint32_t number);  // null: no such job
void sim_expected_submit(struct sim *sim, uint32_t job, bool is_more, struct request_id id,
                  struct wire_out *out);
void sim_expected_task_make(struct sim *sim, struct expected_task *task, uint32_t lane);
// conditions.c: bundles and start conditions
void when_make(struct sim *sim, struct expected_job *job, uint32_t more, uint32_t lane);
bool when_was_true(const struct expected_job *job, const struct expected_task *task);
bool when_is_true(const struct sim *sim, const struct expected_job *job,
                  const struct expected_task *task);
bool when_may_leave_out(const struct expected_job *job, const struct expected_task *task);
void judge_bundle(struct sim *sim, const struct expected_job *job, uint32_t index);
rota_object_id sim_expected_object(uint32_t job, uint32_t index);
struct expected_task *sim_expected_maker(struct sim *sim, rota_object_id object);  // null: no task
