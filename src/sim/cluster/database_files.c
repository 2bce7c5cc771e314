// database_files.c - people delete the files of a database, or replace them by a backup.
#include "sim/cluster/internal.h"

enum { NOTICED_WITHIN = 1500000, LOST_LIFE = 50000, STOPPED_FORGED = 900 };

// Only in few runs: both hide other faults.
void files_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    if (choose(sim, OF_FILES, 4) == 1) setting->vanish = 1 + choose(sim, OF_FILES, 20);
    if (choose(sim, OF_FILES, 2) == 1) setting->backup = 300 + choose(sim, OF_FILES, 700);
    if (choose(sim, OF_FILES, 2) == 1) setting->forged = 100 + choose(sim, OF_FILES, 300);
}

// ---- Deleted files ------------------------------------------------------------------------------

// The server has the files open and sees no error. If it does not notice, it is killed some time
// later, and everything it wrote in between is lost.
void files_vanish(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    if (!daemon->up || disk_copy_of(daemon->store)) return;
    see(sim, SIGHT_VANISHED);
    sim_say(sim, "the files of the database are deleted");
    disk_copy_make(daemon->store, COPY_LOST);
    daemon->files.copied_at = sim->now;
    int64_t later = NOTICED_WITHIN + 500000 + choose_time(sim, OF_FILES, 500000);
    event_queue_add(&sim->queue, sim->now + later, DUE_SERVER_KILL, 0, daemon->mark);
}

// ---- Restored backups ---------------------------------------------------------------------------

static bool is_promise(const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_WELCOME_MESSAGE:
    case WIRE_BEATEN_MESSAGE:
    case WIRE_RUN_MESSAGE:
    case WIRE_STOP_MESSAGE:
    case WIRE_FETCH_MESSAGE:
    case WIRE_SHOW_MESSAGE:
    case WIRE_SERVE_MESSAGE:
    case WIRE_FLOW_MESSAGE: return false;
    case WIRE_RECORDED_MESSAGE: return message->recorded.how == WIRE_NOW_RECORDED;
    default: return true;
    }
}

// No restored backup can keep what the server promised after it was made; then there is no backup.
void files_told(struct sim *sim, const struct wire_message *message)
{
    struct daemon *daemon = &sim->daemon;
    if (disk_copy_of(daemon->store) != COPY_BACKUP) return;
    if (is_promise(message)) return disk_copy_drop(daemon->store);
    if (message->kind != WIRE_RUN_MESSAGE || !daemon->files.ends_soon) return;
    daemon->files.ends_soon = false;  // it has promised something that the backup does not contain
    int64_t later = 1 + choose_time(sim, OF_FILES, LOST_LIFE);
    event_queue_add(&sim->queue, sim->now + later, DUE_SERVER_KILL, 0, daemon->mark);
}

// A command that never ends keeps its worker away from a server with another database.
static bool may_restore(const struct sim *sim)
{
    const struct setting *setting = &sim->setting;
    return setting->backup && !setting->endless && !sim->is_clear;
}

// Ids that only workers have heard of are lost with the server: they can be used again.
static void numbers_forget(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->job_count; i++) {
        struct expected_job *job = sim->jobs[i];
        if (job->told || !job->number) continue;
        map_remove(&sim->jobs_by_number, job->number);
        job->number = 0;
    }
}

static void restore(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    see(sim, SIGHT_RESTORED);
    sim_say(sim, "a backup of the database is restored");
    disk_copy_back(daemon->store);
    numbers_forget(sim);
    daemon->files.restored = true;
}

// After a crash of the server. The first crash makes the backup; the next one restores it if the
// server promised nothing in between.
void files_crash(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    enum disk_copy copy = disk_copy_of(daemon->store);
    if (copy == COPY_LOST) {
        // Promises within the second in which the server cannot know of its backup are not judged.
        if (sim->now - daemon->files.copied_at > NOTICED_WITHIN) disk_copy_back(daemon->store);
        disk_copy_drop(daemon->store);
    } else if (copy == COPY_BACKUP) {
        restore(sim);
        disk_copy_drop(daemon->store);
    } else if (may_restore(sim) && !daemon->files.restored
               && chance(sim, OF_FILES, sim->setting.backup)) {
        disk_copy_make(daemon->store, COPY_BACKUP);
        daemon->files.ends_soon = true;
    }
}

// ---- Reports for another database ---------------------------------------------------------------

// As sent by a worker that was told of this attempt by a server of another database.
static void forge(struct sim *sim, struct node *node, const struct process *process,
                  uint32_t per_mille)
{
    const struct attempt *attempt
        = attempts_find(&node->decide.attempts, process->task, process->attempt);
    if (!attempt || process->state != PROCESS_RUNNING || sim->is_clear) return;
    if (node->forged.attempt || !chance(sim, OF_FILES, per_mille)) return;
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    message.finished = (struct wire_finished){.task = attempt->task,
                                              .attempt = attempt->number,
                                              .token = attempt->token - 1,
                                              .end = WIRE_EXITED};
    message.finished.reason = wire_text_of("");
    wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
    see(sim, SIGHT_OTHER_TOKEN);
    node->forged.task = attempt->task;
    node->forged.attempt = attempt->number;
}

void files_forge(struct sim *sim, struct node *node)
{
    node->forged = (struct wire_recorded){0};
    for (uint32_t i = 0; i < node->process_count; i++)
        forge(sim, node, &node->processes[i], sim->setting.forged);
}

void files_forge_stopped(struct sim *sim, struct node *node, const struct wire_stop *stop)
{
    const struct process *process = process_find(node, stop->task, stop->attempt);
    if (process) forge(sim, node, process, sim->setting.forged ? STOPPED_FORGED : 0);
}

bool files_is_forged(struct sim *sim, uint32_t who, const struct wire_message *message)
{
    const struct wire_finished *finished = &message->finished;
    const struct node *node = &sim->nodes[who];
    if (message->kind != WIRE_FINISHED_MESSAGE || finished->attempt != node->forged.attempt)
        return false;
    const struct attempt *attempt
        = attempts_find(&node->decide.attempts, finished->task, finished->attempt);
    return attempt && finished->token == attempt->token - 1;
}

// Whether it is the answer to such a report.
bool files_forged(struct sim *sim, struct node *node, const struct wire_recorded *told)
{
    bool same = SAME_TASK(told->task, node->forged.task) && told->attempt == node->forged.attempt;
    if (!same) return false;
    node->forged = (struct wire_recorded){0};
    const struct process *process = process_find(node, told->task, told->attempt);
    bool runs = process && process->state == PROCESS_RUNNING;
    if (told->how == WIRE_NOW_RECORDED && runs)
        wrong(sim, "an end of task %u.%u with another token counts", told->task.job,
              told->task.task);
    return true;
}
