// keys_test.c - key files: which ones are accepted, and why others are refused.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define LINE "rota-key worker abc1 " SECRET "\n"

static void refused(const char *path, const char *reason)
{
    struct link_keys keys;
    struct link_error error = {""};
    assert_false(link_keys_read(&keys, path, &error));
    assert_null(keys.items);
    if (!strstr(error.text, reason) || !strstr(error.text, path)) fail_msg("%s", error.text);
    assert_null(strstr(error.text, "0011"));
}

static void a_written_key_file_can_be_read(void **state)
{
    struct pair *pair = *state;
    struct link_key items[3];
    struct link_keys keys = {items, 3}, read;
    struct link_error error;
    snprintf(pair->other, sizeof pair->other, "%s/keys", pair->folder);
    for (int i = 0; i < 3; i++) assert_true(link_key_make(&items[i], 1u << i));
    assert_memory_not_equal(items[0].secret, items[1].secret, LINK_SECRET);
    assert_string_not_equal(items[0].id, items[1].id);
    mode_t before = umask(0);
    assert_true(link_keys_write(&keys, pair->other, LINK_WRITE_NEW, &error));
    umask(before);
    struct stat status;
    assert_int_equal(stat(pair->other, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(link_keys_read(&read, pair->other, &error));
    assert_int_equal(read.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read.items[i].role, items[i].role);
        assert_string_equal(read.items[i].id, items[i].id);
        assert_memory_equal(read.items[i].secret, items[i].secret, LINK_SECRET);
    }
    link_keys_release(&read);
    assert_false(link_keys_write(&keys, pair->other, LINK_WRITE_NEW, &error));
    assert_non_null(strstr(error.text, "not overwritten"));
    keys.count = 1;
    assert_true(link_keys_write(&keys, pair->other, LINK_WRITE_OVER, &error));
    assert_true(link_keys_read(&read, pair->other, &error));
    assert_int_equal(read.count, 1);
    link_keys_release(&read);
}

static void invalid_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "no key found"},
        {"\n", ":1: a line is"},
        {LINE "\n", ":2: a line is"},
        {LINE "# " SECRET "\n", ":2: a line is"},
        {"rota-key", ":1: the role is"},
        {"rota-key worker", ":1: an id has"},
        {"rota-key worker a", ":1: a secret has"},
        {"rota-key  worker a " SECRET, ":1: the role is"},
        {"rota-key master a " SECRET, ":1: the role is"},
        {"rota-key worker a-b " SECRET, ":1: an id has"},
        {"rota-key worker abcdefghijklmnopqrstuvwxyz0123456 " SECRET, ":1: an id has"},
        {"rota-key worker a " SECRET "0", ":1: a secret has"},
        {"rota-key worker a 0" SECRET, ":1: a secret has"},
        {"rota-key worker a " SECRET " ", ":1: a secret has"},
        {"rota-key worker a " SECRET "\r\n", ":1: a secret has"},
        {"rota-key worker a g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
         ":1: a secret has"},
        {LINE LINE, ":2: another key has this id"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(file_make(*state, "keys", bad[i].text, 0600), bad[i].reason);
    static const char zeros[] = "rota-key peer \0\0ab " SECRET;
    static const char zero[] = "rota-key peer\0 a " SECRET;
    struct link_keys keys;
    struct link_error error;
    assert_false(link_keys_parse(&keys, zeros, sizeof zeros - 1, "f", &error));
    assert_string_equal(error.text, "f:1: an id has 1 to 32 letters and digits");
    assert_false(link_keys_parse(&keys, zero, sizeof zero - 1, "f", &error));
    const char *path = file_make(*state, "keys", "rota-key peer Z " SECRET, 0400);
    assert_true(link_keys_read(&keys, path, &error));
    assert_int_equal(keys.items[0].role, WIRE_PEER);
    assert_string_equal(keys.items[0].id, "Z");
    assert_int_equal(keys.items[0].secret[31], 0xff);
    link_keys_release(&keys);
}

static void a_key_file_has_at_most_1024_keys(void **state)
{
    struct link_error error;
    struct link_keys keys;
    char *text = malloc(1025 * LINK_LINE_MAX), *at = text;
    for (int i = 0; i < 1025; i++)
        at += snprintf(at, LINK_LINE_MAX, "rota-key peer k%d " SECRET "\n", i);
    assert_false(link_keys_parse(&keys, text, (size_t)(at - text), "f", &error));
    assert_non_null(strstr(error.text, "f:1025: too many keys: 1024 are allowed"));
    *strstr(text, "rota-key peer k1024") = 0;
    assert_true(link_keys_parse(&keys, text, strlen(text), "f", &error));
    assert_int_equal(keys.count, 1024);
    link_keys_release(&keys);
    free(text);
    (void)state;
}

static void files_that_others_could_read_or_change_are_refused(void **state)
{
    struct pair *pair = *state;
    char path[200];
    refused(file_make(pair, "keys", LINE, 0640), "chmod 600");
    refused(file_make(pair, "keys", LINE, 0604), "chmod 600");
    refused(file_make(pair, "keys", LINE, 0620), "chmod 600");
    file_make(pair, "keys", LINE, 0600);
    assert_int_equal(chmod(pair->folder, 0720), 0);
    refused(pair->other, "other users may write in its folder");
    assert_int_equal(chmod(pair->folder, 01702), 0);
    refused(pair->other, "other users may write in its folder");
    assert_int_equal(chmod(pair->folder, 0755), 0);
    snprintf(path, sizeof path, "%s/link", pair->folder);
    assert_int_equal(symlink(pair->other, path), 0);
    refused(path, "must not be a symbolic link");
    snprintf(path, sizeof path, "%s/fifo", pair->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(path, "not a regular file");
    refused(pair->folder, "other users may write in its folder");  // of /tmp
    snprintf(path, sizeof path, "%s/none", pair->folder);
    refused(path, "No such file");
    snprintf(path, sizeof path, "%s/none/none", pair->folder);
    refused(path, "No such file");
    assert_int_equal(truncate(pair->other, 1 << 20), 0);
    refused(pair->other, "too large");
    if (geteuid() != 0) {
        puts("# not tried: only root can give files away");
        return;
    }
    file_make(pair, "keys", LINE, 0600);
    assert_int_equal(chown(pair->other, 65534, 65534), 0);
    refused(pair->other, "it belongs to another user");
    assert_int_equal(chown(pair->folder, 65534, 65534), 0);
    refused(pair->other, "its folder belongs to another user");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)
    const struct CMUnitTest tests[] = {
        TEST(a_written_key_file_can_be_read),
        TEST(invalid_lines_are_refused),
        TEST(a_key_file_has_at_most_1024_keys),
        TEST(files_that_others_could_read_or_change_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
