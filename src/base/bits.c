// bits.c - a set of numbers, one bit per number, with a summary level for quick searches.
#include "base/base.h"

bool bits_reserve(const struct memory *memory, struct bits *bits, uint32_t numbers)
{
    uint64_t words = ((uint64_t)numbers + 63) / 64, groups = (words + 63) / 64;
    // Groups grow first: bits_take() uses the word of every group bit that is set.
    if (!ARRAY_RESERVE(memory, bits->groups, bits->group_capacity, groups)) return false;
    return ARRAY_RESERVE(memory, bits->words, bits->word_capacity, words);
}

void bits_clear(struct bits *bits, uint32_t number)
{
    if (number / 64 >= bits->word_capacity || !bits_has(bits, number)) return;
    bits->words[number / 64] &= ~(1ull << number % 64);
    if (!bits->words[number / 64]) bits->groups[number / 4096] &= ~(1ull << number / 64 % 64);
    bits->count--;
}

void bits_release(const struct memory *memory, struct bits *bits)
{
    ARRAY_RELEASE(memory, bits->words, bits->word_capacity);
    ARRAY_RELEASE(memory, bits->groups, bits->group_capacity);
    *bits = (struct bits){0};
}
