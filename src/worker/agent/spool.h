// spool.h - reports stored on disk until the server has recorded them.
//
// One append-only file. All reports added in one turn become durable with one sync, as one piece
// with a checksum, before any of them is sent; there is never more than one piece that was not
// synced. Recorded reports are noted with the next piece; if that is lost they are sent again,
// which is harmless. When no report is left the file is truncated.
//
//     file  = head | piece...
//     head  = "rota spool 2\n", zeros up to 16 bytes | u64 server | u32 0 | u32 checksum
//     piece = u32 length | u32 checksum | frames of wire.h: FINISHED adds, RECORDED removes
//
// The number in the head is the version of the protocol of the frames. A file of another version is
// refused.
//
// SPOOL_BALLAST further bytes are reserved on the disk: when that is full, reports of running
// commands can still be written.
#pragma once

#include "net/wire/wire.h"

enum { SPOOL_BALLAST = 8 << 20, SPOOL_TEXT = 600 };

struct report {
    struct report *next, *before;
    rota_task_id task;
    uint32_t attempt;
    uint64_t token;
    bool is_safe;     // on disk
    struct wire_in frame;  // FINISHED, to be decoded by spool_message()
};

struct spool {
    int folder, lock, file;  // -1: not open
    const char *path;        // of the folder, for messages
    uint64_t length, reserved;  // of the file: synced part, and reserved size
    uint64_t dead;              // of the length: approximate bytes already recorded
    uint64_t dropped;           // bytes at the end that a crash left when it was opened
    uint64_t server;            // the server of these reports; 0: unknown
    struct report *first, *last;
    uint32_t count, unsafe;
    struct wire_out pending;  // frames of the next piece
    char error[SPOOL_TEXT];   // an error message, when a function returned false
    bool is_taken;            // the error: another worker has it open
};

// Opens or creates the file "spool" in a folder, which is locked as long as it is open, and reads
// it. False with a message in `error`. A piece at the end that was never synced is dropped. Any
// other damaged file is moved aside, and this fails once.
bool spool_open(struct spool *spool, const char *folder);
void spool_close(struct spool *spool);

// Null: out of memory.
struct report *spool_add(struct spool *spool, const struct wire_finished *finished);
enum spool_result {
    SPOOL_SAFE,    // all added reports may be sent
    SPOOL_FULL,    // no space on the disk: try again later
    SPOOL_BROKEN,  // the disk cannot be trusted any more; `error` says why
};
enum spool_result spool_sync(struct spool *spool);
void spool_remove(struct spool *spool, struct report *report);  // it is recorded
// The report as a message, valid until the next call for the same report.
const struct wire_finished *spool_message(struct report *report, struct wire_message *message);
// From now on reports are for this server; reports for another one are moved aside. False: error.
bool spool_belongs(struct spool *spool, uint64_t server);

// ---- spool_read.c: decoding -----------------------------------------------------------------

enum { SPOOL_HEAD = 32, SPOOL_PIECE_HEAD = 8 };

uint32_t spool_checksum(const char *bytes, size_t count);
void spool_head_write(char head[SPOOL_HEAD], uint64_t server);
bool spool_is_foreign(const char *bytes, size_t size);  // of another version of rota
// Adds the reports in the bytes, and returns the length of all complete pieces. An incomplete piece
// may follow. False: there is more, or it is invalid.
bool spool_parse(struct spool *spool, const char *bytes, size_t size, size_t *whole);
// For decoding: without noting it for the next piece.
struct report *spool_list_add(struct spool *spool, const struct wire_finished *finished);
void spool_list_remove(struct spool *spool, struct report *report);
