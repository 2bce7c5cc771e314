// page_watch.h - the database file and its index below SQLite: what of them is remembered.
//
// Another program may write into a file that is in use. To notice that, each page that goes to the
// database or comes from it leaves its hash here, and the index (FILE-shm, which SQLite maps) can
// be looked at.
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_LOST                                                                                 \
    "-shm was truncated by another program while it was in use; no record is lost: stop what"      \
    " did this, and start again"

enum { PAGE_SAMPLES = 64, INDEX_REGIONS = 128, INDEX_REGION_SIZE = 32768 };

struct page_sample {
    sqlite3_int64 at;  // where it is in the file
    uint64_t hash;
    int size;  // 0: no pages
};

struct pages {
    sqlite3_file *database;  // of the system below; null: not open
    sqlite3_file *log;
    struct page_sample samples[PAGE_SAMPLES];
    const volatile uint32_t *_Atomic index[INDEX_REGIONS];  // as SQLite has mapped it
    uint32_t began;       // the first salt of the log that this process began last
    bool database_is_bad;  // another program wrote to it: nothing is read from it any more
    bool log_is_bad, index_is_bad;
    const char *path;
};

// A file of the system below becomes one whose pages are remembered. `file` has room for both.
struct paged {
    sqlite3_file file;
    sqlite3_file *below;
    struct pages *pages;
};
int pages_open(sqlite3_vfs *below, sqlite3_filename name, sqlite3_file *file, int flags, int *out,
               struct pages *pages);
// Whether the file still has the remembered pages unchanged. Changed ones are forgotten.
bool pages_are_unchanged(struct pages *pages);
void pages_forget(struct pages *pages);

// ---- mapped_index.c -----------------------------------------------------------------------------

// A process that reads a mapped page past the end of its file gets SIGBUS. For the index of
// these pages the process then says so and ends with 70.
void mapped_watch(struct pages *pages);
void mapped_release(struct pages *pages);
