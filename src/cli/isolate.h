// isolate.h - worlds and plays in processes of their own: an assertion ends only them.
#pragma once

#include "sim/play/play.h"
#include "sim/cluster/simulation.h"

// As world_run(); an assertion that speaks is what is wrong. No trace is written.
world_run_fn apart_run;

// What the core is told in a world that goes wrong, as a play that fails. Null: the core alone does
// not show it. The caller frees it.
char *apart_play(const struct world_options *options, const struct world_result *result);

// Runs a play; PLAY_BROKEN: an assertion spoke, or there was no process.
enum play_result apart_play_run(const char *text);
