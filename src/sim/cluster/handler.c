// handler.c - a handler: claims a task, works on it for as long as it holds it, and says how it
// ended. It counts its lease from when it asked, so that the server's ends later.
#include "sim/cluster/internal.h"

enum { RESTS = 200000, LIVES = 100000, SLACK = 32, ASKS_AGAIN = 400000, TRIES = 4 };

static void clerk_note(struct world *world, uint32_t who, int64_t at)
{
    struct clerk *clerk = &world->clerks[who];
    agenda_add(&world->agenda, at, DUE_CLERK, who, ++clerk->mark);
}

// ---- What it holds, in truth -------------------------------------------------------------------

static struct process held_as(const struct clerk *clerk, bool well)
{
    return (struct process){.task = clerk->task,
                            .attempt = clerk->attempt,
                            .token = clerk->token,
                            .job = clerk->job,
                            .index = clerk->index,
                            .status = well ? 0 : 1,
                            .is_stopped = clerk->state == CLERK_IDLE};
}

static void hold_begin(struct world *world, struct clerk *clerk)
{
    static const struct hand nobody = {.name = "a handler"};
    struct process process = held_as(clerk, true);
    struct ghost_task *ghost = &world->jobs[clerk->job]->tasks[clerk->index - 1];
    see(world, SIGHT_HOLD);
    // Outside of lanes a retry need not wait until the handler has heard of the cancel before it.
    bool may_overlap = !ghost->lane && ghost->asked_off && ghost->asked_again;
    if (ghost->running && !may_overlap)
        wrong(world, "task %u.%u is in two hands", clerk->job, clerk->index);
    judge_start(world, &nobody, &process);
    clerk->state = CLERK_HOLDS;
    bool is_long = chance(world, OF_CLERKS, world->swarm.is_long);
    clerk->done_at = world->now + 100
                     + choose_time(world, OF_CLERKS, is_long ? world->swarm.lease * 3 : LIVES);
    clerk->is_lazy = chance(world, OF_CLERKS, world->swarm.lazy);
    clerk->is_bad = ghost->failed < ghost->failures;
}

// Whatever it was doing ends here; nobody is told.
static void hold_leave(struct world *world, struct clerk *clerk)
{
    if (clerk->state != CLERK_HOLDS) return;
    clerk->state = CLERK_IDLE;
    struct process process = held_as(clerk, false);
    judge_end(world, &process, true, false);
}

// ---- What it says ------------------------------------------------------------------------------

static void put(struct world *world, struct clerk *clerk, struct wire_message *message)
{
    clerk->sent_at = world->now;
    clerk->tries++;
    wire_put(&world->cables[clerk->cable]->out[FAR_SIDE], message);
    cable_send(world, clerk->cable, FAR_SIDE);
}

static void claim_put(struct world *world, struct clerk *clerk)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.high = clerk->high;
    message.claim.low = clerk->low;
    message.claim.wait = clerk->wait;
    put(world, clerk, &message);
}

static void renew_put(struct world *world, struct clerk *clerk)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    clerk->renewed_low = ++clerk->numbers;
    clerk->renewed_at = world->now;
    message.renew.high = clerk->high;
    message.renew.low = clerk->renewed_low;
    message.renew.task = clerk->task;
    message.renew.token = clerk->token;
    put(world, clerk, &message);
}

static void end_put(struct world *world, struct clerk *clerk)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    if (clerk->is_bad) {
        message.kind = WIRE_FAIL_MESSAGE;
        message.fail.high = clerk->high;
        message.fail.low = clerk->low;
        message.fail.task = clerk->task;
        message.fail.token = clerk->token;
        message.fail.status = 1;
        message.fail.reason = wire_text_of("");
    } else {
        message.deliver.high = clerk->high;
        message.deliver.low = clerk->low;
        message.deliver.task = clerk->task;
        message.deliver.token = clerk->token;
        message.deliver.reason = wire_text_of("");
    }
    put(world, clerk, &message);
}

static void hold_end(struct world *world, struct clerk *clerk)
{
    struct process process = held_as(clerk, !clerk->is_bad);
    judge_end(world, &process, true, !clerk->is_bad);
    see(world, clerk->is_bad ? SIGHT_HOLD_FAILS : SIGHT_HOLD_DELIVERS);
    clerk->state = CLERK_TELLS;
    clerk->low = ++clerk->numbers;
    if (clerk->welcome) end_put(world, clerk);
}

// ---- What it hears -----------------------------------------------------------------------------

static void on_granted(struct world *world, struct clerk *clerk, const struct wire_granted *granted)
{
    struct wire_in in = {0};
    struct wire_message body;
    if (clerk->state != CLERK_ASKS || granted->low != clerk->low) return;
    char *room = wire_in_room(&in, granted->body.length);
    if (!room) abort();
    memcpy(room, granted->body.bytes, granted->body.length);
    wire_in_came(&in, granted->body.length);
    bool whole = wire_take(&in, &body) == WIRE_GOT && body.kind == WIRE_RUN_MESSAGE
                 && sscanf(body.run.name.bytes, "%u.%u", &clerk->job, &clerk->index) == 2;
    if (!whole)
        wrong(world, "a handler is granted %u.%u without its command", granted->task.job,
              granted->task.task);
    wire_in_release(&in);
    clerk->task = granted->task;
    clerk->attempt = granted->attempt;
    clerk->token = granted->token;
    clerk->lease = granted->lease - granted->lease / SLACK;
    clerk->until = clerk->asked_at + clerk->lease;
    clerk->state = CLERK_GRANTED;
    clerk->renewed_at = clerk->asked_at;
    if (!whole) return;
    // Who has waited for long first asks whether it is still his.
    if (world->now < clerk->until)
        hold_begin(world, clerk);
    else
        renew_put(world, clerk);
}

static void on_renewed(struct world *world, struct clerk *clerk, const struct wire_renewed *renewed)
{
    if (renewed->low != clerk->renewed_low) return;
    clerk->until = clerk->renewed_at + clerk->lease;
    see(world, SIGHT_RENEWED);
    if (clerk->state == CLERK_GRANTED && world->now < clerk->until) hold_begin(world, clerk);
}

static void on_refused(struct world *world, struct clerk *clerk, const struct wire_refuse *refuse)
{
    if (refuse->low == clerk->renewed_low && refuse->code == WIRE_REFUSED_STALE) {
        see(world, SIGHT_HOLD_STALE);
        hold_leave(world, clerk);
        if (clerk->state == CLERK_GRANTED) clerk->state = CLERK_IDLE;
    }
    if (refuse->low != clerk->low) return;
    if (clerk->state == CLERK_TELLS && refuse->code == WIRE_REFUSED_STALE)
        see(world, SIGHT_HOLD_STALE);
    if (clerk->state == CLERK_ASKS || clerk->state == CLERK_TELLS) clerk->state = CLERK_IDLE;
}

// Its end is kept: once, and only as that of the attempt that was its own.
static void on_done(struct world *world, struct clerk *clerk, const struct wire_done *done)
{
    if (clerk->state != CLERK_TELLS || done->low != clerk->low) return;
    struct ghost_task *ghost = &world->jobs[clerk->job]->tasks[clerk->index - 1];
    clerk->state = CLERK_IDLE;
    if (clerk->is_bad) {
        ghost->told_failures++;
        return;
    }
    bool may_repeat = ghost->asked_again || ghost->asked_off;
    if (ghost->recorded++ && !may_repeat)
        wrong(world, "task %u.%u was delivered twice", clerk->job, clerk->index);
}

void clerk_hears(struct world *world, uint32_t who)
{
    struct clerk *clerk = &world->clerks[who];
    struct wire_message message;
    uint32_t cable = clerk->cable;
    while (cable != NOBODY && clerk->cable == cable) {
        enum wire_result result = wire_take(&world->cables[cable]->in[FAR_SIDE], &message);
        if (result == WIRE_MORE) break;
        if (result != WIRE_GOT) {
            wrong(world, "a handler cannot read what the server says");
            return;
        }
        switch (message.kind) {
        case WIRE_WELCOME_MESSAGE: clerk->welcome = true, clerk->sent_at = 0; break;
        case WIRE_GRANTED_MESSAGE: on_granted(world, clerk, &message.granted); break;
        case WIRE_RENEWED_MESSAGE: on_renewed(world, clerk, &message.renewed); break;
        case WIRE_REFUSE_MESSAGE: on_refused(world, clerk, &message.refuse); break;
        case WIRE_DONE_MESSAGE: on_done(world, clerk, &message.done); break;
        default: break;
        }
    }
    clerk->tries = 0;
    clerk_note(world, who, world->now + 1);
}

// ---- Its day -----------------------------------------------------------------------------------

void clerk_cut_off(struct world *world, uint32_t who)
{
    struct clerk *clerk = &world->clerks[who];
    if (clerk->cable == NOBODY) return;
    uint32_t cable = clerk->cable;
    clerk->cable = NOBODY;
    clerk->welcome = false;
    clerk->tries = 0;
    cable_close(world, cable, FAR_SIDE, false);
}

static void clerk_connect(struct world *world, uint32_t who)
{
    struct clerk *clerk = &world->clerks[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    clerk->cable = cable_open(world, CABLE_CLERK, who);
    if (clerk->cable == NOBODY) return;
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_HANDLER;
    message.greet.name = wire_text_of("clerk");
    put(world, clerk, &message);
}

// All that it knows is gone with it.
void clerk_crash(struct world *world, uint32_t who)
{
    struct clerk *clerk = &world->clerks[who];
    see(world, SIGHT_CLERK_CRASH);
    hold_leave(world, clerk);
    clerk_cut_off(world, who);
    uint32_t mark = clerk->mark, lives = clerk->lives + 1;
    *clerk = (struct clerk){.cable = NOBODY, .mark = mark, .lives = lives, .state = CLERK_IDLE};
    clerk->high = CLERK_HIGH + who + (uint64_t)lives * 1000;
    clerk_note(world, who, world->now + 1000 + choose_time(world, OF_CLERKS, world->swarm.lease));
}

static void clerk_asks(struct world *world, struct clerk *clerk)
{
    clerk->state = CLERK_ASKS;
    clerk->low = ++clerk->numbers;
    clerk->asked_at = world->now;
    clerk->wait = choose_time(world, OF_CLERKS, world->swarm.lease);
    claim_put(world, clerk);
}

// When to look again, behind what was done now.
static int64_t clerk_next(struct world *world, struct clerk *clerk)
{
    int64_t again = world->now + ASKS_AGAIN;
    switch (clerk->state) {
    case CLERK_IDLE: return world->now + 1000 + choose_time(world, OF_CLERKS, RESTS);
    case CLERK_HOLDS: {
        int64_t next = clerk->done_at < clerk->until ? clerk->done_at : clerk->until;
        int64_t renews = clerk->renewed_at + clerk->lease / 4;
        if (renews <= world->now) renews = world->now + clerk->lease / 16 + 1;
        return !clerk->is_lazy && renews < next ? renews : next;
    }
    default: return again;
    }
}

static void clerk_says(struct world *world, struct clerk *clerk)
{
    bool again = !clerk->sent_at || world->now - clerk->sent_at >= ASKS_AGAIN;
    bool renews = !clerk->is_lazy && world->now - clerk->renewed_at >= clerk->lease / 4;
    switch (clerk->state) {
    case CLERK_IDLE: clerk_asks(world, clerk); break;
    case CLERK_ASKS:
        if (again) claim_put(world, clerk);
        break;
    case CLERK_TELLS:
        if (again) end_put(world, clerk);
        break;
    case CLERK_GRANTED:
        if (again) renew_put(world, clerk);
        break;
    case CLERK_HOLDS:
        if (renews) renew_put(world, clerk);
        break;
    }
}

void clerk_work(struct world *world, uint32_t who)
{
    struct clerk *clerk = &world->clerks[who];
    if (clerk->state == CLERK_HOLDS && world->now >= clerk->until) {
        see(world, SIGHT_HOLD_OVER);
        hold_leave(world, clerk);
    } else if (clerk->state == CLERK_HOLDS && world->now >= clerk->done_at) {
        hold_end(world, clerk);
    } else if (clerk->cable == NOBODY) {
        clerk_connect(world, who);
    } else if (clerk->tries >= TRIES) {
        clerk_cut_off(world, who);  // nobody answers there
    } else if (clerk->welcome) {
        clerk_says(world, clerk);
    } else {
        clerk->tries++;
    }
    clerk_note(world, who, clerk_next(world, clerk));
}
