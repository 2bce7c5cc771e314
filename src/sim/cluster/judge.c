// judge.c - what must never happen; each judge looks at one rule and at what really happened.
#include "sim/cluster/internal.h"

#include <stdarg.h>

void wrong(struct sim *sim, const char *format, ...)
{
    char *text = sim->result->wrong;
    if (*text) return;  // later errors may be consequences of the first one
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof sim->result->wrong, format, arguments);
    va_end(arguments);
    sim_say(sim, "WRONG: %s", text);
}

void wrong_of_core(struct sim *sim, const char *expect, const char *format, ...)
{
    struct sim_result *result = sim->result;
    char text[sizeof result->wrong];
    va_list arguments;
    if (*result->wrong) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(result->expect, sizeof result->expect, "%s", expect);
    wrong(sim, "%s", text);
}

static struct expected_task *expected_of(struct sim *sim, const struct process *process)
{
    return &sim->jobs[process->job]->tasks[process->index - 1];
}

// ---- Processes ----------------------------------------------------------------------------------

static void judge_needs(struct sim *sim, const struct process *process)
{
    const struct expected_task *expected = expected_of(sim, process);
    const struct expected_job *job = sim->jobs[process->job];
    for (uint32_t i = 0; i < expected->need_count; i++) {
        const struct expected_task *need = &job->tasks[expected->needs[i] - 1];
        if (expected->reads_stream && !need->starts)
            wrong(sim, "task %u.%u starts before %u, from which it reads", process->job,
                  process->index, expected->needs[i]);
        if (expected->reads_stream) continue;
        if (!need->successes)
            wrong(sim, "task %u.%u starts before %u, which it needs, has succeeded", process->job,
                  process->index, expected->needs[i]);
        // Handlers learn in another way what was recorded.
        bool is_kept = need->kept || need->came_well || job->claims;
        if (need->cancelled && !is_kept && !need->asked_again)
            wrong(sim, "task %u.%u starts though %u, which it needs, was cancelled", process->job,
                  process->index, expected->needs[i]);
    }
}

static void judge_when(struct sim *sim, const struct process *process)
{
    const struct expected_task *expected = expected_of(sim, process);
    if (!expected->when_count || expected->is_forced) return;
    see(sim, SIGHT_WHEN_START);
    if (when_was_true(sim->jobs[process->job], expected)) return;
    states_say(sim, sim->jobs[process->job]);
    wrong(sim, "task %u.%u starts though its condition was never true", process->job,
          process->index);
}

static void judge_repeat(struct sim *sim, const struct node *node,
                         const struct process *process)
{
    const struct expected_task *expected = expected_of(sim, process);
    bool current = process->attempt == expected->given;  // an older attempt may start late
    bool may_repeat = expected->asked_again || expected->was_lost;
    if (current && expected->told_failures > expected->retries && !may_repeat)
        wrong(sim, "task %u.%u runs again after its last retry", process->job, process->index);
    for (uint32_t i = 0; i < node->process_count; i++) {
        const struct process *other = &node->processes[i];
        bool same = other != process && other->state == PROCESS_RUNNING
                    && other->job == process->job && other->index == process->index;
        if (same)
            wrong(sim, "%s runs task %u.%u twice at the same time", node->name, process->job,
                  process->index);
    }
}

static void judge_group(struct sim *sim, const struct expected_task *expected)
{
    if (expected->group && sim->inside[expected->lane][expected->group])
        wrong(sim, "two processes of group %u run in lane %u", expected->group, expected->lane);
}

static void judge_class(struct sim *sim, const struct expected_task *expected)
{
    bool writes = expected->access == ROTA_ACCESS_WRITE;
    uint32_t others = writes ? sim->readers[expected->lane] : sim->writers[expected->lane];
    if (others) wrong(sim, "readers and writers run at the same time in lane %u", expected->lane);
}

void judge_start(struct sim *sim, const struct node *node, const struct process *process)
{
    struct expected_task *expected = expected_of(sim, process);
    see(sim, SIGHT_START);
    sim->moved = sim->now;
    sim_say(sim, "%s starts %u.%u attempt %u", node->name, process->job, process->index,
              process->attempt);
    judge_needs(sim, process);
    judge_when(sim, process);
    judge_repeat(sim, node, process);
    expected->starts++;
    expected->running++;
    if (!expected->lane) return;
    judge_group(sim, expected);
    judge_class(sim, expected);
    sim->inside[expected->lane][expected->group]++;
    if (expected->access == ROTA_ACCESS_WRITE)
        sim->writers[expected->lane]++;
    else
        sim->readers[expected->lane]++;
}

void judge_end(struct sim *sim, const struct process *process, bool ran, bool well)
{
    struct expected_task *expected = expected_of(sim, process);
    sim_say(sim, "end of %u.%u attempt %u%s", process->job, process->index, process->attempt,
              well ? ", well" : "");
    sim->moved = sim->now;
    bool badly = ran && !well && !process->is_stopped && process->status != 0;
    if (process->token >= expected->ended_token) {
        expected->ended_attempt = process->attempt;
        expected->ended_token = process->token;
        expected->ended_well = well;
        expected->ended_badly = badly;
    }
    if (!ran) return;
    expected->running--;
    expected->successes += well;
    expected->failed += badly;
    if (!expected->lane) return;
    sim->inside[expected->lane][expected->group]--;
    if (expected->access == ROTA_ACCESS_WRITE)
        sim->writers[expected->lane]--;
    else
        sim->readers[expected->lane]--;
}

// ---- Messages of the server ---------------------------------------------------------------------

static void number_note(struct sim *sim, uint32_t job, uint32_t number)
{
    sim->jobs[job]->number = number;
    if (!map_reserve(&memory_heap, &sim->jobs_by_number, 1)) abort();
    *map_place(&sim->jobs_by_number, number) = job + 1;
}

// A request that was refused stays refused.
static void was_not_refused(struct sim *sim, const struct request *request)
{
    if (request->refused) wrong(sim, "a request is carried out after it was refused");
}

static void told_accepted(struct sim *sim, const struct wire_accepted *told)
{
    const struct client *client
        = told->high && told->high <= sim->setting.clients ? &sim->clients[told->high - 1] : NULL;
    if (!client || !told->low || told->low > client->request_count) {
        wrong(sim, "a job was accepted that no client has submitted");
        return;
    }
    if (client->requests[told->low - 1].kind == REQUEST_BAD)
        return wrong(sim, "an invalid graph was accepted");
    was_not_refused(sim, &client->requests[told->low - 1]);
    uint32_t number = client->requests[told->low - 1].job;
    struct expected_job *job = sim->jobs[number];
    bool is_more = client->requests[told->low - 1].is_more;
    uint32_t first = is_more ? job->first + 1 : 1;
    if (told->first != first)
        wrong(sim, "job %u continues with task %u, not %u", told->job, told->first, first);
    if (is_more && !job->grown) see(sim, SIGHT_GROWN);
    job->grown |= is_more;
    if (job->told && job->number != told->job)
        wrong(sim, "one submission has become jobs %u and %u", job->number, told->job);
    uint32_t other = map_find(&sim->jobs_by_number, told->job);
    if (other && other != number + 1) wrong(sim, "two submissions have become job %u", told->job);
    if (job->told) return;
    see(sim, SIGHT_ACCEPTED);
    sim->moved = sim->now;
    job->told = true;
    number_note(sim, number, told->job);
}

// The expected task that a worker is told of. The client may not have heard of its job yet.
static struct expected_task *expected_told(struct sim *sim, rota_task_id task)
{
    struct expected_job *job = sim_expected_find(sim, task.job);
    return job && task.task && task.task <= job->count ? &job->tasks[task.task - 1] : NULL;
}

// A task is given to another worker or handler with a new, larger token.
static void told_granted(struct sim *sim, const struct wire_granted *told)
{
    struct expected_task *expected = expected_told(sim, told->task);
    if (!expected) return;
    bool is_old = told->token < expected->token;
    if (is_old && expected->given_in < sim->words)
        wrong(sim, "task %u.%u is granted with an old token", told->task.job, told->task.task);
    if (is_old) return;  // both were delayed, and are sent at once, in any order
    expected->token = told->token;
    expected->given = told->attempt;
    expected->given_in = sim->words;
}

// A success that was recorded before wins, and its output may be made again for its readers.
static void cancel_note(struct expected_task *expected)
{
    bool is_kept = expected->kept || expected->came_well;
    expected->cancelled
        = !expected->asked_again && !(is_kept && (expected->makes || expected->writes_stream));
}

static void told_done(struct sim *sim, const struct wire_done *told)
{
    if (told->high >= HANDLER_HIGH) return;
    const struct client *client = &sim->clients[told->high - 1];
    const struct request *request = &client->requests[told->low - 1];
    was_not_refused(sim, request);
    if (request->kind == REQUEST_PAUSE) return pause_told(sim, request);
    struct expected_task *expected = &sim->jobs[request->job]->tasks[request->task - 1];
    if (request->verb == WIRE_START) see(sim, SIGHT_FORCED);
    if (request->verb == WIRE_RETRY) see(sim, SIGHT_RETRY);
    if (request->verb != WIRE_CANCEL) return;
    see(sim, SIGHT_CANCEL);
    cancel_note(expected);
    struct expected_job *job = sim->jobs[request->job];
    for (uint32_t i = 0; expected->is_bundle && i < job->count; i++)
        if (job->tasks[i].bundle == request->task)
            cancel_note(&job->tasks[i]);
}

static void told_refuse(struct sim *sim, const struct wire_refuse *told)
{
    if (!told->high || told->high > sim->setting.clients) return;
    const struct client *client = &sim->clients[told->high - 1];
    if (!told->low || told->low > client->request_count) return;
    struct request *request = &client->requests[told->low - 1];
    if (request->kind == REQUEST_BAD) see(sim, SIGHT_BAD_GRAPH);
    if (told->code == WIRE_REFUSED_FULL) return;  // the server has not decided
    if (request->refused && request->refused != told->code)
        wrong(sim, "a request is refused with %u, and with %u before", told->code,
              request->refused);
    request->refused = told->code;
}

static bool object_is_located(const struct sim *sim, rota_object_id object)
{
    return rota_object_workers(sim->daemon.server.rota, object, ROTA_SET_LOCATED, NULL, 0) > 0;
}

static void told_run(struct sim *sim, const struct wire_run *run)
{
    unsigned job = 0, index = 0;
    if (sscanf(run->name.bytes, "%u.%u", &job, &index) != 2 || job >= sim->job_count) abort();
    // A worker may be told of a job before its client is.
    if (!map_find(&sim->jobs_by_number, run->task.job)) number_note(sim, job, run->task.job);
    struct expected_task *expected = &sim->jobs[job]->tasks[index - 1];
    uint64_t *group = &sim->tokens[expected->lane][expected->group];
    if (expected->cancelled && !expected->asked_again)
        wrong(sim, "task %u.%u is given out after its cancel was acknowledged", job, index);
    if (run->token <= expected->token || (expected->group && run->token <= *group))
        wrong(sim, "task %u.%u is given out with a token that is not new", job, index);
    // The worker that had its output may have been lost.
    if (expected->makes && !object_is_located(sim, sim_expected_object(job, index)))
        expected->was_lost = true;
    expected->token = run->token;
    expected->given = run->attempt;
    expected->kept_attempts &= ~attempt_bit(run->attempt);
    expected->given_in = sim->words;
    if (expected->group) *group = run->token;
    if (run->task.task != index) wrong(sim, "task %u.%u has another command", job, index);
}

static const struct cluster_worker *worker_find(const struct cluster *cluster, rota_worker_id id)
{
    for (uint32_t i = 0; i < cluster->worker_count; i++)
        if (cluster->workers[i]->id.number == id.number) return cluster->workers[i];
    return NULL;
}

// As far as the server can know: the worker is cut off or silent, or was when the reader was given
// its last attempt.
static bool is_away(const struct cluster_worker *holder, const struct cluster_worker *reader)
{
    return !holder || !holder->peer || holder->silent || !reader || holder->joined > reader->given;
}

// A worker that is not connected has it. Other workers may make false claims, and the reader itself
// may have lost its file.
static bool object_is_away(const struct sim *sim, rota_object_id object, rota_worker_id reader)
{
    rota_worker_id holders[32];
    const struct cluster *cluster = &sim->daemon.cluster;
    const struct rota *rota = sim->daemon.server.rota;
    uint32_t count = rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, 32), away = 0;
    for (uint32_t i = 0; i < count && i < 32; i++)
        away += is_away(worker_find(cluster, holders[i]), worker_find(cluster, reader));
    return away;
}

static bool input_is_away(const struct sim *sim, const struct expected_task *expected,
                          rota_task_id task)
{
    struct rota_task_view view;
    uint32_t job = map_find(&sim->jobs_by_number, task.job) - 1;
    if (!rota_task_look(sim->daemon.server.rota, task, &view)) return false;
    for (uint32_t i = 0; i < expected->need_count; i++)
        if (expected->reads >> i & 1
            && object_is_away(sim, sim_expected_object(job, expected->needs[i]), view.worker))
            return true;
    return false;
}

// Each attempt without an input counts, also with a content key and under pull, unless the input
// was on a worker that was not connected.
static void judge_lacks(struct sim *sim, struct expected_task *expected,
                        const struct wire_recorded *told)
{
    if (told->attempt != expected->lack_attempt || expected->asked_again || expected->is_forced)
        return;
    if (++expected->lacks > expected->retries + CLUSTER_LOSSES + 1)
        wrong(sim, "task %u.%u is repeated though it lacked its inputs %u times", told->task.job,
              told->task.task, expected->lacks);
}

static void told_recorded(struct sim *sim, const struct wire_recorded *told)
{
    struct expected_task *expected = expected_told(sim, told->task);
    if (!expected) return;
    bool its_own = expected->ended_attempt == told->attempt;
    expected->kept |= its_own && expected->ended_well && told->how != WIRE_IS_STALE;
    if (told->attempt == expected->heard_attempt && told->how != WIRE_IS_STALE)
        expected->kept_attempts |= attempt_bit(told->attempt);
    // It was recorded before, perhaps before a cancel, and its worker could not be told then.
    bool remade = expected->makes || expected->writes_stream;
    if (expected->kept && remade && told->how == WIRE_WAS_RECORDED) expected->cancelled = false;
    if (told->how != WIRE_NOW_RECORDED) return;
    judge_lacks(sim, expected, told);
    // Messages that are sent together may have any order.
    if (told->attempt < expected->given && expected->given_in < sim->words)
        wrong(sim, "an end of task %u.%u counts that is not of its last attempt",
              told->task.job, told->task.task);
    if (!its_own) return;
    expected->told_failures += expected->ended_badly;
    if (!expected->ended_well) {
        expected->failed_attempt = told->attempt;
        expected->failed_in = sim->words;
        return;
    }
    expected->lacks = 0;
    if (expected->asked_off) return;  // its success may have come too late
    if (expected->reads_stream && told->attempt != expected->unwanted_attempt)
        judge_read_kept(sim, sim_expected_find(sim, told->task.job), expected, told->task);
    if (expected->recorded && expected->was_lost) see(sim, SIGHT_REMADE);
    if (expected->recorded++ && !expected->was_lost && !expected->is_forced)
        wrong(sim, "task %u.%u has succeeded twice", told->task.job, told->task.task);
}

// After a restored backup there is another attempt with the same number and a newer token. It may
// end without having begun.
static void end_renew(struct expected_task *expected, const struct wire_finished *finished)
{
    bool is_other
        = finished->attempt == expected->ended_attempt && finished->token > expected->ended_token;
    if (!is_other) return;
    expected->ended_token = finished->token;
    expected->ended_well = expected->ended_badly = false;
}

// It was made again for tasks that have finished since: the server has told it to stop, and keeps
// its earlier success, whatever this attempt ends with.
static bool is_unwanted(const struct sim *sim, const struct wire_finished *finished)
{
    struct rota_task_view view;
    return rota_task_look(sim->daemon.server.rota, finished->task, &view)
           && view.attempt == finished->attempt && view.regenerating && view.stopping
           && !view.discarded;
}

// Its worker may be gone before it can be told that the end is recorded.
static void heard_finished(struct sim *sim, const struct wire_finished *finished)
{
    struct expected_task *expected = expected_told(sim, finished->task);
    bool is_well = finished->end == WIRE_EXITED && !finished->status;
    bool lacks = expected && finished->end == WIRE_BAD_INPUT;
    if (lacks && !input_is_away(sim, expected, finished->task))
        expected->lack_attempt = finished->attempt;
    if (expected) end_renew(expected, finished);
    if (expected && is_unwanted(sim, finished)) expected->unwanted_attempt = finished->attempt;
    if (expected && is_well && finished->attempt > expected->heard_attempt)
        expected->heard_attempt = finished->attempt;
    if (!expected || expected->cancelled || expected->called_off) return;
    bool its_own = expected->ended_attempt == finished->attempt;
    expected->came_well |= its_own && expected->ended_well;
}

// With a bundle, its members.
static void heard_cancel(struct sim *sim, rota_task_id id)
{
    struct expected_job *job = sim_expected_find(sim, id.job);
    for (uint32_t i = 0; job && i < job->count; i++)
        job->tasks[i].called_off |= i + 1 == id.task || job->tasks[i].bundle == id.task;
}

void judge_heard(struct sim *sim, const struct wire_message *message)
{
    if (message->kind == WIRE_FINISHED_MESSAGE) heard_finished(sim, &message->finished);
    if (message->kind == WIRE_CHANGE_MESSAGE && message->change.verb == WIRE_CANCEL)
        heard_cancel(sim, message->change.task);
}

void judge_told(struct sim *sim, const struct link *link, const struct wire_message *message)
{
    sim_note(sim, (uint64_t)message->kind);
    if (sim->trace) {
        char text[DUMP_SIZE];
        sim_dump(message, text);
        sim_say(sim, "server to %s %u: %s", sim_link_end(link), link->who + 1, text);
    }
    switch (message->kind) {
    case WIRE_ACCEPTED_MESSAGE: told_accepted(sim, &message->accepted); break;
    case WIRE_DONE_MESSAGE: told_done(sim, &message->done); break;
    case WIRE_GRANTED_MESSAGE: told_granted(sim, &message->granted); break;
    case WIRE_RUN_MESSAGE: told_run(sim, &message->run); break;
    case WIRE_RECORDED_MESSAGE: told_recorded(sim, &message->recorded); break;
    case WIRE_REFUSE_MESSAGE: told_refuse(sim, &message->refuse); break;
    case WIRE_EVENT_MESSAGE: judge_event(sim, &message->event); break;
    case WIRE_DROP_MESSAGE:
        for (uint32_t i = 0; i < message->drop.objects.count; i++)
            judge_drop(sim, &sim->nodes[link->who], &message->drop.objects.items[i]);
        break;
    default: break;
    }
}
