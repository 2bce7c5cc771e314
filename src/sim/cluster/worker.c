// worker.c - a worker: the real rules of worker/agent (decide.h, run_orders.h) on a simulated
// machine.
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

int64_t sim_node_clock(const struct sim *sim, const struct node *node)
{
    int64_t passed = sim->now - node->booted;
    return 1000000 + passed + passed / 1000000 * node->rate
           + passed % 1000000 * node->rate / 1000000;
}

// When that clock will reach the time; slightly later does no harm.
static int64_t sim_time(const struct sim *sim, const struct node *node, int64_t clock)
{
    int64_t left = clock - sim_node_clock(sim, node);
    if (left <= 0) return sim->now;
    return sim->now + left - left / 1000000 * node->rate - left % 1000000 * node->rate / 1000000
           + 2;
}

// ---- The connection to the server ---------------------------------------------------------------

static void greet(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_WORKER;
    message.greet.name = wire_text_of(node->name);
    message.greet.boot = node->boot;
    message.greet.connection = decide_connect(&node->decide, sim_node_clock(sim, node));
    message.greet.folder = node->folder;
    message.greet.place = node->place;
    wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
}

static void pause_grow(struct sim *sim, struct node *node)
{
    node->pause = node->pause ? node->pause * 2 : PAUSE_MIN;
    if (node->pause > PAUSE_MAX) node->pause = PAUSE_MAX;
    node->connect_at = sim_node_clock(sim, node) + node->pause / 2
                       + choose_time(sim, OF_WORKERS, node->pause / 2);
}

void sim_node_cut_off(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (!node->up || node->link == NOBODY) return;
    uint32_t link = node->link;
    node->link = NOBODY;
    node->welcome = false;
    decide_disconnect(&node->decide);
    sim_link_close(sim, link, FAR_SIDE, false);
    pause_grow(sim, node);
    sim_node_schedule(sim, who);
}

static void node_connect(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    node->link = sim_link_open(sim, LINK_WORKER, who);
    if (node->link == NOBODY) return pause_grow(sim, node);
    node->welcome_by = sim_node_clock(sim, node) + WELCOME_WITHIN;
    greet(sim, who);
}

void sim_node_beat(struct sim *sim, struct node *node)
{
    struct wire_message message = {.kind = WIRE_BEAT_MESSAGE};
    int64_t now = sim_node_clock(sim, node);
    decide_beat(&node->decide, now);
    message.beat.sent = (uint64_t)now;
    wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
}

void sim_node_flush(struct sim *sim, uint32_t who)
{
    const struct node *node = &sim->nodes[who];
    if (node->link != NOBODY) sim_link_send(sim, node->link, FAR_SIDE);
}

void sim_node_hears(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    struct wire_message message;
    uint32_t link = node->link;
    if (!node->up) return;
    while (link != NOBODY && node->link == link) {
        enum wire_result result = wire_take(&sim->links[link]->in[FAR_SIDE], &message);
        if (result == WIRE_MORE) break;
        if (result != WIRE_GOT) wrong(sim, "%s cannot decode a message of the server", node->name);
        if (result != WIRE_GOT || !order_take(sim, who, &message)) {
            sim_node_cut_off(sim, who);
            break;
        }
        if (message.kind == WIRE_WELCOME_MESSAGE) sim_node_beat(sim, node);
    }
    sim_node_flush(sim, who);
    sim_node_schedule(sim, who);
}

// ---- Timers -------------------------------------------------------------------------------------

static void server_timers(struct sim *sim, uint32_t who, int64_t now)
{
    struct node *node = &sim->nodes[who];
    if (node->link == NOBODY) {
        if (now >= node->connect_at) node_connect(sim, who);
    } else if (!node->welcome) {
        if (now >= node->welcome_by) sim_node_cut_off(sim, who);
    } else if (decide_is_cut_off(&node->decide, now)) {
        sim_node_cut_off(sim, who);
    } else if (decide_beat_is_due(&node->decide, now)) {
        sim_node_beat(sim, node);
    }
}

// Input on its connection comes before what is due on its clock.
static void late_take(struct sim *sim, struct node *node)
{
    uint32_t link = node->link;
    while (link != NOBODY && node->link == link) {
        const struct piece *first = sim->links[link]->flow[FAR_SIDE].first;
        uint32_t who = (uint32_t)(node - sim->nodes);
        bool cut = (sim->cut[FAR_SIDE][who] || sim_node_is_parted(sim, who))
                   && !sim->links[link]->flow[FAR_SIDE].landed;
        if (!first || first->at > sim->now || cut) break;
        sim_link_deliver(sim, link, FAR_SIDE);
    }
}

void sim_node_work(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    node->timer_at = INT64_MAX;
    if (!node->up) return;
    if (node->stalled_until) {
        node->stalled_until = 0;
        late_take(sim, node);
    }
    int64_t now = sim_node_clock(sim, node);
    server_timers(sim, who, now);
    uint32_t unfenced = node->decide.attempts.unfenced;
    run_orders_expire(&node->orders, now);
    sim->result->seen[SIGHT_FENCED] += unfenced - node->decide.attempts.unfenced;
    sim_node_flush(sim, who);
    sim_node_schedule(sim, who);
}

void sim_node_schedule(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (!node->up) return;
    int64_t due = decide_due(&node->decide);
    int64_t other = node->link == NOBODY ? node->connect_at
                    : node->welcome       ? INT64_MAX
                                          : node->welcome_by;
    if (other < due) due = other;
    bool unsafe = node->spool_count && !node->spool[node->spool_count - 1].safe;
    if (unsafe && !node->spool_is_due) {
        node->spool_is_due = true;
        int64_t took = 100 + choose_time(sim, OF_WORKERS, SPOOL_SYNC);
        event_queue_add(&sim->queue, sim->now + took, DUE_SPOOL, who, node->mark);
    }
    if (due == INT64_MAX) return;
    int64_t at = sim_time(sim, node, due);
    if (at >= node->timer_at) return;
    node->timer_at = at;
    event_queue_add(&sim->queue, at, DUE_WORKER, who, node->mark);
}

// ---- A loop that waits for a disk, or an agent that is stopped ----------------------------------

static void fence_note(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    int64_t due = decide_fence_due(&node->decide);
    if (due == INT64_MAX) return;
    event_queue_add(&sim->queue, sim_time(sim, node, due), DUE_FENCE, who, node->mark);
}

void sim_node_stall(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (!node->up || sim->now < node->stalled_until) return;
    node->stalled_until = sim->now + choose_time(sim, OF_FAULTS, sim->setting.lease * 2);
    if ((node->stalled_until & EVICTS) == 0) return sim_node_evict(sim, who);
    node->is_stopped = node->stalled_until & 1;
    see(sim, node->is_stopped ? SIGHT_AGENT_STOPPED : SIGHT_STALL);
    sim_say(sim, "%s %s", node->name, node->is_stopped ? "is stopped" : "hangs");
    fence_note(sim, who);
    if (!chance(sim, OF_FAULTS, sim->setting.parted)) return;
    int64_t parted = sim->now + choose_time(sim, OF_FAULTS, sim->setting.lease / 8);
    event_queue_add(&sim->queue, parted, DUE_PARTED, who, node->mark);
}

// Either the commands or the worker get the signal first; until the worker ends, it reports the
// ends of its commands.
void sim_node_evict(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    node->stalled_until = 0;
    see(sim, SIGHT_EVICTED);
    sim_say(sim, "%s is ended by its batch system", node->name);
    node->decide.is_draining = true;
    processes_evict(sim, who);
    if (node->welcome) wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
    sim_node_flush(sim, who);
    int64_t killed = sim->now + choose_time(sim, OF_FAULTS, sim->setting.lease);
    event_queue_add(&sim->queue, killed, DUE_EVICTED, who, node->mark);
}

// Earlier input stays in its socket, and is read when the worker continues, as if nothing had
// happened.
void sim_node_part(struct sim *sim, uint32_t who)
{
    const struct node *node = &sim->nodes[who];
    bool hangs = node->up && sim->now < node->stalled_until;
    if (!hangs || node->link == NOBODY || sim->is_clear) return;
    see(sim, SIGHT_PARTED);
    sim_say(sim, "%s is disconnected by the server", node->name);
    sim_link_close(sim, node->link, SERVER_SIDE, true);
    sim_daemon_input(sim, node->link);
    sim->cut[SERVER_SIDE][who] = sim->cut[FAR_SIDE][who] = true;
    int64_t lease = sim->setting.lease;
    event_queue_add(&sim->queue, sim->now + lease + choose_time(sim, OF_FAULTS, lease),
                     DUE_MEND, who, 0);
}

// The process that runs commands has the same timer, and is not stopped with the agent.
void sim_node_fence(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (!node->up || sim->now >= node->stalled_until || !node->decide.attempts.exclusive) return;
    if (node->is_stopped && PLANTED(FENCE_STOPPED)) return;
    see(sim, SIGHT_FENCE);
    sim_node_crash(sim, who, false);
}

// ---- Life --------------------------------------------------------------------------------------

void sim_node_start(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (node->up || node->is_dead) return;
    node->up = true;
    node->mark++;
    node->link = NOBODY;
    node->boot = ((uint64_t)who + 1) << 32 | node->mark;
    if (!node->folder) node->folder = node->boot;
    if (!node->place) node->place = node->boot;
    node->pause = node->connect_at = 0;
    node->timer_at = INT64_MAX;
    node->stalled_until = 0;
    node->spool_is_due = false;
    sim_cache_begin(node);
    decide_init(&node->decide, sim_node_clock(sim, node), (int64_t)ALONE * 1000000);
    orders_init(sim, node);
    for (uint32_t i = 0; i < node->spool_count; i++) {
        const struct wire_finished *finished = &node->spool[i].finished;
        struct attempt attempt = {.task = finished->task,
                                  .number = finished->attempt,
                                  .token = finished->token,
                                  .state = ATTEMPT_SPOOLED};
        if (!attempts_reserve(&node->decide.attempts)) abort();
        attempts_add(&node->decide.attempts, &attempt);
    }
    sim_say(sim, "%s begins", node->name);
    sim_node_work(sim, who);
}

static void unsafe_drop(struct sim *sim, struct node *node)
{
    uint32_t before = node->spool_count;
    while (node->spool_count && !node->spool[node->spool_count - 1].safe) node->spool_count--;
    if (node->spool_count < before) see(sim, SIGHT_WORKER_LOST_REPORT);
}

void sim_node_crash(struct sim *sim, uint32_t who, bool reboots)
{
    struct node *node = &sim->nodes[who];
    if (!node->up) return;
    see(sim, SIGHT_WORKER_CRASH);
    sim_say(sim, "%s crashes%s", node->name, reboots ? " with its machine" : "");
    uint32_t link = node->link;
    node->up = node->welcome = false;
    node->link = NOBODY;
    processes_die(sim, node);
    unsafe_drop(sim, node);
    run_orders_release(&node->orders);
    sim_cache_crash(node);
    sim_streams_crash(sim, who);
    decide_release(&node->decide);
    bool silently = reboots || chance(sim, OF_FAULTS, sim->setting.half_open);
    if (link != NOBODY) sim_link_close(sim, link, FAR_SIDE, silently);
    if (reboots) {
        see(sim, SIGHT_WORKER_REBOOT);
        node->booted = sim->now;
        node->place = 0;
    }
    int64_t away = 1000 + choose_time(sim, OF_FAULTS, sim->setting.lease * 2);
    event_queue_add(&sim->queue, sim->now + away, DUE_WORKER_UP, who, 0);
}

// It loses its reports together with its objects, also those that were on disk.
void sim_node_lose_disk(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    if (!node->up) return;
    sim_node_crash(sim, who, true);
    see(sim, SIGHT_EMPTY_DISK);
    node->spool_count = 0;
    node->folder = 0;  // it gets a new one
    sim_cache_end(sim, node);
}

void sim_node_end(struct sim *sim, uint32_t who)
{
    sim->nodes[who].is_dead = true;
    sim->nodes[who].spool_count = 0;
    sim_cache_end(sim, &sim->nodes[who]);
    see(sim, SIGHT_DEAD);
    sim_say(sim, "%s stays dead", sim->nodes[who].name);
}

void sim_node_release(struct node *node)
{
    if (node->up) decide_release(&node->decide);
    run_orders_release(&node->orders);
    sim_cache_crash(node);
    free(node->cache), free(node->transfers), free(node->losses);
    free(node->processes), free(node->spool);
    sim_streams_release(&node->open_streams);
}
