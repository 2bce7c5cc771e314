// digest.c - prints a digest of the events of some seeds, to compare compilers.
//
//     sim-cluster-digest FROM COUNT
#include "sim/cluster/simulation.h"

#include <stdlib.h>

int main(int count, char **words)
{
    uint64_t from = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    uint64_t sims = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    for (uint64_t seed = from; seed < from + sims; seed++) {
        struct sim_options options = {.seed = seed};
        struct sim_result result;
        sim_run(&options, &result);
        printf("seed %llu: %llu events, %lld us, %u choices, digest %016llx %s\n",
               (unsigned long long)seed, (unsigned long long)result.events,
               (long long)result.time, result.tape_length, (unsigned long long)result.digest,
               result.wrong);
        free(result.tape);
    }
    return 0;
}
