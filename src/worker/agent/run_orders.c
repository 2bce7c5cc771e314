// run_orders.c - RUN and STOP, from their arrival until a command starts or is reported.
#include "worker/agent/run_orders.h"
#include "base/planted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- RUNs that wait -----------------------------------------------------------------------------

// False: out of memory.
static bool waiting_add(struct waiting **list, const struct wire_message *message)
{
    assert(message->kind == WIRE_RUN_MESSAGE);
    struct wire_out out = {0};
    struct waiting *waiting = calloc(1, sizeof *waiting);
    wire_put(&out, message);
    char *room = waiting && !out.failed ? wire_in_room(&waiting->frame, out.length) : NULL;
    if (room) {
        memcpy(room, out.bytes, out.length);
        wire_in_came(&waiting->frame, out.length);
        waiting->task = message->run.task;
        waiting->attempt = message->run.attempt;
        waiting->next = *list;
        *list = waiting;
    } else {
        free(waiting);
    }
    wire_out_release(&out);
    return room;
}

static void waiting_remove(struct waiting **at)
{
    assert(*at);
    struct waiting *waiting = *at;
    *at = waiting->next;
    wire_in_release(&waiting->frame);
    free(waiting);
}

static struct waiting **waiting_find(struct waiting **list, const struct attempt *attempt)
{
    struct waiting **at = list;
    while (*at
           && ((*at)->attempt != attempt->number || (*at)->task.job != attempt->task.job
               || (*at)->task.task != attempt->task.task))
        at = &(*at)->next;
    return at;
}

// The frame is kept: its message may have to wait longer.
static bool waiting_read(struct waiting *waiting, struct wire_message *message)
{
    struct wire_in copy = waiting->frame;
    enum wire_result result = wire_take(&copy, message);
    waiting->frame.arena = copy.arena;
    waiting->frame.arena_capacity = copy.arena_capacity;
    return result == WIRE_GOT;
}

void run_orders_release(struct run_orders *orders)
{
    while (orders->held) waiting_remove(&orders->held);
    while (orders->lacking) waiting_remove(&orders->lacking);
}

// ---- Inputs -------------------------------------------------------------------------------------

enum inputs { INPUTS_READY, INPUTS_COMING, INPUTS_MISSING };

static bool needs_object(const struct wire_file *input)
{
    return input->kind != WIRE_SOURCE && input->kind != WIRE_STREAM;
}

static enum inputs inputs_look(const struct run_orders *orders, const wire_files *inputs)
{
    const struct run_host *host = orders->host;
    enum inputs state = INPUTS_READY;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct wire_file *input = &inputs->items[i];
        if (!needs_object(input) || host->has_object(orders->context, input)) continue;
        if (!host->is_fetching(orders->context, input->object)) return INPUTS_MISSING;
        state = INPUTS_COMING;
    }
    return state;
}

// The server assumes that they are here: it must be corrected before it gets the report about the
// attempt.
static void lost_tell(const struct run_orders *orders, const struct wire_run *run)
{
    const struct run_host *host = orders->host;
    for (uint32_t i = 0; i < run->inputs.count; i++) {
        const struct wire_file *input = &run->inputs.items[i];
        bool is_away = needs_object(input) && !host->has_object(orders->context, input)
                       && !host->is_fetching(orders->context, input->object);
        if (is_away) host->object_lost(orders->context, run, input->object);
    }
}

static void give(struct run_orders *orders, struct attempt *attempt,
                 const struct wire_message *message)
{
    assert(attempt_is_alive(attempt));
    assert(message->kind == WIRE_RUN_MESSAGE);
    const struct run_host *host = orders->host;
    void *context = orders->context;
    bool has_streams = host->accepts(context, &message->run);
    if (!has_streams && !PLANTED(STREAM_UNCHECKED))
        return host->report(context, attempt, WIRE_STOPPED, ENOLINK,
                            "the stream it reads is no longer here");
    switch (inputs_look(orders, &message->run.inputs)) {
    case INPUTS_READY:
        if (host->start(context, message)) return;
        break;
    case INPUTS_COMING:
        if (waiting_add(&orders->lacking, message)) return;
        break;
    case INPUTS_MISSING: lost_tell(orders, &message->run); break;
    }
    host->report_input(context, attempt);
}

void run_orders_inputs(struct run_orders *orders)
{
    struct waiting **at = &orders->lacking;
    while (*at) {
        struct wire_message message;
        struct attempt *attempt
            = attempts_find(&orders->decide->attempts, (*at)->task, (*at)->attempt);
        assert(attempt);
        enum inputs state = waiting_read(*at, &message) ? inputs_look(orders, &message.run.inputs)
                                                        : INPUTS_MISSING;
        if (state == INPUTS_MISSING && PLANTED(LACK_KEPT)) state = INPUTS_COMING;
        if (state == INPUTS_COMING) {
            at = &(*at)->next;
            continue;
        }
        if (state == INPUTS_MISSING || !orders->host->start(orders->context, &message))
            orders->host->report_input(orders->context, attempt);
        waiting_remove(at);
    }
}

void run_orders_refuse(struct run_orders *orders, int error, const char *reason)
{
    while (orders->lacking) {
        struct attempt *attempt = attempts_find(&orders->decide->attempts, orders->lacking->task,
                                                orders->lacking->attempt);
        assert(attempt);
        waiting_remove(&orders->lacking);
        orders->host->report(orders->context, attempt, WIRE_NOT_STARTED, error, reason);
    }
}

// ---- STOP ---------------------------------------------------------------------------------------

void run_orders_stop(struct run_orders *orders, struct attempt *attempt, int64_t grace)
{
    assert(attempt_is_alive(attempt));
    bool is_held = attempt->state == ATTEMPT_HELD;
    struct waiting **at = waiting_find(is_held ? &orders->held : &orders->lacking, attempt);
    attempts_stop(&orders->decide->attempts, attempt);
    if (!*at && PLANTED(STOP_IGNORED)) return;
    if (!*at) return orders->host->stop(orders->context, attempt, grace);
    waiting_remove(at);
    attempts_move(&orders->decide->attempts, attempt, ATTEMPT_ENDED);
    orders->host->report(orders->context, attempt, WIRE_STOPPED, 0, "");
}

void run_orders_end(struct run_orders *orders, rota_task_id task, uint32_t number, int64_t grace)
{
    struct attempt *attempt = attempts_find(&orders->decide->attempts, task, number);
    if (attempt && attempt_is_alive(attempt)) run_orders_stop(orders, attempt, grace);
}

void run_orders_expire(struct run_orders *orders, int64_t now)
{
    struct decide *decide = orders->decide;
    for (struct attempt *attempt = NULL; (attempt = decide_must_end(decide, attempt, now));) {
        bool is_fenced = attempt->is_exclusive && decide_lease_is_over(decide, now);
        run_orders_stop(orders, attempt, is_fenced ? 0 : attempt->grace);
        if (is_fenced && attempt_is_alive(attempt)) attempts_fence(&decide->attempts, attempt);
    }
}

// ---- RUN ----------------------------------------------------------------------------------------

static void older_stop(struct run_orders *orders, const struct attempt *attempt)
{
    struct attempts *attempts = &orders->decide->attempts;
    for (struct attempt *at = attempts_older(attempts, attempt); at;
         at = attempts_older(attempts, at))
        if (attempt_is_alive(at)) run_orders_stop(orders, at, 0);
}

bool run_orders_take(struct run_orders *orders, const struct wire_message *message, int64_t now)
{
    struct decide *decide = orders->decide;
    struct decide_answer answer = decide_run(decide, decide->connection, &message->run, now);
    struct attempt *attempt = answer.attempt;
    switch (answer.verdict) {
    case DECIDE_IGNORE: return true;
    case DECIDE_BREAK: return false;
    case DECIDE_GIVE: give(orders, attempt, message); return true;
    case DECIDE_REFUSE:
        orders->host->report(orders->context, attempt, WIRE_NOT_STARTED, answer.error,
                             answer.reason);
        return true;
    case DECIDE_HOLD: break;
    }
    assert(attempt->state == ATTEMPT_HELD);
    if (waiting_add(&orders->held, message)) return older_stop(orders, attempt), true;
    orders->host->report(orders->context, attempt, WIRE_NOT_STARTED, ENOMEM, "out of memory");
    return true;
}

void run_orders_ended(struct run_orders *orders, rota_task_id task, int64_t now)
{
    struct wire_message message;
    struct attempt *attempt = attempts_newest(&orders->decide->attempts, task);
    if (!attempt || attempt->state != ATTEMPT_HELD || PLANTED(HELD_KEPT)) return;
    struct waiting **at = waiting_find(&orders->held, attempt);
    assert(*at);
    struct decide_answer answer = decide_continue(orders->decide, attempt, now);
    if (answer.verdict == DECIDE_IGNORE) return;
    if (answer.verdict == DECIDE_REFUSE)
        orders->host->report(orders->context, attempt, WIRE_NOT_STARTED, answer.error,
                             answer.reason);
    else if (waiting_read(*at, &message))
        give(orders, attempt, &message);
    else
        orders->host->report(orders->context, attempt, WIRE_NOT_STARTED, ENOMEM, "out of memory");
    waiting_remove(at);
}
