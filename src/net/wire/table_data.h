// table_data.h - messages by which objects move: between workers, and into the server's store.
#pragma once

#include "net/wire/fields.h"

// One of them asks, the other answers: GREET and WELCOME, GET and CONTENT, then for each WANT a
// PIECE, in that order. An entry is the text that the cache has for it: "f:BYTES:HASH" is a file,
// "x" instead an executable one, "d" a tree, of which BYTES are those of its files.
#define WIRE_GET(F) F(object, object) F(text, ticket)
#define WIRE_CONTENT(F) F(text, entry) F(u64, list_bytes)  // the latter: of a tree
// A file of the object; the entry of a tree stands for the list of its files.
#define WIRE_WANT(F) F(text, entry) F(u64, offset)
// All from there to the end. So many bytes follow as they are, behind this frame and in no other:
// they can go from the disk to the socket, and from there to the disk, without a stop.
#define WIRE_PIECE(F) F(text, entry) F(u64, offset) F(u64, bytes)

// A client that has contents for the server's store: what is not there is asked for with WANTs, and
// OFFERED is behind the last of them. Each is sent as a PIECE; STORED says that it came whole. Then
// an object is given its content, and BOUND: it is on the disk.
#define WIRE_OFFER(F) F(texts, entries)
#define WIRE_OFFERED(F) F(u32, wanted)
#define WIRE_STORED(F) F(text, entry)
#define WIRE_BIND(F) F(object, object) F(text, entry)
#define WIRE_BOUND(F) F(object, object)
// The object store to its own server, for the audit log: what somebody brought, and what of it was
// bound to an object or refused. "the key was revoked" without an entry: its connection has ended.
#define WIRE_BROUGHT(F)                                                              \
    F(text, who) F(u32, contents) F(u64, bytes) F(object, object) F(text, entry)     \
    F(text, reason) /* "": it was not refused */
