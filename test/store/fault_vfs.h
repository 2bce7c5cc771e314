// fault_vfs.h - a disk that fails, fills up or loses power at the k-th operation.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_ERROR,     // that operation fails, the others do not
    FAULT_FULL,      // no write succeeds from there on, while the file `ballast` is there
    FAULT_NO_POWER,  // nothing happens any more from there on
};

// The fate of writes that were not synced when the power failed.
enum fault_loss { LOSS_NONE, LOSS_ALL, LOSS_SOME, LOSSES };

struct fault {
    enum fault_kind kind;
    enum fault_loss loss;
    uint64_t at;    // the operation it happens at; writes, syncs and truncations count
    uint64_t seed;  // which writes are lost, and where they are torn
    const char *ballast;
    bool harms;      // a torn write may harm neighbouring bytes: SQLite pads its log then
    uint64_t count;  // operations so far
    bool happened;
};

extern struct fault fault;
// A restarted log was written to before its header was synced, since the last fault_begin().
extern bool fault_header_is_late;

const char *fault_vfs_register(void);  // the name of the file system
void fault_begin(struct fault like);   // nothing is remembered of earlier files
void fault_power_returns(void);        // the files are as the disk has them
