// effect.h - the effects of a step: rows to write, actions to send, lines of the trace.
#pragma once

// ---- effect.c, trace.c: the effects of a step -----------------------------------------------

// Reserves room for everything the end of one task can cause, and for `more` further actions.
bool effect_reserve_all(struct rota *rota, uint64_t more);
static inline bool effect_reserve(struct rota *rota, uint64_t more)
{
    bool special = !pool_is_empty(&rota->waits) || !pool_is_empty(&rota->replicas)
                   || !pool_is_empty(&rota->objects)
                   || rota->shared | rota->fail_job_tasks | rota->closing;
    bool there = rota->action_count + more + 8 <= rota->action_capacity
                 && rota->tomb_count + more + 2 <= rota->tomb_capacity;
    return (!special && there) || effect_reserve_all(rota, more);
}
bool effect_cover_all(struct rota *rota, uint64_t rows);
static inline bool effect_cover(struct rota *rota)  // marks for every possible row
{
    uint64_t rows = (uint64_t)rota->jobs.capacity + rota->batches.capacity + rota->lanes.capacity
                    + rota->workers.capacity + rota->objects.capacity + rota->replicas.capacity
                    + rota->waits.capacity + 1;
    bool there = rows <= rota->mark_capacity
                 && rota->task_capacity / 64 < rota->task_marks.word_capacity;
    return there || effect_cover_all(rota, rows);
}
static inline void effect_mark_task(struct rota *rota, task_row row)
{
    bits_set(&rota->task_marks, row);
}
void effect_mark(struct rota *rota, enum rota_record_kind kind, uint32_t number);
void effect_tomb(struct rota *rota, struct rota_record record);
static inline struct rota_action *effect_action(struct rota *rota, enum rota_action_kind kind)
{
    assert(rota->action_count < rota->action_capacity);
    struct rota_action *action = &rota->actions[rota->action_count++];
    *action = (struct rota_action){.kind = kind};
    return action;
}
void effect_confirm(struct rota *rota, task_row row);
void effect_core(struct rota *rota);
void effect_forget_marks(struct rota *rota, enum rota_record_kind kind, uint32_t number);
void record_compact(struct rota *rota);
void trace_move(struct rota *rota, task_row row, enum rota_task_state from);
void trace_say(struct rota *rota, const char *format, ...) __attribute__((format(printf, 2, 3)));
