// page_checksum.c - computes the checksum of a page.
//
// Four chains of 64-bit products, as in wyhash: half the instructions of XXH3 without AVX2, which a
// short run would notice. The order of bytes is fixed, because a database may be moved to another
// machine.
#include "store/log/page_checksum.h"

#include <endian.h>
#include <string.h>

enum { BLOCK = 64, FIRST = 128, RESERVED_AT = 20 };

struct reserved {
    uint32_t words[PAGE_RESERVED / 4];
};

static const uint64_t odd[]
    = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u};

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

static uint64_t product(uint64_t a, uint64_t b)
{
    unsigned __int128 whole = (unsigned __int128)a * b;
    return (uint64_t)whole ^ (uint64_t)(whole >> 64);
}

static void blocks_add(uint64_t sum[4], const unsigned char *bytes, int size)
{
    uint64_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (const unsigned char *end = bytes + size; bytes < end; bytes += BLOCK) {
        a = product(word_at(bytes) ^ odd[0], word_at(bytes + 8) ^ a);
        b = product(word_at(bytes + 16) ^ odd[1], word_at(bytes + 24) ^ b);
        c = product(word_at(bytes + 32) ^ odd[2], word_at(bytes + 40) ^ c);
        d = product(word_at(bytes + 48) ^ odd[3], word_at(bytes + 56) ^ d);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}

// A backup with SQLite copies all pages and then changes these numbers of the first one: the
// versions of the format, the change counter, the schema cookie, and the version of SQLite.
static void changing_clear(unsigned char header[FIRST])
{
    memset(header + 18, 0, 2);
    memset(header + 24, 0, 4);
    memset(header + 40, 0, 4);
    memset(header + 92, 0, 8);
}

uint64_t page_checksum(const void *page, int size, uint32_t number)
{
    const unsigned char *bytes = page;
    unsigned char first[FIRST], last[BLOCK];
    uint64_t sum[] = {number * odd[2], (uint64_t)size * odd[3], odd[1], odd[0]};
    int begun = 0;
    if (number == 1) {
        memcpy(first, bytes, FIRST);
        changing_clear(first);
        blocks_add(sum, first, FIRST);
        begun = FIRST;
    }
    blocks_add(sum, bytes + begun, size - begun - BLOCK);
    memcpy(last, bytes + size - BLOCK, BLOCK);
    memset(last + BLOCK - PAGE_RESERVED, 0, PAGE_RESERVED);
    blocks_add(sum, last, BLOCK);
    uint64_t front = product(sum[0] ^ odd[2], sum[1] ^ odd[3]);
    uint64_t back = product(sum[2] ^ odd[0], sum[3] ^ odd[1]);
    uint64_t whole = product(front ^ odd[1], back ^ odd[2]);
    return whole ? whole : 1;
}

// SQLite adds the words of a frame in pairs: first += word + second, second += word + first.
static struct reserved reserved_from(uint64_t checksum)
{
    uint32_t low = (uint32_t)checksum, high = (uint32_t)(checksum >> 32);
    return (struct reserved){
        {htole32(low), htole32(high), htole32(-(2 * low + high)), htole32(-(low + high))}};
}

static struct reserved reserved_of(const void *page, int size)
{
    struct reserved reserved;
    memcpy(&reserved, (const unsigned char *)page + size - PAGE_RESERVED, sizeof reserved);
    return reserved;
}

bool page_has_checksum(const void *page, int size)
{
    struct reserved reserved = reserved_of(page, size);
    return reserved.words[0] | reserved.words[1] | reserved.words[2] | reserved.words[3];
}

bool page_matches(const void *page, int size, uint64_t checksum)
{
    struct reserved expected = reserved_from(checksum), found = reserved_of(page, size);
    return memcmp(&expected, &found, sizeof found) == 0;
}

void page_checksum_set(void *page, int size, uint64_t checksum)
{
    struct reserved reserved = reserved_from(checksum);
    memcpy((unsigned char *)page + size - PAGE_RESERVED, &reserved, sizeof reserved);
}

bool page_format(const unsigned char header[PAGE_HEADER], int *size)
{
    bool is_database = memcmp(header, "SQLite format 3", 16) == 0;
    int page = header[16] << 8 | header[17];
    if (page == 1) page = PAGE_MAX;
    bool is_valid = is_database && page >= PAGE_MIN && !(page & (page - 1));
    *size = is_valid ? page : 0;
    return is_valid && header[RESERVED_AT] == PAGE_RESERVED;
}
