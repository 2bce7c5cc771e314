// full_test.c - a full disk: an error, no partial result, and it works again when there is space.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

// A private mount that no other process sees, if permitted.
static bool disk_begin(struct scene *scene)
{
    cache_close(&scene->cache);
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
    if (mount("none", scene->cache_path, "tmpfs", 0, "size=1m") != 0) return false;
    close(scene->folder);
    scene->folder = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return scene->folder >= 0;
}

static void broken(struct scene *scene, const char *name, enum cache_kind kind)
{
    struct cache_entry entry;
    scene->error = (struct cache_error){0};
    assert_false(cache_add(&scene->cache, scene->folder, name, kind, &entry, &scene->error));
    assert_int_equal(scene->error.fault, CACHE_BROKEN);
    assert_true(scene->error.is_full);
    assert_non_null(strstr(scene->error.text, "No space left on device"));
    assert_non_null(strstr(scene->error.text, name));
    assert_int_equal(files_in(scene, "cache/tmp"), 1);  // the folder of this process
}

static void full_disk_of(struct scene *scene)
{
    struct cache_entry entry, tree;
    assert_true(cache_open(&scene->cache, scene->cache_path, 1 << 30, &scene->error));
    bytes_write(scene, "big", 1, 2 << 20);
    bytes_write(scene, "small", 2, 300000);
    mkdirat(scene->folder, "tree", 0755);
    bytes_write(scene, "tree/one", 3, 300000);
    bytes_write(scene, "tree/two", 4, 600000);
    broken(scene, "big", CACHE_FILE);
    assert_int_equal(files_in(scene, "cache/content"), 0);
    entry = added(scene, "small", CACHE_FILE);
    assert_true(cache_bind(&scene->cache, (rota_object_id){1, 1}, &entry, &scene->error));
    assert_false(
        cache_add(&scene->cache, scene->folder, "tree", CACHE_DIRECTORY, &tree, &scene->error));
    assert_non_null(strstr(scene->error.text, "two: No space left on device"));
    assert_false(cache_has(&scene->cache, &tree));
    // Makes room for it, and keeps the object
    cache_close(&scene->cache);
    assert_true(cache_open(&scene->cache, scene->cache_path, 400000, &scene->error));
    cache_evict(&scene->cache);
    bytes_write(scene, "other", 5, 600000);
    struct cache_entry other = added(scene, "other", CACHE_FILE);
    assert_true(cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error));
    assert_true(cache_take(&scene->cache, &other, scene->folder, "in2", &scene->error));
    assert_int_equal(mode_of(scene, "in"), 0444);
    assert_true(cache_find(&scene->cache, (rota_object_id){1, 1}, &entry));
}

static void a_full_disk_is_reported_and_leaves_no_partial_file(void **state)
{
    struct scene *scene = *state;
    if (!disk_begin(scene)) {
        puts("# skipped: only root can mount a small disk");
        skip();
    }
    full_disk_of(scene);
    cache_close(&scene->cache);
    assert_int_equal(umount2(scene->cache_path, MNT_DETACH), 0);
}

static void an_impossible_folder_is_reported(void **state)
{
    struct scene *scene = *state;
    struct cache cache;
    file_write(scene, "file", "x");
    char path[100];
    snprintf(path, sizeof path, "%s/file", scene->path);
    assert_false(cache_open(&cache, path, 1, &scene->error));
    assert_int_equal(scene->error.fault, CACHE_BROKEN);
    assert_non_null(strstr(scene->error.text, path));
    cache_close(&cache);
    snprintf(path, sizeof path, "%s/none/cache", scene->path);
    assert_false(cache_open(&cache, path, 1, &scene->error));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(an_impossible_folder_is_reported),
        TEST(a_full_disk_is_reported_and_leaves_no_partial_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
