// spool.h - reports that are kept on disk until the server has recorded them.
//
// One file, to which only is added. What was added in one turn becomes durable with one sync, as
// one piece with a checksum, before any of it is sent; there is never more than one piece that was
// not synced. What is recorded is noted with the next piece; forgetting that means telling it
// again, which is harmless. When nothing is left the file is cut.
//
//     file  = head | piece...
//     head  = "rota spool 2\n", zeros up to 16 bytes | u64 server | u32 0 | u32 checksum
//     piece = u32 length | u32 checksum | frames of wire.h: FINISHED adds, RECORDED takes away
//
// The number in the head is the version of the protocol whose frames they are. A file of version 1
// is written anew when it is opened.
//
// Room for SPOOL_BALLAST bytes more is taken from the disk ahead of time: when that is full, what
// has ended can still be written down.
#pragma once

#include "net/wire/wire.h"

enum { SPOOL_BALLAST = 8 << 20, SPOOL_TEXT = 600 };

struct report {
    struct report *next, *before;
    rota_task_id task;
    uint32_t attempt;
    uint64_t token;
    bool is_safe;     // on disk
    struct wire_in frame;  // FINISHED, to be taken by spool_message()
};

struct spool {
    int folder, lock, file;  // -1: not open
    const char *path;        // of the folder, for sentences
    uint64_t length, reserved;  // of the file: what is synced, and what it has room for
    uint64_t dead;              // of the length: about so much is recorded by now
    uint64_t dropped;           // bytes at the end that a crash left when it was opened
    uint64_t server;            // 0: not known; whose reports these are
    uint32_t version;           // of the frames in the file
    struct report *first, *last;
    uint32_t count, unsafe;
    struct wire_out pending;  // frames of the next piece
    char error[SPOOL_TEXT];   // a sentence, when something returned false
    bool is_taken;            // it was that another worker has it open
};

// Opens or makes the file "spool" in a folder, which is locked for as long as it is open, and reads
// what is there. False with a sentence in `error`. A piece at the end that was never synced is
// dropped. Anything else that is broken is put aside, and this fails once.
bool spool_open(struct spool *spool, const char *folder);
void spool_close(struct spool *spool);

// Null: no memory.
struct report *spool_add(struct spool *spool, const struct wire_finished *finished);
enum spool_result {
    SPOOL_SAFE,    // all that was added may be sent
    SPOOL_FULL,    // no room on the disk: ask again later
    SPOOL_BROKEN,  // the disk cannot be trusted any more; `error` says why
};
enum spool_result spool_sync(struct spool *spool);
void spool_remove(struct spool *spool, struct report *report);  // it is recorded
// The report as a message, valid until the next call for the same one.
const struct wire_finished *spool_message(struct report *report, struct wire_message *message);
// From now on reports are for this server; what was for another one is put aside. False: error.
bool spool_belongs(struct spool *spool, uint64_t server);

// ---- spool_read.c: from bytes to reports -------------------------------------------------------

enum { SPOOL_HEAD = 32, SPOOL_PIECE_HEAD = 8 };

uint32_t spool_checksum(const char *bytes, size_t count);
void spool_head_write(char head[SPOOL_HEAD], uint64_t server);
// Adds what the bytes say, and gives the length of all that is whole. Behind that there may be the
// rest of a piece. False: there is more, or it makes no sense.
bool spool_parse(struct spool *spool, const char *bytes, size_t size, size_t *whole);
// For those who read: without noting it for the next piece.
struct report *spool_list_add(struct spool *spool, const struct wire_finished *finished);
void spool_list_remove(struct spool *spool, struct report *report);
