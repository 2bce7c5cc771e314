// bits.c - a set of numbers, one bit each, with a summary that makes finding the next one quick.
#include "base/base.h"

bool bits_reserve(const struct memory *memory, struct bits *bits, uint32_t numbers)
{
    uint64_t words = ((uint64_t)numbers + 63) / 64, groups = (words + 63) / 64;
    void *low = bits->words, *high = bits->groups;
    // Groups first: whoever finds a word relies on its group.
    bool there = memory_reserve(memory, &high, &bits->group_capacity, groups, sizeof(uint64_t));
    bits->groups = high;
    if (!there) return false;
    there = memory_reserve(memory, &low, &bits->word_capacity, words, sizeof(uint64_t));
    bits->words = low;
    return there;
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
    void *low = bits->words, *high = bits->groups;
    memory_release(memory, &low, &bits->word_capacity, sizeof(uint64_t));
    memory_release(memory, &high, &bits->group_capacity, sizeof(uint64_t));
    *bits = (struct bits){0};
}
