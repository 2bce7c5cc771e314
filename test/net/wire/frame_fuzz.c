// frame_fuzz.c - decodes any bytes, in pieces of any size; an accepted message is the same after it
// is encoded again.
#include "net/wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct wire_message *message)
{
    static char before[1 << 16], after[1 << 16];
    struct wire_out out = {0};
    struct wire_in in = {0};
    struct wire_message got;
    wire_put(&out, message);
    if (!out.failed) {
        memcpy(wire_in_room(&in, out.length), out.bytes, out.length);
        wire_in_came(&in, out.length);
        if (wire_take(&in, &got) != WIRE_GOT) abort();
        wire_dump(message, before, sizeof before);
        wire_dump(&got, after, sizeof after);
        if (strcmp(before, after) != 0) abort();
    }
    wire_out_release(&out);
    wire_in_release(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_in in = {0};
    struct wire_message message;
    size_t step = size ? 1 + data[0] % 64 : 1;
    for (size_t at = 1; at < size; at += step) {
        size_t count = size - at < step ? size - at : step;
        memcpy(wire_in_room(&in, (uint32_t)count), data + at, count);
        wire_in_came(&in, (uint32_t)count);
        enum wire_result result;
        while ((result = wire_take(&in, &message)) == WIRE_GOT) again(&message);
        if (result != WIRE_MORE) break;
    }
    wire_in_release(&in);
    return 0;
}
