// play_fuzz.c - libFuzzer generates plays: the core keeps its promises for any text.
//
// The seeds are the plays of test/play. A text may be invalid and expectations may fail; the test
// is that nothing crashes, that a refusal and a restart change nothing, and that the core finishes
// its turns.
#define _GNU_SOURCE
#include "sim/play/play.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

// ---- Failures -----------------------------------------------------------------------------------

// A statement is printed on one line, so no text of a play can look like these.
static const char *const broken[] = {
    "\n    actual:   restart changed the digest", "\n    actual:   the digest has changed",
    "\n    actual:   it asks for turn after turn", "\n    expected: a restart from the stored rows",
    "\n    expected: the core to take a turn",
};

static void play(const char *text, const struct play_options *options)
{
    char *said = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&said, &length);
    if (!out) abort();
    enum play_result result = play_run("play", text, options, out);
    fclose(out);
    if (result > PLAY_WRONG) abort();
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        if (!strstr(said, broken[i])) continue;
        fprintf(stderr, "%s\n---- restart everywhere: %d\n%s", text, options->restart_everywhere,
                said);
        abort();
    }
    free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    // A plan each microsecond for an hour ends, too, but takes too long.
    if (!strstr(text, "plan_idle")) {
        play(text, &(struct play_options){.check = true});
        play(text, &(struct play_options){.check = true, .restart_everywhere = true});
    }
    free(text);
    return 0;
}

// ---- Mutations that keep most of a play valid ---------------------------------------------------

struct piece {
    size_t first, count;
};

static unsigned below(unsigned *seed, size_t bound)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)((*seed >> 8) % bound);
}

// The line, or the word, around a random place; a word without its comma, blank or equals sign.
static struct piece piece_choose(const uint8_t *data, size_t size, const char *ends, unsigned *seed)
{
    size_t first = below(seed, size), end = first;
    while (first > 0 && !strchr(ends, data[first - 1])) first--;
    while (end < size && !strchr(ends, data[end])) end++;
    return (struct piece){first, end - first};
}

// Replaces one piece by another, if there is room.
static size_t piece_put(uint8_t *data, size_t size, size_t max, struct piece from, struct piece to)
{
    uint8_t copy[256];
    if (from.count > sizeof copy || size - to.count + from.count > max) return size;
    memcpy(copy, data + from.first, from.count);
    memmove(data + to.first + from.count, data + to.first + to.count, size - to.first - to.count);
    memcpy(data + to.first, copy, from.count);
    return size - to.count + from.count;
}

static size_t line_copy(uint8_t *data, size_t size, size_t max, unsigned *seed)
{
    struct piece from = piece_choose(data, size, "\n", seed);
    struct piece to = piece_choose(data, size, "\n", seed);
    if (from.first + from.count == size) return size;
    from.count++;  // with its end
    to.count = 0;
    return piece_put(data, size, max, from, to);
}

static size_t line_drop(uint8_t *data, size_t size, unsigned *seed)
{
    struct piece line = piece_choose(data, size, "\n", seed);
    if (line.first + line.count == size) return size;
    return piece_put(data, size, size, (struct piece){0, 0},
                     (struct piece){line.first, line.count + 1});
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char blanks[] = " \n,=:()\"";
    if (size == 0 || below(&seed, 4) == 0) return LLVMFuzzerMutate(data, size, max);
    for (unsigned changes = 1 + below(&seed, 4); changes && size; changes--) {
        switch (below(&seed, 4)) {
        case 0: size = line_copy(data, size, max, &seed); break;
        case 1: size = line_drop(data, size, &seed); break;
        default: {
            struct piece from = piece_choose(data, size, blanks, &seed);
            size = piece_put(data, size, max, from, piece_choose(data, size, blanks, &seed));
        }
        }
    }
    return size;
}
