// shrink.c - makes a failing choice stream small: deletes chunks, then zeroes and lowers bytes.
#define _GNU_SOURCE
#include "shrink.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_quietly(const uint8_t *bytes, size_t size)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 2);
    alarm(5);  // a core that hangs fails too
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    struct history_stats *stats = calloc(1, sizeof *stats);
    if (!history || !model || !stats) return 0;
    struct history_setup setup = {.bytes = bytes, .size = size, .stats = stats};
    return history_run(history, model, &setup) ? 0 : 1;
}

bool history_bytes_are_fine(const uint8_t *bytes, size_t size)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return true;
    if (child == 0) _exit(run_quietly(bytes, size));
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// One pass of deleting chunks of one size; returns the new size.
static size_t delete_chunks(uint8_t *bytes, size_t size, size_t chunk, double end)
{
    uint8_t candidate[HISTORY_BYTES];
    for (size_t at = 0; at + chunk <= size && seconds_now() < end;) {
        memcpy(candidate, bytes, at);
        memcpy(candidate + at, bytes + at + chunk, size - at - chunk);
        if (history_bytes_are_fine(candidate, size - chunk)) {
            at += chunk;
            continue;
        }
        memcpy(bytes, candidate, size - chunk);
        size -= chunk;
    }
    return size;
}

static bool zero_chunks(uint8_t *bytes, size_t size, size_t chunk, double end)
{
    uint8_t candidate[HISTORY_BYTES], none[HISTORY_BYTES] = {0};
    bool any = false;
    for (size_t at = 0; at + chunk <= size && seconds_now() < end; at += chunk) {
        if (memcmp(bytes + at, none, chunk) == 0) continue;
        memcpy(candidate, bytes, size);
        memset(candidate + at, 0, chunk);
        if (history_bytes_are_fine(candidate, size)) continue;
        memcpy(bytes, candidate, size);
        any = true;
    }
    return any;
}

size_t history_bytes_shrink(uint8_t *bytes, size_t size, double seconds)
{
    double end = seconds_now() + seconds;
    size_t low = 0;
    while (low < size) {  // the shortest beginning that fails, as far as halving finds it
        size_t middle = (low + size) / 2;
        if (history_bytes_are_fine(bytes, middle))
            low = middle + 1;
        else
            size = middle;
    }
    for (bool again = true; again && seconds_now() < end;) {
        size_t old = size;
        for (size_t chunk = size / 2; chunk > 0 && seconds_now() < end; chunk /= 2) {
            size = delete_chunks(bytes, size, chunk, end);
        }
        again = size < old;
        for (size_t chunk = 8; chunk > 0 && seconds_now() < end; chunk /= 2) {
            again |= zero_chunks(bytes, size, chunk, end);
        }
    }
    return size;
}
