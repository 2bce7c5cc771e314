// frame_check.c - checksums of pages that are written to the log and read from it.
//
// SQLite compares the checksum of a frame only when it recovers a log. The checksum of the page is
// compared whenever the page is read: otherwise a checkpoint would put a damaged page into the
// database, with a new checksum. A checkpoint of another program copies pages with their checksums.
#include "store/log/frame_check.h"
#include "store/log/page_checksum.h"

#include <string.h>

uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

uint32_t frame_page(const unsigned char header[FRAME_HEADER])
{
    return number_at(header);
}

// A log from a machine that stores the highest byte first has other checksums; its pages get none.
static bool is_big_endian(const struct pages *pages)
{
    const volatile uint32_t *index = pages->index[0];
    return index && (index[WORD_PAGE_SIZE] >> 8 & 0xff);
}

void frame_sign(struct frame_writer *writer, const struct pages *pages, void *bytes, int size,
                sqlite3_int64 at)
{
    if (size == FRAME_HEADER) {
        *writer = (struct frame_writer){at + FRAME_HEADER, frame_page(bytes)};
        return;
    }
    bool is_page = pages->has_checksums && size == pages->page_size && at == writer->page_at;
    if (!is_page || page_has_checksum(bytes, size) || is_big_endian(pages)) return;
    page_checksum_set(bytes, size, page_checksum(bytes, size, writer->page));
}

bool page_is_damaged(const struct pages *pages, const void *page, int size, uint32_t number)
{
    return pages->has_checksums && page_has_checksum(page, size)
           && !page_matches(page, size, page_checksum(page, size, number));
}

static bool is_frame(const struct pages *pages, int size, sqlite3_int64 at)
{
    return pages->has_checksums && size == pages->page_size && at >= LOG_HEADER
           && (at - LOG_HEADER) % (size + FRAME_HEADER) == 0;
}

// The header has the number of the page. Both come with one call of the system.
int log_page_read(struct pages *pages, unsigned char *frame, void *to, int size, sqlite3_int64 at)
{
    sqlite3_file *log = pages->log;
    if (!is_frame(pages, size, at - FRAME_HEADER)) return log->pMethods->xRead(log, to, size, at);
    int result = log->pMethods->xRead(log, frame, FRAME_HEADER + size, at - FRAME_HEADER);
    memcpy(to, frame + FRAME_HEADER, (size_t)size);
    if (result || !page_has_checksum(to, size)) return result;
    uint32_t number = frame_page(frame);
    if (page_is_damaged(pages, to, size, number)) return pages_damaged(pages, number, true);
    page_checksum_set(to, size, 0);
    return SQLITE_OK;
}
