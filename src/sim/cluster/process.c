// process.c - commands that are only said to run, and the reports of their ends.
#include "sim/cluster/internal.h"

#include <errno.h>

enum { MADE_BYTES = 1000, SPAWN = 2000, LIVES = 100000, DIES = 2000, ENDLESS = 90000000 };

struct process *process_find(struct hand *hand, rota_task_id task, uint32_t attempt)
{
    for (uint32_t i = 0; i < hand->process_count; i++) {
        struct process *process = &hand->processes[i];
        bool same = process->task.job == task.job && process->task.task == task.task
                    && process->attempt == attempt;
        if (same) return process;
    }
    return NULL;
}

static void process_note(struct world *world, uint32_t who, const struct process *process)
{
    agenda_add(&world->agenda, process->at, DUE_PROCESS, who, process->number);
}

void process_begin(struct world *world, uint32_t who, const struct wire_run *run)
{
    struct hand *hand = &world->hands[who];
    world_reserve(&hand->processes, &hand->process_capacity, hand->process_count,
                  sizeof *hand->processes);
    struct process *process = &hand->processes[hand->process_count++];
    unsigned job = 0, index = 0;
    if (sscanf(run->name.bytes, "%u.%u", &job, &index) != 2) abort();
    *process = (struct process){.task = run->task,
                                .attempt = run->attempt,
                                .token = run->token,
                                .number = ++hand->numbers,
                                .job = job,
                                .index = index,
                                .state = PROCESS_SPAWNING};
    process->at = world->now + 50 + choose_time(world, OF_WORKERS, SPAWN);
    process->is_stubborn = chance(world, OF_WORKERS, world->swarm.stubborn);
    process->fails_to_start
        = !world->is_clear && chance(world, OF_WORKERS, world->swarm.spawn_fails);
    process_note(world, who, process);
}

// ---- Reports -----------------------------------------------------------------------------------

void report_add(struct world *world, struct hand *hand, struct attempt *attempt, enum wire_end end,
                int32_t status)
{
    struct wire_finished finished = {.task = attempt->task,
                                     .attempt = attempt->number,
                                     .token = attempt->token,
                                     .end = end,
                                     .status = status,
                                     .reason = wire_text_of("")};
    if (attempt->state != ATTEMPT_ENDED)
        attempt_move(&hand->decide.attempts, attempt, ATTEMPT_ENDED);
    finished.began = finished.ended = world->now;
    world_reserve(&hand->spool, &hand->spool_capacity, hand->spool_count, sizeof *hand->spool);
    hand->spool[hand->spool_count++] = (struct spooled){.finished = finished};
}

void report_put(const struct spooled *spooled, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    struct wire_file file = {.kind = WIRE_FILE,
                             .name = wire_text_of("made"),
                             .path = wire_text_of(""),
                             .object = spooled->made,
                             .content = shelf_content(spooled->finished.attempt),
                             .bytes = MADE_BYTES};
    message.finished = spooled->finished;
    if (spooled->made.high) message.finished.outputs = (wire_files){&file, 1};
    wire_put(out, &message);
}

// One sync for all that has ended since the last one; then they may be told.
void hand_spool(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    hand->spool_is_due = false;
    if (!hand->up) return;
    for (uint32_t i = 0; i < hand->spool_count; i++) {
        struct spooled *spooled = &hand->spool[i];
        struct attempts *attempts = &hand->decide.attempts;
        if (spooled->safe) continue;
        spooled->safe = true;
        attempt_move(attempts,
                     attempts_find(attempts, spooled->finished.task, spooled->finished.attempt),
                     ATTEMPT_SPOOLED);
        if (hand->welcome) report_put(spooled, &world->cables[hand->cable]->out[FAR_SIDE]);
    }
    hand_flush(world, who);
    hand_schedule(world, who);
}

// ---- Starting and ending -----------------------------------------------------------------------

// What succeeded may fail when it is made again.
static int32_t fails(struct world *world, const struct ghost_task *ghost)
{
    if (ghost->failed < ghost->failures) return 1;
    bool again = ghost->successes && ghost->was_lost && !world->is_clear;
    if (!again || !chance(world, OF_DATA, world->swarm.remake_fails)) return 0;
    see(world, SIGHT_REMAKE_FAILED);
    return 1;
}

static void process_start(struct world *world, uint32_t who, struct process *process)
{
    struct hand *hand = &world->hands[who];
    struct attempts *attempts = &hand->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, process->task, process->attempt);
    const struct ghost_task *ghost = &world->jobs[process->job]->tasks[process->index - 1];
    struct wire_message message = {.kind = WIRE_STARTED_MESSAGE};
    process->state = PROCESS_RUNNING;
    process->status = fails(world, ghost);
    bool is_long = chance(world, OF_WORKERS, world->swarm.is_long);
    process->at = world->now + 100
                  + choose_time(world, OF_WORKERS, is_long ? world->swarm.lease * 3 : LIVES);
    if (is_long && !world->is_clear && chance(world, OF_WORKERS, world->swarm.endless))
        process->at += ENDLESS;
    if (process->stop_at) {
        process->is_stopped = true;
        process->at = process->stop_at > world->now ? process->stop_at : world->now + 20;
    }
    judge_start(world, hand, process);
    brook_started(world, who, process);
    if (process->is_stubborn) see(world, SIGHT_STUBBORN);
    process_note(world, who, process);
    attempt_move(attempts, attempt, ATTEMPT_RUNNING);
    message.started.task = process->task;
    message.started.attempt = process->attempt;
    message.started.at = world->now;
    if (hand->welcome) wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
}

static void process_end(struct world *world, uint32_t who, struct process *process)
{
    struct hand *hand = &world->hands[who];
    struct process ended = *process;
    struct attempt *attempt = attempts_find(&hand->decide.attempts, ended.task, ended.attempt);
    bool ran = ended.state == PROCESS_RUNNING;
    *process = hand->processes[--hand->process_count];
    judge_end(world, &ended, ran, ran && !ended.is_stopped && !ended.status);
    if (ran) brook_ended(world, who, &ended);
    if (ended.is_stopped) {
        see(world, SIGHT_STOPPED);
        int32_t why = ended.thirst == THIRST_BROKEN ? ENOLINK : ended.is_evicted ? ESHUTDOWN : 9;
        report_add(world, hand, attempt, WIRE_STOPPED, why);
    } else if (!ran) {
        see(world, SIGHT_SPAWN_FAILURE);
        world->jobs[ended.job]->tasks[ended.index - 1].unstarted++;
        report_add(world, hand, attempt, WIRE_NOT_STARTED, EAGAIN);
    } else {
        see(world, ended.status ? SIGHT_FAILURE : SIGHT_SUCCESS);
        if (ended.thirst && !ended.status) judge_read(world, &ended);
        report_add(world, hand, attempt, WIRE_EXITED, ended.status);
        if (!ended.status && world->jobs[ended.job]->tasks[ended.index - 1].makes) {
            rota_object_id made = ghost_object(ended.job, ended.index);
            shelf_add(hand, &(struct copy){.object = made,
                                           .content = shelf_content(ended.attempt)});
            hand->spool[hand->spool_count - 1].made = made;
        }
    }
    order_go_on(world, who, ended.task);
}

// What it reads has gone since it was given.
static void process_lacks(struct world *world, uint32_t who, struct process *process)
{
    struct hand *hand = &world->hands[who];
    struct process ended = *process;
    *process = hand->processes[--hand->process_count];
    see(world, SIGHT_BAD_INPUT);
    judge_end(world, &ended, false, false);
    report_add(world, hand, attempts_find(&hand->decide.attempts, ended.task, ended.attempt),
               WIRE_BAD_INPUT, ENODATA);
    order_go_on(world, who, ended.task);
}

// What it reads goes on. It is killed all the same when the time it was given to end is over.
static void process_waits(struct world *world, uint32_t who, struct process *process)
{
    process->at = INT64_MAX;
    if (!process->stop_at) return;
    process->is_stopped = true;
    process->at = process->stop_at > world->now ? process->stop_at : world->now + 20;
    process_note(world, who, process);
}

void hand_process(struct world *world, uint32_t who, uint32_t number)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up) return;
    struct process *process = NULL;
    for (uint32_t i = 0; i < hand->process_count && !process; i++)
        if (hand->processes[i].number == number) process = &hand->processes[i];
    if (!process || process->at > world->now) return;  // it was stopped before, or told anew
    bool begins
        = process->state == PROCESS_SPAWNING && !process->is_stopped && !process->fails_to_start;
    if (begins && !shelf_inputs_are_there(world, hand, process->job, process->index))
        process_lacks(world, who, process);
    else if (begins)
        process_start(world, who, process);
    else if (!brook_may_end(process))
        process_waits(world, who, process);
    else
        process_end(world, who, process);
    hand_flush(world, who);
    hand_schedule(world, who);
}

void process_stop(struct world *world, struct hand *hand, struct process *process, int64_t grace)
{
    int64_t at = world->now + 20 + choose_time(world, OF_WORKERS, DIES);
    if (chance(world, OF_WORKERS, world->swarm.stuck)) {
        see(world, SIGHT_STUCK);
        at += choose_time(world, OF_WORKERS, world->swarm.lease / 16);
    }
    if (process->is_stubborn && grace > 0) at = world->now + grace + 20;
    bool spawning = process->state == PROCESS_SPAWNING && process->at < at;
    bool ends_before = process->state == PROCESS_RUNNING && process->at <= at;
    if (!process->is_stopped && (spawning || ends_before)) {
        if (spawning && !process->stop_at) see(world, SIGHT_STOP_BEHIND);
        if (!process->stop_at || at < process->stop_at) process->stop_at = at;
        return;
    }
    if (process->is_stopped && process->at <= at) return;
    process->is_stopped = true;
    process->at = at;
    process_note(world, (uint32_t)(hand - world->hands), process);
}

void processes_evict(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    for (uint32_t i = 0; i < hand->process_count; i++) {
        struct process *process = &hand->processes[i];
        if (process->state != PROCESS_RUNNING || process->is_stopped) continue;
        process->is_stopped = process->is_evicted = true;
        process->at = world->now + 20 + choose_time(world, OF_WORKERS, DIES);
        process_note(world, who, process);
    }
}

// The machine, or the process above them all, is gone: nobody is left to report.
void processes_die(struct world *world, struct hand *hand)
{
    for (uint32_t i = 0; i < hand->process_count; i++)
        judge_end(world, &hand->processes[i], hand->processes[i].state == PROCESS_RUNNING, false);
    hand->process_count = 0;
}
