// stream.h - streams between processes (stream.c).
#pragma once

#include "sim/cluster/base.h"

struct node;
struct process;
struct expected_job;
struct expected_task;

// The stream of one attempt, on the worker that writes it, until the attempt has ended and a reader
// has begun to read.
struct kept_stream {
    rota_object_id object;
    uint32_t attempt;  // of its writer
    bool is_ended;     // its writer has ended
    bool is_good;      // its writer has succeeded, as far as its worker knows
    bool is_over;      // the end of its writer is recorded
    bool is_taken;     // a reader has begun to read it: no other can
};

struct stream_source {  // where the next process is to read a stream
    rota_object_id object;
    uint32_t from;
};

// It waits for a writer, reads, has come to the end of the stream, or never will.
enum read_state { READ_NONE, READ_WAITS, READ_RUNS, READ_DONE, READ_BROKEN };

struct open_streams {
    struct kept_stream *items;
    struct stream_source *sources;
    uint32_t count, capacity, source_count, source_capacity;
};

struct wire_flow;
struct wire_run;
void sim_stream_meet(struct sim *sim, uint32_t who, const struct wire_flow *flow);
bool sim_streams_are_there(const struct node *node, const wire_files *inputs);  // those in `inputs`
void sim_stream_refused(struct sim *sim, const struct node *node, const struct wire_run *run);
void sim_stream_started(struct sim *sim, uint32_t who, struct process *process);
// False: it continues to read, and ends later.
bool sim_stream_may_end(const struct process *process);
void sim_stream_ended(struct sim *sim, uint32_t who, const struct process *process);
void sim_stream_recorded(struct sim *sim, uint32_t who, const struct wire_recorded *told);
void judge_read(struct sim *sim, const struct process *process);  // it has succeeded
void judge_read_kept(struct sim *sim, const struct expected_job *job,
                     const struct expected_task *reader, rota_task_id id);  // and that is recorded
void sim_stream_drop(struct sim *sim, uint32_t who, rota_object_id object);
void sim_streams_give_up(struct sim *sim, uint32_t who);  // their server is gone
void sim_streams_crash(struct sim *sim, uint32_t who);
void sim_streams_release(struct open_streams *open_streams);
