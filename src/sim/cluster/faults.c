// faults.c - what goes wrong in a world, and how often: drawn from its seed.
#include "sim/cluster/internal.h"

enum { CALM_LATENCY = 20000 };
#define CLOCK_MAX ((int64_t)3000 * 1000000)

// Each kind of fault is missing from half of the worlds: what hides behind one shows without it.
static uint32_t maybe(struct world *world, uint32_t most)
{
    if (!choose(world, OF_SWARM, 2)) return 0;
    return 1 + choose(world, OF_SWARM, most);
}

// What is exclusive shows its mistakes where much of it waits, and runs for long.
static void lanes_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->lanes = 1000;
    swarm->is_long = 200 + choose(world, OF_SWARM, 600);
    swarm->cancel = 200 + choose(world, OF_SWARM, 600);
    swarm->clock += choose(world, OF_SWARM, 40);
    swarm->cut += choose(world, OF_SWARM, 60);
    swarm->partition += choose(world, OF_SWARM, 60);
    swarm->one_way += choose(world, OF_SWARM, 60);
    swarm->stall += choose(world, OF_SWARM, 60);
}

// A single worker gets back what it still has.
static void one_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->hands = 1;
    swarm->lanes = 0;
    swarm->is_long = 600;
    swarm->stuck = 800;
    swarm->partition = 20 + choose(world, OF_SWARM, 60);
    swarm->lease = 400000;
    swarm->latency = 500;
}

// Loops hang while leases run out: who comes too late, and who counts wrongly.
static void hangs_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    lanes_draw(world);
    swarm->hands = 2 + choose(world, OF_SWARM, 3);
    swarm->stall = 20 + choose(world, OF_SWARM, 40);
    swarm->torn = 500 + choose(world, OF_SWARM, 500);
    swarm->latency = swarm->lease / (8 + (int64_t)choose(world, OF_SWARM, 24));
    swarm->server_crash = swarm->worker_crash = swarm->clock = swarm->cut = 0;
    swarm->partition = swarm->one_way = swarm->cancel = swarm->claims = swarm->split = 0;
}

// Much is made, read elsewhere and lost again, while other things fail.
static void data_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->hands = 2 + choose(world, OF_SWARM, 5);
    swarm->data = 1000;
    swarm->claims = swarm->lanes = 0;
    swarm->fails = choose(world, OF_SWARM, 100);
    swarm->cancel = choose(world, OF_SWARM, 400);
    swarm->cut += choose(world, OF_SWARM, 100);
    swarm->is_long = choose(world, OF_SWARM, 400);
    swarm->remake_fails = choose(world, OF_SWARM, 500);
    swarm->haul_slow += choose(world, OF_SWARM, 200);
    swarm->haul_cut += choose(world, OF_SWARM, 200);
    swarm->haul_rots += choose(world, OF_SWARM, 200);
    swarm->shelf_full += choose(world, OF_SWARM, 200);
    swarm->tasks_max += 8;
    swarm->copy_lost = 50 + choose(world, OF_SWARM, 200);
    swarm->disk_lost = choose(world, OF_SWARM, 60);
}

// What does not end by itself shows who forgets to stop it.
static void stops_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->is_long = 500 + choose(world, OF_SWARM, 500);
    swarm->endless = 300 + choose(world, OF_SWARM, 700);
    swarm->cancel = 100 + choose(world, OF_SWARM, 600);
    swarm->cut += 20 + choose(world, OF_SWARM, 80);
    swarm->claims = swarm->data = 0;
}

static void theme_draw(struct world *world)
{
    switch (choose(world, OF_SWARM, 12)) {
    case 1:
    case 2: lanes_draw(world); break;
    case 3: one_draw(world); break;
    case 4:
    case 5: hangs_draw(world); break;
    case 6:
    case 7: data_draw(world); break;
    case 8: stops_draw(world); break;
    case 9: hangs_draw(world); break;
    default: break;
    }
}

// Streams that are read on other workers, and whose writers fail.
static void streams_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->hands = 3 + choose(world, OF_THEMES, 4);
    swarm->streams = 1000;
    swarm->claims = swarm->lanes = swarm->data = 0;
    swarm->fails = 200 + choose(world, OF_THEMES, 400);
    swarm->tasks_max += 8;
}

// A clock that is set while workers of a lane are cut off, whose commands go on meanwhile.
static void leaps_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->hands = 2 + choose(world, OF_THEMES, 3);
    swarm->lanes = 1000;
    swarm->is_long = 400 + choose(world, OF_THEMES, 400);
    swarm->clock = 100 + choose(world, OF_THEMES, 200);
    swarm->partition = 40 + choose(world, OF_THEMES, 80);
    swarm->worker_crash = swarm->claims = 0;
}

// The server crashes often, and comes back with a backup.
static void restores_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->backup = 500 + choose(world, OF_THEMES, 500);
    swarm->server_crash += 20 + choose(world, OF_THEMES, 40);
    swarm->endless = 0;
}

// Workers of a lane hang again and again behind a heartbeat, whose answer they find later.
static void answers_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    hangs_draw(world);
    swarm->submissions = 6;
    swarm->tasks_max += 8;
    swarm->is_long = 900;
    swarm->torn = 1000;
    swarm->lease = 400000 + 100000 * (int64_t)choose(world, OF_THEMES, 4);
    swarm->latency = swarm->lease / (6 + (int64_t)choose(world, OF_THEMES, 6));
    swarm->storm = 4000000 + 500000 * (int64_t)choose(world, OF_THEMES, 9);
}

// From a stream of their own: seeds that were found before mostly stay the same worlds.
static void rare_draw(struct world *world)
{
    switch (choose(world, OF_THEMES, 10)) {
    case 1: streams_draw(world); break;
    case 2: leaps_draw(world); break;
    case 3: restores_draw(world); break;
    case 4: answers_draw(world); break;
    default: break;
    }
}

static void others_draw(struct world *world)
{
    files_draw(world);
    rare_draw(world);
    twins_draw(world);
    if (choose(world, OF_LACKS, 3) == 1)
        world->swarm.unfetchable = 100 + choose(world, OF_LACKS, 500);
}

void swarm_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    swarm->hands = 1 + choose(world, OF_SWARM, 6);
    swarm->callers = 1 + choose(world, OF_SWARM, 3);
    swarm->submissions = 1 + choose(world, OF_SWARM, 6);
    swarm->tasks_max = 1 + choose(world, OF_SWARM, 24);
    swarm->lease = 400000 + 100000 * (int64_t)choose(world, OF_SWARM, 20);
    swarm->latency = 100 * (int64_t)(1 + choose(world, OF_SWARM, 300));
    swarm->sync = 100 * (int64_t)(1 + choose(world, OF_SWARM, 60));
    swarm->tick = 20000;
    swarm->storm = 500000 * (int64_t)(1 + choose(world, OF_SWARM, 16));
    swarm->is_plan = !choose(world, OF_SWARM, 2);
    swarm->lanes = choose(world, OF_SWARM, 3) * 400;
    swarm->server_crash = maybe(world, 60);
    swarm->worker_crash = maybe(world, 80);
    swarm->reboot = maybe(world, 500);
    swarm->cut = maybe(world, 100);
    swarm->half_open = maybe(world, 500);
    swarm->partition = maybe(world, 80);
    swarm->one_way = maybe(world, 80);
    swarm->clock = maybe(world, 10);
    swarm->sync_slow = maybe(world, 30);
    swarm->sync_fails = maybe(world, 10);
    swarm->write_fails = maybe(world, 10);
    swarm->full = maybe(world, 10);
    swarm->spawn_fails = maybe(world, 80);
    swarm->stubborn = maybe(world, 300);
    swarm->fails = maybe(world, 300);
    swarm->repeat = maybe(world, 300);
    swarm->cancel = maybe(world, 300);
    swarm->is_long = maybe(world, 400);
    swarm->stall = maybe(world, 60);
    swarm->torn = maybe(world, 500);
    swarm->stuck = maybe(world, 300);
    swarm->endless = maybe(world, 200);
    swarm->run_twice = maybe(world, 300);
    swarm->stays_dead = maybe(world, 300);
    swarm->follows = choose(world, OF_SWARM, 3);
    swarm->rests = maybe(world, 300);
    swarm->bad = maybe(world, 200);
    swarm->apart = maybe(world, 60);
    swarm->grows = maybe(world, 500);
    swarm->when = choose(world, OF_SWARM, 3) * 300;
    swarm->clerks = choose(world, OF_SWARM, 4);
    swarm->claims = choose(world, OF_SWARM, 3) * 300;
    swarm->lazy = maybe(world, 300);
    swarm->clerk_crash = maybe(world, 60);
    swarm->data = choose(world, OF_SWARM, 3) * 400;
    swarm->streams = choose(world, OF_BROOKS, 3) * 300;
    swarm->lies = choose(world, OF_LIES, 3) * 200;
    swarm->haul_slow = maybe(world, 200);
    swarm->haul_cut = maybe(world, 200);
    swarm->haul_rots = maybe(world, 100);
    swarm->shelf_full = maybe(world, 100);
    swarm->copy_lost = maybe(world, 60);
    swarm->disk_lost = maybe(world, 10);
    swarm->remake_fails = maybe(world, 200);
    swarm->split = maybe(world, 40);
    swarm->burned = maybe(world, 20);
    swarm->sync_hangs = maybe(world, 4);
    if (choose(world, OF_SWARM, 4) == 1)
        swarm->latency = swarm->lease / (2 + (int64_t)choose(world, OF_SWARM, 8));
    theme_draw(world);
    others_draw(world);
    if (choose(world, OF_SWARM, 4) == 1) {  // a storm
        swarm->server_crash *= 3, swarm->worker_crash *= 3, swarm->cut *= 3, swarm->stall *= 3;
        swarm->partition *= 2, swarm->one_way *= 2, swarm->cancel *= 3;
    }
}

// ---- Faults ------------------------------------------------------------------------------------

static void connections_cut(struct world *world)
{
    uint32_t who = choose(world, OF_WEATHER, world->swarm.hands);
    struct hand *hand = &world->hands[who];
    if (!hand->up || hand->cable == NOBODY) return;
    see(world, SIGHT_CUT);
    bool half = chance(world, OF_WEATHER, world->swarm.half_open);
    if (choose(world, OF_WEATHER, 2)) {
        cable_close(world, hand->cable, SERVER_SIDE, half);
        seat_input(world, hand->cable);
    } else if (half) {
        uint32_t cable = hand->cable;
        cable_close(world, cable, FAR_SIDE, true);
        hand_cut_off(world, who);
    } else {
        hand_cut_off(world, who);
    }
}

static void partition_change(struct world *world, bool one_way)
{
    uint32_t who = choose(world, OF_WEATHER, world->swarm.hands);
    bool heals = world->cut[0][who] || world->cut[1][who];
    world->cut[0][who] = world->cut[1][who] = !heals;
    if (heals) return;
    if (one_way) world->cut[choose(world, OF_WEATHER, 2)][who] = false;
    see(world, one_way ? SIGHT_ONE_WAY : SIGHT_PARTITION);
    world_say(world, "%s is cut off%s", world->hands[who].name, one_way ? " one way" : "");
}

bool hands_are_parted(const struct world *world, uint32_t one, uint32_t other)
{
    return !(world->sides[one + 1] & world->sides[other + 1]);
}

bool hand_is_parted(const struct world *world, uint32_t who)
{
    return !(world->sides[0] & world->sides[who + 1]);
}

// Two halves that do not hear of each other; one worker may be between them, and hear both.
static void split_change(struct world *world)
{
    bool heals = false;
    for (uint32_t i = 0; i <= world->swarm.hands; i++) heals |= world->sides[i] != SIDE_BOTH;
    for (uint32_t i = 0; i <= world->swarm.hands; i++)
        world->sides[i] = heals || !choose(world, OF_WEATHER, 2) ? SIDE_LEFT : SIDE_RIGHT;
    if (heals) {
        memset(world->sides, SIDE_BOTH, world->swarm.hands + 1);
        return;
    }
    bool has_bridge = choose(world, OF_WEATHER, 2);
    if (has_bridge) world->sides[1 + choose(world, OF_WEATHER, world->swarm.hands)] = SIDE_BOTH;
    see(world, has_bridge ? SIGHT_BRIDGE : SIGHT_HALVES);
    world_say(world, "the network falls in two%s", has_bridge ? ", with a bridge" : "");
}

static void caller_part(struct world *world)
{
    struct caller *caller = &world->callers[choose(world, OF_WEATHER, world->swarm.callers)];
    see(world, SIGHT_APART);
    caller->cut_until = world->now + choose_time(world, OF_WEATHER, world->swarm.lease * 2);
}

static void clock_set(struct world *world)
{
    int64_t by = choose_time(world, OF_WEATHER, CLOCK_MAX);
    bool back = choose(world, OF_WEATHER, 2);
    world->seat.wall += back ? -by : by;
    see(world, back ? SIGHT_CLOCK_BACK : SIGHT_CLOCK_AHEAD);
}

void weather_change(struct world *world)
{
    const struct swarm *swarm = &world->swarm;
    if (world->now >= swarm->storm) return weather_clear(world);
    agenda_add(&world->agenda, world->now + swarm->tick, DUE_WEATHER, 0, 0);
    if (chance(world, OF_WEATHER, swarm->server_crash)) seat_stop(world);
    if (chance(world, OF_WEATHER, swarm->worker_crash)) {
        bool reboots = chance(world, OF_WEATHER, swarm->reboot);
        hand_crash(world, choose(world, OF_WEATHER, swarm->hands), reboots);
    }
    if (chance(world, OF_WEATHER, swarm->cut)) connections_cut(world);
    if (chance(world, OF_WEATHER, swarm->partition)) partition_change(world, false);
    if (chance(world, OF_WEATHER, swarm->one_way)) partition_change(world, true);
    if (chance(world, OF_WEATHER, swarm->split)) split_change(world);
    if (chance(world, OF_WEATHER, swarm->burned))
        hand_burn(world, choose(world, OF_WEATHER, swarm->hands));
    if (chance(world, OF_WEATHER, swarm->apart)) caller_part(world);
    if (chance(world, OF_WEATHER, swarm->clock)) clock_set(world);
    if (chance(world, OF_WEATHER, swarm->stall))
        hand_stall(world, choose(world, OF_WEATHER, swarm->hands));
    if (swarm->clerks && chance(world, OF_WEATHER, swarm->clerk_crash))
        clerk_crash(world, choose(world, OF_WEATHER, swarm->clerks));
    if (chance(world, OF_WEATHER, swarm->copy_lost))
        shelf_lose(world, choose(world, OF_WEATHER, swarm->hands), false);
    if (chance(world, OF_WEATHER, swarm->disk_lost))
        shelf_lose(world, choose(world, OF_WEATHER, swarm->hands), true);
    if (swarm->lies && chance(world, OF_LIES, swarm->lies))
        shelf_lie(world, choose(world, OF_LIES, swarm->hands));
    if (chance(world, OF_FILES, swarm->vanish)) files_vanish(world);
    if (chance(world, OF_WEATHER, swarm->full)) {
        see(world, SIGHT_DISK_FULL);
        world->full_until = world->now + choose_time(world, OF_WEATHER, 500000);
    }
}

// Everything heals, but a machine or two may stay dead; from now on all must come to its end.
void weather_clear(struct world *world)
{
    world->is_clear = true;
    world->swarm.latency
        = world->swarm.latency < CALM_LATENCY ? world->swarm.latency : CALM_LATENCY;
    world->full_until = 0;
    memset(world->sides, SIDE_BOTH, world->swarm.hands + 1);
    for (uint32_t i = 0; i < world->swarm.callers; i++) world->callers[i].cut_until = 0;
    world_say(world, "the weather clears");
    twins_end(world);
    for (uint32_t i = 0; i < world->swarm.hands; i++) {
        world->cut[0][i] = world->cut[1][i] = false;
        if (world->hands[i].up)
            hand_work(world, i);
        else if (world->hands[i].buried)
            continue;
        else if (!i || !chance(world, OF_WEATHER, world->swarm.stays_dead))
            hand_start(world, i);
        else
            hand_bury(world, i);
    }
    seat_start(world);
}
