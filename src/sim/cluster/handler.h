// handler.h - a handler of a simulated cluster (handler.c).
#pragma once

#include "sim/cluster/base.h"

enum { HANDLER_HIGH = 1000 };  // the first id of its requests

enum handler_state { HANDLER_IDLE, HANDLER_ASKS, HANDLER_GRANTED, HANDLER_HOLDS, HANDLER_TELLS };

struct handler {
    uint32_t link, mark, lives, tries;
    bool welcome;
    enum handler_state state;
    uint64_t high, low, numbers, renewed_low;  // ids of its requests
    int64_t asked_at, renewed_at, sent_at, wait;
    rota_task_id task;
    uint32_t attempt, job, index;
    uint64_t token;
    int64_t lease, until, done_at;  // until: it holds the task no longer than that
    bool is_lazy, is_bad;           // it does not renew its lease; its work fails
};

void sim_handler_work(struct sim *sim, uint32_t who);
void sim_handler_hears(struct sim *sim, uint32_t who);
void sim_handler_cut_off(struct sim *sim, uint32_t who);
void sim_handler_crash(struct sim *sim, uint32_t who);
