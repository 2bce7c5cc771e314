// tape.c - all choices of a run: drawn from the seed and recorded, or read from a tape.
#include "sim/cluster/internal.h"

void tape_open(struct tape *tape, const struct sim_options *options)
{
    *tape = (struct tape){.given = options->tape, .given_length = options->tape_length,
                          .out = options->choices};
    for (uint64_t i = 0; i < STREAMS; i++) tape->states[i] = hash_mix(options->seed, i + 1);
}

static uint32_t draw(struct tape *tape, enum stream stream, uint32_t bound)
{
    if (!tape->given) return random_below(&tape->states[stream], bound);
    return tape->at < tape->given_length ? tape->given[tape->at++] % bound : 0;
}

uint32_t choose(struct sim *sim, enum stream stream, uint32_t bound)
{
    struct tape *tape = &sim->tape;
    uint32_t value = bound > 1 ? draw(tape, stream, bound) : 0;
    if (bound <= 1) return 0;
    *SIM_NEW(tape->made, tape->length, tape->capacity) = (uint16_t)value;
    if (tape->out) fprintf(tape->out, "%u\n", value), fflush(tape->out);
    return value;
}

bool chance(struct sim *sim, enum stream stream, uint32_t per_mille)
{
    return per_mille && choose(sim, stream, 1000) >= 1000 - per_mille;
}

int64_t choose_time(struct sim *sim, enum stream stream, int64_t max)
{
    return max > 0 ? max * choose(sim, stream, 1024) / 1023 : 0;
}
