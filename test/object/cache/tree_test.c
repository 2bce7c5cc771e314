// tree_test.c - directories are added and taken out; invalid lists are refused.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tree_make(const struct scene *scene, const char *name)
{
    char path[200];
    const char *folders[] = {"", "/a", "/a/b", "/a/empty", "/a-b"};
    const char *files[] = {"/one", "/a/two", "/a/b/three", "/a-b/odd \n\\ name", "/tool"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", name, folders[i]);
        assert_int_equal(mkdirat(scene->folder, path, 0755), 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s%s", name, files[i]);
        file_write(scene, path, files[i]);
    }
    fchmodat(scene->folder, path, 0755, 0);
    snprintf(path, sizeof path, "%s/a/b/link", name);
    assert_int_equal(symlinkat("../../one", scene->folder, path), 0);
    snprintf(path, sizeof path, "%s/dangling", name);
    assert_int_equal(symlinkat("./no where", scene->folder, path), 0);
}

static void tree_is(const struct scene *scene, const char *name)
{
    char path[200], target[40] = {0};
    assert_int_equal(files_in(scene, name), 11);
    snprintf(path, sizeof path, "%s/a/b/three", name);
    file_is(scene, path, "/a/b/three");
    snprintf(path, sizeof path, "%s/a-b/odd \n\\ name", name);
    file_is(scene, path, "/a-b/odd \n\\ name");
    snprintf(path, sizeof path, "%s/a/b/link", name);
    file_is(scene, path, "/one");
    snprintf(path, sizeof path, "%s/a/empty", name);
    assert_int_equal(files_in(scene, path), 0);
    snprintf(path, sizeof path, "%s/tool", name);
    assert_int_equal(mode_of(scene, path) & 0100, 0100);
    snprintf(path, sizeof path, "%s/dangling", name);
    assert_int_equal(readlinkat(scene->folder, path, target, sizeof target), 10);
    assert_string_equal(target, "./no where");
}

static void a_tree_is_restored_unchanged(void **state)
{
    struct scene *scene = *state;
    char path[200];
    tree_make(scene, "out");
    struct cache_entry entry = added(scene, "out", CACHE_DIRECTORY), again;
    assert_int_equal(entry.bytes, 4 + 6 + 10 + 16 + 5);
    assert_true(cache_take(&scene->cache, &entry, scene->folder, "in/it", &scene->error));
    tree_is(scene, "in/it");
    file_write(scene, "kept", "a file in the way");
    snprintf(path, sizeof path, "%s/kept", scene->path);
    for (int i = 0; i < 2; i++) {  // in place of a file, then of a tree
        assert_true(cache_deliver(&scene->cache, &entry, path, &scene->error));
        tree_is(scene, "kept");
    }
    file_write(scene, "kept/one", "writable");
    assert_true(cache_add_copy(&scene->cache, scene->folder, "in/it", CACHE_DIRECTORY, &again,
                               &scene->error));
    assert_memory_equal(&again, &entry, sizeof entry);
    tree_is(scene, "in/it");
    assert_true(cache_bind(&scene->cache, (rota_object_id){1, 1}, &entry, &scene->error));
    scene_reopen(scene, 1 << 30);
    assert_true(cache_find(&scene->cache, (rota_object_id){1, 1}, &again));
    assert_true(cache_take(&scene->cache, &again, scene->folder, "in/again", &scene->error));
    tree_is(scene, "in/again");
}

static void an_empty_tree_is_kept(void **state)
{
    struct scene *scene = *state;
    mkdirat(scene->folder, "out", 0755);
    struct cache_entry entry = added(scene, "out", CACHE_DIRECTORY);
    assert_int_equal(entry.bytes, 0);
    assert_true(cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error));
    assert_int_equal(files_in(scene, "in"), 0);
}

static void a_tree_that_has_lost_a_file_is_lost(void **state)
{
    struct scene *scene = *state;
    char path[160];
    tree_make(scene, "out");
    struct cache_entry entry = added(scene, "out", CACHE_DIRECTORY),
                       one = text_added(scene, "/one");
    assert_true(cache_has(&scene->cache, &entry));
    content_path(&one, path);
    fchmodat(scene->folder, path, 0600, 0);
    file_write(scene, path, "/onE");
    assert_false(cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error));
    assert_int_equal(scene->error.fault, CACHE_LOST);
    assert_false(file_is_there(scene, "in"));
    assert_false(cache_has(&scene->cache, &entry));
}

static void trees_that_cannot_be_kept_are_refused(void **state)
{
    struct scene *scene = *state;
    static const char *targets[]
        = {"/etc/passwd", "../..", "../../canary", "b/../../../canary", "b/..", "..//../x"};
    file_write(scene, "canary", "alive");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        mkdirat(scene->folder, "out", 0755);
        mkdirat(scene->folder, "out/a", 0755);
        file_write(scene, "out/file", "stays");
        assert_int_equal(symlinkat(targets[i], scene->folder, "out/a/link"), 0);
        refused(scene, "out", CACHE_DIRECTORY, "out has a link that is absolute or leaves");
        file_is(scene, "out/file", "stays");
        assert_true(os_tree_remove_at(scene->folder, "out"));
    }
    mkdirat(scene->folder, "out", 0755);
    mkfifoat(scene->folder, "out/fifo", 0600);
    refused(scene, "out", CACHE_DIRECTORY, "fifo is a FIFO");
    assert_true(os_tree_remove_at(scene->folder, "out"));
    char path[400] = "deep";
    for (int i = 0; i < 66; i++) {
        assert_int_equal(mkdirat(scene->folder, path, 0755), 0);
        snprintf(path + strlen(path), 3, "/d");
    }
    refused(scene, "deep", CACHE_DIRECTORY, "is nested more than 64 deep");
    file_is(scene, "canary", "alive");
}

// A list as a peer might send it: its text becomes a content with the name of a tree.
static struct cache_entry list_forged(struct scene *scene, const char *text, uint64_t bytes)
{
    char from[160], to[160];
    struct cache_entry entry = text_added(scene, text);
    content_path(&entry, from);
    entry.kind = CACHE_DIRECTORY;
    entry.bytes = bytes;
    content_path(&entry, to);
    assert_int_equal(renameat(scene->folder, from, scene->folder, to), 0);
    return entry;
}

#define HASH "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
#define FILE_X "f:1:" HASH " - "

static void invalid_lists_are_refused_completely(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } lists[] = {
        {"", 0},
        {"rota tree 2\n", 0},
        {"rota tree 1\n" FILE_X "../canary\n", 1},
        {"rota tree 1\nd - ..\n" FILE_X "../canary\n", 1},
        {"rota tree 1\n" FILE_X "/tmp/canary\n", 1},
        {"rota tree 1\nd - a\n" FILE_X "a/../../canary\n", 1},
        {"rota tree 1\n" FILE_X "a//b\n", 1},
        {"rota tree 1\n" FILE_X "a\n" FILE_X "a\n", 2},
        {"rota tree 1\n" FILE_X "b\n" FILE_X "a\n", 2},
        {"rota tree 1\n" FILE_X "a/b\n", 1},
        {"rota tree 1\nl .. a\n" FILE_X "a/canary\n", 1},
        {"rota tree 1\nl /tmp a\n", 0},
        {"rota tree 1\n" FILE_X "a\n" FILE_X "a/canary\n", 2},
        {"rota tree 1\n" FILE_X "a\n", 2},
        {"rota tree 1\nf:2:" HASH " - a\n", 2},
        {"rota tree 1\n" FILE_X "a", 1},
        {"rota tree 1\n" FILE_X "\\x00a\n", 1},
        {"rota tree 1\n" FILE_X "\\x2e\\x2e\n", 1},
        {"rota tree 1\ns:1:" HASH " - a\n", 1},
        {"rota tree 1\nd:1:" HASH " - a\n", 1},
        {"rota tree 1\nf:18446744073709551615:" HASH " - a\n" FILE_X "b\n", 0},
        {"rota tree 1\nf:99999999999999999999:" HASH " - a\n", 0},
    };
    file_write(scene, "canary", "alive");
    mkdirat(scene->folder, "work", 0755);
    text_added(scene, "x");
    int work = openat(scene->folder, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct cache_entry entry = list_forged(scene, lists[i].text, lists[i].bytes);
        if (cache_take(&scene->cache, &entry, work, "tree", &scene->error))
            fail_msg("list %zu was taken", i);
        assert_int_equal(scene->error.fault, CACHE_REFUSED);
        assert_int_equal(files_in(scene, "work"), 0);
    }
    struct cache_entry fine = list_forged(scene, "rota tree 1\n" FILE_X "a\n", 1);
    assert_true(cache_take(&scene->cache, &fine, work, "tree", &scene->error));
    file_is(scene, "work/tree/a", "x");
    file_is(scene, "canary", "alive");
    close(work);
}

static void a_list_that_never_ends_is_refused(void **state)
{
    struct scene *scene = *state;
    char line[20];
    size_t size = 12 * 1000 * 1000 + 100, at = 0;
    char *text = malloc(size);
    assert_non_null(text);
    at += (size_t)snprintf(text, size, "rota tree 1\n");
    for (int i = 0; i <= CACHE_TREE_ENTRIES_MAX; i++) {
        int length = snprintf(line, sizeof line, "d - %07d\n", i);
        memcpy(text + at, line, (size_t)length + 1);
        at += (size_t)length;
    }
    struct cache_entry entry = list_forged(scene, text, 0);
    assert_false(cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error));
    assert_non_null(strstr(scene->error.text, "more than 1000000 entries"));
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(a_tree_is_restored_unchanged),      TEST(an_empty_tree_is_kept),
        TEST(a_tree_that_has_lost_a_file_is_lost), TEST(trees_that_cannot_be_kept_are_refused),
        TEST(invalid_lists_are_refused_completely),    TEST(a_list_that_never_ends_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
