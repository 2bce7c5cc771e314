// fields.h - the types of fields in messages, and the rows of their lists.
#pragma once

#include "rota_types.h"

#include <stdint.h>

// ---- Types of fields --------------------------------------------------------------

typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
typedef int32_t wire_i32;
typedef int64_t wire_time;  // microseconds; a point in time is UTC
typedef rota_task_id wire_task;
typedef rota_object_id wire_object;
typedef struct rota_content wire_content;  // `kind` is the letter of an entry; 0: unknown
typedef struct { const char *bytes; uint32_t length; } wire_text;  // ends with a zero if decoded
typedef struct { wire_text *items; uint32_t count; } wire_texts;

enum wire_file_kind {
    WIRE_FILE = 1,        // a regular file
    WIRE_DIRECTORY,       // a directory with everything below it
    WIRE_STREAM,          // transferred while writer and reader run
    WIRE_SOURCE,          // inputs: a file or directory of the user, at `path`
    WIRE_RESULT,          // HELD: a result for the content key `object`
};
enum {  // of one command
    WIRE_FILES_MAX = 10000,   // inputs and outputs
    WIRE_STREAMS_MAX = 1000,  // of these
};
enum wire_file_flag { WIRE_KEEP = 1 };  // outputs: also copied to `path` when the task succeeds

// Rows that a message can have lists of.
#define WIRE_FILE_ROW(F)                                                              \
    F(u32, kind)      /* enum wire_file_kind */                                       \
    F(u32, flags)     /* enum wire_file_flag */                                       \
    F(text, name)     /* relative to the directory of the task */                     \
    F(text, path)     /* absolute; see kind and flags */                              \
    F(object, object) /* none: a source */                                            \
    F(u64, bytes)     /* outputs, once produced */                                    \
    F(content, content) /* of inputs, held objects, and outputs once produced; not of streams */
#define WIRE_ATTEMPT_ROW(F) F(task, task) F(u32, attempt) F(u64, token) F(u32, state)
#define WIRE_LANE_ROW(F) F(text, name) F(u32, flags)  // enum rota_lane_flag
#define WIRE_SPEC_ROW(F)                                                              \
    F(text, name)                                                                     \
    F(text, details)  /* shown to people */                                           \
    F(u32, body)      /* which of the bodies, from 1; 0: a bundle */                  \
    F(u32, flags)     /* enum rota_task_flag */                                       \
    F(u32, bundle)    /* number of the enclosing task; 0: none */                     \
    F(u32, lane)      /* which of the lanes, from 1; 0: none */                       \
    F(u32, group)     /* which of the groups, from 1; 0: none */                      \
    F(u32, access)                                                                    \
    F(u32, machine)   /* which of the machines, from 1; 0: any */                     \
    F(u32, cores)                                                                     \
    F(u32, memory_mib)                                                                \
    F(u32, retries)                                                                   \
    F(i32, priority)                                                                  \
    F(time, estimate)                                                                 \
    F(u32, clause_first)                                                              \
    F(u32, clause_count)                                                              \
    F(object, key)
#define WIRE_EXIT_ROW(F) F(i32, status)
#define WIRE_EDGE_ROW(F) F(u32, before) F(u32, after)
#define WIRE_CLAUSE_ROW(F) F(u32, kind) F(task, task)
#define WIRE_USE_ROW(F) F(u32, task) F(object, object) F(u32, flags)
#define WIRE_MAKE_ROW(F) F(u32, task) F(object, object) F(u64, bytes) F(u32, flags)

#define WIRE_ROWS(R)                                                                  \
    R(FILE, file) R(ATTEMPT, attempt) R(LANE, lane) R(SPEC, spec) R(EDGE, edge)       \
    R(CLAUSE, clause) R(USE, use) R(MAKE, make) R(EXIT, exit)

#define WIRE_FIELD(kind, name) wire_##kind name;
#define WIRE_STRUCT(NAME, name)                                                       \
    struct wire_##name { WIRE_##NAME##_ROW(WIRE_FIELD) };                             \
    typedef struct { struct wire_##name *items; uint32_t count; } wire_##name##s;
WIRE_ROWS(WIRE_STRUCT)
#undef WIRE_STRUCT
#undef WIRE_FIELD

#define WIRE_KINDS(K)                                                                 \
    K(u32) K(u64) K(i32) K(time) K(task) K(object) K(content) K(text) K(texts)        \
    K(files) K(attempts) K(lanes) K(specs) K(edges) K(clauses) K(uses) K(makes)       \
    K(exits)
