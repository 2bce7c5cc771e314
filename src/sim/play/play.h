// play.h - plays: scenarios as text, run against the real core in virtual time.
//
// doc/play.md describes the language. A play reads no clock, and no file except its database.
#pragma once

#include "rota.h"

#include <stdio.h>

// ---- play.c: running a play ---------------------------------------------------------------------

// The values are exit statuses of the program.
enum play_result { PLAY_PASSED, PLAY_FAILED, PLAY_WRONG, PLAY_BROKEN = 70 };

struct play_options {
    bool trace;               // print every decision of the core
    bool restart_everywhere;  // rebuild the core from its rows after every statement
    bool check;               // the core checks all its invariants after every step
    const char *database;     // keeps the rows; a play resumes from it; or null
    uint32_t log_pages;       // its log is folded at this length; 0: the default
};

// `file` is a name for messages, which are written to `out`.
enum play_result play_run(const char *file, const char *text, const struct play_options *options,
                          FILE *out);
