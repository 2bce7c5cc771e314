// handler.c - a handler: claims a task, works on it as long as it holds it, and reports its end. It
// counts its lease from when it sent the request, so that the lease of the server ends later.
#include "sim/cluster/internal.h"

enum { IDLE_MAX = 200000, LIVES = 100000, SLACK = 32, ASKS_AGAIN = 400000, TRIES = 4 };

static void handler_note(struct sim *sim, uint32_t who, int64_t at)
{
    struct handler *handler = &sim->handlers[who];
    event_queue_add(&sim->queue, at, DUE_HANDLER, who, ++handler->mark);
}

// ---- The tasks it really holds ------------------------------------------------------------------

static struct process held_as(const struct handler *handler, bool well)
{
    return (struct process){.task = handler->task,
                            .attempt = handler->attempt,
                            .token = handler->token,
                            .job = handler->job,
                            .index = handler->index,
                            .status = well ? 0 : 1,
                            .is_stopped = handler->state == HANDLER_IDLE};
}

static void hold_begin(struct sim *sim, struct handler *handler)
{
    static const struct node nobody = {.name = "a handler"};
    struct process process = held_as(handler, true);
    struct expected_task *expected = &sim->jobs[handler->job]->tasks[handler->index - 1];
    see(sim, SIGHT_HOLD);
    // Outside of lanes a retry does not wait until the handler has heard of the cancel before it.
    bool may_overlap = !expected->lane && expected->asked_off && expected->asked_again;
    if (expected->running && !may_overlap)
        wrong(sim, "task %u.%u is claimed by two handlers", handler->job, handler->index);
    judge_start(sim, &nobody, &process);
    handler->state = HANDLER_HOLDS;
    bool is_long = chance(sim, OF_HANDLERS, sim->setting.is_long);
    handler->done_at = sim->now + 100
                     + choose_time(sim, OF_HANDLERS, is_long ? sim->setting.lease * 3 : LIVES);
    handler->is_lazy = chance(sim, OF_HANDLERS, sim->setting.lazy);
    handler->is_bad = expected->failed < expected->failures;
}

// It stops working, and tells no one.
static void hold_leave(struct sim *sim, struct handler *handler)
{
    if (handler->state != HANDLER_HOLDS) return;
    handler->state = HANDLER_IDLE;
    struct process process = held_as(handler, false);
    judge_end(sim, &process, true, false);
}

// ---- Requests -----------------------------------------------------------------------------------

static void put(struct sim *sim, struct handler *handler, struct wire_message *message)
{
    handler->sent_at = sim->now;
    handler->tries++;
    wire_put(&sim->links[handler->link]->out[FAR_SIDE], message);
    sim_link_send(sim, handler->link, FAR_SIDE);
}

static void claim_put(struct sim *sim, struct handler *handler)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.high = handler->high;
    message.claim.low = handler->low;
    message.claim.wait = handler->wait;
    put(sim, handler, &message);
}

static void renew_put(struct sim *sim, struct handler *handler)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    handler->renewed_low = ++handler->numbers;
    handler->renewed_at = sim->now;
    message.renew.high = handler->high;
    message.renew.low = handler->renewed_low;
    message.renew.task = handler->task;
    message.renew.token = handler->token;
    put(sim, handler, &message);
}

static void end_put(struct sim *sim, struct handler *handler)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    if (handler->is_bad) {
        message.kind = WIRE_FAIL_MESSAGE;
        message.fail.high = handler->high;
        message.fail.low = handler->low;
        message.fail.task = handler->task;
        message.fail.token = handler->token;
        message.fail.status = 1;
        message.fail.reason = wire_text_of("");
    } else {
        message.deliver.high = handler->high;
        message.deliver.low = handler->low;
        message.deliver.task = handler->task;
        message.deliver.token = handler->token;
        message.deliver.reason = wire_text_of("");
    }
    put(sim, handler, &message);
}

static void hold_end(struct sim *sim, struct handler *handler)
{
    struct process process = held_as(handler, !handler->is_bad);
    judge_end(sim, &process, true, !handler->is_bad);
    see(sim, handler->is_bad ? SIGHT_HOLD_FAILS : SIGHT_HOLD_DELIVERS);
    handler->state = HANDLER_TELLS;
    handler->low = ++handler->numbers;
    if (handler->welcome) end_put(sim, handler);
}

// ---- Answers ------------------------------------------------------------------------------------

static void on_granted(struct sim *sim, struct handler *handler, const struct wire_granted *granted)
{
    struct wire_in in = {0};
    struct wire_message body;
    if (handler->state != HANDLER_ASKS || granted->low != handler->low) return;
    char *room = wire_in_room(&in, granted->body.length);
    if (!room) abort();
    memcpy(room, granted->body.bytes, granted->body.length);
    wire_in_came(&in, granted->body.length);
    bool whole = wire_take(&in, &body) == WIRE_GOT && body.kind == WIRE_RUN_MESSAGE
                 && sscanf(body.run.name.bytes, "%u.%u", &handler->job, &handler->index) == 2;
    if (!whole)
        wrong(sim, "a handler is given %u.%u without its command", granted->task.job,
              granted->task.task);
    wire_in_release(&in);
    handler->task = granted->task;
    handler->attempt = granted->attempt;
    handler->token = granted->token;
    handler->lease = granted->lease - granted->lease / SLACK;
    handler->until = handler->asked_at + handler->lease;
    handler->state = HANDLER_GRANTED;
    handler->renewed_at = handler->asked_at;
    if (!whole) return;
    // A handler that has waited for long first asks whether the task is still its own.
    if (sim->now < handler->until)
        hold_begin(sim, handler);
    else
        renew_put(sim, handler);
}

static void on_renewed(struct sim *sim, struct handler *handler, const struct wire_renewed *renewed)
{
    if (renewed->low != handler->renewed_low) return;
    handler->until = handler->renewed_at + handler->lease;
    see(sim, SIGHT_RENEWED);
    if (handler->state == HANDLER_GRANTED && sim->now < handler->until) hold_begin(sim, handler);
}

static void on_refused(struct sim *sim, struct handler *handler, const struct wire_refuse *refuse)
{
    if (refuse->low == handler->renewed_low && refuse->code == WIRE_REFUSED_STALE) {
        see(sim, SIGHT_HOLD_STALE);
        hold_leave(sim, handler);
        if (handler->state == HANDLER_GRANTED) handler->state = HANDLER_IDLE;
    }
    if (refuse->low != handler->low) return;
    if (handler->state == HANDLER_TELLS && refuse->code == WIRE_REFUSED_STALE)
        see(sim, SIGHT_HOLD_STALE);
    if (handler->state == HANDLER_ASKS || handler->state == HANDLER_TELLS)
        handler->state = HANDLER_IDLE;
}

// The server has recorded its end: once, and only as the end of the handler's own attempt.
static void on_done(struct sim *sim, struct handler *handler, const struct wire_done *done)
{
    if (handler->state != HANDLER_TELLS || done->low != handler->low) return;
    struct expected_task *expected = &sim->jobs[handler->job]->tasks[handler->index - 1];
    handler->state = HANDLER_IDLE;
    if (handler->is_bad) {
        expected->told_failures++;
        return;
    }
    bool may_repeat = expected->asked_again || expected->asked_off;
    if (expected->recorded++ && !may_repeat)
        wrong(sim, "task %u.%u was delivered twice", handler->job, handler->index);
}

void sim_handler_hears(struct sim *sim, uint32_t who)
{
    struct handler *handler = &sim->handlers[who];
    struct wire_message message;
    uint32_t link = handler->link;
    while (handler->link == link && sim_link_take(sim, link, &message)) {
        switch (message.kind) {
        case WIRE_WELCOME_MESSAGE: handler->welcome = true, handler->sent_at = 0; break;
        case WIRE_GRANTED_MESSAGE: on_granted(sim, handler, &message.granted); break;
        case WIRE_RENEWED_MESSAGE: on_renewed(sim, handler, &message.renewed); break;
        case WIRE_REFUSE_MESSAGE: on_refused(sim, handler, &message.refuse); break;
        case WIRE_DONE_MESSAGE: on_done(sim, handler, &message.done); break;
        default: break;
        }
    }
    handler->tries = 0;
    handler_note(sim, who, sim->now + 1);
}

// ---- Events -------------------------------------------------------------------------------------

void sim_handler_cut_off(struct sim *sim, uint32_t who)
{
    struct handler *handler = &sim->handlers[who];
    if (handler->link == NOBODY) return;
    uint32_t link = handler->link;
    handler->link = NOBODY;
    handler->welcome = false;
    handler->tries = 0;
    sim_link_close(sim, link, FAR_SIDE, false);
}

static void handler_connect(struct sim *sim, uint32_t who)
{
    struct handler *handler = &sim->handlers[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    handler->link = sim_link_open(sim, LINK_HANDLER, who);
    if (handler->link == NOBODY) return;
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_HANDLER;
    message.greet.name = wire_text_of("fetch");
    put(sim, handler, &message);
}

// It loses all its state.
void sim_handler_crash(struct sim *sim, uint32_t who)
{
    struct handler *handler = &sim->handlers[who];
    see(sim, SIGHT_HANDLER_CRASH);
    hold_leave(sim, handler);
    sim_handler_cut_off(sim, who);
    uint32_t mark = handler->mark, lives = handler->lives + 1;
    *handler
        = (struct handler){.link = NOBODY, .mark = mark, .lives = lives, .state = HANDLER_IDLE};
    handler->high = HANDLER_HIGH + who + (uint64_t)lives * 1000;
    handler_note(sim, who, sim->now + 1000 + choose_time(sim, OF_HANDLERS, sim->setting.lease));
}

static void handler_asks(struct sim *sim, struct handler *handler)
{
    handler->state = HANDLER_ASKS;
    handler->low = ++handler->numbers;
    handler->asked_at = sim->now;
    handler->wait = choose_time(sim, OF_HANDLERS, sim->setting.lease);
    claim_put(sim, handler);
}

// When it acts again.
static int64_t handler_next(struct sim *sim, struct handler *handler)
{
    int64_t again = sim->now + ASKS_AGAIN;
    switch (handler->state) {
    case HANDLER_IDLE: return sim->now + 1000 + choose_time(sim, OF_HANDLERS, IDLE_MAX);
    case HANDLER_HOLDS: {
        int64_t next = handler->done_at < handler->until ? handler->done_at : handler->until;
        int64_t renews = handler->renewed_at + handler->lease / 4;
        if (renews <= sim->now) renews = sim->now + handler->lease / 16 + 1;
        return !handler->is_lazy && renews < next ? renews : next;
    }
    default: return again;
    }
}

static void handler_says(struct sim *sim, struct handler *handler)
{
    bool again = !handler->sent_at || sim->now - handler->sent_at >= ASKS_AGAIN;
    bool renews = !handler->is_lazy && sim->now - handler->renewed_at >= handler->lease / 4;
    switch (handler->state) {
    case HANDLER_IDLE: handler_asks(sim, handler); break;
    case HANDLER_ASKS:
        if (again) claim_put(sim, handler);
        break;
    case HANDLER_TELLS:
        if (again) end_put(sim, handler);
        break;
    case HANDLER_GRANTED:
        if (again) renew_put(sim, handler);
        break;
    case HANDLER_HOLDS:
        if (renews) renew_put(sim, handler);
        break;
    }
}

void sim_handler_work(struct sim *sim, uint32_t who)
{
    struct handler *handler = &sim->handlers[who];
    if (handler->state == HANDLER_HOLDS && sim->now >= handler->until) {
        see(sim, SIGHT_HOLD_OVER);
        hold_leave(sim, handler);
    } else if (handler->state == HANDLER_HOLDS && sim->now >= handler->done_at) {
        hold_end(sim, handler);
    } else if (handler->link == NOBODY) {
        handler_connect(sim, who);
    } else if (handler->tries >= TRIES) {
        sim_handler_cut_off(sim, who);  // no answer comes from there
    } else if (handler->welcome) {
        handler_says(sim, handler);
    } else {
        handler->tries++;
    }
    handler_note(sim, who, handler_next(sim, handler));
}
