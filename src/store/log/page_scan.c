// page_scan.c - reads all pages of a database and its log, and finds those that do not match their
// checksum.
//
// It reads below SQLite, which would stop at the first one. A page that has a newer version in the
// log does not count: an interrupted checkpoint may have left anything there. The read transaction
// of the caller keeps other processes from a checkpoint of frames that it has not seen.
#include "store/log/frame_check.h"
#include "store/log/page_checksum.h"

#include <stdlib.h>
#include <string.h>

enum { PENDING_BYTE = 0x40000000, PAGES_AT = 28, FREE_AT = 32 };

struct scan {
    const struct pages *pages;
    page_damage_fn *found;
    void *context;
    uint32_t page_count;
    sqlite3_int64 *newer;  // by page: where the log has it; 0: it does not
    bool *is_free;         // by page: its content means nothing
    unsigned char *bytes;  // space for a frame
};

// ---- The log ---------------------------------------------------------------------------

static void newer_set(struct scan *scan, uint32_t page, sqlite3_int64 at)
{
    if (page <= scan->page_count) scan->newer[page] = at;
}

// A log of which all is in the database may begin again while it is read here.
static bool log_is(const struct scan *scan, const uint32_t salt[2])
{
    const volatile uint32_t *index = scan->pages->index[0];
    return index && index[WORD_SALT] == salt[0] && index[WORD_SALT + 1] == salt[1];
}

static bool frames_scan(struct scan *scan, const volatile uint32_t *index)
{
    sqlite3_file *log = scan->pages->log;
    int size = scan->pages->page_size;
    uint32_t salt[] = {index[WORD_SALT], index[WORD_SALT + 1]};
    uint32_t frames = index[WORD_FRAMES], backfilled = index[WORD_BACKFILLED];
    sqlite3_int64 at = LOG_HEADER;
    for (uint32_t frame = 1; frame <= frames; frame++, at += FRAME_HEADER + size) {
        int result = log->pMethods->xRead(log, scan->bytes, FRAME_HEADER + size, at);
        uint32_t page = frame_page(scan->bytes);
        if (!log_is(scan, salt)) return true;
        if (result) return false;
        if (page_is_damaged(scan->pages, scan->bytes + FRAME_HEADER, size, page))
            scan->found(scan->context, (struct page_damage){.page = page, .is_in_log = true});
        if (frame > backfilled) newer_set(scan, page, at + FRAME_HEADER);
    }
    return true;
}

// A process that may not write the index has none in a file. SQLite has just compared all frames
// for it; here only the pages count.
static bool frames_collect(struct scan *scan)
{
    unsigned char header[FRAME_HEADER], first[LOG_HEADER];
    sqlite3_file *log = scan->pages->log;
    sqlite3_int64 size, at = LOG_HEADER;
    if (log->pMethods->xFileSize(log, &size)) return false;
    if (size < LOG_HEADER) return true;
    if (log->pMethods->xRead(log, first, sizeof first, 0)) return false;
    while (at + FRAME_HEADER + scan->pages->page_size <= size) {
        if (log->pMethods->xRead(log, header, sizeof header, at)) return false;
        if (memcmp(header + 8, first + 16, 8) != 0) break;  // of an older log
        newer_set(scan, frame_page(header), at + FRAME_HEADER);
        at += FRAME_HEADER + scan->pages->page_size;
    }
    return true;
}

static bool log_scan(struct scan *scan)
{
    const volatile uint32_t *index = scan->pages->index[0];
    if (!scan->pages->log) return true;
    return index ? frames_scan(scan, index) : frames_collect(scan);
}

// ---- The database ------------------------------------------------------------------------

static bool page_read(struct scan *scan, uint32_t page)
{
    bool is_in_log = scan->newer[page];
    int size = scan->pages->page_size;
    sqlite3_file *file = is_in_log ? scan->pages->log : scan->pages->database;
    sqlite3_int64 at = is_in_log ? scan->newer[page] : (sqlite3_int64)(page - 1) * size;
    return file->pMethods->xRead(file, scan->bytes, size, at) == SQLITE_OK;
}

static bool page_is_empty(const struct scan *scan)
{
    size_t size = (size_t)scan->pages->page_size;
    return !scan->bytes[0] && memcmp(scan->bytes, scan->bytes + 1, size - 1) == 0;
}

// A chain of pages: the next one, how many free pages it lists, and their numbers.
static bool free_find(struct scan *scan)
{
    uint32_t most = (uint32_t)scan->pages->page_size / 4 - 2;
    uint32_t page = number_at(scan->bytes + FREE_AT);
    for (uint32_t i = 0; page && page <= scan->page_count && i < scan->page_count; i++) {
        if (!page_read(scan, page)) return false;
        uint32_t count = number_at(scan->bytes + 4);
        for (uint32_t k = 0; k < count && k < most; k++) {
            uint32_t leaf = number_at(scan->bytes + 8 + 4 * (size_t)k);
            if (leaf <= scan->page_count) scan->is_free[leaf] = true;
        }
        page = number_at(scan->bytes);
    }
    return true;
}

static bool database_scan(struct scan *scan)
{
    uint32_t locks = (uint32_t)(PENDING_BYTE / scan->pages->page_size) + 1;  // is never written
    if (!page_read(scan, 1)) return false;
    uint32_t used = number_at(scan->bytes + PAGES_AT);
    if (!free_find(scan)) return false;
    for (uint32_t page = 1; page <= scan->page_count; page++) {
        if (scan->newer[page]) continue;
        if (!page_read(scan, page)) return false;
        bool is_empty = page <= used && page != locks && !scan->is_free[page]
                        && page_is_empty(scan);
        if (is_empty || page_is_damaged(scan->pages, scan->bytes, scan->pages->page_size, page))
            scan->found(scan->context, (struct page_damage){.page = page, .is_empty = is_empty});
    }
    return true;
}

bool pages_scan(const struct pages *pages, page_damage_fn *found, void *context)
{
    sqlite3_file *file = pages->database;
    sqlite3_int64 size;
    if (!pages->has_checksums) return true;
    if (file->pMethods->xFileSize(file, &size)) return false;
    struct scan scan = {.pages = pages, .found = found, .context = context};
    scan.page_count = (uint32_t)(size / pages->page_size);
    if (!scan.page_count) return true;
    scan.newer = calloc((size_t)scan.page_count + 1, sizeof *scan.newer);
    scan.is_free = calloc((size_t)scan.page_count + 1, sizeof *scan.is_free);
    scan.bytes = malloc(FRAME_HEADER + PAGE_MAX);
    bool done = scan.newer && scan.is_free && scan.bytes && log_scan(&scan)
                && database_scan(&scan);
    free(scan.newer);
    free(scan.is_free);
    free(scan.bytes);
    return done;
}
