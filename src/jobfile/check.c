// check.c - whether bytes are text: UTF-8 without control characters.
#include "jobfile/jobfile_parts.h"

#include <string.h>

// The length of the character there, or 0. At least four bytes can be read.
static size_t character_length(const uint8_t *byte)
{
    uint8_t lead = byte[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80) return 0;
    bool longer = (lead == 0xe0 && byte[1] < 0xa0) || (lead == 0xf0 && byte[1] < 0x90);
    bool surrogate = lead == 0xed && byte[1] >= 0xa0;
    bool beyond = lead == 0xf4 && byte[1] >= 0x90;
    return longer || surrogate || beyond ? 0 : length;
}

static bool is_control(uint8_t byte)
{
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

// Eight bytes at a time: none of them below 0x20, above 0x7e.
static bool all_plain(const char *bytes)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    uint64_t below = (eight - each * 0x20) & ~eight, above = eight + each;
    return !((eight | below | above) & each * 0x80);
}

static struct jobfile_place place_of(const char *bytes, size_t at)
{
    struct jobfile_place place = {1, 1};
    for (size_t i = 0; i < at; i++) {
        if (bytes[i] == '\n')
            place = (struct jobfile_place){place.line + 1, 1};
        else
            place.column += (bytes[i] & 0xc0) != 0x80;
    }
    return place;
}

static bool wrong(struct jobfile *file, const char *bytes, size_t at, const char *reason)
{
    refuse_at(file, place_of(bytes, at), "%s", reason);
    return false;
}

bool bytes_check(struct jobfile *file, const char *bytes, size_t size)
{
    size_t i = 0;
    while (i < size) {
        if (size - i >= 8 && all_plain(bytes + i)) {
            i += 8;
            continue;
        }
        uint8_t next[4] = {0};
        memcpy(next, bytes + i, size - i < 4 ? size - i : 4);
        if (!next[0]) return wrong(file, bytes, i, "a byte that is zero; this is not a text");
        size_t length = character_length(next);
        if (!length) return wrong(file, bytes, i, "this is not UTF-8");
        if (is_control(next[0])) return wrong(file, bytes, i, "a control character");
        i += length;
    }
    return true;
}
