// database_vfs.c - a vfs for the database file: remembers the hashes of some pages.
#include "store/log/database_vfs.h"
#include "store/log/page_checksum.h"

#include <stdlib.h>
#include <string.h>

// A short run reads most pages of a new database, and has no time to hash all of them.
enum { READ_EVERY = 4 };

// ---- Hashes ----------------------------------------------------------------------------

static bool is_page(int size, sqlite3_int64 at)
{
    return size >= PAGE_MIN && size <= PAGE_MAX && !(size & (size - 1)) && at % size == 0;
}

static uint32_t number_of(int size, sqlite3_int64 at)
{
    return (uint32_t)(at / size) + 1;
}

static void page_note(struct pages *pages, uint64_t hash, int size, sqlite3_int64 at)
{
    pages->samples[at / size % PAGE_SAMPLES] = (struct page_sample){at, hash, size};
}

void pages_forget(struct pages *pages)
{
    memset(pages->samples, 0, sizeof pages->samples);
}

bool pages_are_unchanged(struct pages *pages)
{
    sqlite3_file *file = pages->database;
    unsigned char *bytes = malloc(PAGE_MAX);
    bool same = bytes != NULL;
    for (int i = 0; i < PAGE_SAMPLES && same; i++) {
        struct page_sample sample = pages->samples[i];
        if (!sample.size) continue;
        same = file->pMethods->xRead(file, bytes, sample.size, sample.at) == SQLITE_OK
               && page_checksum(bytes, sample.size, number_of(sample.size, sample.at))
                      == sample.hash;
    }
    free(bytes);
    return same;
}

int pages_damaged(struct pages *pages, uint32_t page, bool is_in_log)
{
    struct page_damage damage = {.page = page, .is_in_log = is_in_log};
    if (!pages->damage.page) pages->damage = damage;
    return SQLITE_IOERR_DATA;
}

// ---- Pages and their checksums -----------------------------------------------------------

// The first bytes of the file say how large its pages are, and whether they have checksums.
static void format_note(struct pages *pages, const void *bytes, int size, sqlite3_int64 at)
{
    if (at == 0 && size >= PAGE_HEADER)
        pages->has_checksums = page_format(bytes, &pages->page_size);
}

static bool has_checksums(const struct pages *pages, int size)
{
    return pages->has_checksums && size == pages->page_size;
}

static int page_take(struct pages *pages, void *page, int size, sqlite3_int64 at)
{
    uint32_t number = number_of(size, at);
    bool has_one = has_checksums(pages, size) && page_has_checksum(page, size);
    bool is_checked = has_one && !pages->is_just_made;
    if (is_checked || number % READ_EVERY == 1) {
        uint64_t hash = page_checksum(page, size, number);
        if (is_checked && !page_matches(page, size, hash))
            return pages_damaged(pages, number, false);
        page_note(pages, hash, size, at);
    }
    if (has_one) page_checksum_set(page, size, 0);
    return SQLITE_OK;
}

// ---- The methods of a database -----------------------------------------------------------

static struct paged *of(sqlite3_file *file)
{
    return (struct paged *)file;
}

static int paged_close(sqlite3_file *file)
{
    sqlite3_file *below = of(file)->base.below;
    mapped_release(of(file)->pages);
    of(file)->pages->database = NULL;
    free(of(file)->copy);
    return below->pMethods->xClose(below);
}

static int paged_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    struct pages *pages = of(file)->pages;
    sqlite3_file *below = of(file)->base.below;
    if (pages->database_is_bad) return SQLITE_IOERR_READ;
    int result = below->pMethods->xRead(below, to, size, at);
    if (result) return result;
    format_note(pages, to, size, at);
    return is_page(size, at) ? page_take(pages, to, size, at) : SQLITE_OK;
}

// SQLite keeps its page as it is: with a checksum in it, the page would be written to the log after
// its next change.
static int page_write(struct paged *paged, const void *from, int size, sqlite3_int64 at)
{
    sqlite3_file *below = paged->base.below;
    uint64_t hash = page_checksum(from, size, number_of(size, at));
    page_note(paged->pages, hash, size, at);
    if (!has_checksums(paged->pages, size))
        return below->pMethods->xWrite(below, from, size, at);
    if (!paged->copy) paged->copy = malloc(PAGE_MAX);
    if (!paged->copy) return SQLITE_IOERR_NOMEM;
    memcpy(paged->copy, from, (size_t)size);
    page_checksum_set(paged->copy, size, hash);
    return below->pMethods->xWrite(below, paged->copy, size, at);
}

static int paged_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
    struct paged *paged = of(file);
    sqlite3_file *below = paged->base.below;
    if (paged->pages->database_is_bad) return SQLITE_IOERR_WRITE;
    format_note(paged->pages, from, size, at);
    return is_page(size, at) ? page_write(paged, from, size, at)
                             : below->pMethods->xWrite(below, from, size, at);
}

// A checkpoint ends with this call, even if there is nothing to cut off.
static int paged_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct page_sample *samples = of(file)->pages->samples;
    sqlite3_file *below = of(file)->base.below;
    for (int i = 0; i < PAGE_SAMPLES; i++)
        if (samples[i].at >= size) samples[i].size = 0;
    return below->pMethods->xTruncate(below, size);
}

static int paged_index_map(sqlite3_file *file, int region, int size, int extend,
                           void volatile **out)
{
    struct paged *paged = of(file);
    int result = paged->base.below->pMethods->xShmMap(paged->base.below, region, size, extend, out);
    if (result || !*out || region >= INDEX_REGIONS || size != INDEX_REGION_SIZE) return result;
    paged->pages->index[region] = *out;
    if (region == 0) mapped_watch(paged->pages);
    return result;
}

static int paged_index_unmap(sqlite3_file *file, int remove)
{
    mapped_release(of(file)->pages);
    return of(file)->base.below->pMethods->xShmUnmap(of(file)->base.below, remove);
}

// Version 2 of the methods, because version 3 would also map the database.
static const sqlite3_io_methods paged_methods = {
    .iVersion = 2,
    .xClose = paged_close,
    .xRead = paged_read,
    .xWrite = paged_write,
    .xTruncate = paged_truncate,
    .xSync = below_sync,
    .xFileSize = below_size,
    .xLock = below_lock,
    .xUnlock = below_unlock,
    .xCheckReservedLock = below_is_reserved,
    .xFileControl = below_control,
    .xSectorSize = below_sector_size,
    .xDeviceCharacteristics = below_characteristics,
    .xShmMap = paged_index_map,
    .xShmLock = below_index_lock,
    .xShmBarrier = below_index_barrier,
    .xShmUnmap = paged_index_unmap,
};

int pages_open(sqlite3_vfs *below, sqlite3_filename name, sqlite3_file *file, int flags, int *out,
               struct pages *pages)
{
    struct paged *paged = of(file);
    *paged = (struct paged){.pages = pages};
    int result = below_open(below, name, &paged->base, sizeof *paged, flags, out);
    if (result) return result;
    file->pMethods = &paged_methods;
    pages->database = paged->base.below;
    return SQLITE_OK;
}
