// database_vfs.h - notices writes of other programs to the database file and its index.
//
// Another program may write into a file that is in use. To notice that, this vfs remembers the hash
// of pages that SQLite writes or reads, and gives access to the index (FILE-shm), which SQLite
// maps. It does not give SQLite a page that does not match its checksum.
#pragma once

#include "store/log/vfs_below.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_LOST                                                                                 \
    "-shm was truncated by another program while it was in use; no record is lost: stop that"      \
    " program, and start again"

enum { PAGE_SAMPLES = 64, INDEX_REGIONS = 128, INDEX_REGION_SIZE = 32768 };
enum { LOG_HEADER = 32, FRAME_HEADER = 24 };

// As SQLite has it in the first bytes of the index, twice: see "WAL-Index Format" of its documents.
enum {
    WORD_PAGE_SIZE = 3,  // in its upper half; the second byte: the log's checksums are big-endian
    WORD_FRAMES = 4,
    WORD_PAGES = 5,
    WORD_SALT = 8,
    INDEX_HEADER_WORDS = 12,
    WORD_BACKFILLED = 24,
    WORD_ATTEMPTED = 32
};

struct page_sample {
    sqlite3_int64 at;  // its offset in the file
    uint64_t hash;
    int size;  // 0: no pages
};

// A page that does not match its checksum, or lost its content and its checksum.
struct page_damage {
    uint32_t page;  // 0: no page
    bool is_in_log;
    bool is_empty;
};

struct pages {
    sqlite3_file *database;  // of the vfs below; null: not open
    sqlite3_file *log;
    struct page_sample samples[PAGE_SAMPLES];
    int page_size;  // from the header; 0: not known yet
    bool has_checksums;
    bool is_just_made;  // by this process, which need not check its own pages yet
    struct page_damage damage;  // the first
    const volatile uint32_t *_Atomic index[INDEX_REGIONS];  // as mapped by SQLite
    uint32_t began;       // the first salt of the last log that this process began
    bool database_is_bad;  // another program wrote to it: do not read it any more
    bool log_is_bad, index_is_bad;
    const char *path;
};

// Turns a file of the vfs below into one whose pages are remembered. `file` has space for both.
struct paged {
    struct vfs_below base;
    struct pages *pages;
    unsigned char *copy;  // of a page that is written; null: none was
};
int pages_open(sqlite3_vfs *below, sqlite3_filename name, sqlite3_file *file, int flags, int *out,
               struct pages *pages);
// Whether the remembered pages in the file are unchanged. Forgets changed ones.
bool pages_are_unchanged(struct pages *pages);
void pages_forget(struct pages *pages);
// Remembers the first damaged page. Returns the error for SQLite.
int pages_damaged(struct pages *pages, uint32_t page, bool is_in_log);

// ---- page_scan.c --------------------------------------------------------------------------------

// Reads all pages of a database with checksums and of its log, while the caller holds a read
// transaction. False: a read has failed, or no memory.
typedef void page_damage_fn(void *context, struct page_damage damage);
bool pages_scan(const struct pages *pages, page_damage_fn *found, void *context);

// ---- mapped_index.c -----------------------------------------------------------------------------

// A process that reads a mapped page past the end of its file gets SIGBUS. If that page belongs to
// this index, the process prints a message and exits with 70.
void mapped_watch(struct pages *pages);
void mapped_release(struct pages *pages);
