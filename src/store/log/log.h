// log.h - the write-ahead log of a database file: one write per turn, synced in a thread.
#pragma once

#include "store/log/database_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// ---- syncer.c: syncs the log in a thread ---------------------------------------

struct syncer {
    pthread_t thread;
    pthread_mutex_t lock;  // for sleeping and waking only
    pthread_cond_t wake, done;
    sqlite3_file *_Atomic file;
    _Atomic uint64_t asked, synced;  // numbers of the last requested and the last finished sync
    _Atomic int64_t asked_at;        // nanoseconds: the last request
    _Atomic int result;              // of SQLite: the first error
    int event;                       // readable after a sync
    _Atomic int sleepers;
    _Atomic bool watched;            // the caller polls the event
    bool open, ending;
};

bool syncer_open(struct syncer *syncer);  // may be open already
void syncer_close(struct syncer *syncer);
void syncer_ask(struct syncer *syncer, sqlite3_file *file);
int syncer_wait(struct syncer *syncer, uint64_t until);  // waits until this sync is done
void syncer_note(struct syncer *syncer, int result);     // the caller has synced once
int syncer_watch(struct syncer *syncer);                 // the event; -1: failed

// ---- log_vfs.c: one write per turn ------------------------------------------------

struct batch {
    sqlite3_vfs vfs, *below;
    char name[24];  // of the vfs
    struct syncer syncer;
    struct pages pages;
    sqlite3_file *unsynced;  // a log that was written to; no sync of it was requested yet
    bool later;            // syncs are delayed, although SQLite takes them for done
    bool named;            // the name of the log is durable: its folder was synced
    // The descriptor that wrote a new database; -1: none. It stays open until SQLite has closed the
    // file: closing any descriptor of a file drops all locks of the process on it.
    int image;
    bool image_is_unsynced;  // the new database must be durable before its log
};

// Like sqlite3_open_v2(), with the vfs of `batch` between SQLite and the vfs called `name`.
int batch_open(const char *path, sqlite3 **db, int flags, const char *name,
               struct batch *batch);
int batch_sync(struct batch *batch, int flags);     // makes all writes durable
int batch_sync_ask(struct batch *batch);            // requests the same
int batch_image_sync(struct batch *batch);          // makes a new database durable
