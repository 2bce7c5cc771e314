// simulator.c - measures the events per second of the cluster simulator with all its judges, and,
// to compare, those of a heap of events without a simulation.
//
//     simulator heap EVENTS      takes an event off the heap and adds the next one, EVENTS times
//     simulator cluster EVENTS   simulates clusters, from seed 1 on, until EVENTS have happened
#include "bench.h"
#include "sim/cluster/simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct event {
    int64_t at;
    uint64_t order;
    uint32_t kind, who, mark;
};

enum { HEAP_EVENTS = 1024 };  // more than are scheduled at a time in a simulated cluster

static bool before(const struct event *left, const struct event *right)
{
    return left->at != right->at ? left->at < right->at : left->order < right->order;
}

static void heap_put(struct event *items, uint32_t count, struct event event)
{
    uint32_t place = count;
    for (; place && before(&event, &items[(place - 1) / 2]); place = (place - 1) / 2)
        items[place] = items[(place - 1) / 2];
    items[place] = event;
}

static struct event heap_take(struct event *items, uint32_t count)
{
    struct event first = items[0], last = items[count - 1];
    uint32_t place = 0, child;
    for (count--; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && before(&items[child + 1], &items[child])) child++;
        if (!before(&items[child], &last)) break;
        items[place] = items[child];
    }
    items[place] = last;
    return first;
}

static uint64_t heap_run(uint64_t events)
{
    static struct event items[HEAP_EVENTS];
    uint64_t random = 88172645463325252ull, sum = 0;
    for (uint32_t i = 0; i < HEAP_EVENTS; i++)
        heap_put(items, i, (struct event){.at = i * 7 % 1024, .order = i});
    for (uint64_t i = 0; i < events; i++) {
        struct event event = heap_take(items, HEAP_EVENTS);
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        sum += (uint64_t)event.at;
        event.at += 1 + (int64_t)(random % 100000);
        event.order = HEAP_EVENTS + i;
        heap_put(items, HEAP_EVENTS - 1, event);
    }
    if (sum == 1) puts("");  // keeps the compiler from removing the loop
    return events;
}

static uint64_t clusters_run(uint64_t events)
{
    uint64_t happened = 0;
    for (uint64_t seed = 1; happened < events; seed++) {
        struct sim_options options = {.seed = seed};
        struct sim_result result;
        sim_run(&options, &result);
        free(result.tape);
        if (*result.wrong) {
            fprintf(stderr, "simulator: seed %llu: %s\n", (unsigned long long)seed, result.wrong);
            exit(1);
        }
        happened += result.events;
    }
    return happened;
}

int main(int count, char **words)
{
    if (count != 3) return 2;
    uint64_t events = strtoull(words[2], NULL, 10);
    double began = seconds_now();
    uint64_t happened = strcmp(words[1], "heap") == 0 ? heap_run(events) : clusters_run(events);
    struct rusage usage;
    double took = seconds_now() - began;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 1;
    double used = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    printf("%.0f cpu=%.0f\n", (double)happened / took, (double)happened / used);
    return 0;
}
