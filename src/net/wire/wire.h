// wire.h - encodes and decodes the messages between rota processes.
//
// Every message is one row of a table: its typed fields in order. The structs, the encoder, the
// decoder and the dump are generated from these rows, so they cannot disagree.
//
//     frame = u32 length of the rest | u8 message | the fields in order, without padding
//
// Numbers are little-endian. A text is a u32 length and its bytes; a list is a u32 count and its
// items. A decoded message points into the frame and into the arena of its reader.
#pragma once

#include "rota_types.h"

#include "base/base.h"

enum { WIRE_FRAME_MAX = 16 << 20, WIRE_HASH = 32, WIRE_HEAD = 4 };

#include "net/wire/table.h"

// The protocol version; a peer with another version is refused. 2: rows of files have a content.
enum { WIRE_VERSION = 2 };
#define WIRE_OTHER_VERSION                                                                         \
    "the server uses another protocol version than this program: install the same version"     \
    " of rota on both"
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

enum { WIRE_GRACE = 5000000 };     // from TERM to KILL, unless the task sets its own
enum { WIRE_SHELL_STATUS = 126 };  // from this status on, the command did not run or was killed

// Whether running it again would give the same result: the command ran and exited by itself.
static inline bool wire_is_result(uint32_t end, int32_t status)
{
    return end == WIRE_EXITED && status >= 0 && status < WIRE_SHELL_STATUS;
}

// Why a command with these files is refused; null: it is valid.
static inline const char *wire_files_fault(const struct wire_run *run)
{
    uint64_t files = (uint64_t)run->inputs.count + run->outputs.count, streams = 0;
    if (files > WIRE_FILES_MAX) return "a command may have at most 10,000 inputs and outputs";
    for (uint32_t i = 0; i < run->inputs.count; i++)
        streams += run->inputs.items[i].kind == WIRE_STREAM;
    for (uint32_t i = 0; i < run->outputs.count; i++)
        streams += run->outputs.items[i].kind == WIRE_STREAM;
    return streams > WIRE_STREAMS_MAX ? "a command may have at most 1,000 streams" : NULL;
}

// ---- content_name.c: names of contents ----------------------------------------------------------

enum { WIRE_HEX = WIRE_HASH * 2, WIRE_ENTRY_TEXT = WIRE_HEX + 32 };

// "f:BYTES:HASH" is a file, 'x' an executable file, 'd' the list of a directory.
struct wire_entry {
    char letter;
    uint64_t bytes;  // of the file, or of all files of the directory
    uint8_t hash[WIRE_HASH];
};
void wire_hex(const uint8_t hash[WIRE_HASH], char text[WIRE_HEX + 1]);
int wire_hex_digit(char digit);  // -1: not a hex digit
bool wire_hex_read(const char *text, uint8_t hash[WIRE_HASH]);
void wire_entry_write(const struct wire_entry *entry, char text[WIRE_ENTRY_TEXT]);
bool wire_entry_read(const char *text, struct wire_entry *entry);
// The id of an object named by its content.
rota_object_id wire_entry_object(const struct wire_entry *entry);
wire_content wire_entry_content(const struct wire_entry *entry);
bool wire_entry_is(const struct wire_entry *entry, const wire_content *content);
bool wire_content_is(const wire_content *one, const wire_content *other);  // same content

// A request id: the fields `high` and `low` of messages. All zero: none.
struct request_id {
    uint64_t high, low;
};

// Object ids have three ranges, by the two highest bits of `low`: objects named by their content
// (wire_entry_object), uploads of a job, and outputs of tasks. A client can only bind objects of
// the first two, and only the third are outputs.
static inline bool wire_is_upload(rota_object_id object) { return object.low >> 62 == 1; }
static inline bool wire_is_named(rota_object_id object) { return object.low >> 63; }
static inline rota_object_id wire_upload(struct request_id request, uint32_t number)
{
    return (rota_object_id){request.high ^ request.low, 1ull << 62 | number};
}

// ---- encode.c: the output buffer ---------------------------------------------------------

struct wire_out {
    char *bytes;
    uint32_t length, capacity;
    uint32_t sent;  // at the start, and still there
    bool failed;    // out of memory, or:
    bool too_long;  // a message does not fit into a frame, or all of them not into the buffer
};

void wire_put(struct wire_out *out, const struct wire_message *message);
void wire_out_append(struct wire_out *out, const char *frames, uint32_t length);  // complete frames
// Room for raw bytes, which the caller must write at once. Null: out of memory, and `failed` is
// set.
char *wire_out_room(struct wire_out *out, uint32_t count);
// Frees most of the memory that the rest does not need: a peer that has read a long message keeps
// little of it.
void wire_out_sent(struct wire_out *out, uint32_t count);
void wire_out_release(struct wire_out *out);

static inline wire_text wire_text_of(const char *text)
{
    return (wire_text){text ? text : "", text ? (uint32_t)__builtin_strlen(text) : 0};
}

// ---- decode.c: the input buffer --------------------------------------------------------

struct wire_in {
    char *bytes;
    uint32_t length, capacity, taken;
    void *arena;  // lists of the last message
    uint32_t arena_used, arena_capacity;
};

enum wire_result { WIRE_GOT, WIRE_MORE, WIRE_BAD, WIRE_NO_MEMORY };

// Room for at least `count` bytes at the end; wire_in_came() sets how many arrived. Null: out of
// memory.
char *wire_in_room(struct wire_in *in, uint32_t count);
void wire_in_came(struct wire_in *in, uint32_t count);
// The next message, valid until the next call of any function here. MORE: it is incomplete. BAD:
// the bytes are not a message, and everything after them is invalid too. If a GREET or WELCOME has
// another version, only the version is read.
enum wire_result wire_take(struct wire_in *in, struct wire_message *message);
// Takes received raw bytes, at most `max`.
uint32_t wire_take_raw(struct wire_in *in, uint64_t max, const char **bytes);
// Whether all complete received messages are of this kind; false for invalid bytes.
bool wire_are_all(const struct wire_in *in, enum wire_kind kind);
// After the last message was used: frees the memory of long messages, but keeps bytes not taken.
void wire_in_trim(struct wire_in *in);
void wire_in_release(struct wire_in *in);

// ---- dump.c: formatting --------------------------------------------------------------------

// "stop task=7.3 attempt=2 grace=5000000". Returns the length like snprintf.
int wire_dump(const struct wire_message *message, char *out, size_t size);
const char *wire_kind_name(enum wire_kind kind);
