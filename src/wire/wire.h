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

// ---- Kinds of fields --------------------------------------------------------------

typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
typedef int32_t wire_i32;
typedef int64_t wire_time;  // microseconds; a point in time is UTC
typedef rota_task_id wire_task;
typedef struct { const char *bytes; uint32_t length; } wire_text;  // ends with a zero once decoded
typedef struct { wire_text *items; uint32_t count; } wire_texts;

enum wire_file_kind {
    WIRE_FILE = 1,        // a regular file
    WIRE_DIRECTORY,       // a whole tree
    WIRE_STREAM,          // flows while both ends run
    WIRE_SOURCE,          // inputs: a file or directory of the user, at `path`
};
enum wire_file_flag { WIRE_KEEP = 1 };  // outputs: also put at `path` when the task succeeds

struct wire_file {
    uint32_t kind, flags;   // enum wire_file_kind, enum wire_file_flag
    wire_text name;         // under which the task knows it, relative to its work directory
    wire_text path;         // absolute; see kind and flags
    rota_object_id object;  // none: a source
    uint64_t bytes;         // outputs, once made
};
typedef struct { struct wire_file *items; uint32_t count; } wire_files;

#define WIRE_KINDS(K) K(u32) K(u64) K(i32) K(time) K(task) K(text) K(texts) K(files)

// ---- Messages ------------------------------------------------------------------------

enum wire_run_flag {
    WIRE_RUN_CACHE = 1,    // the result may be taken from, and is put into, the cache
    WIRE_RUN_PRIVATE = 2,  // in a directory of its own, with its inputs in it
};

// Server to worker.
#define WIRE_RUN(F)                                                                  \
    F(task, task)                                                                    \
    F(u32, attempt)                                                                  \
    F(u64, token)       /* fencing token */                                          \
    F(text, name)                                                                    \
    F(texts, argv)      /* the first word is looked up in PATH */                    \
    F(texts, env)       /* NAME=VALUE, on top of the worker's own */                 \
    F(text, cwd)        /* absolute; "" with PRIVATE: that directory */              \
    F(text, stdin_path) /* "": nothing to read */                                    \
    F(time, timeout)    /* 0: none */                                                \
    F(time, grace)      /* between TERM and KILL */                                  \
    F(u32, cores)                                                                    \
    F(u32, memory_mib)                                                               \
    F(u64, log_max)     /* bytes of output that are kept; 0: the worker's default */ \
    F(u32, flags)       /* enum wire_run_flag */                                     \
    F(files, inputs)                                                                 \
    F(files, outputs)
#define WIRE_STOP(F) F(task, task) F(u32, attempt) F(time, grace)
#define WIRE_DROP(F) F(files, objects)  // only `object` of each counts
#define WIRE_QUIT(F) F(time, grace)     // stops all, reports all, ends
#define WIRE_DRAIN(F) F(u32, reserved)  // starts nothing more; what waits is forgotten

// Worker to server.
enum wire_end {
    WIRE_EXITED = 1,       // status: the exit status
    WIRE_SIGNALED,         // status: the signal
    WIRE_TIMED_OUT,        // status: the signal that ended it
    WIRE_OUT_OF_MEMORY,
    WIRE_STOPPED,          // as asked for
    WIRE_NOT_STARTED,      // could not be started; status: errno
    WIRE_BAD_OUTPUT,       // it exited with 0, but an output is not there or not as declared
    WIRE_BAD_INPUT,        // an input is not there
};
enum wire_finished_flag { WIRE_CACHED = 1, WIRE_LOG_TRUNCATED = 2, WIRE_CORE_DUMPED = 4 };

#define WIRE_HELLO(F) F(u32, version) F(u32, cores) F(u32, memory_mib) F(text, name) F(text, limits)
#define WIRE_HELD(F) F(files, objects)  // what is in the cache; all of it before HELLO
#define WIRE_LOST(F) F(files, objects)
#define WIRE_STARTED(F) F(task, task) F(u32, attempt) F(time, at) F(u32, pid)
#define WIRE_FINISHED(F)                                                \
    F(task, task)                                                       \
    F(u32, attempt)                                                     \
    F(u32, end)          /* enum wire_end */                            \
    F(i32, status)                                                      \
    F(u32, flags)        /* enum wire_finished_flag */                  \
    F(time, began)                                                      \
    F(time, ended)                                                      \
    F(time, user)        /* of the command and all it waited for */     \
    F(time, system)                                                     \
    F(u64, memory_bytes) /* the largest of its processes */             \
    F(u64, log_bytes)    /* of output, before any was cut; 0: no log */ \
    F(text, reason)      /* "", or why it is not as it should be */     \
    F(files, outputs)
#define WIRE_STREAMED(F) F(files, objects)  // so many bytes of each have passed

#define WIRE_MESSAGES(M)                                                                   \
    M(HELLO, hello) M(RUN, run) M(STOP, stop) M(DROP, drop) M(QUIT, quit) M(DRAIN, drain)  \
    M(HELD, held)                                                                          \
    M(LOST, lost) M(STARTED, started) M(FINISHED, finished) M(STREAMED, streamed)

enum { WIRE_VERSION = 1 };
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

// ---- encode.c: bytes that wait to be sent ------------------------------------------------

struct wire_out {
    char *bytes;
    uint32_t length, capacity;
    uint32_t sent;  // of them; wire_out_sent() counts on
    bool failed;    // no memory, or a message longer than a frame may be
};

void wire_put(struct wire_out *out, const struct wire_message *message);
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
};

enum wire_result { WIRE_GOT, WIRE_MORE, WIRE_BAD, WIRE_NO_MEMORY };

// Room for at least `count` bytes at the end, to be read into; then say how many came. Null: none.
char *wire_in_room(struct wire_in *in, uint32_t count);
void wire_in_came(struct wire_in *in, uint32_t count);
// The next message, valid until the next call of any of these. MORE: it is not whole yet. BAD: this
// is none of ours, and nothing behind it can be believed.
enum wire_result wire_take(struct wire_in *in, struct wire_message *message);
// Whether all the whole messages that have come are of this kind; bytes that are none are not.
bool wire_are_all(const struct wire_in *in, enum wire_kind kind);
void wire_in_release(struct wire_in *in);

// ---- dump.c: for people --------------------------------------------------------------------

// "stop task=7.3 attempt=2 grace=5000000". Returns the length as snprintf does.
int wire_dump(const struct wire_message *message, char *out, size_t size);
const char *wire_kind_name(enum wire_kind kind);
