// sim.h - plays: scenarios as text, run against the real core in virtual time.
//
// doc/play.md is the language. Nothing here reads a clock, or a file but the database.
#pragma once

#include "rota.h"

#include <stdio.h>

// ---- play.c: a whole play --------------------------------------------------

// As the program exits.
enum play_result { PLAY_PASSED, PLAY_FAILED, PLAY_WRONG, PLAY_BROKEN = 70 };

struct play_options {
    bool trace;               // print every decision of the core
    bool restart_everywhere;  // rebuild the core from its rows after every statement
    bool check;               // let the core recompute everything after every step
    const char *database;     // a file that keeps the rows, and the play goes on from it; or null
    uint32_t log_pages;       // its log is folded when it is so long; 0: as usual
};

// `file` is only a name for messages, which go to `out`.
enum play_result play_run(const char *file, const char *text, const struct play_options *options,
                          FILE *out);

// ---- why_text.c: the reason why a task does not run, in English ------------

// How to call what the reason points to; the answers must live until why_text() is over.
struct why_names {
    const void *context;
    const char *(*task)(const void *context, rota_task_id id);
    const char *(*worker)(const void *context, rota_worker_id id);
    const char *(*lane)(const void *context, uint32_t lane);
    const char *(*group)(const void *context, uint32_t group);
    const char *(*machine)(const void *context, uint32_t machine);
};

// What the reason does not say itself about the task, and about the other one in it.
struct why_subject {
    const char *status, *other_status;  // in the words of the tables
    rota_worker_id worker;              // where it runs
    uint32_t cores, memory_mib;         // what it needs
    enum rota_access access;
};

void why_text(const struct rota_why *why, const struct why_subject *subject,
              const struct why_names *names, char *out, size_t size);
