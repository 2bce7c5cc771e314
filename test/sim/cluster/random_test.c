// random_test.c - simulates clusters from many seeds; no judge may find an error.
//
//     random_test [--seeds N] [--seed S] [--trace]
//     random_test --events N [--seed S]      until N events have happened; prints the next seed
//
// Without --seed it begins with the seed of seed.h. If a fault has not happened in N runs, it
// continues for up to four times as many: some faults are rare.
#include "seed.h"
#include "sim/cluster/simulation.h"

#include <stdlib.h>
#include <string.h>

enum { TELL_EVERY = 5000000 };

static uint32_t seen[SIGHTS];
static uint64_t events, wrongs;

static void sim_play(uint64_t seed, bool trace)
{
    struct sim_options options = {.seed = seed, .trace = trace ? stdout : NULL};
    struct sim_result result;
    sim_run(&options, &result);
    for (int i = 0; i < SIGHTS; i++) seen[i] += result.seen[i];
    events += result.events;
    free(result.tape);
    if (trace)
        printf("seed %llu: %llu events, %.1f s, digest %016llx\n", (unsigned long long)seed,
               (unsigned long long)result.events, (double)result.time / 1e6,
               (unsigned long long)result.digest);
    if (!*result.wrong) return;
    wrongs++;
    if (wrongs <= 400)
        printf("# seed %llu: %s; to repeat: rota-sim --seed %llu --trace\n",
               (unsigned long long)seed, result.wrong, (unsigned long long)seed);
}

static uint32_t unseen_count(void)
{
    uint32_t unseen = 0;
    for (int i = 0; i < SIGHTS; i++) unseen += !seen[i];
    return unseen;
}

struct order {
    uint64_t seeds, first, events;
    bool trace;
};

static struct order order_read(int count, char **words)
{
    const char *sanitized = getenv("SANITIZED");
    struct order order = {.seeds = sanitized && *sanitized ? 300 : 2000, .first = seed_take()};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--trace") == 0) order.trace = true;
        if (i + 1 == count) continue;
        if (strcmp(words[i], "--seeds") == 0) order.seeds = strtoull(words[i + 1], NULL, 10);
        if (strcmp(words[i], "--events") == 0) order.events = strtoull(words[i + 1], NULL, 10);
    }
    return order;
}

int main(int count, char **words)
{
    struct order order = order_read(count, words);
    bool few = !order.events && order.seeds < 1000;  // a rare fault may be missing then
    uint64_t most = order.events ? UINT64_MAX : few ? order.seeds : 4 * order.seeds, done = 0;
    for (; done < most; done++) {
        uint64_t told = events / TELL_EVERY;
        if (order.events ? events >= order.events : done >= order.seeds && !unseen_count()) break;
        sim_play(order.first + done, order.trace);
        if (!order.events || events / TELL_EVERY == told) continue;
        printf("# %llu events, %llu wrong; to continue: --seed %llu\n", (unsigned long long)events,
               (unsigned long long)wrongs, (unsigned long long)(order.first + done + 1));
        fflush(stdout);
    }
    for (int i = 0; i < SIGHTS; i++) printf("# %9u %s\n", seen[i], sim_sight_names[i]);
    uint32_t unseen = unseen_count();
    printf("# %llu events\n", (unsigned long long)events);
    printf("%s 1 - no judge finds an error in %llu runs from seed %llu\n", wrongs ? "not ok" : "ok",
           (unsigned long long)done, (unsigned long long)order.first);
    if (!few) printf("%s 2 - each fault has happened\n", unseen ? "not ok" : "ok");
    printf("1..%d\n", few ? 1 : 2);
    return wrongs || (unseen && !few);
}
