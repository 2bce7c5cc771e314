// judge.c - what must never be, each judge by itself, from what happened in truth.
#include "sim/cluster/internal.h"

#include <stdarg.h>

void wrong(struct world *world, const char *format, ...)
{
    char *text = world->result->wrong;
    if (*text) return;  // what follows may only follow from it
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof world->result->wrong, format, arguments);
    va_end(arguments);
    world_say(world, "WRONG: %s", text);
}

void wrong_of_core(struct world *world, const char *expect, const char *format, ...)
{
    struct world_result *result = world->result;
    char text[sizeof result->wrong];
    va_list arguments;
    if (*result->wrong) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(result->expect, sizeof result->expect, "%s", expect);
    wrong(world, "%s", text);
}

static struct ghost_task *ghost_of(struct world *world, const struct process *process)
{
    return &world->jobs[process->job]->tasks[process->index - 1];
}

// ---- Processes, in true time -------------------------------------------------------------------

static void judge_needs(struct world *world, const struct process *process)
{
    const struct ghost_task *ghost = ghost_of(world, process);
    const struct ghost_job *job = world->jobs[process->job];
    for (uint32_t i = 0; i < ghost->need_count; i++) {
        const struct ghost_task *need = &job->tasks[ghost->needs[i] - 1];
        if (ghost->drinks && !need->starts)
            wrong(world, "task %u.%u starts before %u, from which it reads", process->job,
                  process->index, ghost->needs[i]);
        if (ghost->drinks) continue;
        if (!need->successes)
            wrong(world, "task %u.%u starts before %u, which it needs, has succeeded", process->job,
                  process->index, ghost->needs[i]);
        // Handlers are told otherwise what was kept.
        bool is_kept = need->kept || need->came_well || job->claims;
        if (need->cancelled && !is_kept && !need->asked_again)
            wrong(world, "task %u.%u starts though %u, which it needs, was cancelled", process->job,
                  process->index, ghost->needs[i]);
    }
}

static void judge_when(struct world *world, const struct process *process)
{
    const struct ghost_task *ghost = ghost_of(world, process);
    if (!ghost->when_count || ghost->is_forced) return;
    see(world, SIGHT_WHEN_START);
    if (when_was_true(world->jobs[process->job], ghost)) return;
    states_say(world, world->jobs[process->job]);
    wrong(world, "task %u.%u starts though its condition was never true", process->job,
          process->index);
}

static void judge_repeat(struct world *world, const struct hand *hand,
                         const struct process *process)
{
    const struct ghost_task *ghost = ghost_of(world, process);
    bool current = process->attempt == ghost->given;  // an older one may come late
    bool may_repeat = ghost->asked_again || ghost->was_lost;
    if (current && ghost->told_failures > ghost->retries && !may_repeat)
        wrong(world, "task %u.%u runs again after its last retry", process->job, process->index);
    for (uint32_t i = 0; i < hand->process_count; i++) {
        const struct process *other = &hand->processes[i];
        bool same = other != process && other->state == PROCESS_RUNNING
                    && other->job == process->job && other->index == process->index;
        if (same)
            wrong(world, "%s runs task %u.%u twice at a time", hand->name, process->job,
                  process->index);
    }
}

static void judge_group(struct world *world, const struct ghost_task *ghost)
{
    if (ghost->group && world->inside[ghost->lane][ghost->group])
        wrong(world, "two processes of group %u run in lane %u", ghost->group, ghost->lane);
}

static void judge_class(struct world *world, const struct ghost_task *ghost)
{
    bool writes = ghost->access == ROTA_ACCESS_WRITE;
    uint32_t others = writes ? world->readers[ghost->lane] : world->writers[ghost->lane];
    if (others) wrong(world, "readers and writers run together in lane %u", ghost->lane);
}

void judge_start(struct world *world, const struct hand *hand, const struct process *process)
{
    struct ghost_task *ghost = ghost_of(world, process);
    see(world, SIGHT_START);
    world->moved = world->now;
    world_say(world, "%s starts %u.%u attempt %u", hand->name, process->job, process->index,
              process->attempt);
    judge_needs(world, process);
    judge_when(world, process);
    judge_repeat(world, hand, process);
    ghost->starts++;
    ghost->running++;
    if (!ghost->lane) return;
    judge_group(world, ghost);
    judge_class(world, ghost);
    world->inside[ghost->lane][ghost->group]++;
    if (ghost->access == ROTA_ACCESS_WRITE)
        world->writers[ghost->lane]++;
    else
        world->readers[ghost->lane]++;
}

void judge_end(struct world *world, const struct process *process, bool ran, bool well)
{
    struct ghost_task *ghost = ghost_of(world, process);
    world_say(world, "end of %u.%u attempt %u%s", process->job, process->index, process->attempt,
              well ? ", well" : "");
    world->moved = world->now;
    bool badly = ran && !well && !process->is_stopped && process->status != 0;
    if (process->token >= ghost->ended_token) {
        ghost->ended_attempt = process->attempt;
        ghost->ended_token = process->token;
        ghost->ended_well = well;
        ghost->ended_badly = badly;
    }
    if (!ran) return;
    ghost->running--;
    ghost->successes += well;
    ghost->failed += badly;
    if (!ghost->lane) return;
    world->inside[ghost->lane][ghost->group]--;
    if (ghost->access == ROTA_ACCESS_WRITE)
        world->writers[ghost->lane]--;
    else
        world->readers[ghost->lane]--;
}

// ---- What the server says ----------------------------------------------------------------------

static void number_note(struct world *world, uint32_t job, uint32_t number)
{
    static const struct memory heap = {memory_resize_heap, NULL};
    world->jobs[job]->number = number;
    if (!map_reserve(&heap, &world->jobs_by_number, 1)) abort();
    *map_place(&world->jobs_by_number, number) = job + 1;
}

// Whoever was refused stays refused, whatever has happened since.
static void was_not_refused(struct world *world, const struct request *request)
{
    if (request->refused) wrong(world, "a request is carried out that was refused before");
}

static void told_accepted(struct world *world, const struct wire_accepted *told)
{
    const struct caller *caller
        = told->high && told->high <= world->swarm.callers ? &world->callers[told->high - 1] : NULL;
    if (!caller || !told->low || told->low > caller->request_count) {
        wrong(world, "a job was accepted that nobody has submitted");
        return;
    }
    if (caller->requests[told->low - 1].kind == REQUEST_BAD)
        return wrong(world, "a graph that makes no sense was accepted");
    was_not_refused(world, &caller->requests[told->low - 1]);
    uint32_t number = caller->requests[told->low - 1].job;
    struct ghost_job *job = world->jobs[number];
    bool is_more = caller->requests[told->low - 1].is_more;
    uint32_t first = is_more ? job->first + 1 : 1;
    if (told->first != first)
        wrong(world, "job %u has grown from task %u on, not %u", told->job, told->first, first);
    if (is_more && !job->grown) see(world, SIGHT_GROWN);
    job->grown |= is_more;
    if (job->told && job->number != told->job)
        wrong(world, "one submission has become jobs %u and %u", job->number, told->job);
    uint32_t other = map_find(&world->jobs_by_number, told->job);
    if (other && other != number + 1) wrong(world, "two submissions have become job %u", told->job);
    if (job->told) return;
    see(world, SIGHT_ACCEPTED);
    world->moved = world->now;
    job->told = true;
    number_note(world, number, told->job);
}

// The ghost of a task that a worker is told of. The client may not have heard of its job yet.
static struct ghost_task *ghost_told(struct world *world, rota_task_id task)
{
    struct ghost_job *job = ghost_find(world, task.job);
    return job && task.task && task.task <= job->count ? &job->tasks[task.task - 1] : NULL;
}

// A task comes into other hands with another token, always larger.
static void told_granted(struct world *world, const struct wire_granted *told)
{
    struct ghost_task *ghost = ghost_told(world, told->task);
    if (!ghost) return;
    bool is_old = told->token < ghost->token;
    if (is_old && ghost->given_in < world->words)
        wrong(world, "task %u.%u is granted with an old token", told->task.job, told->task.task);
    if (is_old) return;  // both were held up, and are told at once: in any order
    ghost->token = told->token;
    ghost->given = told->attempt;
    ghost->given_in = world->words;
}

// A success that was kept before wins, and what it made may be made again for who reads it.
static void cancel_note(struct ghost_task *ghost)
{
    bool is_kept = ghost->kept || ghost->came_well;
    ghost->cancelled = !ghost->asked_again && !(is_kept && (ghost->makes || ghost->flows));
}

static void told_done(struct world *world, const struct wire_done *told)
{
    if (told->high >= CLERK_HIGH) return;
    const struct caller *caller = &world->callers[told->high - 1];
    const struct request *request = &caller->requests[told->low - 1];
    was_not_refused(world, request);
    if (request->kind == REQUEST_REST) return rest_told(world, request);
    struct ghost_task *ghost = &world->jobs[request->job]->tasks[request->task - 1];
    if (request->verb == WIRE_START) see(world, SIGHT_FORCED);
    if (request->verb == WIRE_RETRY) see(world, SIGHT_RETRY);
    if (request->verb != WIRE_CANCEL) return;
    see(world, SIGHT_CANCEL);
    cancel_note(ghost);
    struct ghost_job *job = world->jobs[request->job];
    for (uint32_t i = 0; ghost->is_bundle && i < job->count; i++)
        if (job->tasks[i].bundle == request->task)
            cancel_note(&job->tasks[i]);
}

static void told_refuse(struct world *world, const struct wire_refuse *told)
{
    if (!told->high || told->high > world->swarm.callers) return;
    const struct caller *caller = &world->callers[told->high - 1];
    if (!told->low || told->low > caller->request_count) return;
    struct request *request = &caller->requests[told->low - 1];
    if (request->kind == REQUEST_BAD) see(world, SIGHT_BAD_GRAPH);
    if (told->code == WIRE_REFUSED_FULL) return;  // nothing was decided
    if (request->refused && request->refused != told->code)
        wrong(world, "a request is refused with %u, and with %u before", told->code,
              request->refused);
    request->refused = told->code;
}

static bool object_is_located(const struct world *world, rota_object_id object)
{
    return rota_object_workers(world->seat.server.rota, object, ROTA_SET_LOCATED, NULL, 0) > 0;
}

static void told_run(struct world *world, const struct wire_run *run)
{
    unsigned job = 0, index = 0;
    if (sscanf(run->name.bytes, "%u.%u", &job, &index) != 2 || job >= world->job_count) abort();
    // A worker may hear of a job before its client does.
    if (!map_find(&world->jobs_by_number, run->task.job)) number_note(world, job, run->task.job);
    struct ghost_task *ghost = &world->jobs[job]->tasks[index - 1];
    uint64_t *group = &world->tokens[ghost->lane][ghost->group];
    if (ghost->cancelled && !ghost->asked_again)
        wrong(world, "task %u.%u is given out after its cancel was acknowledged", job, index);
    if (run->token <= ghost->token || (ghost->group && run->token <= *group))
        wrong(world, "task %u.%u is given out with a token that is not new", job, index);
    // Whoever had what it makes may have been given up.
    if (ghost->makes && !object_is_located(world, ghost_object(job, index))) ghost->was_lost = true;
    ghost->token = run->token;
    ghost->given = run->attempt;
    ghost->kept_attempts &= ~attempt_bit(run->attempt);
    ghost->given_in = world->words;
    if (ghost->group) *group = run->token;
    if (run->task.task != index) wrong(world, "task %u.%u has another's command", job, index);
}

static const struct hub_worker *worker_find(const struct hub *hub, rota_worker_id id)
{
    for (uint32_t i = 0; i < hub->worker_count; i++)
        if (hub->workers[i]->id.number == id.number) return hub->workers[i];
    return NULL;
}

// As far as the server can know: the worker is cut off or silent, or was when the reader was given
// its last attempt.
static bool is_away(const struct hub_worker *holder, const struct hub_worker *reader)
{
    return !holder || !holder->peer || holder->silent || !reader || holder->joined > reader->given;
}

// A worker that is away has it. Others may be liars, or the reader itself without its file.
static bool object_is_away(const struct world *world, rota_object_id object, rota_worker_id reader)
{
    rota_worker_id holders[32];
    const struct hub *hub = &world->seat.hub;
    const struct rota *rota = world->seat.server.rota;
    uint32_t count = rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, 32), away = 0;
    for (uint32_t i = 0; i < count && i < 32; i++)
        away += is_away(worker_find(hub, holders[i]), worker_find(hub, reader));
    return away;
}

static bool input_is_away(const struct world *world, const struct ghost_task *ghost,
                          rota_task_id task)
{
    struct rota_task_view view;
    uint32_t job = map_find(&world->jobs_by_number, task.job) - 1;
    if (!rota_task_look(world->seat.server.rota, task, &view)) return false;
    for (uint32_t i = 0; i < ghost->need_count; i++)
        if (ghost->reads >> i & 1
            && object_is_away(world, ghost_object(job, ghost->needs[i]), view.worker))
            return true;
    return false;
}

// Each that lacked an input counts, with a content key and under pull, too, unless the input was on
// a worker that was away.
static void judge_lacks(struct world *world, struct ghost_task *ghost,
                        const struct wire_recorded *told)
{
    if (told->attempt != ghost->lack_attempt || ghost->asked_again || ghost->is_forced) return;
    if (++ghost->lacks > ghost->retries + HUB_LOSSES + 1)
        wrong(world, "task %u.%u is repeated though it lacked its inputs %u times", told->task.job,
              told->task.task, ghost->lacks);
}

static void told_recorded(struct world *world, const struct wire_recorded *told)
{
    struct ghost_task *ghost = ghost_told(world, told->task);
    if (!ghost) return;
    bool its_own = ghost->ended_attempt == told->attempt;
    ghost->kept |= its_own && ghost->ended_well && told->how != WIRE_IS_STALE;
    if (told->attempt == ghost->heard_attempt && told->how != WIRE_IS_STALE)
        ghost->kept_attempts |= attempt_bit(told->attempt);
    // It was kept before, maybe before a cancel: nobody could tell its worker then.
    bool remade = ghost->makes || ghost->flows;
    if (ghost->kept && remade && told->how == WIRE_WAS_RECORDED) ghost->cancelled = false;
    if (told->how != WIRE_NOW_RECORDED) return;
    judge_lacks(world, ghost, told);
    // What is said at once may have any order.
    if (told->attempt < ghost->given && ghost->given_in < world->words)
        wrong(world, "an end of task %u.%u counts that is not of the attempt given last",
              told->task.job, told->task.task);
    if (!its_own) return;
    ghost->told_failures += ghost->ended_badly;
    if (!ghost->ended_well) {
        ghost->failed_attempt = told->attempt;
        ghost->failed_in = world->words;
        return;
    }
    ghost->lacks = 0;
    if (ghost->asked_off) return;  // its success may have come too late
    if (ghost->drinks && told->attempt != ghost->unwanted_attempt)
        judge_read_kept(world, ghost_find(world, told->task.job), ghost, told->task);
    if (ghost->recorded && ghost->was_lost) see(world, SIGHT_REMADE);
    if (ghost->recorded++ && !ghost->was_lost && !ghost->is_forced)
        wrong(world, "task %u.%u has succeeded twice", told->task.job, told->task.task);
}

// Behind a backup that was restored there is another attempt with the same number, with a newer
// token. It may end without having begun.
static void end_renew(struct ghost_task *ghost, const struct wire_finished *finished)
{
    bool is_other
        = finished->attempt == ghost->ended_attempt && finished->token > ghost->ended_token;
    if (!is_other) return;
    ghost->ended_token = finished->token;
    ghost->ended_well = ghost->ended_badly = false;
}

// It was made again for tasks that are over by now: the server has told it to stop, and lets its
// old success stand, whatever it ends with.
static bool is_unwanted(const struct world *world, const struct wire_finished *finished)
{
    struct rota_task_view view;
    return rota_task_look(world->seat.server.rota, finished->task, &view)
           && view.attempt == finished->attempt && view.regenerating && view.stopping
           && !view.discarded;
}

// Its worker may be gone before it can be told that this is kept.
static void heard_finished(struct world *world, const struct wire_finished *finished)
{
    struct ghost_task *ghost = ghost_told(world, finished->task);
    bool is_well = finished->end == WIRE_EXITED && !finished->status;
    bool lacks = ghost && finished->end == WIRE_BAD_INPUT;
    if (lacks && !input_is_away(world, ghost, finished->task))
        ghost->lack_attempt = finished->attempt;
    if (ghost) end_renew(ghost, finished);
    if (ghost && is_unwanted(world, finished)) ghost->unwanted_attempt = finished->attempt;
    if (ghost && is_well && finished->attempt > ghost->heard_attempt)
        ghost->heard_attempt = finished->attempt;
    if (!ghost || ghost->cancelled || ghost->called_off) return;
    bool its_own = ghost->ended_attempt == finished->attempt;
    ghost->came_well |= its_own && ghost->ended_well;
}

// With a bundle its members.
static void heard_cancel(struct world *world, rota_task_id id)
{
    struct ghost_job *job = ghost_find(world, id.job);
    for (uint32_t i = 0; job && i < job->count; i++)
        job->tasks[i].called_off |= i + 1 == id.task || job->tasks[i].bundle == id.task;
}

void judge_heard(struct world *world, const struct wire_message *message)
{
    if (message->kind == WIRE_FINISHED_MESSAGE) heard_finished(world, &message->finished);
    if (message->kind == WIRE_CHANGE_MESSAGE && message->change.verb == WIRE_CANCEL)
        heard_cancel(world, message->change.task);
}

void judge_told(struct world *world, const struct cable *cable, const struct wire_message *message)
{
    world_note(world, (uint64_t)message->kind);
    if (world->trace) {
        char text[DUMP_SIZE];
        world_dump(message, text);
        world_say(world, "server to %s %u: %s", cable_end(cable), cable->who + 1, text);
    }
    switch (message->kind) {
    case WIRE_ACCEPTED_MESSAGE: told_accepted(world, &message->accepted); break;
    case WIRE_DONE_MESSAGE: told_done(world, &message->done); break;
    case WIRE_GRANTED_MESSAGE: told_granted(world, &message->granted); break;
    case WIRE_RUN_MESSAGE: told_run(world, &message->run); break;
    case WIRE_RECORDED_MESSAGE: told_recorded(world, &message->recorded); break;
    case WIRE_REFUSE_MESSAGE: told_refuse(world, &message->refuse); break;
    case WIRE_EVENT_MESSAGE: judge_event(world, &message->event); break;
    case WIRE_DROP_MESSAGE:
        for (uint32_t i = 0; i < message->drop.objects.count; i++)
            judge_drop(world, &world->hands[cable->who], &message->drop.objects.items[i]);
        break;
    default: break;
    }
}
