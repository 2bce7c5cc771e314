// shrink.c - turns a run that fails into a shorter one that fails in the same way.
#include "sim/cluster/internal.h"

// A trial may be longer than the best one, but a much longer one would use up all the time.
enum { EVENTS_MORE = 20000 };

struct shrinking {
    struct sim_options options;
    struct sim_result *best;
    uint16_t *trial;
    uint32_t runs;  // left
    sim_run_fn *run;
};

static bool is_number(char letter)
{
    return (letter >= '0' && letter <= '9') || letter == '.';
}

// The same message with other numbers.
static bool is_same(const char *one, const char *other)
{
    while (*one && *other) {
        while (is_number(*one)) one++;
        while (is_number(*other)) other++;
        if (*one != *other) return false;
        if (*one) one++, other++;
    }
    return !*one && !*other;
}

// True: the run of `trial` fails in the same way, and is the best now.
static bool is_better(struct shrinking *shrinking, uint32_t length)
{
    struct sim_result result;
    if (!shrinking->runs) return false;
    shrinking->runs--;
    shrinking->options.tape = shrinking->trial;
    shrinking->options.tape_length = length;
    uint64_t events = shrinking->best->events;  // 0: they were not counted
    shrinking->options.events_max = events ? events * 2 + EVENTS_MORE : 0;
    shrinking->run(&shrinking->options, &result);
    free(result.tape);
    if (!is_same(result.wrong, shrinking->best->wrong)) return false;
    memcpy(shrinking->best->tape, shrinking->trial, length * sizeof *shrinking->trial);
    shrinking->best->tape_length = length;
    memcpy(shrinking->best->wrong, result.wrong, sizeof result.wrong);
    memcpy(shrinking->best->expect, result.expect, sizeof result.expect);
    shrinking->best->events = result.events;
    shrinking->best->digest = result.digest;
    shrinking->best->time = result.time;
    return true;
}

static bool piece_cut(struct shrinking *shrinking, uint32_t at, uint32_t count)
{
    const struct sim_result *best = shrinking->best;
    uint32_t rest = best->tape_length - at - count;
    memcpy(shrinking->trial, best->tape, at * sizeof *best->tape);
    memcpy(shrinking->trial + at, best->tape + at + count, rest * sizeof *best->tape);
    return is_better(shrinking, at + rest);
}

static bool piece_quieten(struct shrinking *shrinking, uint32_t at, uint32_t count)
{
    const struct sim_result *best = shrinking->best;
    bool quiet = true;
    for (uint32_t i = at; i < at + count; i++) quiet &= !best->tape[i];
    if (quiet) return false;
    memcpy(shrinking->trial, best->tape, best->tape_length * sizeof *best->tape);
    memset(shrinking->trial + at, 0, count * sizeof *best->tape);
    return is_better(shrinking, best->tape_length);
}

static bool pieces_try(struct shrinking *shrinking, uint32_t size)
{
    bool better = false;
    for (uint32_t at = 0; at + size <= shrinking->best->tape_length && shrinking->runs;) {
        if (piece_cut(shrinking, at, size)) {
            better = true;
            continue;
        }
        better |= piece_quieten(shrinking, at, size);
        at += size;
    }
    return better;
}

void sim_shrink(const struct sim_options *options, struct sim_result *result, uint32_t runs,
                  sim_run_fn *run)
{
    struct shrinking shrinking
        = {.options = *options, .best = result, .runs = runs, .run = run};
    shrinking.options.trace = shrinking.options.choices = shrinking.options.play = NULL;
    shrinking.trial = sim_allocate(result->tape_length, sizeof *shrinking.trial);
    for (uint32_t size = result->tape_length / 2; size && shrinking.runs;)
        if (!pieces_try(&shrinking, size) || size > result->tape_length) size /= 2;
    free(shrinking.trial);
}
