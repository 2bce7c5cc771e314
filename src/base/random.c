// random.c - pseudo-random numbers from a seed.
#include "base/base.h"

uint64_t random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return hash_mix(*state, 0x2545f4914f6cdd1du);
}

uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}
