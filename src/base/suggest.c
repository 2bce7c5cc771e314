// suggest.c - finds the known word that a misspelt one was probably meant to be.
#include "base/base.h"

#include <string.h>

enum { WORD_MAX = 255 };

static uint32_t least(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

// The edit distance: letters to change, insert, delete or swap with their neighbour.
static uint32_t distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    uint32_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= other_length; j++) rows[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= one_length; i++) {
        uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= other_length; j++) {
            uint32_t best = above[j - 1] + (one[i - 1] != other[j - 1]);
            best = least(best, least(above[j], row[j - 1]) + 1);
            bool swapped
                = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if (swapped) best = least(best, second[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[one_length % 3][other_length];
}

// The largest edit distance that still counts as a misspelling of a word of this length.
static size_t mistakes_max(size_t length)
{
    if (length < 5) return 1;
    return length < 9 ? 2 : length / 3;
}

void word_try(struct word_meant *meant, const char *word, const char *other)
{
    size_t length = strlen(word), other_length = strlen(other), most = mistakes_max(length);
    if (length > WORD_MAX || other_length > WORD_MAX) return;
    if (length > other_length + most || other_length > length + most) return;
    uint32_t found = distance(word, length, other, other_length);
    bool other_word = found >= length && found >= other_length;  // no letter is the same
    if (found > most || other_word || (meant->word && found >= meant->mistakes)) return;
    *meant = (struct word_meant){other, found};
}
