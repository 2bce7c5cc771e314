// shrink.c - makes a failing choice stream shorter: deletes chunks, then zeroes the rest.
#define _GNU_SOURCE
#include "shrink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shrink {
    uint8_t *bytes;
    size_t size;
    uint64_t without;
    double end;   // when to stop, in seconds
    int failure;  // how the history fails; it must still fail in this way
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

static int run_quietly(const struct history_setup *from, int errors)
{
    dup2(errors, 2);
    alarm(5);  // a core that hangs fails too
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    struct history_setup setup = *from;
    setup.stats = calloc(1, sizeof *setup.stats);
    if (!history || !model || !setup.stats) return 0;
    if (history_run(history, model, &setup)) return 0;
    return 1 + (int)((uintptr_t)model->difference_kind % 199);
}

// A number for the message of an assert.
static int text_number(FILE *file)
{
    int number = 0;
    rewind(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) number = (number * 31 + c) & 0xffff;
    return 1000 + number;
}

// How a history ends: 0 without failure, else a number for the kind of failure. It runs in a child
// process, so that a failed assert is seen, too.
static int history_end(const uint8_t *bytes, size_t size, uint64_t without)
{
    struct history_setup setup = {.bytes = bytes, .size = size, .without = without};
    FILE *errors = tmpfile();
    fflush(NULL);
    pid_t child = errors ? fork() : -1;
    if (child < 0) return 0;
    if (child == 0) _exit(run_quietly(&setup, fileno(errors)));
    int status = 0;
    waitpid(child, &status, 0);
    int number = WIFEXITED(status) ? WEXITSTATUS(status) : text_number(errors);
    fclose(errors);
    return number;
}

static bool fails(const struct shrink *shrink, const uint8_t *bytes, size_t size)
{
    return history_end(bytes, size, shrink->without) == shrink->failure;
}

static void delete_chunks(struct shrink *shrink, size_t chunk)
{
    uint8_t candidate[HISTORY_BYTES];
    for (size_t at = 0; at + chunk <= shrink->size && has_time(shrink);) {
        size_t size = shrink->size - chunk;
        memcpy(candidate, shrink->bytes, at);
        memcpy(candidate + at, shrink->bytes + at + chunk, size - at);
        if (!fails(shrink, candidate, size)) {
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
        if (!fails(shrink, candidate, shrink->size)) continue;
        memcpy(shrink->bytes, candidate, shrink->size);
        any = true;
    }
    return any;
}

// The shortest prefix that fails, as far as halving finds it.
static void cut_end(struct shrink *shrink)
{
    for (size_t low = 0; low < shrink->size;) {
        size_t middle = (low + shrink->size) / 2;
        if (!fails(shrink, shrink->bytes, middle))
            low = middle + 1;
        else
            shrink->size = middle;
    }
}

size_t history_shrink(uint8_t *bytes, size_t size, uint64_t without, double seconds)
{
    struct shrink shrink = {bytes, size, without, seconds_now() + seconds, 0};
    shrink.failure = history_end(bytes, size, without);
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
