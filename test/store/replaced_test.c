// replaced_test.c - another program replaces a file in the moment in which SQLite opens it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "both.h"
#include "os/os.h"
#include "store/sqlite/open.h"

static char path[128];
static sqlite3_vfs replacing_vfs;
static int replaced;  // the kind of file, as a flag of SQLite; 0: none

// ---- The file system ------------------------------------------------------------------------

static void replace(const char *name)
{
    char other[200];
    size_t size = 0;
    snprintf(other, sizeof other, "%s.other", name);
    char *bytes = os_file_read(name, 1 << 26, &size);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    if (size) assert_int_equal(fwrite(bytes, size, 1, file), 1);
    fclose(file);
    free(bytes);
    assert_int_equal(rename(other, name), 0);
}

static int replacing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                          int *out)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    (void)vfs;
    int result = real->xOpen(real, name, file, flags, out);
    if (result == SQLITE_OK && flags & replaced) replace(name);
    return result;
}

static int begin(void **state)
{
    (void)state;
    replacing_vfs = *sqlite3_vfs_find(NULL);
    replacing_vfs.zName = "replacing";
    replacing_vfs.xOpen = replacing_open;
    replacing_vfs.pNext = NULL;
    return sqlite3_vfs_register(&replacing_vfs, 0);
}

// ---- The tests ------------------------------------------------------------------------------

static struct store *store_again(void)
{
    struct store_error error;
    struct store_options options = store_options_default();
    options.ballast_bytes = 0;
    options.vfs = replacing_vfs.zName;
    struct store *store = store_open_sqlite(path, &options, &error);
    if (!store) fail_msg("%s", error.text);
    return store;
}

static void is_noticed(int kind, const char *suffix)
{
    char sentence[200];
    both_remove(path);
    replaced = 0;
    store_close(store_again());
    struct store *store = store_again();
    assert_true(store_check(store));
    store_close(store);
    replaced = kind;
    store = store_again();
    replaced = 0;
    assert_false(store_check(store));
    snprintf(sentence, sizeof sentence, "%s%s was replaced while it was in use", path, suffix);
    assert_non_null(strstr(store_error(store)->text, sentence));
    store_close(store);
    snprintf(sentence, sizeof sentence, "%s-saved", path);
    both_remove(sentence);
    both_remove(path);
}

static void a_database_that_is_replaced_while_it_is_opened_is_noticed(void **state)
{
    (void)state;
    is_noticed(SQLITE_OPEN_MAIN_DB, "");
}

static void so_is_a_log(void **state)
{
    (void)state;
    is_noticed(SQLITE_OPEN_WAL, "-wal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_that_is_replaced_while_it_is_opened_is_noticed),
        cmocka_unit_test(so_is_a_log),
    };
    snprintf(path, sizeof path, "%s/rota-replaced-%d.db", both_folder(), (int)getpid());
    return cmocka_run_group_tests(tests, begin, NULL);
}
