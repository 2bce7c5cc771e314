// page_checksum.h - the checksum at the end of a page of the database file.
//
// SQLite reserves these bytes in each page of a new database and does not use them. Zeros: the page
// has no checksum, because another program wrote it.
//
// SQLite computes the checksum of a frame of its log before it gives the page to the vfs, while the
// page has zeros there. So 8 bytes of checksum are followed by 8 bytes that leave the frame's
// checksum as it was: it is a sum, and what the first ones add the others take away.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PAGE_MIN = 512, PAGE_MAX = 65536, PAGE_HEADER = 100, PAGE_RESERVED = 16 };

// The header of a database: the size of its pages (0: it has no valid header), and whether they
// have checksums.
bool page_format(const unsigned char header[PAGE_HEADER], int *size);
// Never 0. It includes the number of the page, so that a page in the wrong place is noticed, and
// neither the reserved bytes nor what SQLite's backup changes in page 1.
uint64_t page_checksum(const void *page, int size, uint32_t number);
bool page_has_checksum(const void *page, int size);
bool page_matches(const void *page, int size, uint64_t checksum);
void page_checksum_set(void *page, int size, uint64_t checksum);  // 0: none
