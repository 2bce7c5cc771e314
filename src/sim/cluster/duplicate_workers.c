// duplicate_workers.c - workers that use the name, or a copy of the folder, of another worker.
//
// They are workers like all others, who come and go until the weather clears. A worker that is told
// that its name is in use ends, as rota worker does, and is started again by somebody.
#include "sim/cluster/internal.h"

enum twin_kind { SAME_NAME, SAME_FOLDER, SAME_BOTH, TWIN_KINDS };

void twins_draw(struct world *world)
{
    struct swarm *swarm = &world->swarm;
    if (choose(world, OF_TWINS, 4) != 1) return;
    swarm->twins = 1 + choose(world, OF_TWINS, 2);
    swarm->hands += swarm->twins;
}

void twin_make(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    uint32_t like = choose(world, OF_TWINS, world->swarm.hands - world->swarm.twins);
    const struct hand *first = &world->hands[like];
    enum twin_kind kind = (enum twin_kind)choose(world, OF_TWINS, TWIN_KINDS);
    if (kind != SAME_FOLDER) snprintf(hand->name, sizeof hand->name, "worker-%u", like + 1);
    if (kind != SAME_NAME) hand->folder = first->folder;
    hand->cores = first->cores;
    hand->is_twin = true;
    int64_t comes = choose_time(world, OF_TWINS, world->swarm.storm);
    agenda_add(&world->agenda, comes, DUE_HAND_UP, who, 0);
}

void twins_end(struct world *world)
{
    for (uint32_t i = 0; i < world->swarm.hands; i++) {
        if (!world->hands[i].is_twin) continue;
        hand_crash(world, i, false);
        hand_bury(world, i);
    }
}

// One with another name that came while the other one was silent stays, also when it is cut off.
static bool is_like(const struct hand *hand, const struct hand *other)
{
    bool is_copy = hand->folder == other->folder && hand->place != other->place
                   && hand->welcomed != hand->boot;
    return strcmp(hand->name, other->name) == 0 || is_copy;
}

// One of the heartbeats that it is told to send is enough.
const struct hand *twin_alive(const struct world *world, uint32_t who)
{
    const struct hand *hand = &world->hands[who];
    int64_t patience = world->seat.hub.limits.beat;
    for (uint32_t i = 0; i < world->swarm.hands; i++) {
        const struct hand *other = &world->hands[i];
        if (i == who || !is_like(hand, other) || !other->up || !other->welcome) continue;
        const struct cable *cable = world->cables[other->cable];
        bool is_open = cable->open[SERVER_SIDE] && cable->peer && !cable->peer->closing;
        if (is_open && cable->heard && world->now - cable->heard <= patience) return other;
    }
    return NULL;
}

bool twin_shares_name(const struct world *world, const struct hand *hand)
{
    for (uint32_t i = 0; i < world->swarm.hands; i++) {
        const struct hand *other = &world->hands[i];
        if (other != hand && strcmp(other->name, hand->name) == 0) return true;
    }
    return false;
}
