// shrink.c - makes a failing choice stream small: deletes chunks, then zeroes what is left.
#define _GNU_SOURCE
#include "shrink.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shrink {
    uint8_t *bytes;
    size_t size;
    uint64_t without;
    double end;  // when to stop, in seconds
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool has_time(const struct shrink *shrink)
{
    return seconds_now() < shrink->end;
}

static int run_quietly(const struct history_setup *from)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 2);
    alarm(5);  // a core that hangs fails too
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    struct history_setup setup = *from;
    setup.stats = calloc(1, sizeof *setup.stats);
    if (!history || !model || !setup.stats) return 0;
    return history_run(history, model, &setup) ? 0 : 1;
}

bool history_is_fine(const uint8_t *bytes, size_t size, uint64_t without)
{
    struct history_setup setup = {.bytes = bytes, .size = size, .without = without};
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return true;
    if (child == 0) _exit(run_quietly(&setup));
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void delete_chunks(struct shrink *shrink, size_t chunk)
{
    uint8_t candidate[HISTORY_BYTES];
    for (size_t at = 0; at + chunk <= shrink->size && has_time(shrink);) {
        size_t size = shrink->size - chunk;
        memcpy(candidate, shrink->bytes, at);
        memcpy(candidate + at, shrink->bytes + at + chunk, size - at);
        if (history_is_fine(candidate, size, shrink->without)) {
            at += chunk;
            continue;
        }
        memcpy(shrink->bytes, candidate, size);
        shrink->size = size;
    }
}

static bool zero_chunks(struct shrink *shrink, size_t chunk)
{
    uint8_t candidate[HISTORY_BYTES], none[HISTORY_BYTES] = {0};
    bool any = false;
    for (size_t at = 0; at + chunk <= shrink->size && has_time(shrink); at += chunk) {
        if (memcmp(shrink->bytes + at, none, chunk) == 0) continue;
        memcpy(candidate, shrink->bytes, shrink->size);
        memset(candidate + at, 0, chunk);
        if (history_is_fine(candidate, shrink->size, shrink->without)) continue;
        memcpy(shrink->bytes, candidate, shrink->size);
        any = true;
    }
    return any;
}

// The shortest beginning that fails, as far as halving finds it.
static void cut_end(struct shrink *shrink)
{
    for (size_t low = 0; low < shrink->size;) {
        size_t middle = (low + shrink->size) / 2;
        if (history_is_fine(shrink->bytes, middle, shrink->without))
            low = middle + 1;
        else
            shrink->size = middle;
    }
}

size_t history_shrink(uint8_t *bytes, size_t size, uint64_t without, double seconds)
{
    struct shrink shrink = {bytes, size, without, seconds_now() + seconds};
    cut_end(&shrink);
    for (bool again = true; again && has_time(&shrink);) {
        size_t old = shrink.size;
        for (size_t chunk = old / 2; chunk > 0 && has_time(&shrink); chunk /= 2) {
            delete_chunks(&shrink, chunk);
        }
        again = shrink.size < old;
        for (size_t chunk = 8; chunk > 0 && has_time(&shrink); chunk /= 2) {
            again |= zero_chunks(&shrink, chunk);
        }
    }
    return shrink.size;
}
