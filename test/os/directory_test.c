// directory_test.c - directories are removed with their content, and nothing else is.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int begin(void **state)
{
    static char folder[32];
    memcpy(folder, "/tmp/rota-tree-XXXXXX", 22);
    *state = mkdtemp(folder);
    return *state == NULL;
}

static int end(void **state)
{
    return !os_tree_remove(*state);
}

static void write_file(int directory, const char *name, const char *text)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static int open_directory(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(directory >= 0);
    return directory;
}

static void a_tree_of_any_depth_is_removed(void **state)
{
    int directory = open_directory(*state);
    for (int depth = 0; depth < 3000; depth++) {
        assert_int_equal(mkdirat(directory, "a-rather-long-name", 0700), 0);
        write_file(directory, "file", "x");
        int next = openat(directory, "a-rather-long-name", O_RDONLY | O_DIRECTORY);
        close(directory);
        directory = next;
    }
    close(directory);
    assert_true(os_tree_remove(*state));
    assert_int_equal(access(*state, F_OK), -1);
    assert_true(os_tree_remove(*state));  // twice is fine
}

static void links_are_removed_and_not_followed(void **state)
{
    char path[64], link[64];
    snprintf(path, sizeof path, "%s/outside", (char *)*state);
    snprintf(link, sizeof link, "%s/tree/sub", (char *)*state);
    assert_true(os_directory_make(path));
    int outside = open_directory(path);
    write_file(outside, "kept", "x");
    assert_true(os_directory_make(link));
    snprintf(link, sizeof link, "%s/tree/sub/link", (char *)*state);
    assert_int_equal(symlink(path, link), 0);
    snprintf(link, sizeof link, "%s/tree", (char *)*state);
    assert_true(os_tree_remove(link));
    assert_int_equal(faccessat(outside, "kept", F_OK, 0), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_true(os_tree_remove(link));
    assert_int_equal(faccessat(outside, "kept", F_OK, 0), 0);
    close(outside);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_tree_of_any_depth_is_removed),
        TEST(links_are_removed_and_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
