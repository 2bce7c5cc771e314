// weather.c - what goes wrong in a world, and how often: drawn from its seed.
#include "world/parts.h"

// Each kind of fault is missing from half of the worlds: what hides behind one shows without it.
static uint32_t maybe(struct world *world, uint32_t most)
{
    if (!choose(world, OF_SWARM, 2)) return 0;
    return 1 + choose(world, OF_SWARM, most);
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
    swarm->stuck = maybe(world, 300);
}

// ---- Faults
// --------------------------------------------------------------------------------------

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

static void clock_set(struct world *world)
{
    int64_t by = choose_time(world, OF_WEATHER, 20000000);
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
    if (chance(world, OF_WEATHER, swarm->worker_crash))
        hand_crash(world, choose(world, OF_WEATHER, swarm->hands),
                   chance(world, OF_WEATHER, swarm->reboot));
    if (chance(world, OF_WEATHER, swarm->cut)) connections_cut(world);
    if (chance(world, OF_WEATHER, swarm->partition)) partition_change(world, false);
    if (chance(world, OF_WEATHER, swarm->one_way)) partition_change(world, true);
    if (chance(world, OF_WEATHER, swarm->clock)) clock_set(world);
    if (chance(world, OF_WEATHER, swarm->stall))
        hand_stall(world, choose(world, OF_WEATHER, swarm->hands));
    if (chance(world, OF_WEATHER, swarm->full)) {
        see(world, SIGHT_DISK_FULL);
        world->full_until = world->now + choose_time(world, OF_WEATHER, 500000);
    }
}

// Everything heals; from now on all must come to its end.
void weather_clear(struct world *world)
{
    world->is_clear = true;
    world->full_until = 0;
    world_say(world, "the weather clears");
    for (uint32_t i = 0; i < world->swarm.hands; i++) {
        world->cut[0][i] = world->cut[1][i] = false;
        world->hands[i].stalled_until = 0;
        if (world->hands[i].up)
            hand_work(world, i);
        else
            hand_start(world, i);
    }
    seat_start(world);
}
