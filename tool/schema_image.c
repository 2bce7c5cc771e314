// schema_image.c - prints a new database as a C array: made while building, so that a new database
// needs no time to create its tables.
#include "store/sqlite/sqlite.h"

#include <stdio.h>

// Bytes 18 and 19 of the header say that a write-ahead log is used, as SQLite itself writes them.
enum { LOG_FLAG = 18, LINE = 16 };

int main(void)
{
    sqlite3 *db;
    sqlite3_int64 size;
    if (sqlite3_open(":memory:", &db)) return 1;
    if (sqlite3_exec(db, SCHEMA_PAGES, NULL, NULL, NULL) || schema_create(db)) return 1;
    unsigned char *image = sqlite3_serialize(db, "main", &size, 0);
    if (!image) return 1;
    image[LOG_FLAG] = image[LOG_FLAG + 1] = 2;
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
