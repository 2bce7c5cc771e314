// frame_check.h - the checksums of pages in the log.
//
// The log is a header, then frames: a header each, and a page.
#pragma once

#include "store/log/database_vfs.h"

uint32_t number_at(const unsigned char *bytes);  // as SQLite stores it, the highest byte first
uint32_t frame_page(const unsigned char header[FRAME_HEADER]);  // its number

// Puts the checksum into a page that is about to be written, if the header of its frame was written
// before it.
struct frame_writer {
    sqlite3_int64 page_at;  // where that page belongs
    uint32_t page;          // its number; 0: no header so far
};
void frame_sign(struct frame_writer *writer, const struct pages *pages, void *bytes, int size,
                sqlite3_int64 at);

// The page has a checksum and does not match it.
bool page_is_damaged(const struct pages *pages, const void *page, int size, uint32_t number);
// Reads from the log. The checksum of a page is compared and becomes zeros, as SQLite expects it
// when it writes the page again. `frame` has space for a frame. Returns a result of SQLite.
int log_page_read(struct pages *pages, unsigned char *frame, void *to, int size, sqlite3_int64 at);
