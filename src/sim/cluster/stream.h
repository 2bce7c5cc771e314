// stream.h - streams between processes, as brook.c keeps them.
#pragma once

#include "sim/cluster/base.h"

struct hand;
struct process;
struct ghost_job;
struct ghost_task;

// A writing, where it is written, until its writer has ended and somebody has begun to read it.
struct brook {
    rota_object_id object;
    uint32_t attempt;  // of its writer
    bool is_ended;     // its writer has
    bool is_good;      // its writer has succeeded, as far as its worker knows
    bool is_over;      // the end of its writer is recorded
    bool is_taken;     // somebody has begun to read it: nobody else can
};

struct ford {  // where a process that comes next is to read a stream
    rota_object_id object;
    uint32_t from;
};

// It waits for a writer, reads what that writes, has come to its end, or will never.
enum thirst { THIRST_NONE, THIRST_WAITS, THIRST_DRINKS, THIRST_SATISFIED, THIRST_BROKEN };

struct brooks {
    struct brook *items;
    struct ford *fords;
    uint32_t count, capacity, ford_count, ford_capacity;
};

struct wire_flow;
struct wire_run;
void brook_meet(struct world *world, uint32_t who, const struct wire_flow *flow);
bool brooks_are_there(const struct hand *hand, const wire_files *inputs);  // that are read
void brook_refuse(struct world *world, struct hand *hand, const struct wire_run *run);
void brook_started(struct world *world, uint32_t who, struct process *process);
// False: it reads on, and ends later.
bool brook_may_end(const struct process *process);
void brook_ended(struct world *world, uint32_t who, const struct process *process);
void brook_recorded(struct world *world, uint32_t who, const struct wire_recorded *told);
void judge_read(struct world *world, const struct process *process);  // it has ended well
void judge_read_kept(struct world *world, const struct ghost_job *job,
                     const struct ghost_task *reader, rota_task_id id);  // and that is recorded
void brook_drop(struct world *world, uint32_t who, rota_object_id object);
void brooks_give_up(struct world *world, uint32_t who);  // their server is gone
void brooks_crash(struct world *world, uint32_t who);
void brooks_release(struct brooks *brooks);
