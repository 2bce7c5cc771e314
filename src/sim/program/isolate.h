// isolate.h - runs simulations and plays in child processes, so that a failed assertion ends only
// the child.
#pragma once

#include "sim/play/play.h"
#include "sim/cluster/simulation.h"

// As sim_run(), but a failed assertion becomes the error of the result. It writes no trace.
sim_run_fn isolate_run;

// The events that the core was given in a run that failed, as a play that fails. Null: the core
// alone does not show the mistake. The caller frees it.
char *isolate_play(const struct sim_options *options, const struct sim_result *result);

// Runs a play. PLAY_BROKEN: an assertion failed, or the child process could not be started.
enum play_result isolate_play_run(const char *text);
