// judge_state.c - compares the state of the server with its promises and with what really happened.
#include "sim/cluster/internal.h"

static enum rota_task_state state_of(const struct sim *sim, const struct expected_job *job,
                                     uint32_t index)
{
    return rota_task_state(sim->daemon.server.rota, (rota_task_id){job->number, index + 1});
}

static bool is_known(const struct sim *sim, const struct expected_job *job)
{
    return state_of(sim, job, 0) != ROTA_TASK_NONE;
}

// A job is closed only if all its tasks succeeded, except those excluded by conditions.
static bool is_done(const struct expected_job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (!job->tasks[i].successes && !when_may_leave_out(job, &job->tasks[i])) return false;
    return true;
}

// ---- After a restart ---------------------------------------------------------------------------

void judge_recovery(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->job_count; i++) {
        const struct expected_job *job = sim->jobs[i];
        if (!job->told) continue;
        if (!is_known(sim, job)) {
            if (!is_done(job)) wrong(sim, "job %u was acknowledged and is lost", job->number);
            continue;
        }
        for (uint32_t t = 0; t < job->count; t++) {
            bool stays = job->tasks[t].recorded && !job->tasks[t].was_lost
                         && !job->tasks[t].is_forced;
            if (stays && state_of(sim, job, t) != ROTA_TASK_SUCCEEDED)
                wrong(sim, "the success of %u.%u was acknowledged and is lost", job->number,
                      t + 1);
        }
    }
}

// ---- Objects -----------------------------------------------------------------------------------

// The server knows where each object is and has it transferred: unless something was lost on the
// way, no worker is told to run a task that cannot start.
void judge_lack(struct sim *sim, const struct node *node, const struct wire_run *run,
                rota_object_id object)
{
    if (duplicate_shares_name(sim, node)) return;  // the other worker may have it
    for (uint32_t i = 0; i < node->loss_count; i++)
        if (SAME_ID(node->losses[i], object)) return;
    wrong(sim, "%s is to run %u.%u, but an input is neither there nor in transfer",
          node->name, run->task.job, run->task.task);
}

static bool is_wanted(const struct sim *sim, const struct expected_job *job, uint32_t index,
                      uint32_t need)
{
    const struct expected_task *task = &job->tasks[index];
    enum rota_task_state state = state_of(sim, job, index);
    bool over = state == ROTA_TASK_NONE || state == ROTA_TASK_SUCCEEDED
                || state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
    if (over || task->asked_again) return false;
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == need && task->reads >> i & 1) return true;
    return false;
}

// A copy stays somewhere as long as a task will read it.
void judge_drop(struct sim *sim, const struct node *node, const struct wire_file *file)
{
    rota_worker_id holders[8];
    rota_object_id object = file->object;
    if (!sim_expected_maker(sim, object)) return;
    if (file->content.kind) return;  // it has another content than the one that is read
    const struct expected_job *job = sim->jobs[object.high - 1];
    if (!job->told) return;
    uint32_t others = rota_object_workers(sim->daemon.server.rota, object, ROTA_SET_LOCATED,
                                          holders, 8);
    for (uint32_t i = 0; i < job->count && !others; i++)
        if (is_wanted(sim, job, i, (uint32_t)object.low))
            wrong(sim, "%s is to drop the last copy of what %u.%u reads", node->name, job->number,
                  i + 1);
}

// A task reads what an attempt made, whatever other workers claim to hold. A worker can choose what
// it claims about the outputs of its own attempts, and may deceive itself.
void judge_input(struct sim *sim, const char *who, rota_task_id task, const struct copy *copy)
{
    const struct expected_task *maker = sim_expected_maker(sim, copy->object);
    unsigned forger = 0;
    bool is_forged = sscanf((const char *)copy->content.hash, "lie%u", &forger) == 1;
    bool may = maker && maker->given_to >> forger & 1;
    if (!copy->is_pretended && (copy->is_false || (is_forged && !may)))
        wrong(sim, "%s starts %u.%u with bytes that no attempt made", who, task.job, task.task);
}

// ---- At intervals -------------------------------------------------------------------------------

// The tasks that the core has given to a worker fit into its cores.
static void judge_room(struct sim *sim, const struct node *node, rota_worker_id id)
{
    const struct rota *rota = sim->daemon.server.rota;
    rota_task_id tasks[64];
    uint32_t used = 0;
    uint32_t count = rota_list(rota, ROTA_LIST_EXEC, id, tasks, 64);
    if (count > 64) count = 64;
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        const struct expected_job *job = sim_expected_find(sim, tasks[i].job);
        bool there = rota_task_look(rota, tasks[i], &view) && view.worker.number == id.number;
        if (there && job) used += job->tasks[tasks[i].task - 1].cores;
    }
    if (used > node->cores)
        wrong(sim, "%s has %u cores and was given tasks for %u", node->name, node->cores, used);
}

// A process that the server wants to end, or does not know, ends soon if nothing prevents it.
static void judge_doomed(struct sim *sim, const struct node *node, struct process *process)
{
    struct rota_task_view view;
    bool known = rota_task_look(sim->daemon.server.rota, process->task, &view)
                 && view.attempt == process->attempt && view.worker.number;
    if (known && !view.stopping) {
        process->doomed_at = 0;
        return;
    }
    if (!process->doomed_at) {
        see(sim, SIGHT_DOOMED);
        process->doomed_at = sim->now;
    }
    int64_t way_back = 20000000;  // a worker may take that long to reach another server
    if (sim->now - process->doomed_at > WIRE_GRACE + way_back + 3 * sim->setting.lease)
        wrong(sim, "%s still runs %u.%u, which should have ended", node->name, process->job,
              process->index);
}

void judge_turn(struct sim *sim)
{
    for (uint32_t i = 0; sim->is_clear && i < sim->setting.nodes; i++)
        for (uint32_t p = 0; p < sim->nodes[i].process_count; p++)
            judge_doomed(sim, &sim->nodes[i], &sim->nodes[i].processes[p]);
    const struct cluster *cluster = &sim->daemon.cluster;
    judge_recomputed(sim);
    judge_bounds(sim);
    rota_check(sim->daemon.server.rota);
    for (uint32_t i = 0; i < cluster->worker_count; i++)
        for (uint32_t h = 0; h < sim->setting.nodes; h++)
            if (strcmp(cluster->workers[i]->name, sim->nodes[h].name) == 0)
                judge_room(sim, &sim->nodes[h], cluster->workers[i]->id);
}

// ---- At the end ---------------------------------------------------------------------------------

static bool is_bad_end(enum rota_task_state state)
{
    return state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

// One of its dependencies has failed or is blocked, which is judged separately, or its output was
// lost and cannot be made again; or its condition is false, now that everything that is not blocked
// has finished.
static bool is_cut_off(const struct sim *sim, const struct expected_job *job, uint32_t index)
{
    const struct expected_task *task = &job->tasks[index];
    for (uint32_t i = 0; i < task->need_count; i++) {
        uint32_t need = task->needs[i] - 1;
        enum rota_task_state state = state_of(sim, job, need);
        if (is_bad_end(state) || state == ROTA_TASK_BLOCKED) return true;
        bool lost = (task->reads >> i & 1 || task->reads_stream) && job->tasks[need].was_lost;
        if (lost && is_cut_off(sim, job, need)) return true;
    }
    return !when_is_true(sim, job, task);
}

void states_say(struct sim *sim, const struct expected_job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const struct expected_task *task = &job->tasks[i];
        for (uint32_t c = 0; c < task->when_count; c++)
            sim_say(sim, "%u.%u waits for clause %u of %u", job->number, i + 1,
                      task->when[c].kind, task->when[c].task);
        if (task->bundle) sim_say(sim, "%u.%u is in a bundle", job->number, i + 1);
        sim_say(sim, "%u.%u is %s; starts %u, successes %u, failures %u, needs %u %u %u%s%s",
                  job->number, i + 1, rota_task_state_name(state_of(sim, job, i)), task->starts,
                  task->successes, task->failed, task->needs[0], task->needs[1], task->needs[2],
                  task->makes ? ", makes" : "", task->reads ? ", reads" : "");
    }
}

// The server counts an attempt from the order on. The connection may break before the order is
// sent, and a worker that was started again cannot tell that it never received it.
static bool is_often_given(const struct sim *sim, const struct expected_job *job, uint32_t index)
{
    rota_task_id id = {job->number, index + 1};
    return job->tasks[index].given > CLUSTER_LOSSES
           || store_attempt_given(sim->daemon.server.store, id, CLUSTER_LOSSES + 1).number;
}

// A reason for its failure: it failed itself, a person stopped it, or it was lost too often.
static bool has_cause(const struct sim *sim, const struct expected_job *job, uint32_t index)
{
    const struct expected_task *task = &job->tasks[index];
    bool failed = job->claims || task->failed || task->unstarted || task->was_lost;
    bool called_off = task->asked_off || task->called_off || task->cancelled || task->asked_again;
    return failed || called_off || is_often_given(sim, job, index);
}

static void judge_task(struct sim *sim, const struct expected_job *job, uint32_t index)
{
    const struct expected_task *task = &job->tasks[index];
    enum rota_task_state state = state_of(sim, job, index);
    const char *name = rota_task_state_name(state);
    if (task->is_bundle) return judge_bundle(sim, job, index);
    if (state == ROTA_TASK_SUCCEEDED) {
        if (!task->successes) wrong(sim, "%u.%u succeeded but never ran", job->number, index + 1);
    } else if (state == ROTA_TASK_BLOCKED) {
        see(sim, SIGHT_BLOCKED);
        if (!when_is_true(sim, job, task)) see(sim, SIGHT_WHEN_NEVER);
        if (!is_cut_off(sim, job, index)) {
            states_say(sim, job);
            wrong(sim, "%u.%u is blocked without a reason", job->number, index + 1);
        }
    } else if (!is_bad_end(state)) {
        states_say(sim, job);
        wrong(sim, "%u.%u stays %s forever", job->number, index + 1, name);
    } else if (task->recorded && !task->was_lost && !task->is_forced) {
        wrong(sim, "%u.%u is %s though it succeeded", job->number, index + 1, name);
    } else if (!has_cause(sim, job, index)) {
        wrong(sim, "%u.%u is %s though nothing made it fail", job->number, index + 1, name);
    }
    if (task->running) wrong(sim, "a process of %u.%u still runs", job->number, index + 1);
}

static bool is_settled(const struct sim *sim, const struct expected_job *job)
{
    if (!job->told) return false;
    if (!is_known(sim, job)) return true;
    for (uint32_t i = 0; i < job->count; i++) {
        enum rota_task_state state = state_of(sim, job, i);
        bool ended
            = state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_BLOCKED || is_bad_end(state);
        if (!ended || job->tasks[i].running) return false;
    }
    return true;
}

bool judge_is_over(struct sim *sim)
{
    if (!sim->is_clear || !sim->daemon.up) return false;
    for (uint32_t i = 0; i < sim->job_count; i++)
        if (sim->jobs[i]->first < sim->jobs[i]->count && !sim->jobs[i]->grown) return false;
    for (uint32_t i = 0; i < sim->setting.clients; i++)
        if (!sim_client_is_done(&sim->clients[i])) return false;
    for (uint32_t i = 0; i < sim->job_count; i++)
        if (!is_settled(sim, sim->jobs[i])) return false;
    for (uint32_t i = 0; i < sim->setting.nodes; i++)
        if (sim->nodes[i].spool_count || sim->nodes[i].process_count) return false;
    return true;
}

void judge_close(struct sim *sim)
{
    if (!sim->daemon.up) wrong(sim, "the server does not come back");
    if (sim->daemon.up) rota_check(sim->daemon.server.rota);
    for (uint32_t i = 0; i < sim->setting.clients; i++)
        if (!sim_client_is_done(&sim->clients[i])) wrong(sim, "client %u gets no answer", i);
    for (uint32_t i = 0; i < sim->job_count && !*sim->result->wrong; i++) {
        const struct expected_job *job = sim->jobs[i];
        if (!is_known(sim, job)) {
            if (!is_done(job)) wrong(sim, "job %u is closed but was not finished", job->number);
            continue;
        }
        for (uint32_t t = 0; t < job->count; t++) judge_task(sim, job, t);
    }
    for (uint32_t i = 0; i < sim->setting.nodes; i++)
        if (sim->nodes[i].spool_count)
            wrong(sim, "%s keeps a report that the server does not accept", sim->nodes[i].name);
}
