// process.c - simulated commands, and the reports of their ends.
#include "sim/cluster/internal.h"

#include <errno.h>

enum { MADE_BYTES = 1000, SPAWN = 2000, LIVES = 100000, DIES = 2000, ENDLESS = 90000000 };

struct process *process_find(struct node *node, rota_task_id task, uint32_t attempt)
{
    for (uint32_t i = 0; i < node->process_count; i++) {
        struct process *process = &node->processes[i];
        bool same = SAME_TASK(process->task, task) && process->attempt == attempt;
        if (same) return process;
    }
    return NULL;
}

static void process_note(struct sim *sim, uint32_t who, const struct process *process)
{
    event_queue_add(&sim->queue, process->at, DUE_PROCESS, who, process->number);
}

void process_begin(struct sim *sim, uint32_t who, const struct wire_run *run)
{
    struct node *node = &sim->nodes[who];
    struct process *process = SIM_NEW(node->processes, node->process_count, node->process_capacity);
    unsigned job = 0, index = 0;
    if (sscanf(run->name.bytes, "%u.%u", &job, &index) != 2) abort();
    *process = (struct process){.task = run->task,
                                .attempt = run->attempt,
                                .token = run->token,
                                .number = ++node->numbers,
                                .job = job,
                                .index = index,
                                .state = PROCESS_SPAWNING};
    process->at = sim->now + 50 + choose_time(sim, OF_WORKERS, SPAWN);
    process->is_stubborn = chance(sim, OF_WORKERS, sim->setting.stubborn);
    process->fails_to_start
        = !sim->is_clear && chance(sim, OF_WORKERS, sim->setting.spawn_fails);
    process_note(sim, who, process);
}

// ---- Reports -----------------------------------------------------------------------------------

void report_add(struct sim *sim, struct node *node, struct attempt *attempt, enum wire_end end,
                int32_t status)
{
    struct wire_finished finished
        = attempts_refuse(&node->decide.attempts, attempt, end, status, "", sim->now);
    *SIM_NEW(node->spool, node->spool_count, node->spool_capacity)
        = (struct spooled){.finished = finished};
}

void report_put(const struct spooled *spooled, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    struct wire_file file = {.kind = WIRE_FILE,
                             .name = wire_text_of("made"),
                             .path = wire_text_of(""),
                             .object = spooled->made,
                             .content = sim_cache_content(spooled->finished.attempt),
                             .bytes = MADE_BYTES};
    message.finished = spooled->finished;
    if (spooled->made.high) message.finished.outputs = (wire_files){&file, 1};
    wire_put(out, &message);
}

// One sync for all commands that ended since the last one; then the server can be told.
void sim_node_spool(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    node->spool_is_due = false;
    if (!node->up) return;
    for (uint32_t i = 0; i < node->spool_count; i++) {
        struct spooled *spooled = &node->spool[i];
        struct attempts *attempts = &node->decide.attempts;
        if (spooled->safe) continue;
        spooled->safe = true;
        attempts_move(attempts,
                      attempts_find(attempts, spooled->finished.task, spooled->finished.attempt),
                      ATTEMPT_SPOOLED);
        if (node->welcome) report_put(spooled, &sim->links[node->link]->out[FAR_SIDE]);
    }
    sim_node_flush(sim, who);
    sim_node_schedule(sim, who);
}

// ---- Starting and ending -----------------------------------------------------------------------

// A command that succeeded may fail when it runs again.
static int32_t fails(struct sim *sim, const struct expected_task *expected)
{
    if (expected->failed < expected->failures) return 1;
    bool again = expected->successes && expected->was_lost && !sim->is_clear;
    if (!again || !chance(sim, OF_DATA, sim->setting.remake_fails)) return 0;
    see(sim, SIGHT_REMAKE_FAILED);
    return 1;
}

static void process_start(struct sim *sim, uint32_t who, struct process *process)
{
    struct node *node = &sim->nodes[who];
    struct attempts *attempts = &node->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, process->task, process->attempt);
    const struct expected_task *expected = &sim->jobs[process->job]->tasks[process->index - 1];
    struct wire_message message = {.kind = WIRE_STARTED_MESSAGE};
    process->state = PROCESS_RUNNING;
    process->status = fails(sim, expected);
    bool is_long = chance(sim, OF_WORKERS, sim->setting.is_long);
    process->at = sim->now + 100
                  + choose_time(sim, OF_WORKERS, is_long ? sim->setting.lease * 3 : LIVES);
    if (is_long && !sim->is_clear && chance(sim, OF_WORKERS, sim->setting.endless))
        process->at += ENDLESS;
    if (process->stop_at) {
        process->is_stopped = true;
        process->at = process->stop_at > sim->now ? process->stop_at : sim->now + 20;
    }
    judge_start(sim, node, process);
    sim_stream_started(sim, who, process);
    if (process->is_stubborn) see(sim, SIGHT_STUBBORN);
    process_note(sim, who, process);
    attempts_move(attempts, attempt, ATTEMPT_RUNNING);
    message.started.task = process->task;
    message.started.attempt = process->attempt;
    message.started.at = sim->now;
    if (node->welcome) wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
}

static void process_end(struct sim *sim, uint32_t who, struct process *process)
{
    struct node *node = &sim->nodes[who];
    struct process ended = *process;
    struct attempt *attempt = attempts_find(&node->decide.attempts, ended.task, ended.attempt);
    bool ran = ended.state == PROCESS_RUNNING;
    *process = node->processes[--node->process_count];
    judge_end(sim, &ended, ran, ran && !ended.is_stopped && !ended.status);
    if (ran) sim_stream_ended(sim, who, &ended);
    if (ended.is_stopped) {
        see(sim, SIGHT_STOPPED);
        int32_t why = ended.reading == READ_BROKEN ? ENOLINK : ended.is_evicted ? ESHUTDOWN : 9;
        report_add(sim, node, attempt, WIRE_STOPPED, why);
    } else if (!ran) {
        see(sim, SIGHT_SPAWN_FAILURE);
        sim->jobs[ended.job]->tasks[ended.index - 1].unstarted++;
        report_add(sim, node, attempt, WIRE_NOT_STARTED, EAGAIN);
    } else {
        see(sim, ended.status ? SIGHT_FAILURE : SIGHT_SUCCESS);
        if (ended.reading && !ended.status) judge_read(sim, &ended);
        report_add(sim, node, attempt, WIRE_EXITED, ended.status);
        if (!ended.status && sim->jobs[ended.job]->tasks[ended.index - 1].makes) {
            rota_object_id made = sim_expected_object(ended.job, ended.index);
            sim_cache_add(node, &(struct copy){.object = made,
                                           .content = sim_cache_content(ended.attempt)});
            node->spool[node->spool_count - 1].made = made;
        }
    }
    run_orders_ended(&node->orders, ended.task, sim_node_clock(sim, node));
}

// One of its inputs was lost since the order came.
static void process_lacks(struct sim *sim, uint32_t who, struct process *process)
{
    struct node *node = &sim->nodes[who];
    struct process ended = *process;
    *process = node->processes[--node->process_count];
    see(sim, SIGHT_BAD_INPUT);
    judge_end(sim, &ended, false, false);
    report_add(sim, node, attempts_find(&node->decide.attempts, ended.task, ended.attempt),
               WIRE_BAD_INPUT, ENODATA);
    run_orders_ended(&node->orders, ended.task, sim_node_clock(sim, node));
}

// Its stream continues. It is killed in any case when its time to end has passed.
static void process_waits(struct sim *sim, uint32_t who, struct process *process)
{
    process->at = INT64_MAX;
    if (!process->stop_at) return;
    process->is_stopped = true;
    process->at = process->stop_at > sim->now ? process->stop_at : sim->now + 20;
    process_note(sim, who, process);
}

void sim_node_process(struct sim *sim, uint32_t who, uint32_t number)
{
    struct node *node = &sim->nodes[who];
    if (!node->up) return;
    struct process *process = NULL;
    for (uint32_t i = 0; i < node->process_count && !process; i++)
        if (node->processes[i].number == number) process = &node->processes[i];
    if (!process || process->at > sim->now) return;  // it was stopped before, or scheduled again
    bool begins
        = process->state == PROCESS_SPAWNING && !process->is_stopped && !process->fails_to_start;
    if (begins && !sim_cache_inputs_are_there(sim, node, process->job, process->index))
        process_lacks(sim, who, process);
    else if (begins)
        process_start(sim, who, process);
    else if (!sim_stream_may_end(process))
        process_waits(sim, who, process);
    else
        process_end(sim, who, process);
    sim_node_flush(sim, who);
    sim_node_schedule(sim, who);
}

void process_stop(struct sim *sim, struct node *node, struct process *process, int64_t grace)
{
    int64_t at = sim->now + 20 + choose_time(sim, OF_WORKERS, DIES);
    if (chance(sim, OF_WORKERS, sim->setting.stuck)) {
        see(sim, SIGHT_STUCK);
        at += choose_time(sim, OF_WORKERS, sim->setting.lease / 16);
    }
    if (process->is_stubborn && grace > 0) at = sim->now + grace + 20;
    bool spawning = process->state == PROCESS_SPAWNING && process->at < at;
    bool ends_before = process->state == PROCESS_RUNNING && process->at <= at;
    if (!process->is_stopped && (spawning || ends_before)) {
        if (spawning && !process->stop_at) see(sim, SIGHT_STOP_AFTER);
        if (!process->stop_at || at < process->stop_at) process->stop_at = at;
        return;
    }
    if (process->is_stopped && process->at <= at) return;
    process->is_stopped = true;
    process->at = at;
    process_note(sim, (uint32_t)(node - sim->nodes), process);
}

void processes_evict(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    for (uint32_t i = 0; i < node->process_count; i++) {
        struct process *process = &node->processes[i];
        if (process->state != PROCESS_RUNNING || process->is_stopped) continue;
        process->is_stopped = process->is_evicted = true;
        process->at = sim->now + 20 + choose_time(sim, OF_WORKERS, DIES);
        process_note(sim, who, process);
    }
}

// The machine, or the process that started all of them, is gone: no process is left to report their
// ends.
void processes_die(struct sim *sim, struct node *node)
{
    for (uint32_t i = 0; i < node->process_count; i++)
        judge_end(sim, &node->processes[i], node->processes[i].state == PROCESS_RUNNING, false);
    node->process_count = 0;
}
