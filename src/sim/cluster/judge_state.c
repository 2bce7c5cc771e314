// judge_state.c - what the server knows, against what it has promised and what is true.
#include "sim/cluster/internal.h"

static enum rota_task_state state_of(const struct world *world, const struct ghost_job *job,
                                     uint32_t index)
{
    return rota_task_state(world->seat.server.rota, (rota_task_id){job->number, index + 1});
}

static bool is_known(const struct world *world, const struct ghost_job *job)
{
    return state_of(world, job, 0) != ROTA_TASK_NONE;
}

// Only a job is forgotten of which all succeeded, but for what its conditions leave out.
static bool is_done(const struct ghost_job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (!job->tasks[i].successes && !when_may_leave_out(job, &job->tasks[i])) return false;
    return true;
}

// ---- After a restart ---------------------------------------------------------------------------

void judge_recovery(struct world *world)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        const struct ghost_job *job = world->jobs[i];
        if (!job->told) continue;
        if (!is_known(world, job)) {
            if (!is_done(job)) wrong(world, "job %u was acknowledged and is gone", job->number);
            continue;
        }
        for (uint32_t t = 0; t < job->count; t++) {
            bool stays = job->tasks[t].recorded && !job->tasks[t].was_lost
                         && !job->tasks[t].is_forced;
            if (stays && state_of(world, job, t) != ROTA_TASK_SUCCEEDED)
                wrong(world, "the success of %u.%u was acknowledged and is gone", job->number,
                      t + 1);
        }
    }
}

// ---- Objects -----------------------------------------------------------------------------------

// The server knows where everything is, and has it brought: unless something was lost on the way,
// nobody is told to run what cannot start.
void judge_lack(struct world *world, const struct hand *hand, const struct wire_run *run,
                rota_object_id object)
{
    if (twin_shares_name(world, hand)) return;  // the other one may have it
    for (uint32_t i = 0; i < hand->loss_count; i++)
        if (hand->losses[i].high == object.high && hand->losses[i].low == object.low) return;
    wrong(world, "%s is to run %u.%u, of which an object is neither there nor on its way",
          hand->name, run->task.job, run->task.task);
}

static bool is_wanted(const struct world *world, const struct ghost_job *job, uint32_t index,
                      uint32_t need)
{
    const struct ghost_task *task = &job->tasks[index];
    enum rota_task_state state = state_of(world, job, index);
    bool over = state == ROTA_TASK_NONE || state == ROTA_TASK_SUCCEEDED
                || state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
    if (over || task->asked_again) return false;
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == need && task->reads >> i & 1) return true;
    return false;
}

// As long as somebody is to read it a copy stays somewhere.
void judge_drop(struct world *world, const struct hand *hand, const struct wire_file *file)
{
    rota_worker_id holders[8];
    rota_object_id object = file->object;
    if (!ghost_maker(world, object)) return;
    if (file->content.kind) return;  // of another content than the one that is read
    const struct ghost_job *job = world->jobs[object.high - 1];
    if (!job->told) return;
    uint32_t others = rota_object_workers(world->seat.server.rota, object, ROTA_SET_LOCATED,
                                          holders, 8);
    for (uint32_t i = 0; i < job->count && !others; i++)
        if (is_wanted(world, job, i, (uint32_t)object.low))
            wrong(world, "%s is to drop the last copy of what %u.%u reads", hand->name, job->number,
                  i + 1);
}

// What a task reads is what an attempt made, whatever other workers say that they hold. Of what it
// was told to make itself a worker can say what it likes, and a liar may lie to itself.
void judge_input(struct world *world, const char *who, rota_task_id task, const struct copy *copy)
{
    const struct ghost_task *maker = ghost_maker(world, copy->object);
    unsigned liar = 0;
    bool is_forged = sscanf((const char *)copy->content.hash, "lie%u", &liar) == 1;
    bool may = maker && maker->given_to >> liar & 1;
    if (!copy->is_lie && (copy->is_false || (is_forged && !may)))
        wrong(world, "%s starts %u.%u with bytes that no attempt made", who, task.job, task.task);
}

// ---- Now and then ------------------------------------------------------------------------------

// Those that the core has with a worker take no more than it has.
static void judge_room(struct world *world, const struct hand *hand, rota_worker_id id)
{
    const struct rota *rota = world->seat.server.rota;
    rota_task_id tasks[64];
    uint32_t used = 0;
    uint32_t count = rota_list(rota, ROTA_LIST_EXEC, id, tasks, 64);
    if (count > 64) count = 64;
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        const struct ghost_job *job = ghost_find(world, tasks[i].job);
        bool there = rota_task_look(rota, tasks[i], &view) && view.worker.number == id.number;
        if (there && job) used += job->tasks[tasks[i].task - 1].cores;
    }
    if (used > hand->cores)
        wrong(world, "%s has %u cores and was given tasks for %u", hand->name, hand->cores, used);
}

// A process that the server wants gone, or does not know of, goes soon when nothing is in the way.
static void judge_doomed(struct world *world, const struct hand *hand, struct process *process)
{
    struct rota_task_view view;
    bool known = rota_task_look(world->seat.server.rota, process->task, &view)
                 && view.attempt == process->attempt && view.worker.number;
    if (known && !view.stopping) {
        process->doomed_at = 0;
        return;
    }
    if (!process->doomed_at) {
        see(world, SIGHT_DOOMED);
        process->doomed_at = world->now;
    }
    int64_t way_back = 20000000;  // a worker may be that long between two servers
    if (world->now - process->doomed_at > HUB_GRACE + way_back + 3 * world->swarm.lease)
        wrong(world, "%s still runs %u.%u, which is to go", hand->name, process->job,
              process->index);
}

void judge_turn(struct world *world)
{
    for (uint32_t i = 0; world->is_clear && i < world->swarm.hands; i++)
        for (uint32_t p = 0; p < world->hands[i].process_count; p++)
            judge_doomed(world, &world->hands[i], &world->hands[i].processes[p]);
    const struct hub *hub = &world->seat.hub;
    judge_second(world);
    judge_bounds(world);
    rota_check(world->seat.server.rota);
    for (uint32_t i = 0; i < hub->worker_count; i++)
        for (uint32_t h = 0; h < world->swarm.hands; h++)
            if (strcmp(hub->workers[i]->name, world->hands[h].name) == 0)
                judge_room(world, &world->hands[h], hub->workers[i]->id);
}

// ---- In the end --------------------------------------------------------------------------------

static bool is_bad_end(enum rota_task_state state)
{
    return state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

// Something that it needs has ended badly or is blocked, which is judged by itself, or was lost and
// cannot be made again; or its condition is not true, now that all that is not blocked is over.
static bool is_cut_off(const struct world *world, const struct ghost_job *job, uint32_t index)
{
    const struct ghost_task *task = &job->tasks[index];
    for (uint32_t i = 0; i < task->need_count; i++) {
        uint32_t need = task->needs[i] - 1;
        enum rota_task_state state = state_of(world, job, need);
        if (is_bad_end(state) || state == ROTA_TASK_BLOCKED) return true;
        bool lost = (task->reads >> i & 1 || task->drinks) && job->tasks[need].was_lost;
        if (lost && is_cut_off(world, job, need)) return true;
    }
    return !when_is_true(world, job, task);
}

void states_say(struct world *world, const struct ghost_job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const struct ghost_task *task = &job->tasks[i];
        for (uint32_t c = 0; c < task->when_count; c++)
            world_say(world, "%u.%u waits for clause %u of %u", job->number, i + 1,
                      task->when[c].kind, task->when[c].task);
        if (task->bundle) world_say(world, "%u.%u is in a bundle", job->number, i + 1);
        world_say(world, "%u.%u is %s; starts %u, successes %u, failures %u, needs %u %u %u%s%s",
                  job->number, i + 1, rota_task_state_name(state_of(world, job, i)), task->starts,
                  task->successes, task->failed, task->needs[0], task->needs[1], task->needs[2],
                  task->makes ? ", makes" : "", task->reads ? ", reads" : "");
    }
}

// The server counts an attempt from the order on. The connection may break before the order leaves,
// and a worker that was started again cannot tell that it never heard of it.
static bool is_often_given(const struct world *world, const struct ghost_job *job, uint32_t index)
{
    rota_task_id id = {job->number, index + 1};
    return job->tasks[index].given > HUB_LOSSES
           || store_attempt_given(world->seat.server.store, id, HUB_LOSSES + 1).number;
}

// Something can have ended it badly: a failure of its own, a person, or too many losses.
static bool has_cause(const struct world *world, const struct ghost_job *job, uint32_t index)
{
    const struct ghost_task *task = &job->tasks[index];
    bool failed = job->claims || task->failed || task->unstarted || task->was_lost;
    bool called_off = task->asked_off || task->called_off || task->cancelled || task->asked_again;
    return failed || called_off || is_often_given(world, job, index);
}

static void judge_task(struct world *world, const struct ghost_job *job, uint32_t index)
{
    const struct ghost_task *task = &job->tasks[index];
    enum rota_task_state state = state_of(world, job, index);
    const char *name = rota_task_state_name(state);
    if (task->is_bundle) return judge_bundle(world, job, index);
    if (state == ROTA_TASK_SUCCEEDED) {
        if (!task->successes) wrong(world, "%u.%u succeeded and never ran", job->number, index + 1);
    } else if (state == ROTA_TASK_BLOCKED) {
        see(world, SIGHT_BLOCKED);
        if (!when_is_true(world, job, task)) see(world, SIGHT_WHEN_NEVER);
        if (!is_cut_off(world, job, index)) {
            states_say(world, job);
            wrong(world, "%u.%u is blocked by nothing", job->number, index + 1);
        }
    } else if (!is_bad_end(state)) {
        states_say(world, job);
        wrong(world, "%u.%u is %s for ever", job->number, index + 1, name);
    } else if (task->recorded && !task->was_lost && !task->is_forced) {
        wrong(world, "%u.%u is %s though it succeeded", job->number, index + 1, name);
    } else if (!has_cause(world, job, index)) {
        wrong(world, "%u.%u is %s though nothing made it fail", job->number, index + 1, name);
    }
    if (task->running) wrong(world, "a process of %u.%u is left", job->number, index + 1);
}

static bool is_settled(const struct world *world, const struct ghost_job *job)
{
    if (!job->told) return false;
    if (!is_known(world, job)) return true;
    for (uint32_t i = 0; i < job->count; i++) {
        enum rota_task_state state = state_of(world, job, i);
        bool ended
            = state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_BLOCKED || is_bad_end(state);
        if (!ended || job->tasks[i].running) return false;
    }
    return true;
}

bool judge_is_over(struct world *world)
{
    if (!world->is_clear || !world->seat.up) return false;
    for (uint32_t i = 0; i < world->job_count; i++)
        if (world->jobs[i]->first < world->jobs[i]->count && !world->jobs[i]->grown) return false;
    for (uint32_t i = 0; i < world->swarm.callers; i++)
        if (!caller_is_done(&world->callers[i])) return false;
    for (uint32_t i = 0; i < world->job_count; i++)
        if (!is_settled(world, world->jobs[i])) return false;
    for (uint32_t i = 0; i < world->swarm.hands; i++)
        if (world->hands[i].spool_count || world->hands[i].process_count) return false;
    return true;
}

void judge_close(struct world *world)
{
    if (!world->seat.up) wrong(world, "the server does not come back");
    if (world->seat.up) rota_check(world->seat.server.rota);
    for (uint32_t i = 0; i < world->swarm.callers; i++)
        if (!caller_is_done(&world->callers[i])) wrong(world, "client %u gets no answer", i);
    for (uint32_t i = 0; i < world->job_count && !*world->result->wrong; i++) {
        const struct ghost_job *job = world->jobs[i];
        if (!is_known(world, job)) {
            if (!is_done(job)) wrong(world, "job %u is gone and was not done", job->number);
            continue;
        }
        for (uint32_t t = 0; t < job->count; t++) judge_task(world, job, t);
    }
    for (uint32_t i = 0; i < world->swarm.hands; i++)
        if (world->hands[i].spool_count)
            wrong(world, "%s keeps a report that nobody takes", world->hands[i].name);
}
