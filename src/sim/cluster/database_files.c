// database_files.c - what people do to the files of a database: delete them, or put a backup in
// their place.
#include "sim/cluster/internal.h"

enum { NOTICED_WITHIN = 1500000, LOST_LIFE = 50000, STOPPED_FORGED = 900 };

// In few worlds: both hide what else goes wrong there.
void files_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    if (choose(world, OF_FILES, 4) == 1) swarm->vanish = 1 + choose(world, OF_FILES, 20);
    if (choose(world, OF_FILES, 2) == 1) swarm->backup = 300 + choose(world, OF_FILES, 700);
    if (choose(world, OF_FILES, 2) == 1) swarm->forged = 100 + choose(world, OF_FILES, 300);
}

// ---- The log is deleted ------------------------------------------------------------------------

// The server has the files open, and all seems well to it. If it does not notice, it is ended some
// time later, and all that it wrote since then is gone.
void files_vanish(struct world *world)
{
    struct seat *seat = &world->seat;
    if (!seat->up || disk_copy_of(seat->store)) return;
    see(world, SIGHT_VANISHED);
    world_say(world, "the files of the database are deleted");
    disk_copy_make(seat->store, COPY_LOST);
    seat->files.copied_at = world->now;
    int64_t later = NOTICED_WITHIN + 500000 + choose_time(world, OF_FILES, 500000);
    agenda_add(&world->agenda, world->now + later, DUE_SERVER_KILL, 0, seat->mark);
}

// ---- A backup is restored ----------------------------------------------------------------------

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

// No restored backup can keep what was promised behind it: then there will be none.
void files_told(struct world *world, const struct wire_message *message)
{
    struct seat *seat = &world->seat;
    if (disk_copy_of(seat->store) != COPY_BACKUP) return;
    if (is_promise(message)) return disk_copy_drop(seat->store);
    if (message->kind != WIRE_RUN_MESSAGE || !seat->files.ends_soon) return;
    seat->files.ends_soon = false;  // it has done something that the backup does not know
    int64_t later = 1 + choose_time(world, OF_FILES, LOST_LIFE);
    agenda_add(&world->agenda, world->now + later, DUE_SERVER_KILL, 0, seat->mark);
}

// A command without an end keeps its worker from a server with another database.
static bool may_restore(const struct world *world)
{
    const struct swarm *swarm = &world->swarm;
    return swarm->backup && !swarm->endless && !world->is_clear;
}

// What only workers have heard of is gone with the lost server: its number is free again.
static void numbers_forget(struct world *world)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        struct ghost_job *job = world->jobs[i];
        if (job->told || !job->number) continue;
        map_remove(&world->jobs_by_number, job->number);
        job->number = 0;
    }
}

static void restore(struct world *world)
{
    struct seat *seat = &world->seat;
    see(world, SIGHT_RESTORED);
    world_say(world, "a backup of the database is restored");
    disk_copy_back(seat->store);
    numbers_forget(world);
    seat->files.restored = true;
}

// Behind a crash of the server. In the first one the backup is made, in the next one it is
// restored, if nobody was promised anything in the life between them.
void files_crash(struct world *world)
{
    struct seat *seat = &world->seat;
    enum disk_copy copy = disk_copy_of(seat->store);
    if (copy == COPY_LOST) {
        // What is promised within the second in which nobody can know is not judged.
        if (world->now - seat->files.copied_at > NOTICED_WITHIN) disk_copy_back(seat->store);
        disk_copy_drop(seat->store);
    } else if (copy == COPY_BACKUP) {
        restore(world);
        disk_copy_drop(seat->store);
    } else if (may_restore(world) && !seat->files.restored
               && chance(world, OF_FILES, world->swarm.backup)) {
        disk_copy_make(seat->store, COPY_BACKUP);
        seat->files.ends_soon = true;
    }
}

// ---- Reports of another life -------------------------------------------------------------------

// As a worker has them that was told of this attempt by a server of another database.
static void forge(struct world *world, struct hand *hand, const struct process *process,
                  uint32_t per_mille)
{
    const struct attempt *attempt
        = attempts_find(&hand->decide.attempts, process->task, process->attempt);
    if (!attempt || process->state != PROCESS_RUNNING || world->is_clear) return;
    if (hand->forged.attempt || !chance(world, OF_FILES, per_mille)) return;
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    message.finished = (struct wire_finished){.task = attempt->task,
                                              .attempt = attempt->number,
                                              .token = attempt->token - 1,
                                              .end = WIRE_EXITED};
    message.finished.reason = wire_text_of("");
    wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
    see(world, SIGHT_OTHER_TOKEN);
    hand->forged.task = attempt->task;
    hand->forged.attempt = attempt->number;
}

void files_forge(struct world *world, struct hand *hand)
{
    hand->forged = (struct wire_recorded){0};
    for (uint32_t i = 0; i < hand->process_count; i++)
        forge(world, hand, &hand->processes[i], world->swarm.forged);
}

void files_forge_stopped(struct world *world, struct hand *hand, const struct wire_stop *stop)
{
    const struct process *process = process_find(hand, stop->task, stop->attempt);
    if (process) forge(world, hand, process, world->swarm.forged ? STOPPED_FORGED : 0);
}

bool files_is_forged(struct world *world, uint32_t who, const struct wire_message *message)
{
    const struct wire_finished *finished = &message->finished;
    const struct hand *hand = &world->hands[who];
    if (message->kind != WIRE_FINISHED_MESSAGE || finished->attempt != hand->forged.attempt)
        return false;
    const struct attempt *attempt
        = attempts_find(&hand->decide.attempts, finished->task, finished->attempt);
    return attempt && finished->token == attempt->token - 1;
}

// True: it is the answer to that.
bool files_forged(struct world *world, struct hand *hand, const struct wire_recorded *told)
{
    bool same = told->task.job == hand->forged.task.job && told->task.task == hand->forged.task.task
                && told->attempt == hand->forged.attempt;
    if (!same) return false;
    hand->forged = (struct wire_recorded){0};
    const struct process *process = process_find(hand, told->task, told->attempt);
    bool runs = process && process->state == PROCESS_RUNNING;
    if (told->how == WIRE_NOW_RECORDED && runs)
        wrong(world, "an end of task %u.%u counts that has another token", told->task.job,
              told->task.task);
    return true;
}
