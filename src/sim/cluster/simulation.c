// simulation.c - one event after the other, until all is over or something is wrong.
#include "sim/cluster/internal.h"

#include <stdarg.h>

enum { EVENTS_MAX = 3000000, WORKER_CORES = 4 };
#define CALM ((int64_t)3000 * 1000000)  // so long everything may take once nothing goes wrong
#define STILL ((int64_t)200 * 1000000)  // and so long nothing at all may happen in it

#define WORLD_NAME(name, text) text,
const char *const world_sight_names[SIGHTS] = {WORLD_SIGHTS(WORLD_NAME)};
#undef WORLD_NAME

void *world_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) abort();
    return memory;
}

void world_reserve(void *items, uint32_t *capacity, uint32_t count, size_t size)
{
    void *memory;
    if (count < *capacity) return;
    memcpy(&memory, items, sizeof memory);
    *capacity = *capacity ? *capacity * 2 : 8;
    memory = realloc(memory, *capacity * size);
    if (!memory) abort();
    memcpy(items, &memory, sizeof memory);
}

void world_note(struct world *world, uint64_t fact)
{
    world->result->digest = hash_mix(world->result->digest, fact);
}

void world_say(struct world *world, const char *format, ...)
{
    va_list arguments;
    if (!world->trace) return;
    va_start(arguments, format);
    fprintf(world->trace, "%10.6f ", (double)world->now / 1e6);
    vfprintf(world->trace, format, arguments);
    fputc('\n', world->trace);
    va_end(arguments);
}

// Frames inside of messages are no text.
void world_dump(const struct wire_message *message, char text[DUMP_SIZE])
{
    wire_dump(message, text, DUMP_SIZE);
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = '.';
}

static void event_happens(struct world *world, const struct due *due)
{
    bool same_life = world->seat.up && due->mark == world->seat.mark;
    bool same_hand = due->kind >= DUE_HAND && due->kind <= DUE_TORN
                     && due->mark == world->hands[due->who].mark;
    bool hangs = (due->kind == DUE_HAND || due->kind == DUE_SPOOL) && same_hand
                 && world->now < world->hands[due->who].stalled_until;
    bool is_timer = due->kind == DUE_HAND && same_hand;
    if (is_timer && due->at != world->hands[due->who].timer_at) return;  // an earlier one was set
    if (hangs) {
        int64_t until = world->hands[due->who].stalled_until;
        if (is_timer) world->hands[due->who].timer_at = until;
        agenda_add(&world->agenda, until, (enum due_kind)due->kind, due->who, due->mark);
        return;
    }
    switch ((enum due_kind)due->kind) {
    case DUE_TURN:
        if (same_life) seat_turn(world);
        break;
    case DUE_SETTLE:
        if (same_life) seat_settle(world, due->who);
        break;
    case DUE_FEED:
        if (same_life) seat_feed(world);
        break;
    case DUE_WAKE:
        if (due->mark == world->seat.wake) seat_due(world, world->now);
        break;
    case DUE_SERVER_KILL:
        if (same_life) seat_stop(world);
        break;
    case DUE_SERVER_UP: seat_start(world); break;
    case DUE_TO_SERVER: cable_deliver(world, due->who, SERVER_SIDE); break;
    case DUE_TO_FAR: cable_deliver(world, due->who, FAR_SIDE); break;
    case DUE_HAND:
        if (same_hand) hand_work(world, due->who);
        break;
    case DUE_HAND_UP: hand_start(world, due->who); break;
    case DUE_PROCESS: hand_process(world, due->who, due->mark); break;
    case DUE_SPOOL:
        if (same_hand) hand_spool(world, due->who);
        break;
    case DUE_FENCE:
        if (same_hand) hand_fence(world, due->who);
        break;
    case DUE_EVICTED:
        if (same_hand) hand_crash(world, due->who, false);
        break;
    case DUE_TORN:
        if (same_hand) hand_tear(world, due->who);
        break;
    case DUE_MEND: world->cut[0][due->who] = world->cut[1][due->who] = false; break;
    case DUE_CALLER: caller_work(world, due->who); break;
    case DUE_WEATHER: weather_change(world); break;
    case DUE_CLERK:
        if (due->mark == world->clerks[due->who].mark) clerk_work(world, due->who);
        break;
    case DUE_HAUL: shelf_haul(world, due->who, due->mark); break;
    }
}

static void world_begin(struct world *world)
{
    swarm_draw(world);
    const struct swarm *swarm = &world->swarm;
    world->hands = world_allocate(swarm->hands, sizeof *world->hands);
    world->callers = world_allocate(swarm->callers, sizeof *world->callers);
    world->clerks = world_allocate(swarm->clerks, sizeof *world->clerks);
    world->sides = world_allocate(swarm->hands + 1, 1);
    memset(world->sides, SIDE_BOTH, swarm->hands + 1);
    for (int i = 0; i < 2; i++) world->cut[i] = world_allocate(swarm->hands, sizeof **world->cut);
    world->seat.store = disk_open(world);
    seat_start(world);
    for (uint32_t i = 0; i < swarm->hands; i++) {
        struct hand *hand = &world->hands[i];
        snprintf(hand->name, sizeof hand->name, "worker-%u", i + 1);
        snprintf(hand->address, sizeof hand->address, "worker-%u", i + 1);
        hand->cores = 2 + choose(world, OF_SWARM, WORKER_CORES);
        hand->rate = (int64_t)choose(world, OF_SWARM, 20001) - 10000;
        if (i < swarm->hands - swarm->twins)
            hand_start(world, i);
        else
            twin_make(world, i);
    }
    for (uint32_t i = 0; i < swarm->callers; i++) {
        world->callers[i].cable = NOBODY;
        world->callers[i].submissions = swarm->submissions;
        agenda_add(&world->agenda, choose_time(world, OF_CLIENTS, 100000), DUE_CALLER, i, 0);
    }
    for (uint32_t i = 0; i < swarm->clerks; i++) {
        world->clerks[i] = (struct clerk){.cable = NOBODY, .high = CLERK_HIGH + i};
        agenda_add(&world->agenda, choose_time(world, OF_CLERKS, 100000), DUE_CLERK, i, 0);
    }
    agenda_add(&world->agenda, swarm->tick, DUE_WEATHER, 0, 0);
}

static void world_end(struct world *world)
{
    static const struct memory heap = {memory_resize_heap, NULL};
    if (world->seat.up) {
        hub_close(&world->seat.hub);
        server_close(&world->seat.server);
    }
    store_close(world->seat.store);
    free(world->seat.inputs);
    for (uint32_t i = 0; i < world->swarm.hands; i++) hand_release(&world->hands[i]);
    for (uint32_t i = 0; i < world->swarm.callers; i++) caller_release(&world->callers[i]);
    for (uint32_t i = 0; i < world->cable_count; i++) cable_release(world->cables[i]);
    for (uint32_t i = 0; i < world->job_count; i++) {
        free(world->jobs[i]->tasks);
        free(world->jobs[i]);
    }
    free(world->hands), free(world->callers), free(world->clerks);
    free(world->cut[0]), free(world->cut[1]), free(world->sides);
    free(world->cables), free(world->jobs), free(world->agenda.items);
    map_release(&heap, &world->jobs_by_number);
    ledger_release(&world->ledger);
}

void world_run(const struct world_options *options, struct world_result *result)
{
    struct world world = {.result = result, .trace = options->trace, .play = options->play};
    struct due due;
    bool over = false;
    *result = (struct world_result){0};
    tape_open(&world.tape, options);
    world_begin(&world);
    while (!over && !*result->wrong && agenda_next(&world.agenda, &due)) {
        if (due.at > world.now) world.now = due.at;  // what was held up comes at once
        world_note(&world, hash_mix((uint64_t)due.at, due.kind));
        event_happens(&world, &due);
        bool late = ++result->events > EVENTS_MAX || world.now > world.swarm.storm + CALM
                    || world.now > world.moved + STILL;
        if (options->events_max && result->events > options->events_max)
            wrong(&world, "more happens than anybody wants to see");
        over = late || (due.kind == DUE_CALLER && judge_is_over(&world));
    }
    if (!*result->wrong) judge_close(&world);
    result->time = world.now;
    result->tape = world.tape.made;
    result->tape_length = world.tape.length;
    world_end(&world);
}
