// schema_image.c - prints a new database as a C array: made while building, so that a new database
// needs no time to create its tables.
#include "store/log/page_checksum.h"
#include "store/sqlite/sqlite.h"

#include <stdio.h>

// Bytes 18 and 19 of the header say that a write-ahead log is used, as SQLite itself writes them.
enum { LOG_FLAG = 18, LINE = 16 };

static void checksums_put(unsigned char *image, sqlite3_int64 size)
{
    int page_size;
    if (!page_format(image, &page_size)) return;
    uint32_t pages = (uint32_t)(size / page_size);
    for (uint32_t number = 1; number <= pages; number++) {
        unsigned char *page = image + (size_t)(number - 1) * (size_t)page_size;
        page_checksum_set(page, page_size, page_checksum(page, page_size, number));
    }
}

int main(void)
{
    sqlite3 *db;
    sqlite3_int64 size;
    int reserved = PAGE_RESERVED;
    if (sqlite3_open(":memory:", &db)) return 1;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)) return 1;
    if (sqlite3_exec(db, SCHEMA_PAGES, NULL, NULL, NULL) || schema_create(db)) return 1;
    unsigned char *image = sqlite3_serialize(db, "main", &size, 0);
    if (!image) return 1;
    image[LOG_FLAG] = image[LOG_FLAG + 1] = 2;
    checksums_put(image, size);
    puts("// A new database. Made by tool/schema_image.c; not to be changed by hand.");
    puts("#include \"store/sqlite/sqlite.h\"\n\nconst unsigned char schema_image[] = {");
    for (sqlite3_int64 i = 0; i < size; i++) {
        printf("%d,", image[i]);
        if (i % LINE == LINE - 1) putchar('\n');
    }
    printf("};\nconst size_t schema_image_size = %lld;\n", (long long)size);
    sqlite3_free(image);
    sqlite3_close(db);
    return 0;
}
