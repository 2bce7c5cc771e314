// server.c - the server: the real cluster code, core and turns, on a simulated disk and clock.
#include "server/cluster/tokens.h"
#include "sim/cluster/internal.h"

enum { THINKS = 300, LOOKS_EVERY = 1000000, SLOW = 3000000, SAMPLE = 16 };
#define EPOCH ((int64_t)1790000000 * 1000000)

// The cluster code asks for random bytes without a context; each thread runs one simulation at a
// time.
static _Thread_local struct sim *current;

static bool random_bytes(void *bytes, size_t size)
{
    unsigned char *to = bytes;
    for (size_t i = 0; i < size; i++) to[i] = (unsigned char)choose(current, OF_TURNS, 256);
    return true;
}

static int64_t wall_clock(const struct sim *sim)
{
    return EPOCH + sim->now + sim->daemon.wall;
}

// ---- Observers ----------------------------------------------------------------------------------

static void event_comes(void *context, const struct rota_event *event)
{
    struct sim *sim = context;
    const struct daemon *daemon = &sim->daemon;
    play_record_comes(&sim->played, event, disk_written(daemon->store) + 1,
                daemon->server.next_job.number);
    core_record_comes(sim, event);
}

static void event_taken(void *context, const struct rota_event *event)
{
    struct sim *sim = context;
    play_record_taken(&sim->played, event);
    core_record_taken(sim, event);
}

// ---- Life --------------------------------------------------------------------------------------

static bool open_all(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    struct rota_config config = rota_config_default();
    int64_t lease = sim->setting.lease, own = lease - lease / 4;
    struct cluster_limits limits = {.lease = own,
                                .beat = own / 5,
                                .random = random_bytes,
                                .restored = daemon->files.restored};
    config.lease = lease;
    config.told_is_begun = true;
    config.seed = 7;
    config.resize = core_resize;
    config.resize_context = sim;
    play_record_open(&sim->played, sim->play, &config);
    if (!server_open(&daemon->server, daemon->store, &config)) return false;
    daemon->watch = (struct server_watch){sim, event_comes, event_taken};
    daemon->server.watch = &daemon->watch;
    core_record_restart(sim);
    if (daemon->digest) {
        see(sim, SIGHT_SAME_STATE);
        if (rota_digest(daemon->server.rota) != daemon->digest)
            wrong(sim, "the state after a restart differs from the state before");
        daemon->digest = 0;
    }
    return cluster_open(&daemon->cluster, &daemon->server, &limits, wall_clock(sim), sim->now);
}

void sim_daemon_start(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    current = sim;
    if (daemon->up) return;
    daemon->mark++;
    daemon->turn_is_due = false;
    daemon->input_count = 0;
    if (!open_all(sim)) {
        if (!store_error(daemon->store)->fault)
            wrong(sim, "the server cannot start: %s", daemon->server.reason);
        cluster_close(&daemon->cluster);
        server_close(&daemon->server);
        disk_crash(daemon->store);
        play_record_crash(&sim->played, disk_written(daemon->store));
        event_queue_add(&sim->queue, sim->now + 100000, DUE_SERVER_UP, 0, 0);
        return;
    }
    daemon->up = true;
    sim_say(sim, "server begins");
    daemon->files.restored = false;
    judge_recovery(sim);
    sim_daemon_due(sim, sim->now + THINKS);
}

void sim_daemon_stop(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    if (!daemon->up) return;
    see(sim, SIGHT_SERVER_CRASH);
    daemon->up = false;
    daemon->digest = rota_digest(daemon->server.rota);
    uint64_t written = disk_written(daemon->store);
    bool half = chance(sim, OF_FAULTS, sim->setting.half_open);
    for (uint32_t i = 0; i < sim->link_count; i++) {
        sim->links[i]->peer = NULL;
        sim_link_close(sim, i, SERVER_SIDE, half);
    }
    bool undecided = daemon->server.is_decided || store_error(daemon->store)->fault;
    cluster_close(&daemon->cluster);
    server_close(&daemon->server);
    disk_crash(daemon->store);
    files_crash(sim);
    play_record_crash(&sim->played, disk_written(daemon->store));
    if (undecided || disk_written(daemon->store) != written) daemon->digest = 0;
    sim_say(sim, "server crashes at turn %llu of %llu",
              (unsigned long long)disk_written(daemon->store), (unsigned long long)written);
    int64_t away = 1000 + choose_time(sim, OF_FAULTS, sim->setting.lease * 2);
    event_queue_add(&sim->queue, sim->now + away, DUE_SERVER_UP, 0, 0);
}

// ---- Turns -------------------------------------------------------------------------------------

void sim_daemon_due(struct sim *sim, int64_t at)
{
    struct daemon *daemon = &sim->daemon;
    if (!daemon->up || daemon->turn_is_due) return;
    daemon->turn_is_due = true;
    event_queue_add(&sim->queue, at, DUE_TURN, 0, daemon->mark);
}

void sim_daemon_input(struct sim *sim, uint32_t number)
{
    struct daemon *daemon = &sim->daemon;
    struct link *link = sim->links[number];
    if (!daemon->up) return;
    if (!link->noted) {
        link->noted = true;
        *SIM_NEW(daemon->inputs, daemon->input_count, daemon->input_capacity) = number;
    }
    sim_daemon_due(sim, sim->now + 1 + choose_time(sim, OF_TURNS, THINKS));
}

static void trace(struct sim *sim, const struct link *link,
                  const struct wire_message *message)
{
    char text[DUMP_SIZE];
    if (!sim->trace) return;
    sim_dump(message, text);
    sim_say(sim, "%s %u to server: %s", sim_link_end(link), link->who + 1, text);
}

// Another worker of that name or folder. Null: there is no such worker, or it sent no greeting.
static const struct node *greets_as(struct sim *sim, const struct link *link,
                                    const struct wire_message *message)
{
    bool greets = link->is_worker && message->kind == WIRE_GREET_MESSAGE;
    const struct node *duplicate = greets ? duplicate_alive(sim, link->who) : NULL;
    if (duplicate) see(sim, SIGHT_DUPLICATE);
    return duplicate;
}

// Describes a message that must not change anything. Null: it may.
static const char *harmless_find(struct sim *sim, const struct link *link,
                                 const struct wire_message *message)
{
    if (bad_is_meant(sim, message)) return "an invalid graph";
    bool is_forged = link->is_worker && files_is_forged(sim, link->who, message);
    return is_forged ? "an end of an attempt with another token" : NULL;
}

static void input_take(struct sim *sim, struct link *link)
{
    struct daemon *daemon = &sim->daemon;
    struct wire_message message;
    enum wire_result result = WIRE_MORE;
    bool serves = link->is_worker || link->is_handler;
    uint32_t roles = serves ? WIRE_WORKER : WIRE_CLIENT | WIRE_ADMIN;
    if (!link->peer && link->open[SERVER_SIDE])
        link->peer = cluster_peer_add(&daemon->cluster, roles, "key", &link->out[SERVER_SIDE]);
    while (link->peer && (result = wire_take(&link->in[SERVER_SIDE], &message)) == WIRE_GOT) {
        trace(sim, link, &message);
        judge_heard(sim, &message);
        const char *harmless = harmless_find(sim, link, &message);
        uint64_t digest = harmless ? rota_digest(daemon->server.rota) : 0;
        const struct node *duplicate = greets_as(sim, link, &message);
        if (!cluster_take(&daemon->cluster, link->peer, &message)) break;
        if (harmless && rota_digest(daemon->server.rota) != digest)
            wrong(sim, "%s has changed something", harmless);
        if (duplicate && link->peer->worker)
            wrong(sim, "%s is welcome while worker-%u, of its name or folder, is connected",
                  sim->nodes[link->who].address, (unsigned)(duplicate - sim->nodes) + 1);
        link->heard = sim->now;
    }
    if (result == WIRE_BAD) wrong(sim, "the server cannot decode a message");
    if (link->open[SERVER_SIDE] || !link->peer) return;
    cluster_peer_remove(&daemon->cluster, link->peer);
    link->peer = NULL;
}

static void told_judge(struct sim *sim, struct link *link)
{
    struct wire_out *out = &link->out[SERVER_SIDE];
    struct wire_in in = {0};
    struct wire_message message;
    char *room = wire_in_room(&in, out->length);
    if (!room) abort();
    memcpy(room, out->bytes, out->length);
    wire_in_came(&in, out->length);
    while (wire_take(&in, &message) == WIRE_GOT) {
        judge_told(sim, link, &message);
        files_told(sim, &message);
        bool again = message.kind == WIRE_RUN_MESSAGE && !sim->is_clear
                     && chance(sim, OF_NETWORK, sim->setting.run_twice);
        if (!again) continue;
        see(sim, SIGHT_ORDER_TWICE);
        wire_put(out, &message);
    }
    wire_in_release(&in);
}

// Messages of turns that became durable together are sent together, orders first: an order that was
// decided before a cancel must not be judged as if it came after it.
static void flush_to(struct sim *sim, bool workers)
{
    for (uint32_t i = 0; i < sim->link_count; i++) {
        struct link *link = sim->links[i];
        if (link->is_worker != workers || !link->peer || !link->open[SERVER_SIDE]) continue;
        bool closing = link->peer->closing;
        if (link->out[SERVER_SIDE].length) {
            told_judge(sim, link);
            sim_link_send(sim, i, SERVER_SIDE);
        }
        if (!closing) continue;
        sim_link_close(sim, i, SERVER_SIDE, false);
        sim_daemon_input(sim, i);
    }
}

void sim_daemon_feed(struct sim *sim)
{
    rota_time more = cluster_feed(&sim->daemon.cluster, sim->now);
    if (more != INT64_MAX) event_queue_add(&sim->queue, more, DUE_FEED, 0, sim->daemon.mark);
    sim->words++;
    flush_to(sim, true);
    flush_to(sim, false);
}

static void wake_note(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    int64_t at = sim->now + LOOKS_EVERY;
    rota_time next = cluster_deadline(&daemon->cluster);
    if (next < at) at = next > sim->now ? next : sim->now + 1;
    event_queue_add(&sim->queue, at, DUE_WAKE, 0, ++daemon->wake);
}

static void settle_note(struct sim *sim, uint64_t turn)
{
    int64_t took = 50 + choose_time(sim, OF_DISK, sim->setting.sync);
    if (!sim->is_clear && chance(sim, OF_DISK, sim->setting.sync_slow)) {
        see(sim, SIGHT_SYNC_SLOW);
        took += choose_time(sim, OF_DISK, SLOW);
    }
    bool hangs = !sim->is_clear && chance(sim, OF_DISK, sim->setting.sync_hangs);
    if (hangs) see(sim, SIGHT_SYNC_HUNG);
    // A server whose disk does not answer is killed; whether its turn was written is unknown.
    if (hangs) took = choose_time(sim, OF_DISK, sim->setting.lease * 2);
    event_queue_add(&sim->queue, sim->now + took, hangs ? DUE_SERVER_KILL : DUE_SETTLE,
                     (uint32_t)turn, sim->daemon.mark);
}

void sim_daemon_turn(struct sim *sim)
{
    struct daemon *daemon = &sim->daemon;
    current = sim;
    daemon->turn_is_due = false;
    if (!cluster_check(&daemon->cluster, sim->now)) return sim_daemon_stop(sim);
    if (!cluster_can_begin(&daemon->cluster)) return;  // the next durable turn makes room
    see(sim, SIGHT_TURN);
    cluster_begin(&daemon->cluster, wall_clock(sim), sim->now);
    uint32_t count = daemon->input_count;
    daemon->input_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        sim->links[daemon->inputs[i]]->noted = false;
        input_take(sim, sim->links[daemon->inputs[i]]);
    }
    uint64_t turn = cluster_write(&daemon->cluster);
    if (!turn) return sim_daemon_stop(sim);  // it prints the reason, and ends
    judge_actions(sim);
    bool idle = !daemon->server.action_count && !daemon->server.effects.record_count;
    if (idle) play_record_idle(&sim->played);
    settle_note(sim, turn);
    if (turn % SAMPLE == 0) judge_turn(sim);
    sim_daemon_feed(sim);
    wake_note(sim);
}

void sim_daemon_settle(struct sim *sim, uint32_t turn)
{
    struct daemon *daemon = &sim->daemon;
    if (!sim->is_clear && chance(sim, OF_DISK, sim->setting.sync_fails)) {
        see(sim, SIGHT_SYNC_FAILED);
        return sim_daemon_stop(sim);
    }
    see(sim, SIGHT_SETTLE);
    disk_sync(daemon->store, turn);
    cluster_settled(&daemon->cluster, turn);
    sim_daemon_feed(sim);
    if (daemon->input_count) sim_daemon_due(sim, sim->now + 1);
}
