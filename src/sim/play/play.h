// play.h - plays: scenarios as text, run against the real core in virtual time.
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
