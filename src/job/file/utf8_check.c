// utf8_check.c - checks that bytes are UTF-8 without control characters.
#include "base/base.h"
#include "job/file/internal.h"

#include <string.h>

static bool is_control(uint32_t number)
{
    return (number < 0x20 && number != '\t' && number != '\n' && number != '\r')
           || number == 0x7f;
}

// Eight bytes at a time: true if all are between 0x20 and 0x7e.
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
        uint32_t number;
        size_t length = character_read(bytes + i, size - i, &number);
        if (!length) return wrong(file, bytes, i, "not valid UTF-8");
        if (!number) return wrong(file, bytes, i, "a zero byte; this is not a text file");
        if (is_control(number)) return wrong(file, bytes, i, "a control character");
        i += length;
    }
    return true;
}
