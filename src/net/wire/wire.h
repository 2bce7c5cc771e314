// wire.h - what a server and a worker say to each other, as bytes.
//
// Every message is one row of a table: its fields in order, each with its kind. The structs, the
// encoder, the decoder and the dump all come from the same rows, so they cannot disagree.
//
//     frame = u32 length of the rest | u8 message | the fields in order, nothing between
//
// Numbers are little-endian. A text is a u32 length and its bytes; lists are a u32 count and their
// items. A decoded message points into the frame and into the arena of its reader.
#pragma once

#include "rota_types.h"

#include "base/base.h"

enum { WIRE_FRAME_MAX = 16 << 20, WIRE_HASH = 32, WIRE_HEAD = 4 };

#include "net/wire/table.h"

// Of all that is sent; a peer of another version is refused. 2: rows of files have a content.
enum { WIRE_VERSION = 2 };
#define WIRE_OTHER_VERSION                                                                         \
    "the server speaks another protocol than this program: install the same version of rota on"   \
    " both"
#define WIRE_ENUM(NAME, name) WIRE_##NAME##_MESSAGE,
enum wire_kind { WIRE_NONE, WIRE_MESSAGES(WIRE_ENUM) WIRE_KINDS_END };
#undef WIRE_ENUM

#define WIRE_FIELD(kind, name) wire_##kind name;
#define WIRE_STRUCT(NAME, name) struct wire_##name { WIRE_##NAME(WIRE_FIELD) };
WIRE_MESSAGES(WIRE_STRUCT)
#undef WIRE_STRUCT
#undef WIRE_FIELD

struct wire_message {
    enum wire_kind kind;
    union {
#define WIRE_MEMBER(NAME, name) struct wire_##name name;
        WIRE_MESSAGES(WIRE_MEMBER)
#undef WIRE_MEMBER
    };
};

enum { WIRE_SHELL_STATUS = 126 };  // from here on shells tell of what did not run, or was killed

// Whether who does the same again would get the same: it ran, and ended by itself.
static inline bool wire_is_result(uint32_t end, int32_t status)
{
    return end == WIRE_EXITED && status >= 0 && status < WIRE_SHELL_STATUS;
}

// ---- content_name.c: names of contents ----------------------------------------------------------

enum { WIRE_HEX = WIRE_HASH * 2, WIRE_ENTRY_TEXT = WIRE_HEX + 32 };

// "f:BYTES:HASH" is a file, 'x' one that can be executed, 'd' the list of a directory.
struct wire_entry {
    char letter;
    uint64_t bytes;  // of the file, or of all files of the directory
    uint8_t hash[WIRE_HASH];
};
void wire_hex(const uint8_t hash[WIRE_HASH], char text[WIRE_HEX + 1]);
bool wire_hex_read(const char *text, uint8_t hash[WIRE_HASH]);
void wire_entry_write(const struct wire_entry *entry, char text[WIRE_ENTRY_TEXT]);
bool wire_entry_read(const char *text, struct wire_entry *entry);
rota_object_id wire_entry_object(const struct wire_entry *entry);  // whose name is its content
wire_content wire_entry_content(const struct wire_entry *entry);
bool wire_entry_is(const struct wire_entry *entry, const wire_content *content);
bool wire_content_is(const wire_content *one, const wire_content *other);  // the same bytes

// The ids of objects are three spaces, by the two highest bits of `low`: what is named by its
// content (wire_entry_object), what clients bring for a job, and what tasks make. Only what is in
// the first two can be bound by a client, and only what is in the last can be an output.
static inline bool wire_is_upload(rota_object_id object) { return object.low >> 62 == 1; }
static inline bool wire_is_named(rota_object_id object) { return object.low >> 63; }
static inline rota_object_id wire_upload(uint64_t high, uint64_t low, uint32_t number)
{
    return (rota_object_id){high ^ low, 1ull << 62 | number};
}

// ---- encode.c: bytes that wait to be sent ------------------------------------------------

struct wire_out {
    char *bytes;
    uint32_t length, capacity;
    uint32_t sent;  // of them; wire_out_sent() counts on
    bool failed;    // no memory, or a message longer than a frame may be
};

void wire_put(struct wire_out *out, const struct wire_message *message);
void wire_out_append(struct wire_out *out, const char *frames, uint32_t length);  // whole ones
// Room for bytes that are no frame, to be written at once. Null: none, and `failed` says so.
char *wire_out_room(struct wire_out *out, uint32_t count);
void wire_out_sent(struct wire_out *out, uint32_t count);
void wire_out_release(struct wire_out *out);

static inline wire_text wire_text_of(const char *text)
{
    return (wire_text){text ? text : "", text ? (uint32_t)__builtin_strlen(text) : 0};
}

// ---- decode.c: bytes that have come ----------------------------------------------------

struct wire_in {
    char *bytes;
    uint32_t length, capacity, taken;
    void *arena;  // lists of the last message
    uint32_t arena_used, arena_capacity;
    uint32_t version;  // of frames that were stored by an older rota; 0: as they are sent now
};

enum wire_result { WIRE_GOT, WIRE_MORE, WIRE_BAD, WIRE_NO_MEMORY };

// Room for at least `count` bytes at the end, to be read into; then say how many came. Null: none.
char *wire_in_room(struct wire_in *in, uint32_t count);
void wire_in_came(struct wire_in *in, uint32_t count);
// The next message, valid until the next call of any of these. MORE: it is not whole yet. BAD: this
// is none of ours, and nothing behind it can be believed. Of a GREET or WELCOME of another version
// only the version is read.
enum wire_result wire_take(struct wire_in *in, struct wire_message *message);
// Bytes that have come and are no frame: as many as there are, but at most `max`; they are taken.
uint32_t wire_take_raw(struct wire_in *in, uint64_t max, const char **bytes);
// Whether all the whole messages that have come are of this kind; bytes that are none are not.
bool wire_are_all(const struct wire_in *in, enum wire_kind kind);
void wire_in_release(struct wire_in *in);

// ---- dump.c: for people --------------------------------------------------------------------

// "stop task=7.3 attempt=2 grace=5000000". Returns the length as snprintf does.
int wire_dump(const struct wire_message *message, char *out, size_t size);
const char *wire_kind_name(enum wire_kind kind);
