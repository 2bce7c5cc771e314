// log.h - the log of a database file: written once a turn, synced beside the program.
#pragma once

#include "store/log/page_watch.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// ---- syncer.c: the log is synced beside the program ----------------------------

struct syncer {
    pthread_t thread;
    pthread_mutex_t lock;  // of sleep only
    pthread_cond_t wake, done;
    sqlite3_file *_Atomic file;
    _Atomic uint64_t asked, synced;  // writes that are to be durable; that are
    _Atomic int64_t asked_at;        // nanoseconds; the last
    _Atomic int result;              // of SQLite: the first that was no success
    int event;                       // readable when something became durable
    _Atomic int sleepers;
    _Atomic bool watched;            // somebody looks at the event
    bool open, ending;
};

bool syncer_open(struct syncer *syncer);  // again is fine
void syncer_close(struct syncer *syncer);
void syncer_ask(struct syncer *syncer, sqlite3_file *file);
int syncer_wait(struct syncer *syncer, uint64_t until);  // so many are durable
void syncer_note(struct syncer *syncer, int result);     // somebody else has synced once
int syncer_watch(struct syncer *syncer);                 // the event; -1: no event

// ---- batch.c: one write a turn for the log --------------------------------------

struct gather {
    sqlite3_vfs vfs, *below;
    struct syncer syncer;
    struct pages pages;
    sqlite3_file *behind;  // a log that was written to and not synced, nor was that asked for
    bool later;            // SQLite believes that it was
    bool named;            // the name of the log is durable: it was synced once
    // The descriptor with which a new database was written; -1: none. It stays open until SQLite
    // has closed the file: closing any descriptor of a file drops all locks of the process on it.
    int image;
    bool image_is_unsynced;  // the new database is to be durable before its log is
};

// As sqlite3_open_v2(), with the vfs of `gather` between SQLite and the system called `name`.
int gather_open(const char *path, sqlite3 **db, int flags, const char *name,
                struct gather *gather);
int gather_sync(struct gather *gather, int flags);  // all that was written is durable
int gather_sync_ask(struct gather *gather);         // or will be
int gather_image_sync(struct gather *gather);       // the new database, if it is one, is durable
