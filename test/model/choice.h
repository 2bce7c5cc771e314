// choice.h - one stream of bytes that makes every choice of a history. Zero is the simplest choice.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choice {
    const uint8_t *bytes;
    size_t size, place;
};

// A number below `count`; 0 when the stream has ended.
static inline uint32_t choice_pick(struct choice *choice, uint32_t count)
{
    if (count <= 1 || choice->place >= choice->size) return 0;
    return choice->bytes[choice->place++] % count;
}

static inline bool choice_ended(const struct choice *choice)
{
    return choice->place >= choice->size;
}
