// full_test.c - a full disk: the ballast is removed, running work ends, and the store recovers.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/sqlite/query.h"
#include "store/sqlite/open.h"

enum { BALLAST = 1 << 20 };

static char folder[64], path[80], hog[80];

// A small file system of our own; false where this is not allowed.
static bool disk_make(void)
{
    snprintf(folder, sizeof folder, "/tmp/rota-full-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/db", folder);
    snprintf(hog, sizeof hog, "%s/hog", folder);
    if (mkdir(folder, 0700) != 0 || unshare(CLONE_NEWNS) != 0) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
    return mount("none", folder, "tmpfs", 0, "size=6m") == 0;
}

static void disk_fill(void)
{
    static const char block[4096];
    int file = open(hog, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    while (write(file, block, sizeof block) == sizeof block) continue;
    close(file);
}

static bool turn(struct store *store, uint32_t number)
{
    char answer[3000];
    struct store_request request = {.answer = answer, .body_hash = number};
    memset(answer, 'a', sizeof answer - 1);
    answer[sizeof answer - 1] = '\0';
    memcpy(request.id, &number, sizeof number);
    store_begin(store, number);
    store_answer(store, &request);
    return store_commit(store);
}

static uint32_t answers(struct store *store, uint32_t most)
{
    uint32_t found = 0;
    for (uint32_t number = 1; number <= most; number++) {
        struct store_request request = {0};
        memcpy(request.id, &number, sizeof number);
        found += store_answer_find(store, &request);
    }
    return found;
}

static void a_full_disk_takes_no_new_work_and_recovers(void **state)
{
    (void)state;
    if (!disk_make()) {
        puts("# skipped: only root can mount a small disk");
        skip();
    }
    struct store_options options = store_options_default();
    struct store_error error;
    options.ballast_bytes = BALLAST;
    options.wal_pages = 60;
    struct store *store = store_open_sqlite(path, &options, &error);
    if (!store) fail_msg("%s", error.text);
    assert_true(turn(store, 1));
    assert_false(store_is_full(store));
    disk_fill();
    uint32_t number = 1;
    while (!store_is_full(store) && number < 1000) assert_true(turn(store, ++number));
    assert_true(store_is_full(store));
    for (int more = 0; more < 20; more++) assert_true(turn(store, ++number));  // what ends old work
    assert_true(store_is_full(store));
    unlink(hog);
    assert_true(turn(store, ++number));
    assert_false(store_is_full(store));
    assert_int_equal(answers(store, number), number);
    store_close(store);
    assert_int_equal(store_verify(path, stdout, &error), 0);
}

static void a_disk_without_any_room_stops_the_store(void **state)
{
    (void)state;
    struct store_options options = store_options_default();
    struct store_error error;
    struct stat status;
    if (stat(path, &status) != 0) {
        puts("# skipped: only root can mount a small disk");
        skip();
    }
    options.ballast_bytes = BALLAST;
    options.wal_pages = 60;
    struct store *store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    disk_fill();
    uint32_t number = 2000, done = 0;
    while (turn(store, ++number) && number < 9000) {
        done++;
        disk_fill();
    }
    assert_int_equal(store_error(store)->fault, STORE_FULL);
    assert_int_equal(store_exit_status(store_error(store)), 70);
    assert_false(turn(store, ++number));
    store_close(store);
    unlink(hog);
    options.ballast_bytes = 0;
    store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    assert_int_equal(answers(store, number) - answers(store, 2000), done);
    store_close(store);
    assert_int_equal(store_verify(path, stdout, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_takes_no_new_work_and_recovers),
        cmocka_unit_test(a_disk_without_any_room_stops_the_store),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    umount(folder);
    rmdir(folder);
    return failed;
}
