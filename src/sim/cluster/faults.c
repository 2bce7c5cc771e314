// faults.c - the faults of a run and how often they happen, chosen from its seed.
#include "sim/cluster/internal.h"

enum { CALM_LATENCY = 20000 };
#define CLOCK_MAX ((int64_t)3000 * 1000000)

// Each kind of fault is absent from half of the runs: one fault may hide the effects of another.
static uint32_t maybe(struct sim *sim, uint32_t most)
{
    if (!choose(sim, OF_SETTING, 2)) return 0;
    return 1 + choose(sim, OF_SETTING, most);
}

// Mistakes about exclusive tasks show where many of them wait and run for long.
static void lanes_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->lanes = 1000;
    setting->is_long = 200 + choose(sim, OF_SETTING, 600);
    setting->cancel = 200 + choose(sim, OF_SETTING, 600);
    setting->clock += choose(sim, OF_SETTING, 40);
    setting->cut += choose(sim, OF_SETTING, 60);
    setting->partition += choose(sim, OF_SETTING, 60);
    setting->one_way += choose(sim, OF_SETTING, 60);
    setting->stall += choose(sim, OF_SETTING, 60);
}

// A single worker gets back the tasks that it still runs.
static void one_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->nodes = 1;
    setting->lanes = 0;
    setting->is_long = 600;
    setting->stuck = 800;
    setting->partition = 20 + choose(sim, OF_SETTING, 60);
    setting->lease = 400000;
    setting->latency = 500;
}

// Workers hang while their leases expire: finds late reports and wrong lease times.
static void hangs_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    lanes_draw(sim);
    setting->nodes = 2 + choose(sim, OF_SETTING, 3);
    setting->stall = 20 + choose(sim, OF_SETTING, 40);
    setting->parted = 500 + choose(sim, OF_SETTING, 500);
    setting->latency = setting->lease / (8 + (int64_t)choose(sim, OF_SETTING, 24));
    setting->server_crash = setting->worker_crash = setting->clock = setting->cut = 0;
    setting->partition = setting->one_way = setting->cancel = setting->claims = setting->split = 0;
}

// Many objects are made, read elsewhere and lost, while tasks fail.
static void data_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->nodes = 2 + choose(sim, OF_SETTING, 5);
    setting->data = 1000;
    setting->claims = setting->lanes = 0;
    setting->fails = choose(sim, OF_SETTING, 100);
    setting->cancel = choose(sim, OF_SETTING, 400);
    setting->cut += choose(sim, OF_SETTING, 100);
    setting->is_long = choose(sim, OF_SETTING, 400);
    setting->remake_fails = choose(sim, OF_SETTING, 500);
    setting->transfer_slow += choose(sim, OF_SETTING, 200);
    setting->transfer_cut += choose(sim, OF_SETTING, 200);
    setting->transfer_corrupts += choose(sim, OF_SETTING, 200);
    setting->cache_full += choose(sim, OF_SETTING, 200);
    setting->tasks_max += 8;
    setting->copy_lost = 50 + choose(sim, OF_SETTING, 200);
    setting->disk_lost = choose(sim, OF_SETTING, 60);
}

// Commands that never end by themselves show missing stops.
static void stops_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->is_long = 500 + choose(sim, OF_SETTING, 500);
    setting->endless = 300 + choose(sim, OF_SETTING, 700);
    setting->cancel = 100 + choose(sim, OF_SETTING, 600);
    setting->cut += 20 + choose(sim, OF_SETTING, 80);
    setting->claims = setting->data = 0;
}

static void profile_draw(struct sim *sim)
{
    switch (choose(sim, OF_SETTING, 12)) {
    case 1:
    case 2: lanes_draw(sim); break;
    case 3: one_draw(sim); break;
    case 4:
    case 5: hangs_draw(sim); break;
    case 6:
    case 7: data_draw(sim); break;
    case 8: stops_draw(sim); break;
    case 9: hangs_draw(sim); break;
    default: break;
    }
}

// Streams that are read on other workers, and whose writers fail.
static void streams_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->nodes = 3 + choose(sim, OF_PROFILES, 4);
    setting->streams = 1000;
    setting->claims = setting->lanes = setting->data = 0;
    setting->fails = 200 + choose(sim, OF_PROFILES, 400);
    setting->tasks_max += 8;
}

// The clock is set while workers of a lane are cut off and their commands continue.
static void leaps_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->nodes = 2 + choose(sim, OF_PROFILES, 3);
    setting->lanes = 1000;
    setting->is_long = 400 + choose(sim, OF_PROFILES, 400);
    setting->clock = 100 + choose(sim, OF_PROFILES, 200);
    setting->partition = 40 + choose(sim, OF_PROFILES, 80);
    setting->worker_crash = setting->claims = 0;
}

// The server crashes often, and restarts with a backup.
static void restores_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->backup = 500 + choose(sim, OF_PROFILES, 500);
    setting->server_crash += 20 + choose(sim, OF_PROFILES, 40);
    setting->endless = 0;
}

// Workers of a lane hang again and again after a heartbeat, and read its answer later.
static void answers_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    hangs_draw(sim);
    setting->submissions = 6;
    setting->tasks_max += 8;
    setting->is_long = 900;
    setting->parted = 1000;
    setting->lease = 400000 + 100000 * (int64_t)choose(sim, OF_PROFILES, 4);
    setting->latency = setting->lease / (6 + (int64_t)choose(sim, OF_PROFILES, 6));
    setting->fault_time = 4000000 + 500000 * (int64_t)choose(sim, OF_PROFILES, 9);
}

// Profiles use a random stream of their own, so that most seeds from before still give the same
// run.
static void rare_draw(struct sim *sim)
{
    switch (choose(sim, OF_PROFILES, 10)) {
    case 1: streams_draw(sim); break;
    case 2: leaps_draw(sim); break;
    case 3: restores_draw(sim); break;
    case 4: answers_draw(sim); break;
    default: break;
    }
}

static void others_draw(struct sim *sim)
{
    files_draw(sim);
    rare_draw(sim);
    duplicates_draw(sim);
    if (choose(sim, OF_INPUTS, 3) == 1)
        sim->setting.unfetchable = 100 + choose(sim, OF_INPUTS, 500);
}

static void fault_make(struct setting *setting)
{
    setting->server_crash *= 3;
    setting->worker_crash *= 3;
    setting->cut *= 3;
    setting->stall *= 3;
    setting->partition *= 2;
    setting->one_way *= 2;
    setting->cancel *= 3;
}

void setting_draw(struct sim *sim)
{
    struct setting *setting = &sim->setting;
    setting->nodes = 1 + choose(sim, OF_SETTING, 6);
    setting->clients = 1 + choose(sim, OF_SETTING, 3);
    setting->submissions = 1 + choose(sim, OF_SETTING, 6);
    setting->tasks_max = 1 + choose(sim, OF_SETTING, 24);
    setting->lease = 400000 + 100000 * (int64_t)choose(sim, OF_SETTING, 20);
    setting->latency = 100 * (int64_t)(1 + choose(sim, OF_SETTING, 300));
    setting->sync = 100 * (int64_t)(1 + choose(sim, OF_SETTING, 60));
    setting->tick = 20000;
    setting->fault_time = 500000 * (int64_t)(1 + choose(sim, OF_SETTING, 16));
    setting->is_plan = !choose(sim, OF_SETTING, 2);
    setting->lanes = choose(sim, OF_SETTING, 3) * 400;
    setting->server_crash = maybe(sim, 60);
    setting->worker_crash = maybe(sim, 80);
    setting->reboot = maybe(sim, 500);
    setting->cut = maybe(sim, 100);
    setting->half_open = maybe(sim, 500);
    setting->partition = maybe(sim, 80);
    setting->one_way = maybe(sim, 80);
    setting->clock = maybe(sim, 10);
    setting->sync_slow = maybe(sim, 30);
    setting->sync_fails = maybe(sim, 10);
    setting->write_fails = maybe(sim, 10);
    setting->full = maybe(sim, 10);
    setting->spawn_fails = maybe(sim, 80);
    setting->stubborn = maybe(sim, 300);
    setting->fails = maybe(sim, 300);
    setting->repeat = maybe(sim, 300);
    setting->cancel = maybe(sim, 300);
    setting->is_long = maybe(sim, 400);
    setting->stall = maybe(sim, 60);
    setting->parted = maybe(sim, 500);
    setting->stuck = maybe(sim, 300);
    setting->endless = maybe(sim, 200);
    setting->run_twice = maybe(sim, 300);
    setting->stays_dead = maybe(sim, 300);
    setting->follows = choose(sim, OF_SETTING, 3);
    setting->pauses = maybe(sim, 300);
    setting->bad = maybe(sim, 200);
    setting->client_cut = maybe(sim, 60);
    setting->grows = maybe(sim, 500);
    setting->when = choose(sim, OF_SETTING, 3) * 300;
    setting->handlers = choose(sim, OF_SETTING, 4);
    setting->claims = choose(sim, OF_SETTING, 3) * 300;
    setting->lazy = maybe(sim, 300);
    setting->handler_crash = maybe(sim, 60);
    setting->data = choose(sim, OF_SETTING, 3) * 400;
    setting->streams = choose(sim, OF_STREAMS, 3) * 300;
    setting->pretended = choose(sim, OF_PRETENDED, 3) * 200;
    setting->transfer_slow = maybe(sim, 200);
    setting->transfer_cut = maybe(sim, 200);
    setting->transfer_corrupts = maybe(sim, 100);
    setting->cache_full = maybe(sim, 100);
    setting->copy_lost = maybe(sim, 60);
    setting->disk_lost = maybe(sim, 10);
    setting->remake_fails = maybe(sim, 200);
    setting->split = maybe(sim, 40);
    setting->empty_disk = maybe(sim, 20);
    setting->sync_hangs = maybe(sim, 4);
    if (choose(sim, OF_SETTING, 4) == 1)
        setting->latency = setting->lease / (2 + (int64_t)choose(sim, OF_SETTING, 8));
    profile_draw(sim);
    others_draw(sim);
    if (choose(sim, OF_SETTING, 4) == 1) fault_make(setting);
}

// ---- Faults ------------------------------------------------------------------------------------

static void connections_cut(struct sim *sim)
{
    uint32_t who = choose(sim, OF_FAULTS, sim->setting.nodes);
    struct node *node = &sim->nodes[who];
    if (!node->up || node->link == NOBODY) return;
    see(sim, SIGHT_CUT);
    bool half = chance(sim, OF_FAULTS, sim->setting.half_open);
    if (choose(sim, OF_FAULTS, 2)) {
        sim_link_close(sim, node->link, SERVER_SIDE, half);
        sim_daemon_input(sim, node->link);
    } else if (half) {
        uint32_t link = node->link;
        sim_link_close(sim, link, FAR_SIDE, true);
        sim_node_cut_off(sim, who);
    } else {
        sim_node_cut_off(sim, who);
    }
}

static void partition_change(struct sim *sim, bool one_way)
{
    uint32_t who = choose(sim, OF_FAULTS, sim->setting.nodes);
    bool heals = sim->cut[0][who] || sim->cut[1][who];
    sim->cut[0][who] = sim->cut[1][who] = !heals;
    if (heals) return;
    if (one_way) sim->cut[choose(sim, OF_FAULTS, 2)][who] = false;
    see(sim, one_way ? SIGHT_ONE_WAY : SIGHT_PARTITION);
    sim_say(sim, "%s is cut off%s", sim->nodes[who].name, one_way ? " one way" : "");
}

bool sim_node_is_reached(const struct sim *sim, uint32_t reader, uint32_t from)
{
    bool is_cut = sim->cut[0][from] || sim->cut[1][from] || sim->cut[0][reader]
                  || sim->cut[1][reader] || !(sim->sides[reader + 1] & sim->sides[from + 1]);
    return sim->nodes[from].up && !is_cut && sim->now >= sim->nodes[from].stalled_until;
}

bool sim_node_is_parted(const struct sim *sim, uint32_t who)
{
    return !(sim->sides[0] & sim->sides[who + 1]);
}

// Splits the network into two halves. One worker may be able to reach both.
static void split_change(struct sim *sim)
{
    bool heals = false;
    for (uint32_t i = 0; i <= sim->setting.nodes; i++) heals |= sim->sides[i] != SIDE_BOTH;
    for (uint32_t i = 0; i <= sim->setting.nodes; i++)
        sim->sides[i] = heals || !choose(sim, OF_FAULTS, 2) ? SIDE_LEFT : SIDE_RIGHT;
    if (heals) {
        memset(sim->sides, SIDE_BOTH, sim->setting.nodes + 1);
        return;
    }
    bool has_bridge = choose(sim, OF_FAULTS, 2);
    if (has_bridge) sim->sides[1 + choose(sim, OF_FAULTS, sim->setting.nodes)] = SIDE_BOTH;
    see(sim, has_bridge ? SIGHT_BRIDGE : SIGHT_HALVES);
    sim_say(sim, "the network splits in two halves%s", has_bridge ? ", with a bridge" : "");
}

static void client_part(struct sim *sim)
{
    struct client *client = &sim->clients[choose(sim, OF_FAULTS, sim->setting.clients)];
    see(sim, SIGHT_CLIENT_CUT);
    client->cut_until = sim->now + choose_time(sim, OF_FAULTS, sim->setting.lease * 2);
}

static void clock_set(struct sim *sim)
{
    int64_t by = choose_time(sim, OF_FAULTS, CLOCK_MAX);
    bool back = choose(sim, OF_FAULTS, 2);
    sim->daemon.wall += back ? -by : by;
    see(sim, back ? SIGHT_CLOCK_BACK : SIGHT_CLOCK_AHEAD);
}

void faults_change(struct sim *sim)
{
    const struct setting *setting = &sim->setting;
    if (sim->now >= setting->fault_time) return faults_clear(sim);
    event_queue_add(&sim->queue, sim->now + setting->tick, DUE_FAULT, 0, 0);
    if (chance(sim, OF_FAULTS, setting->server_crash)) sim_daemon_stop(sim);
    if (chance(sim, OF_FAULTS, setting->worker_crash)) {
        bool reboots = chance(sim, OF_FAULTS, setting->reboot);
        sim_node_crash(sim, choose(sim, OF_FAULTS, setting->nodes), reboots);
    }
    if (chance(sim, OF_FAULTS, setting->cut)) connections_cut(sim);
    if (chance(sim, OF_FAULTS, setting->partition)) partition_change(sim, false);
    if (chance(sim, OF_FAULTS, setting->one_way)) partition_change(sim, true);
    if (chance(sim, OF_FAULTS, setting->split)) split_change(sim);
    if (chance(sim, OF_FAULTS, setting->empty_disk))
        sim_node_lose_disk(sim, choose(sim, OF_FAULTS, setting->nodes));
    if (chance(sim, OF_FAULTS, setting->client_cut)) client_part(sim);
    if (chance(sim, OF_FAULTS, setting->clock)) clock_set(sim);
    if (chance(sim, OF_FAULTS, setting->stall))
        sim_node_stall(sim, choose(sim, OF_FAULTS, setting->nodes));
    if (setting->handlers && chance(sim, OF_FAULTS, setting->handler_crash))
        sim_handler_crash(sim, choose(sim, OF_FAULTS, setting->handlers));
    if (chance(sim, OF_FAULTS, setting->copy_lost))
        sim_cache_lose(sim, choose(sim, OF_FAULTS, setting->nodes), false);
    if (chance(sim, OF_FAULTS, setting->disk_lost))
        sim_cache_lose(sim, choose(sim, OF_FAULTS, setting->nodes), true);
    if (setting->pretended && chance(sim, OF_PRETENDED, setting->pretended))
        sim_cache_pretend(sim, choose(sim, OF_PRETENDED, setting->nodes));
    if (chance(sim, OF_FILES, setting->vanish)) files_vanish(sim);
    if (chance(sim, OF_FAULTS, setting->full)) {
        see(sim, SIGHT_DISK_FULL);
        sim->full_until = sim->now + choose_time(sim, OF_FAULTS, 500000);
    }
}

// Repairs everything, except that one or two machines may stay dead. From now on every job must
// finish.
void faults_clear(struct sim *sim)
{
    sim->is_clear = true;
    sim->setting.latency
        = sim->setting.latency < CALM_LATENCY ? sim->setting.latency : CALM_LATENCY;
    sim->full_until = 0;
    memset(sim->sides, SIDE_BOTH, sim->setting.nodes + 1);
    for (uint32_t i = 0; i < sim->setting.clients; i++) sim->clients[i].cut_until = 0;
    sim_say(sim, "the faults end");
    duplicates_end(sim);
    for (uint32_t i = 0; i < sim->setting.nodes; i++) {
        sim->cut[0][i] = sim->cut[1][i] = false;
        if (sim->nodes[i].up)
            sim_node_work(sim, i);
        else if (sim->nodes[i].is_dead)
            continue;
        else if (!i || !chance(sim, OF_FAULTS, sim->setting.stays_dead))
            sim_node_start(sim, i);
        else
            sim_node_end(sim, i);
    }
    sim_daemon_start(sim);
}
