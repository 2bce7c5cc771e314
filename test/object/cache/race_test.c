// race_test.c - names that change while they are added never lead outside.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 1000 };

#define SECRET "a secret that no task may read"

// Runs until it is killed: the file, the folder and links to the outside take turns.
static void names_swap(const struct scene *scene)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        renameat2(scene->folder, "work/out", scene->folder, "work/link", RENAME_EXCHANGE);
        renameat2(scene->folder, "work/tree", scene->folder, "work/way", RENAME_EXCHANGE);
        renameat2(scene->folder, "work/fixed/in", scene->folder, "work/fixed/way", RENAME_EXCHANGE);
    }
}

static void names_make(const struct scene *scene)
{
    mkdirat(scene->folder, "work", 0755);
    mkdirat(scene->folder, "work/tree", 0755);
    mkdirat(scene->folder, "work/fixed", 0755);
    mkdirat(scene->folder, "work/fixed/in", 0755);
    symlinkat("../../outside", scene->folder, "work/fixed/way");
    file_write(scene, "work/fixed/in/secret", "inside");
    file_write(scene, "work/tree/secret", "inside");
    file_write(scene, "work/out", "inside");
    symlinkat("../outside/secret", scene->folder, "work/link");
    symlinkat("../outside", scene->folder, "work/way");
}

static void names_renew(const struct scene *scene, pid_t swapper)
{
    const char *names[] = {"work/out", "work/link", "work/tree", "work/way", "work/fixed"};
    kill(swapper, SIGSTOP);
    assert_int_equal(waitpid(swapper, NULL, WUNTRACED), swapper);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        os_tree_remove_at(scene->folder, names[i]);
    names_make(scene);
    kill(swapper, SIGCONT);
}

static void collect(struct scene *scene, int work, bool move)
{
    struct cache_entry entry;
    const char *names[]
        = {"out", "tree/secret", "fixed/in/secret", "link", "way/secret", "tree", "fixed/in"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum cache_kind kind = i >= 5 ? CACHE_DIRECTORY : CACHE_FILE;
        if (move && cache_add(&scene->cache, work, names[i], kind, &entry, &scene->error))
            cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error);
        else
            cache_add_copy(&scene->cache, work, names[i], kind, &entry, &scene->error);
    }
    os_tree_remove_at(scene->folder, "in");
}

static void nothing_outside_is_read_or_moved(void **state)
{
    struct scene *scene = *state;
    mkdirat(scene->folder, "outside", 0755);
    file_write(scene, "outside/secret", SECRET);
    names_make(scene);
    int work = openat(scene->folder, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t child = fork();
    if (child == 0) names_swap(scene);
    for (int round = 0; round < ROUNDS; round++) {
        collect(scene, work, round % 10 == 9);
        if (round % 10 == 9) names_renew(scene, child);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(work);
    file_is(scene, "outside/secret", SECRET);
    assert_int_equal(files_in(scene, "outside"), 1);
    struct cache_entry secret;
    uint64_t before = cache_bytes(&scene->cache);
    secret = text_added(scene, SECRET);
    assert_int_equal(cache_bytes(&scene->cache), before + secret.bytes);  // it did not exist
    assert_true(before > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_outside_is_read_or_moved, scene_begin, scene_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
