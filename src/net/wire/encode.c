// encode.c - encodes messages according to the table.
#include "net/wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOVED_LEAST = 16 << 10,  // bytes sent before the rest moves to the front
    KEPT = 16 << 10          // capacity that is kept
};

char *wire_out_room(struct wire_out *out, uint32_t count)
{
    if (out->failed) return NULL;
    uint64_t need = (uint64_t)out->length + count;
    if (need > out->capacity) {
        uint64_t capacity = out->capacity ? out->capacity : 1024;
        while (capacity < need) capacity *= 2;
        out->too_long = capacity > UINT32_MAX;
        char *bytes = out->too_long ? NULL : realloc(out->bytes, capacity);
        if (!bytes) {
            out->failed = true;
            return NULL;
        }
        out->bytes = bytes;
        out->capacity = (uint32_t)capacity;
    }
    char *at = out->bytes + out->length;
    out->length += count;
    return at;
}

// Inline, because most fields are a few bytes and usually fit.
static inline void put_bytes(struct wire_out *out, const void *bytes, uint32_t count)
{
    if (count > out->capacity - out->length) {
        char *at = wire_out_room(out, count);
        if (at) memcpy(at, bytes, count);
    } else if (count) {
        memcpy(out->bytes + out->length, bytes, count);
        out->length += count;
    }
}

// All supported machines are little-endian; others would have to swap bytes here.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied without swapping");

#define NUMBER(kind)                                                                               \
    static void put_##kind(struct wire_out *out, wire_##kind number)                               \
    {                                                                                              \
        put_bytes(out, &number, sizeof number);                                                    \
    }
NUMBER(u32)
NUMBER(u64)
NUMBER(i32)
NUMBER(time)
#undef NUMBER

static void put_task(struct wire_out *out, wire_task task)
{
    put_u32(out, task.job);
    put_u32(out, task.task);
}

// Adds a zero byte, so that the decoder need not copy the text to terminate it.
static void put_text(struct wire_out *out, wire_text text)
{
    put_u32(out, text.length);
    put_bytes(out, text.bytes, text.length);
    put_bytes(out, "", 1);
}

static void put_texts(struct wire_out *out, wire_texts texts)
{
    put_u32(out, texts.count);
    for (uint32_t i = 0; i < texts.count; i++) put_text(out, texts.items[i]);
}

static void put_object(struct wire_out *out, wire_object object)
{
    put_u64(out, object.high);
    put_u64(out, object.low);
}

static void put_content(struct wire_out *out, wire_content content)
{
    put_bytes(out, &content.kind, 1);
    if (content.kind) put_bytes(out, content.hash, sizeof content.hash);
}

#define FIELD(kind, name) put_##kind(out, item->name);
#define ROW(NAME, name)                                                                            \
    static void put_##name##s(struct wire_out *out, wire_##name##s list)                           \
    {                                                                                              \
        put_u32(out, list.count);                                                                  \
        for (uint32_t i = 0; i < list.count; i++) {                                                \
            const struct wire_##name *item = &list.items[i];                                       \
            WIRE_##NAME##_ROW(FIELD)                                                               \
        }                                                                                          \
    }
WIRE_ROWS(ROW)
#undef ROW
#undef FIELD

#define FIELD(kind, name) put_##kind(out, it->name);
#define MESSAGE(NAME, name)                                                                        \
    static void put_##name##_message(struct wire_out *out, const struct wire_##name *it)           \
    {                                                                                              \
        WIRE_##NAME(FIELD)                                                                         \
    }
WIRE_MESSAGES(MESSAGE)
#undef MESSAGE
#undef FIELD

void wire_put(struct wire_out *out, const struct wire_message *message)
{
    uint32_t start = out->length;
    char kind = (char)message->kind;
    put_u32(out, 0);
    put_bytes(out, &kind, 1);
    switch (message->kind) {
#define CASE(NAME, name)                                                                           \
    case WIRE_##NAME##_MESSAGE: put_##name##_message(out, &message->name); break;
        WIRE_MESSAGES(CASE)
#undef CASE
    default: assert(!"unknown kind of message");
    }
    if (out->failed) return;
    uint32_t length = out->length - start - WIRE_HEAD;
    if (length > WIRE_FRAME_MAX) {
        out->length = start;
        out->failed = out->too_long = true;
        return;
    }
    memcpy(out->bytes + start, &length, sizeof length);
}

void wire_out_append(struct wire_out *out, const char *frames, uint32_t length)
{
    put_bytes(out, frames, length);
}

// Without memory for a smaller buffer the large one is kept.
static void out_shrink(struct wire_out *out)
{
    uint32_t capacity = out->length > KEPT / 2 ? out->length * 2 : KEPT;
    if (out->capacity <= KEPT || out->length > out->capacity / 4) return;
    char *bytes = realloc(out->bytes, capacity);
    if (!bytes) return;
    out->bytes = bytes;
    out->capacity = capacity;
}

void wire_out_sent(struct wire_out *out, uint32_t count)
{
    out->sent += count;
    assert(out->sent <= out->length);
    // With a slow peer the buffer may never be empty: move the rest to the front, so that it does
    // not grow.
    uint32_t left = out->length - out->sent;
    if (left && (out->sent < MOVED_LEAST || out->sent < left)) return;
    if (left) memmove(out->bytes, out->bytes + out->sent, left);
    out->sent = 0;
    out->length = left;
    out_shrink(out);
}

void wire_out_release(struct wire_out *out)
{
    free(out->bytes);
    *out = (struct wire_out){0};
}
