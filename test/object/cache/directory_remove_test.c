// directory_remove_test.c - trees are removed with any content, and nothing else is.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void links_are_removed_and_not_followed(void **state)
{
    struct scene *scene = *state;
    mkdirat(scene->folder, "outside", 0755);
    file_write(scene, "outside/canary", "alive");
    mkdirat(scene->folder, "work", 0755);
    mkdirat(scene->folder, "work/deep", 0755);
    symlinkat("../outside", scene->folder, "work/link");
    symlinkat("../../outside", scene->folder, "work/deep/link");
    mkfifoat(scene->folder, "work/deep/fifo", 0600);
    symlinkat("outside", scene->folder, "link");
    assert_true(os_tree_remove_at(scene->folder, "work"));
    assert_true(os_tree_remove_at(scene->folder, "link"));
    assert_true(os_tree_remove_at(scene->folder, "nothing"));
    assert_false(file_is_there(scene, "work"));
    assert_false(file_is_there(scene, "link"));
    file_is(scene, "outside/canary", "alive");
}

static void a_tree_deeper_than_any_path_is_removed(void **state)
{
    struct scene *scene = *state;
    int folder = dup(scene->folder);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(mkdirat(folder, "directory", 0755), 0);
        int inner = openat(folder, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = inner;
    }
    close(folder);
    assert_true(os_tree_remove_at(scene->folder, "directory"));
    assert_false(file_is_there(scene, "directory"));
}

static void a_wide_tree_with_names_of_the_cache_is_removed(void **state)
{
    struct scene *scene = *state;
    char path[100];
    mkdirat(scene->folder, "work", 0755);
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "work/.rota-removed-%d", i);
        assert_int_equal(mkdirat(scene->folder, path, 0755), 0);
        snprintf(path, sizeof path, "work/.rota-removed-%d/.rota-removed-%d", i, 299 - i);
        assert_int_equal(mkdirat(scene->folder, path, 0755), 0);
        snprintf(path, sizeof path, "work/.rota-removed-%d/.rota-removed-%d/file", i, 299 - i);
        file_write(scene, path, "x");
    }
    assert_true(os_tree_remove_at(scene->folder, "work"));
    assert_false(file_is_there(scene, "work"));
}

// Modes do not restrict root, so it is tried as the user nobody.
static int remove_as_nobody(const struct scene *scene)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    mkdirat(scene->folder, "open/work", 0755);
    mkdirat(scene->folder, "open/work/a", 0755);
    mkdirat(scene->folder, "open/work/a/b", 0755);
    mkdirat(scene->folder, "open/work/a/b/c", 0755);
    fchmodat(scene->folder, "open/work/a/b", 0, 0);
    fchmodat(scene->folder, "open/work/a", 0500, 0);
    fchmodat(scene->folder, "open/work", 0, 0);
    return os_tree_remove_at(scene->folder, "open/work") ? 0 : 1;
}

static void unwritable_directories_are_removed(void **state)
{
    struct scene *scene = *state;
    int status;
    assert_int_equal(fchmod(scene->folder, 0755), 0);
    mkdirat(scene->folder, "open", 0777);
    fchmodat(scene->folder, "open", 0777, 0);
    pid_t child = fork();
    if (child == 0) _exit(remove_as_nobody(scene));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(file_is_there(scene, "open/work"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(links_are_removed_and_not_followed),
        TEST(a_tree_deeper_than_any_path_is_removed),
        TEST(a_wide_tree_with_names_of_the_cache_is_removed),
        TEST(unwritable_directories_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
