// table_data.h - messages that transfer objects: between workers, and to the server's store.
#pragma once

#include "net/wire/fields.h"

// One side requests, the other answers: GREET and WELCOME, GET and CONTENT, then one PIECE for each
// WANT, in that order. An entry is the name of a content in the cache: "f:BYTES:HASH" is a file,
// with "x" an executable file, with "d" a directory, where BYTES is the sum of its files.
#define WIRE_GET(F) F(object, object) F(text, ticket)
#define WIRE_CONTENT(F) F(text, entry) F(u64, list_bytes)  // list_bytes: size of a directory's list
// Requests a file of the object; the entry of a directory requests the list of its files.
#define WIRE_WANT(F) F(text, entry) F(u64, offset)
// The file from `offset` to its end. `bytes` raw bytes follow this frame, outside of any frame, so
// that they are transferred between disk and socket without copies.
#define WIRE_PIECE(F) F(text, entry) F(u64, offset) F(u64, bytes)

// A client offers contents to the server's object store. The server requests those it lacks with
// WANTs, and sends OFFERED after the last one. The client sends each as a PIECE; STORED confirms
// that it is complete. BIND gives an object its content; BOUND confirms that it is on disk.
#define WIRE_OFFER(F) F(texts, entries)
#define WIRE_OFFERED(F) F(u32, wanted)
#define WIRE_STORED(F) F(text, entry)
#define WIRE_BIND(F) F(object, object) F(text, entry)
#define WIRE_BOUND(F) F(object, object)
// From the object store to its server, for the audit log: the contents that a client uploaded, and
// the objects it bound or was refused. "the key was revoked" without an entry means that its
// connection was closed.
#define WIRE_BROUGHT(F)                                                              \
    F(text, who) F(u32, contents) F(u64, bytes) F(object, object) F(text, entry)     \
    F(text, reason) /* "": not refused */
