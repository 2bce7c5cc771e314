// worker.c - a worker: the real rules of decide.h, and around them a made-up machine.
#include "base/planted.h"
#include "sim/cluster/internal.h"

enum {
    WELCOME_WITHIN = 10000000,
    PAUSE_MIN = 100000,
    PAUSE_MAX = 5000000,
    ALONE = 3600,
    SPOOL_SYNC = 3000,
    EVICTS = 6  // bits of the time of a stall: one in four is an eviction
};

int64_t hand_clock(const struct world *world, const struct hand *hand)
{
    int64_t passed = world->now - hand->booted;
    return 1000000 + passed + passed / 1000000 * hand->rate
           + passed % 1000000 * hand->rate / 1000000;
}

// When that clock will show it; a little later does no harm.
static int64_t world_time(const struct world *world, const struct hand *hand, int64_t clock)
{
    int64_t left = clock - hand_clock(world, hand);
    if (left <= 0) return world->now;
    return world->now + left - left / 1000000 * hand->rate - left % 1000000 * hand->rate / 1000000
           + 2;
}

// ---- The way to the server ---------------------------------------------------------------------

static void greet(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_WORKER;
    message.greet.name = wire_text_of(hand->name);
    message.greet.boot = hand->boot;
    message.greet.connection = decide_connect(&hand->decide, hand_clock(world, hand));
    message.greet.folder = hand->folder;
    message.greet.place = hand->place;
    wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
}

static void pause_grow(struct world *world, struct hand *hand)
{
    hand->pause = hand->pause ? hand->pause * 2 : PAUSE_MIN;
    if (hand->pause > PAUSE_MAX) hand->pause = PAUSE_MAX;
    hand->connect_at = hand_clock(world, hand) + hand->pause / 2
                       + choose_time(world, OF_WORKERS, hand->pause / 2);
}

void hand_cut_off(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up || hand->cable == NOBODY) return;
    uint32_t cable = hand->cable;
    hand->cable = NOBODY;
    hand->welcome = false;
    decide_disconnect(&hand->decide);
    cable_close(world, cable, FAR_SIDE, false);
    pause_grow(world, hand);
    hand_schedule(world, who);
}

static void hand_connect(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    hand->cable = cable_open(world, CABLE_HAND, who);
    if (hand->cable == NOBODY) return pause_grow(world, hand);
    hand->welcome_by = hand_clock(world, hand) + WELCOME_WITHIN;
    greet(world, who);
}

void hand_beat(struct world *world, struct hand *hand)
{
    struct wire_message message = {.kind = WIRE_BEAT_MESSAGE};
    int64_t now = hand_clock(world, hand);
    decide_beat(&hand->decide, now);
    message.beat.sent = (uint64_t)now;
    wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
}

void hand_flush(struct world *world, uint32_t who)
{
    const struct hand *hand = &world->hands[who];
    if (hand->cable != NOBODY) cable_send(world, hand->cable, FAR_SIDE);
}

void hand_hears(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    struct wire_message message;
    uint32_t cable = hand->cable;
    if (!hand->up) return;
    while (cable != NOBODY && hand->cable == cable) {
        enum wire_result result = wire_take(&world->cables[cable]->in[FAR_SIDE], &message);
        if (result == WIRE_MORE) break;
        if (result != WIRE_GOT) wrong(world, "%s cannot read what the server says", hand->name);
        if (result != WIRE_GOT || !order_take(world, who, &message)) {
            hand_cut_off(world, who);
            break;
        }
        if (message.kind == WIRE_WELCOME_MESSAGE) hand_beat(world, hand);
    }
    hand_flush(world, who);
    hand_schedule(world, who);
}

// ---- What its clock says -----------------------------------------------------------------------

static void server_timers(struct world *world, uint32_t who, int64_t now)
{
    struct hand *hand = &world->hands[who];
    if (hand->cable == NOBODY) {
        if (now >= hand->connect_at) hand_connect(world, who);
    } else if (!hand->welcome) {
        if (now >= hand->welcome_by) hand_cut_off(world, who);
    } else if (decide_is_cut_off(&hand->decide, now)) {
        hand_cut_off(world, who);
    } else if (decide_beat_is_due(&hand->decide, now)) {
        hand_beat(world, hand);
    }
}

static void must_end(struct world *world, uint32_t who, int64_t now)
{
    struct hand *hand = &world->hands[who];
    struct attempt *attempt = NULL;
    while ((attempt = decide_must_end(&hand->decide, attempt, now))) {
        bool fences = attempt->is_exclusive && decide_lease_is_over(&hand->decide, now);
        if (fences) {
            attempt_fence(&hand->decide.attempts, attempt);
            see(world, SIGHT_FENCED);
        }
        order_end(world, hand, attempt, 0);
    }
}

// What lies in its socket comes before what its clock says.
static void late_take(struct world *world, struct hand *hand)
{
    uint32_t cable = hand->cable;
    while (cable != NOBODY && hand->cable == cable) {
        const struct piece *first = world->cables[cable]->flow[FAR_SIDE].first;
        uint32_t who = (uint32_t)(hand - world->hands);
        bool cut = (world->cut[FAR_SIDE][who] || hand_is_parted(world, who))
                   && !world->cables[cable]->flow[FAR_SIDE].landed;
        if (!first || first->at > world->now || cut) break;
        cable_deliver(world, cable, FAR_SIDE);
    }
}

void hand_work(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    hand->timer_at = INT64_MAX;
    if (!hand->up) return;
    if (hand->stalled_until) {
        hand->stalled_until = 0;
        late_take(world, hand);
    }
    int64_t now = hand_clock(world, hand);
    server_timers(world, who, now);
    must_end(world, who, now);
    hand_flush(world, who);
    hand_schedule(world, who);
}

void hand_schedule(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up) return;
    int64_t due = decide_due(&hand->decide);
    int64_t other = hand->cable == NOBODY ? hand->connect_at
                    : hand->welcome       ? INT64_MAX
                                          : hand->welcome_by;
    if (other < due) due = other;
    bool unsafe = hand->spool_count && !hand->spool[hand->spool_count - 1].safe;
    if (unsafe && !hand->spool_is_due) {
        hand->spool_is_due = true;
        int64_t took = 100 + choose_time(world, OF_WORKERS, SPOOL_SYNC);
        agenda_add(&world->agenda, world->now + took, DUE_SPOOL, who, hand->mark);
    }
    if (due == INT64_MAX) return;
    int64_t at = world_time(world, hand, due);
    if (at >= hand->timer_at) return;
    hand->timer_at = at;
    agenda_add(&world->agenda, at, DUE_HAND, who, hand->mark);
}

// ---- A loop that hangs on a disk, or an agent that is stopped ----------------------------------

static void fence_note(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    int64_t due = decide_fence_due(&hand->decide);
    if (due == INT64_MAX) return;
    agenda_add(&world->agenda, world_time(world, hand, due), DUE_FENCE, who, hand->mark);
}

void hand_stall(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up || world->now < hand->stalled_until) return;
    hand->stalled_until = world->now + choose_time(world, OF_WEATHER, world->swarm.lease * 2);
    if ((hand->stalled_until & EVICTS) == 0) return hand_evict(world, who);
    hand->is_stopped = hand->stalled_until & 1;
    see(world, hand->is_stopped ? SIGHT_AGENT_STOPPED : SIGHT_STALL);
    world_say(world, "%s %s", hand->name, hand->is_stopped ? "is stopped" : "hangs");
    fence_note(world, who);
    if (!chance(world, OF_WEATHER, world->swarm.torn)) return;
    int64_t torn = world->now + choose_time(world, OF_WEATHER, world->swarm.lease / 8);
    agenda_add(&world->agenda, torn, DUE_TORN, who, hand->mark);
}

// Commands get the signal first, or the worker does; it tells of their ends while it is let live.
void hand_evict(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    hand->stalled_until = 0;
    see(world, SIGHT_EVICTED);
    world_say(world, "%s is ended by its batch system", hand->name);
    hand->decide.is_draining = true;
    processes_evict(world, who);
    if (hand->welcome) wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
    hand_flush(world, who);
    int64_t killed = world->now + choose_time(world, OF_WEATHER, world->swarm.lease);
    agenda_add(&world->agenda, killed, DUE_EVICTED, who, hand->mark);
}

// What came before lies in its socket, and is read when it goes on, as if nothing had happened.
void hand_tear(struct world *world, uint32_t who)
{
    const struct hand *hand = &world->hands[who];
    bool hangs = hand->up && world->now < hand->stalled_until;
    if (!hangs || hand->cable == NOBODY || world->is_clear) return;
    see(world, SIGHT_TORN);
    world_say(world, "%s is parted from the server, which knows", hand->name);
    cable_close(world, hand->cable, SERVER_SIDE, true);
    seat_input(world, hand->cable);
    world->cut[SERVER_SIDE][who] = world->cut[FAR_SIDE][who] = true;
    int64_t lease = world->swarm.lease;
    agenda_add(&world->agenda, world->now + lease + choose_time(world, OF_WEATHER, lease),
               DUE_MEND, who, 0);
}

// The process that runs commands has the same timer: it is not stopped with the agent.
void hand_fence(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up || world->now >= hand->stalled_until || !hand->decide.attempts.exclusive) return;
    if (hand->is_stopped && PLANTED(FENCE_STOPPED)) return;
    see(world, SIGHT_FENCE);
    hand_crash(world, who, false);
}

// ---- Life --------------------------------------------------------------------------------------

void hand_start(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (hand->up || hand->buried) return;
    hand->up = true;
    hand->mark++;
    hand->cable = NOBODY;
    hand->boot = ((uint64_t)who + 1) << 32 | hand->mark;
    if (!hand->folder) hand->folder = hand->boot;
    if (!hand->place) hand->place = hand->boot;
    hand->pause = hand->connect_at = 0;
    hand->timer_at = INT64_MAX;
    hand->stalled_until = 0;
    hand->spool_is_due = false;
    shelf_begin(hand);
    decide_init(&hand->decide, hand_clock(world, hand), (int64_t)ALONE * 1000000);
    for (uint32_t i = 0; i < hand->spool_count; i++) {
        const struct wire_finished *finished = &hand->spool[i].finished;
        struct attempt attempt = {.task = finished->task,
                                  .number = finished->attempt,
                                  .token = finished->token,
                                  .state = ATTEMPT_SPOOLED};
        if (!attempts_reserve(&hand->decide.attempts)) abort();
        attempts_add(&hand->decide.attempts, &attempt);
    }
    world_say(world, "%s begins", hand->name);
    hand_work(world, who);
}

static void unsafe_drop(struct world *world, struct hand *hand)
{
    uint32_t before = hand->spool_count;
    while (hand->spool_count && !hand->spool[hand->spool_count - 1].safe) hand->spool_count--;
    if (hand->spool_count < before) see(world, SIGHT_WORKER_LOST_REPORT);
}

static void waiting_drop(struct hand *hand)
{
    while (hand->waiting_count) wire_in_release(&hand->waiting[--hand->waiting_count]);
}

void hand_crash(struct world *world, uint32_t who, bool reboots)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up) return;
    see(world, SIGHT_WORKER_CRASH);
    world_say(world, "%s crashes%s", hand->name, reboots ? " with its machine" : "");
    uint32_t cable = hand->cable;
    hand->up = hand->welcome = false;
    hand->cable = NOBODY;
    processes_die(world, hand);
    unsafe_drop(world, hand);
    waiting_drop(hand);
    shelf_crash(hand);
    brooks_crash(world, who);
    decide_release(&hand->decide);
    bool silently = reboots || chance(world, OF_WEATHER, world->swarm.half_open);
    if (cable != NOBODY) cable_close(world, cable, FAR_SIDE, silently);
    if (reboots) {
        see(world, SIGHT_WORKER_REBOOT);
        hand->booted = world->now;
        hand->place = 0;
    }
    int64_t away = 1000 + choose_time(world, OF_WEATHER, world->swarm.lease * 2);
    agenda_add(&world->agenda, world->now + away, DUE_HAND_UP, who, 0);
}

// Its reports are gone with its objects, also those that were safe.
void hand_burn(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    if (!hand->up) return;
    hand_crash(world, who, true);
    see(world, SIGHT_BURNED);
    hand->spool_count = 0;
    hand->folder = 0;  // it gets another one
    shelf_bury(world, hand);
}

void hand_bury(struct world *world, uint32_t who)
{
    world->hands[who].buried = true;
    world->hands[who].spool_count = 0;
    shelf_bury(world, &world->hands[who]);
    see(world, SIGHT_BURIED);
    world_say(world, "%s stays dead", world->hands[who].name);
}

void hand_release(struct hand *hand)
{
    if (hand->up) decide_release(&hand->decide);
    waiting_drop(hand);
    shelf_crash(hand);
    free(hand->lacking), free(hand->shelf), free(hand->hauls), free(hand->losses);
    free(hand->waiting), free(hand->processes), free(hand->spool);
    brooks_release(&hand->brooks);
}
