// tape_text.c - a tape as text: numbers, and comments after a #.
#include "base/base.h"
#include "sim/cluster/simulation.h"

#include <stdlib.h>

enum { LINE_COLUMNS = 96 };

static bool tape_add(struct sim_tape *tape, uint32_t *capacity, unsigned value, unsigned times)
{
    if (value > UINT16_MAX || !times || times > SIM_TAPE_MAX - tape->length) return false;
    if (!ARRAY_RESERVE_RAW(&memory_heap, tape->choices, *capacity, (uint64_t)tape->length + times))
        abort();
    while (times--) tape->choices[tape->length++] = (uint16_t)value;
    return true;
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
}

// A number of up to seven digits. False: there is no number.
static bool number_take(const char **at, unsigned *value)
{
    int digits = 0;
    for (*value = 0; is_digit(**at) && digits < 8; (*at)++, digits++)
        *value = *value * 10 + (unsigned)(**at - '0');
    return digits && digits < 8;
}

bool sim_tape_read(const char *text, struct sim_tape *tape)
{
    uint32_t capacity = 0;
    *tape = (struct sim_tape){.line = 1};
    for (const char *at = text; *at;) {
        unsigned value, times = 1;
        tape->line += *at == '\n';
        if (*at == '#') {
            while (*at && *at != '\n') at++;
            continue;
        }
        if (is_blank(*at)) {
            at++;
            continue;
        }
        bool fine = number_take(&at, &value);
        if (fine && *at == '*') fine = at++, number_take(&at, &times);
        fine = fine && (!*at || *at == '#' || is_blank(*at));
        if (!fine || !tape_add(tape, &capacity, value, times)) {
            sim_tape_release(tape);
            return false;
        }
    }
    return true;
}

void sim_tape_write(FILE *file, const uint16_t *choices, uint32_t length)
{
    int column = 0;
    for (uint32_t i = 0; i < length;) {
        uint32_t times = 1;
        char word[24];
        while (i + times < length && choices[i + times] == choices[i]) times++;
        int size = times > 2 ? snprintf(word, sizeof word, "%u*%u", choices[i], times)
                             : snprintf(word, sizeof word, "%u", choices[i]);
        i += times > 2 ? times : 1;
        bool wraps = column + 1 + size > LINE_COLUMNS;
        if (column) fputc(wraps ? '\n' : ' ', file);
        column = wraps ? size : column + 1 + size;
        fputs(word, file);
    }
    fputc('\n', file);
}

void sim_tape_release(struct sim_tape *tape)
{
    free(tape->choices);
    tape->choices = NULL;
    tape->length = 0;
}
