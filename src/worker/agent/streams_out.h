// streams_out.h - streams that commands here write, for streams.c.
#ifndef ROTA_WORKER_AGENT_STREAMS_OUT_H
#define ROTA_WORKER_AGENT_STREAMS_OUT_H

#include "worker/agent/internal.h"

// A stream that a command here writes or has written; until it is read or dropped.
struct stream_out {
    struct stream_out *next;
    rota_object_id object;
    rota_task_id task;
    uint32_t attempt;
    bool is_good;   // its writer has succeeded, as far as this worker knows
    bool is_ended;  // its writer has ended, and the server has not recorded that yet
    bool is_over;   // the server has recorded it
    bool is_taken;  // a command here reads it, or it will not be read: no other reader can have it
    rota_task_id reader;
    uint32_t reader_attempt;  // of the command that reads it here; 0: none
};

struct stream_out **stream_out_find(struct agent *agent, rota_object_id object);
void stream_out_remove(struct stream_out **at);
void stream_out_add(struct agent *agent, const struct wire_run *run, rota_object_id object);
void stream_out_take(struct agent *agent, rota_object_id object);  // a command here reads it
void streams_out_ended(struct agent *agent, const struct wire_finished *finished);
// The process that runs commands may close its end of the stream.
void stream_other_end_over(struct agent *agent, rota_object_id object);
// In streams.c: a reader here ends after a while, as if the stream had broken off.
void stream_reader_cut(struct agent *agent, const struct stream_out *flow);

#endif
