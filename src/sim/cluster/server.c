// server.c - the server: the real hub, core and turns, on a disk and a clock that are not.
#include "server/cluster/tokens.h"
#include "sim/cluster/internal.h"

enum { THINKS = 300, LOOKS_EVERY = 1000000, SLOW = 3000000, SAMPLE = 16 };
#define EPOCH ((int64_t)1790000000 * 1000000)

// The hub asks for bytes without saying for whom; one world runs at a time in a thread.
static _Thread_local struct world *current;

static bool random_bytes(void *bytes, size_t size)
{
    unsigned char *to = bytes;
    for (size_t i = 0; i < size; i++) to[i] = (unsigned char)choose(current, OF_TURNS, 256);
    return true;
}

static int64_t wall_clock(const struct world *world)
{
    return EPOCH + world->now + world->seat.wall;
}

// ---- Who looks on ------------------------------------------------------------------------------

static void event_comes(void *context, const struct rota_event *event)
{
    struct world *world = context;
    const struct seat *seat = &world->seat;
    story_comes(&world->story, event, disk_written(seat->store) + 1, seat->server.next_job.number);
    ledger_comes(world, event);
}

static void event_taken(void *context, const struct rota_event *event)
{
    struct world *world = context;
    story_taken(&world->story, event);
    ledger_taken(world, event);
}

// ---- Life --------------------------------------------------------------------------------------

static bool open_all(struct world *world)
{
    struct seat *seat = &world->seat;
    struct rota_config config = rota_config_default();
    int64_t lease = world->swarm.lease, own = lease - lease / 4;
    struct hub_limits limits = {.lease = own,
                                .beat = own / 5,
                                .random = random_bytes,
                                .restored = seat->files.restored};
    config.lease = lease;
    config.told_is_begun = true;
    config.seed = 7;
    config.resize = core_resize;
    config.resize_context = world;
    story_open(&world->story, world->play, &config);
    if (!server_open(&seat->server, seat->store, &config)) return false;
    seat->watch = (struct server_watch){world, event_comes, event_taken};
    seat->server.watch = &seat->watch;
    ledger_restart(world);
    if (seat->digest) {
        see(world, SIGHT_SAME_STATE);
        if (rota_digest(seat->server.rota) != seat->digest)
            wrong(world, "the state after a restart is not that of before");
        seat->digest = 0;
    }
    return hub_open(&seat->hub, &seat->server, &limits, wall_clock(world), world->now);
}

void seat_start(struct world *world)
{
    struct seat *seat = &world->seat;
    current = world;
    if (seat->up) return;
    seat->mark++;
    seat->turn_is_due = false;
    seat->input_count = 0;
    if (!open_all(world)) {
        if (!store_error(seat->store)->fault)
            wrong(world, "the server cannot begin: %s", seat->server.reason);
        hub_close(&seat->hub);
        server_close(&seat->server);
        disk_crash(seat->store);
        story_crash(&world->story, disk_written(seat->store));
        agenda_add(&world->agenda, world->now + 100000, DUE_SERVER_UP, 0, 0);
        return;
    }
    seat->up = true;
    world_say(world, "server begins");
    seat->files.restored = false;
    judge_recovery(world);
    seat_due(world, world->now + THINKS);
}

void seat_stop(struct world *world)
{
    struct seat *seat = &world->seat;
    if (!seat->up) return;
    see(world, SIGHT_SERVER_CRASH);
    seat->up = false;
    seat->digest = rota_digest(seat->server.rota);
    uint64_t written = disk_written(seat->store);
    bool half = chance(world, OF_WEATHER, world->swarm.half_open);
    for (uint32_t i = 0; i < world->cable_count; i++) {
        world->cables[i]->peer = NULL;
        cable_close(world, i, SERVER_SIDE, half);
    }
    bool undecided = seat->server.is_decided || store_error(seat->store)->fault;
    hub_close(&seat->hub);
    server_close(&seat->server);
    disk_crash(seat->store);
    files_crash(world);
    story_crash(&world->story, disk_written(seat->store));
    if (undecided || disk_written(seat->store) != written) seat->digest = 0;
    world_say(world, "server crashes at turn %llu of %llu",
              (unsigned long long)disk_written(seat->store), (unsigned long long)written);
    int64_t away = 1000 + choose_time(world, OF_WEATHER, world->swarm.lease * 2);
    agenda_add(&world->agenda, world->now + away, DUE_SERVER_UP, 0, 0);
}

// ---- Turns -------------------------------------------------------------------------------------

void seat_due(struct world *world, int64_t at)
{
    struct seat *seat = &world->seat;
    if (!seat->up || seat->turn_is_due) return;
    seat->turn_is_due = true;
    agenda_add(&world->agenda, at, DUE_TURN, 0, seat->mark);
}

void seat_input(struct world *world, uint32_t number)
{
    struct seat *seat = &world->seat;
    struct cable *cable = world->cables[number];
    if (!seat->up) return;
    if (!cable->noted) {
        cable->noted = true;
        world_reserve(&seat->inputs, &seat->input_capacity, seat->input_count,
                      sizeof *seat->inputs);
        seat->inputs[seat->input_count++] = number;
    }
    seat_due(world, world->now + 1 + choose_time(world, OF_TURNS, THINKS));
}

static void trace(struct world *world, const struct cable *cable,
                  const struct wire_message *message)
{
    char text[DUMP_SIZE];
    if (!world->trace) return;
    world_dump(message, text);
    world_say(world, "%s %u to server: %s", cable_end(cable), cable->who + 1, text);
}

// Another worker of that name or folder; null: there is none, or it does not greet.
static const struct hand *greets_as(struct world *world, const struct cable *cable,
                                    const struct wire_message *message)
{
    bool greets = cable->is_worker && message->kind == WIRE_GREET_MESSAGE;
    const struct hand *twin = greets ? twin_alive(world, cable->who) : NULL;
    if (twin) see(world, SIGHT_TWIN);
    return twin;
}

// What must not change anything; null: it may.
static const char *harmless_find(struct world *world, const struct cable *cable,
                                 const struct wire_message *message)
{
    if (bad_is_meant(world, message)) return "a graph that makes no sense";
    bool is_forged = cable->is_worker && files_is_forged(world, cable->who, message);
    return is_forged ? "an end of an attempt with another token" : NULL;
}

static void input_take(struct world *world, struct cable *cable)
{
    struct seat *seat = &world->seat;
    struct wire_message message;
    enum wire_result result = WIRE_MORE;
    bool serves = cable->is_worker || cable->is_clerk;
    uint32_t roles = serves ? WIRE_WORKER : WIRE_CLIENT | WIRE_ADMIN;
    if (!cable->peer && cable->open[SERVER_SIDE])
        cable->peer = hub_peer_add(&seat->hub, roles, "key", &cable->out[SERVER_SIDE]);
    while (cable->peer && (result = wire_take(&cable->in[SERVER_SIDE], &message)) == WIRE_GOT) {
        trace(world, cable, &message);
        judge_heard(world, &message);
        const char *harmless = harmless_find(world, cable, &message);
        uint64_t digest = harmless ? rota_digest(seat->server.rota) : 0;
        const struct hand *twin = greets_as(world, cable, &message);
        if (!hub_take(&seat->hub, cable->peer, &message)) break;
        if (harmless && rota_digest(seat->server.rota) != digest)
            wrong(world, "%s has left a trace", harmless);
        if (twin && cable->peer->worker)
            wrong(world, "%s is welcome while worker-%u, of its name or folder, is connected",
                  world->hands[cable->who].address, (unsigned)(twin - world->hands) + 1);
        cable->heard = world->now;
    }
    if (result == WIRE_BAD) wrong(world, "the server cannot read what it was sent");
    if (cable->open[SERVER_SIDE] || !cable->peer) return;
    hub_peer_remove(&seat->hub, cable->peer);
    cable->peer = NULL;
}

static void told_judge(struct world *world, struct cable *cable)
{
    struct wire_out *out = &cable->out[SERVER_SIDE];
    struct wire_in in = {0};
    struct wire_message message;
    char *room = wire_in_room(&in, out->length);
    if (!room) abort();
    memcpy(room, out->bytes, out->length);
    wire_in_came(&in, out->length);
    while (wire_take(&in, &message) == WIRE_GOT) {
        judge_told(world, cable, &message);
        files_told(world, &message);
        bool again = message.kind == WIRE_RUN_MESSAGE && !world->is_clear
                     && chance(world, OF_NETWORK, world->swarm.run_twice);
        if (!again) continue;
        see(world, SIGHT_ORDER_TWICE);
        wire_put(out, &message);
    }
    wire_in_release(&in);
}

// What became durable together leaves together, the orders first: one that was decided before a
// cancel is not to be judged as if it came behind it.
static void flush_to(struct world *world, bool workers)
{
    for (uint32_t i = 0; i < world->cable_count; i++) {
        struct cable *cable = world->cables[i];
        if (cable->is_worker != workers || !cable->peer || !cable->open[SERVER_SIDE]) continue;
        bool closing = cable->peer->closing;
        if (cable->out[SERVER_SIDE].length) {
            told_judge(world, cable);
            cable_send(world, i, SERVER_SIDE);
        }
        if (!closing) continue;
        cable_close(world, i, SERVER_SIDE, false);
        seat_input(world, i);
    }
}

static void flush(struct world *world)
{
    rota_time more = hub_feed(&world->seat.hub, world->now);
    if (more != INT64_MAX) agenda_add(&world->agenda, more, DUE_FEED, 0, world->seat.mark);
    world->words++;
    flush_to(world, true);
    flush_to(world, false);
}

static void wake_note(struct world *world)
{
    struct seat *seat = &world->seat;
    int64_t at = world->now + LOOKS_EVERY;
    rota_time next = hub_deadline(&seat->hub);
    if (next < at) at = next > world->now ? next : world->now + 1;
    agenda_add(&world->agenda, at, DUE_WAKE, 0, ++seat->wake);
}

static void settle_note(struct world *world, uint64_t turn)
{
    int64_t took = 50 + choose_time(world, OF_DISK, world->swarm.sync);
    if (!world->is_clear && chance(world, OF_DISK, world->swarm.sync_slow)) {
        see(world, SIGHT_SYNC_SLOW);
        took += choose_time(world, OF_DISK, SLOW);
    }
    bool hangs = !world->is_clear && chance(world, OF_DISK, world->swarm.sync_hangs);
    if (hangs) see(world, SIGHT_SYNC_HUNG);
    // Somebody ends a server whose disk does not answer; whether it had written it nobody knows.
    if (hangs) took = choose_time(world, OF_DISK, world->swarm.lease * 2);
    agenda_add(&world->agenda, world->now + took, hangs ? DUE_SERVER_KILL : DUE_SETTLE,
               (uint32_t)turn, world->seat.mark);
}

void seat_turn(struct world *world)
{
    struct seat *seat = &world->seat;
    current = world;
    seat->turn_is_due = false;
    if (!hub_check(&seat->hub, world->now)) return seat_stop(world);
    if (!hub_can_begin(&seat->hub)) return;  // the next one that settles makes room
    see(world, SIGHT_TURN);
    hub_begin(&seat->hub, wall_clock(world), world->now);
    uint32_t count = seat->input_count;
    seat->input_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        world->cables[seat->inputs[i]]->noted = false;
        input_take(world, world->cables[seat->inputs[i]]);
    }
    uint64_t turn = hub_write(&seat->hub);
    if (!turn) return seat_stop(world);  // it says why, and ends
    judge_actions(world);
    bool idle = !seat->server.action_count && !seat->server.effects.record_count;
    if (idle) story_idle(&world->story);
    settle_note(world, turn);
    if (turn % SAMPLE == 0) judge_turn(world);
    flush(world);
    wake_note(world);
}

void seat_feed(struct world *world)
{
    flush(world);
}

void seat_settle(struct world *world, uint32_t turn)
{
    struct seat *seat = &world->seat;
    if (!world->is_clear && chance(world, OF_DISK, world->swarm.sync_fails)) {
        see(world, SIGHT_SYNC_FAILED);
        return seat_stop(world);
    }
    see(world, SIGHT_SETTLE);
    disk_sync(seat->store, turn);
    hub_settled(&seat->hub, turn);
    flush(world);
    if (seat->input_count) seat_due(world, world->now + 1);
}
