// seed.h - the seed of a random test: a fresh one in each run, unless one is given.
//
// `--seed N` on the command line comes first, then $SEED, which tool/test and tool/soak set for
// everything they run, then the clock. The seed is printed as a comment of TAP: so tool/test knows
// that a test depends on it. test/end/seed.py does the same for Python.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEED_MOST = 1000000000 };

// The word after --seed, or null. Most tests have a main() without arguments.
static inline const char *seed_option(char *text, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[length] = 0;
    for (const char *word = text; word < text + length; word += strlen(word) + 1)
        if (strcmp(word, "--seed") == 0 && word + 7 < text + length) return word + 7;
    return NULL;
}

static inline uint64_t seed_take(void)
{
    char text[4096];
    const char *chosen = seed_option(text, sizeof text), *given = getenv("SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mixed = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15u;
    uint64_t seed = 1 + (mixed >> 32) % SEED_MOST;
    if (given && *given) seed = strtoull(given, NULL, 10);
    if (chosen) seed = strtoull(chosen, NULL, 10);
    printf("# seed %llu\n", (unsigned long long)seed);
    return seed;
}
