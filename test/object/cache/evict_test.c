// evict_test.c - the least recently used contents are evicted, and never those that are needed.
#define _GNU_SOURCE
#include "seed.h"
#include "object/cache/cache_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1000 };

// Contents of SIZE bytes, the first least recently used.
static void contents_make(struct scene *scene, struct cache_entry *entries, uint32_t count)
{
    char path[160];
    for (uint32_t i = 0; i < count; i++) {
        bytes_write(scene, "out", i, SIZE);
        entries[i] = added(scene, "out", CACHE_FILE);
        cache_release(&scene->cache, &entries[i]);
        content_path(&entries[i], path);
        struct timespec times[] = {{.tv_sec = 1000 + i}, {.tv_nsec = UTIME_OMIT}};
        assert_int_equal(utimensat(scene->folder, path, times, 0), 0);
    }
}

// Which of them exist, as letters.
static void contents_are(struct scene *scene, const struct cache_entry *entries, uint32_t count,
                         const char *expected)
{
    char there[40] = "";
    for (uint32_t i = 0; i < count; i++)
        if (cache_has(&scene->cache, &entries[i])) there[strlen(there)] = (char)('a' + i);
    assert_string_equal(there, expected);
}

static void the_least_recently_used_content_is_evicted_first(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entries[10];
    contents_make(scene, entries, 10);
    assert_true(cache_take(&scene->cache, &entries[1], scene->folder, "in", &scene->error));
    scene_reopen(scene, 8 * SIZE);
    assert_int_equal(cache_bytes(&scene->cache), 10 * SIZE);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 10, "befghij");
    assert_int_equal(cache_bytes(&scene->cache), 7 * SIZE);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 10, "befghij");
}

static void adding_evicts_others_and_keeps_the_new_content(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entries[8];
    scene_reopen(scene, 8 * SIZE);
    contents_make(scene, entries, 8);
    contents_are(scene, entries, 8, "abcdefgh");
    bytes_write(scene, "out", 99, 2 * SIZE);
    struct cache_entry big = added(scene, "out", CACHE_FILE);
    contents_are(scene, entries, 8, "defgh");
    bytes_write(scene, "out", 98, 20 * SIZE);
    struct cache_entry bigger = added(scene, "out", CACHE_FILE);
    contents_are(scene, entries, 8, "");
    assert_true(cache_has(&scene->cache, &big));
    assert_true(cache_has(&scene->cache, &bigger));
    assert_int_equal(cache_bytes(&scene->cache), 22 * SIZE);
}

static void open_or_bound_contents_are_not_evicted(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entries[6];
    struct cache_reading reading[3];
    contents_make(scene, entries, 6);
    assert_true(cache_bind(&scene->cache, (rota_object_id){1, 1}, &entries[0], &scene->error));
    scene_reopen(scene, 1);
    assert_true(cache_read(&scene->cache, &entries[2], &reading[0]));
    assert_true(cache_read(&scene->cache, &entries[2], &reading[1]));
    cache_evict(&scene->cache);
    contents_are(scene, entries, 6, "ac");
    assert_false(cache_read(&scene->cache, &entries[3], &reading[2]));
    close(reading[0].fd);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 6, "ac");
    close(reading[1].fd);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 6, "a");
    assert_true(cache_unbind(&scene->cache, (rota_object_id){1, 1}, &scene->error));
    cache_evict(&scene->cache);
    contents_are(scene, entries, 6, "");
    assert_int_equal(cache_bytes(&scene->cache), 0);
}

static void a_tree_keeps_its_files(void **state)
{
    struct scene *scene = *state;
    mkdirat(scene->folder, "tree", 0755);
    file_write(scene, "tree/one", "first");
    file_write(scene, "tree/two", "second");
    struct cache_entry tree = added(scene, "tree", CACHE_DIRECTORY);
    cache_release(&scene->cache, &tree);
    scene_reopen(scene, 1);
    struct cache_reading reading;
    assert_true(cache_read(&scene->cache, &tree, &reading));
    cache_evict(&scene->cache);
    assert_true(cache_has(&scene->cache, &tree));
    assert_true(cache_bind(&scene->cache, (rota_object_id){1, 1}, &tree, &scene->error));
    close(reading.fd);
    cache_evict(&scene->cache);
    assert_true(cache_take(&scene->cache, &tree, scene->folder, "in", &scene->error));
    assert_true(cache_unbind(&scene->cache, (rota_object_id){1, 1}, &scene->error));
    cache_evict(&scene->cache);
    assert_int_equal(cache_bytes(&scene->cache), 0);
}

// Another process has an entry open, has added a text and bound nothing; it waits to be killed.
static pid_t other_begin(struct scene *scene, const struct cache_entry *held)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        struct cache cache;
        struct cache_entry entry;
        struct cache_reading reading;
        file_write(scene, "other", "by another");
        bool fine = cache_open(&cache, scene->cache_path, 1 << 30, &scene->error)
                    && cache_read(&cache, held, &reading)
                    && cache_add(&cache, scene->folder, "other", CACHE_FILE, &entry, &scene->error);
        if (fine && write(ready[1], &byte, 1) == 1) pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void contents_of_another_process_stay_until_it_dies(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entries[4];
    contents_make(scene, entries, 3);
    entries[3] = text_added(scene, "by another");
    scene_reopen(scene, 1);
    pid_t child = other_begin(scene, &entries[1]);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 4, "bd");
    assert_int_equal(files_in(scene, "cache/tmp"), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    cache_evict(&scene->cache);
    contents_are(scene, entries, 4, "");
}

static void leftovers_of_dead_processes_are_removed(void **state)
{
    struct scene *scene = *state;
    char target[200];
    text_added(scene, "x");  // this one is alive, with a folder in tmp
    uint32_t mine = files_in(scene, "cache/tmp");
    mkdirat(scene->folder, "cache/tmp/0123456789abcdef", 0700);
    file_write(scene, "cache/tmp/0123456789abcdef/1", "half a fi");
    snprintf(target, sizeof target, "%s/.rota-0123456789abcdef-2", scene->path);
    symlinkat(target, scene->folder, "cache/tmp/0123456789abcdef/2");
    mkdirat(scene->folder, ".rota-0123456789abcdef-2", 0700);
    file_write(scene, ".rota-0123456789abcdef-2/half", "a tree");
    file_write(scene, "cache/tmp/stray", "x");
    struct cache other;
    assert_true(cache_open(&other, scene->cache_path, 1 << 30, &scene->error));
    assert_int_equal(files_in(scene, "cache/tmp"), mine);
    assert_false(file_is_there(scene, ".rota-0123456789abcdef-2"));
    cache_close(&other);
    text_added(scene, "y");
}

static void a_result_is_removed_with_its_contents(void **state)
{
    struct scene *scene = *state;
    uint8_t key[CACHE_HASH] = {1}, other[CACHE_HASH] = {2};
    struct cache_output goes = {wire_text_of("a"), text_added(scene, "goes")};
    struct cache_output stays = {wire_text_of("b"), text_added(scene, "stays")};
    assert_true(cache_result_put(&scene->cache, key, &goes, 1, NULL, &scene->error));
    assert_true(cache_result_put(&scene->cache, other, &stays, 1, NULL, &scene->error));
    assert_true(cache_bind(&scene->cache, (rota_object_id){1, 1}, &stays.entry, &scene->error));
    scene_reopen(scene, 1);
    cache_evict(&scene->cache);
    assert_int_equal(files_in(scene, "cache/result"), 1);
    struct cache_entry log;
    assert_false(cache_result_find(&scene->cache, key, &goes, 1, &log));
    assert_true(cache_result_find(&scene->cache, other, &stays, 1, &log));
}

// Adds, binds, takes and releases, among few contents that all others use, too.
static int crowd_work(struct scene *scene, uint32_t who, uint64_t seed)
{
    struct cache cache;
    char mine[20], text[20];
    snprintf(mine, sizeof mine, "mine-%u", who);
    mkdirat(scene->folder, mine, 0755);
    int folder = openat(scene->folder, mine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!cache_open(&cache, scene->cache_path, 40, &scene->error)) return 2;
    for (int i = 0; i < 400; i++) {
        struct cache_entry entry;
        rota_object_id object = {who, random_below(&seed, 4)};
        snprintf(text, sizeof text, "text %u", random_below(&seed, 12));
        int fd = openat(folder, "out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (write(fd, text, strlen(text)) < 0) return 3;
        close(fd);
        bool fine = cache_add(&cache, folder, "out", CACHE_FILE, &entry, &scene->error)
                    && cache_bind(&cache, object, &entry, &scene->error)
                    && cache_find(&cache, object, &entry)
                    && cache_take(&cache, &entry, folder, "in", &scene->error);
        if (!fine) fprintf(stderr, "%s\n", scene->error.text);
        if (!fine || !os_tree_remove_at(folder, "in")) return 4;
        if (i % 5 == 0) cache_unbind(&cache, object, NULL);
    }
    cache_close(&cache);
    return 0;
}

static void processes_that_evict_never_take_from_each_other(void **state)
{
    struct scene *scene = *state;
    pid_t children[4];
    uint64_t seed = seed_take();
    for (uint32_t i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(crowd_work(scene, i + 1, seed + i));
    }
    for (uint32_t i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(files_in(scene, "cache/tmp"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(the_least_recently_used_content_is_evicted_first),
        TEST(adding_evicts_others_and_keeps_the_new_content),
        TEST(open_or_bound_contents_are_not_evicted),
        TEST(a_tree_keeps_its_files),
        TEST(contents_of_another_process_stay_until_it_dies),
        TEST(leftovers_of_dead_processes_are_removed),
        TEST(a_result_is_removed_with_its_contents),
        TEST(processes_that_evict_never_take_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
