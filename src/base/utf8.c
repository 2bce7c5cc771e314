// utf8.c - decodes one UTF-8 character.
#include "base/base.h"

size_t character_read(const char *text, size_t length, uint32_t *number)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*text;
    size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (!size || size > length || first > 0xf4) return 0;
    *number = size == 1 ? first : first & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
        *number = *number << 6 | ((unsigned char)text[i] & 0x3f);
    }
    bool surrogate = *number >= 0xd800 && *number < 0xe000;
    return *number < smallest[size] || surrogate || *number > 0x10ffff ? 0 : size;
}
