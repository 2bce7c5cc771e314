// decode.c - decodes messages according to the table. It never reads past a frame.
#include "net/wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { TRIMMED_LEAST = 16 << 10 };  // bytes taken before memory is given back

struct reader {
    struct wire_in *in;
    const char *at, *end;
    bool bad;
};

// ---- Bytes -------------------------------------------------------------------------------

char *wire_in_room(struct wire_in *in, uint32_t count)
{
    if (in->taken) {
        memmove(in->bytes, in->bytes + in->taken, in->length - in->taken);
        in->length -= in->taken;
        in->taken = 0;
    }
    uint64_t need = (uint64_t)in->length + count;
    if (need > in->capacity) {
        char *bytes = need <= UINT32_MAX ? realloc(in->bytes, need) : NULL;
        if (!bytes) return NULL;
        in->bytes = bytes;
        in->capacity = (uint32_t)need;
    }
    return in->bytes + in->length;
}

void wire_in_came(struct wire_in *in, uint32_t count)
{
    in->length += count;
    assert(in->length <= in->capacity);
}

// A short message leaves its memory for the next one.
void wire_in_trim(struct wire_in *in)
{
    uint32_t left = in->length - in->taken;
    if (in->taken < TRIMMED_LEAST) return;
    struct wire_in rest = {.bytes = left ? malloc(left) : NULL, .length = left, .capacity = left};
    if (left && !rest.bytes) return;
    if (left) memcpy(rest.bytes, in->bytes + in->taken, left);
    wire_in_release(in);
    *in = rest;
}

void wire_in_release(struct wire_in *in)
{
    free(in->bytes);
    free(in->arena);
    *in = (struct wire_in){0};
}

// ---- Fields ------------------------------------------------------------------------------

static const char *get_bytes(struct reader *reader, uint64_t count)
{
    if (reader->bad || (uint64_t)(reader->end - reader->at) < count) {
        reader->bad = true;
        return NULL;
    }
    const char *at = reader->at;
    reader->at += count;
    return at;
}

#define NUMBER(kind)                                                                               \
    static wire_##kind get_##kind(struct reader *reader)                                           \
    {                                                                                              \
        wire_##kind number = 0;                                                                    \
        const char *at = get_bytes(reader, sizeof number);                                         \
        if (at) memcpy(&number, at, sizeof number);                                                \
        return number;                                                                             \
    }
NUMBER(u32)
NUMBER(u64)
NUMBER(i32)
NUMBER(time)
#undef NUMBER

    static wire_task get_task(struct reader *reader)
{
    uint32_t job = get_u32(reader), task = get_u32(reader);
    return (wire_task){job, task};
}

static wire_text get_text(struct reader *reader)
{
    uint32_t length = get_u32(reader);
    const char *bytes = get_bytes(reader, (uint64_t)length + 1);
    if (bytes && bytes[length] != 0) reader->bad = true;
    return bytes && !reader->bad ? (wire_text){bytes, length} : (wire_text){"", 0};
}

// The lists of a message are consecutive in the arena; no message has more lists than this.
enum { ALIGNED = 8, LISTS = 16 };

// Reads a list whose items take at least `least` bytes of the frame each. The arena has room for
// every list that a frame of this length can contain.
static void *get_list(struct reader *reader, uint32_t *count, uint32_t least, size_t size)
{
    struct wire_in *in = reader->in;
    *count = get_u32(reader);
    if (reader->bad || *count > (uint64_t)(reader->end - reader->at) / least) {
        reader->bad = true;
        *count = 0;
    }
    void *items = (char *)in->arena + in->arena_used;
    in->arena_used += (*count * (uint32_t)size + ALIGNED - 1) / ALIGNED * ALIGNED;
    assert(in->arena_used <= in->arena_capacity);
    return items;
}

static wire_object get_object(struct reader *reader)
{
    uint64_t high = get_u64(reader), low = get_u64(reader);
    return (wire_object){high, low};
}

// A letter, followed by the hash unless the letter is 0.
static wire_content get_content(struct reader *reader)
{
    wire_content content = {.kind = 0};
    const char *kind = get_bytes(reader, 1);
    if (!kind || !*kind) return content;
    const char *hash = get_bytes(reader, sizeof content.hash);
    if (!strchr("dfx", *kind)) reader->bad = true;
    if (!hash || reader->bad) return content;
    content.kind = *kind;
    memcpy(content.hash, hash, sizeof content.hash);
    return content;
}

// The smallest number of bytes of each kind of field in a frame.
enum {
    LEAST_u32 = 4,
    LEAST_u64 = 8,
    LEAST_i32 = 4,
    LEAST_time = 8,
    LEAST_task = 8,
    LEAST_object = 16,
    LEAST_content = 1,
    LEAST_text = 5
};

static wire_texts get_texts(struct reader *reader)
{
    wire_texts texts;
    texts.items = get_list(reader, &texts.count, LEAST_text, sizeof *texts.items);
    for (uint32_t i = 0; i < texts.count; i++) texts.items[i] = get_text(reader);
    return texts;
}

#define FIELD(kind, name) item->name = get_##kind(reader);
#define LEAST(kind, name) +LEAST_##kind
#define ROW(NAME, name)                                                                            \
    static wire_##name##s get_##name##s(struct reader *reader)                                     \
    {                                                                                              \
        enum { ROW_LEAST = 0 WIRE_##NAME##_ROW(LEAST) };                                           \
        _Static_assert(sizeof(struct wire_##name) * LEAST_text <= ROW_LEAST * sizeof(wire_text),   \
                       "a row needs no more memory per byte than a text");                      \
        wire_##name##s list;                                                                       \
        list.items = get_list(reader, &list.count, ROW_LEAST, sizeof *list.items);                 \
        for (uint32_t i = 0; i < list.count; i++) {                                                \
            struct wire_##name *item = &list.items[i];                                             \
            WIRE_##NAME##_ROW(FIELD)                                                               \
        }                                                                                          \
        return list;                                                                               \
    }
WIRE_ROWS(ROW)
#undef ROW
#undef LEAST
#undef FIELD

#define FIELD(kind, name) it->name = get_##kind(reader);
#define MESSAGE(NAME, name)                                                                        \
    static void get_##name##_message(struct reader *reader, struct wire_##name *it)                \
    {                                                                                              \
        WIRE_##NAME(FIELD)                                                                         \
    }
WIRE_MESSAGES(MESSAGE)
#undef MESSAGE
#undef FIELD

// An empty text needs the most memory per byte of the frame; no row needs more.
static bool arena_reserve(struct wire_in *in, uint32_t length)
{
    uint64_t need = (uint64_t)length / LEAST_text * sizeof(wire_text) + LISTS * ALIGNED;
    in->arena_used = 0;
    if (need <= in->arena_capacity) return true;
    void *arena = need <= UINT32_MAX ? realloc(in->arena, need) : NULL;
    if (!arena) return false;
    in->arena = arena;
    in->arena_capacity = (uint32_t)need;
    return true;
}

// Peers exchange their versions first, so that peers of different versions can report the mismatch.
// The other fields of another version's GREET or WELCOME are unknown and stay empty.
static bool is_foreign(const struct reader *reader, struct wire_message *message)
{
    static const wire_text none = {"", 0};
    struct reader ahead = *reader;
    bool is_greet = message->kind == WIRE_GREET_MESSAGE;
    if (!is_greet && message->kind != WIRE_WELCOME_MESSAGE) return false;
    uint32_t version = get_u32(&ahead);  // the first field of both, in every version
    if (ahead.bad || version == WIRE_VERSION) return false;
    if (is_greet)
        message->greet = (struct wire_greet){.version = version, .name = none};
    else
        message->welcome = (struct wire_welcome){.version = version};
    return true;
}

static bool fields_take(struct reader *reader, struct wire_message *message)
{
    switch (message->kind) {
#define CASE(NAME, name)                                                                           \
    case WIRE_##NAME##_MESSAGE: get_##name##_message(reader, &message->name); break;
        WIRE_MESSAGES(CASE)
#undef CASE
    default: return false;
    }
    return !reader->bad && reader->at == reader->end;
}

enum wire_result wire_take(struct wire_in *in, struct wire_message *message)
{
    uint32_t length, left = in->length - in->taken;
    if (left < WIRE_HEAD) return WIRE_MORE;
    memcpy(&length, in->bytes + in->taken, sizeof length);
    if (length < 1 || length > WIRE_FRAME_MAX) return WIRE_BAD;
    if (left - WIRE_HEAD < length) return WIRE_MORE;
    if (!arena_reserve(in, length)) return WIRE_NO_MEMORY;
    const char *frame = in->bytes + in->taken + WIRE_HEAD;
    struct reader reader = {in, frame + 1, frame + length, false};
    message->kind = (unsigned char)*frame;
    if (!is_foreign(&reader, message) && !fields_take(&reader, message)) return WIRE_BAD;
    in->taken += WIRE_HEAD + length;
    return WIRE_GOT;
}

uint32_t wire_take_raw(struct wire_in *in, uint64_t max, const char **bytes)
{
    uint32_t left = in->length - in->taken;
    uint32_t count = left < max ? left : (uint32_t)max;
    *bytes = in->bytes + in->taken;
    in->taken += count;
    return count;
}

bool wire_are_all(const struct wire_in *in, enum wire_kind kind)
{
    uint32_t at = in->taken;
    while (in->length - at > WIRE_HEAD) {
        uint32_t length;
        memcpy(&length, in->bytes + at, sizeof length);
        if (length > in->length - at - WIRE_HEAD) return true;
        if (length == 0 || in->bytes[at + WIRE_HEAD] != (char)kind) return false;
        at += WIRE_HEAD + length;
    }
    return true;
}
