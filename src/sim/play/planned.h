// planned.h - plans of a play, and its statements.
#pragma once

#include "sim/play/play.h"
#include "rota.h"

struct play;

struct play_bounds {
    struct play_bound { rota_job_id job; struct rota_placement placement; } items[64];
    uint32_t count;
};

// From `turn` to `end` there is no other turn.
struct play_block {
    bool open;
    rota_time before;  // the time of the turn before it
    bool submitted;    // a submission; its data lives until the end of the turn
};

void turn_once(struct play *play);    // a single turn
void bounds_tell(struct play *play);  // sends the plans to the core again

// ---- Statements ---------------------------------------------------------------------------------

typedef void play_verb_fn(struct play *play);
// setup.c, submission.c, client.c, report.c, time.c, expect.c
play_verb_fn verb_config, verb_worker, verb_lane, verb_job, verb_begin, verb_submit, verb_task;
play_verb_fn verb_bundle, verb_object, verb_of_handler, verb_of_task, verb_of_object, verb_cancel;
play_verb_fn verb_close, verb_manual, verb_keep, verb_wait, verb_waitsome, verb_gone, verb_start;
play_verb_fn verb_finish, verb_pick, verb_complete, verb_located, verb_lost, verb_silent;
play_verb_fn verb_heard, verb_leave, verb_progress, verb_of_pause, verb_at, verb_advance;
play_verb_fn verb_restart, verb_plan, verb_holds, verb_expect, verb_turn, verb_end, verb_bind;
