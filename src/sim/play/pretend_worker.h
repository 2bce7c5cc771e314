// pretend_worker.h - a worker that runs no commands, in virtual time.
#pragma once

#include "turn/definitions.h"

// The command decides: `exit N` fails with N, `sleep N` takes N seconds, all others succeed.
struct pretend {
    struct server *server;
    struct pretend_run {
        rota_task_id task;
        uint32_t attempt;
        rota_time end;
    } * runs;
    uint32_t count, capacity;
    rota_time look_at;  // when the next task ends
};

// Between server_begin() and server_commit(): workers join when tasks wait for them, report their
// tasks, and leave when nothing is left. True: something was reported, and more may follow.
bool pretend_work(struct pretend *pretend, const struct catalog *catalog);
void pretend_release(struct pretend *pretend);
