// kill_test.c - killed at any moment, the cache has all that it reported.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"
#include "seed.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

// The output for a number: a file, or every third time a tree, with bytes derived from it.
static void output_make(const struct scene *scene, uint64_t number)
{
    size_t size = number * 7919 % 60000;
    os_tree_remove_at(scene->folder, "out");
    if (number % 3) {
        bytes_write(scene, "out", number, size);
        return;
    }
    mkdirat(scene->folder, "out", 0755);
    mkdirat(scene->folder, "out/sub", 0755);
    bytes_write(scene, "out/sub/one", number, size);
    bytes_write(scene, "out/two", number + 1, size / 2);
}

static enum cache_kind kind_of(uint64_t number)
{
    return number % 3 ? CACHE_FILE : CACHE_DIRECTORY;
}

// Binds one object after the other, and reports the number of each that is done.
static void work(struct scene *scene, uint64_t number, int told)
{
    struct cache cache;
    struct cache_entry entry;
    char path[100];
    if (!cache_open(&cache, scene->cache_path, 1 << 20, &scene->error)) _exit(1);
    for (;; number++) {
        output_make(scene, number);
        snprintf(path, sizeof path, "%s/kept-%d", scene->path, number % 3 == 0);
        bool fine
            = cache_add(&cache, scene->folder, "out", kind_of(number), &entry, &scene->error)
              && cache_deliver(&cache, &entry, path, &scene->error)
              && cache_bind(&cache, (rota_object_id){1, number}, &entry, &scene->error)
              && (number < 40 || cache_unbind(&cache, (rota_object_id){1, number - 40}, NULL));
        if (!fine) fprintf(stderr, "%s\n", scene->error.text);
        if (!fine || write(told, &number, sizeof number) != sizeof number) _exit(1);
    }
}

// Waits until some are reported, and a moment longer, so that the kill comes in the middle of the
// next.
static uint64_t work_killed(struct scene *scene, uint64_t number, uint64_t *seed)
{
    int told[2], status;
    uint64_t done, last = number;
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        close(told[0]);
        work(scene, number, told[1]);
    }
    close(told[1]);
    for (uint32_t i = random_below(seed, 4); i > 0; i--) {
        assert_int_equal(read(told[0], &done, sizeof done), sizeof done);
        last = done + 1;
    }
    struct timespec delay = {.tv_nsec = random_below(seed, 4000000)};
    nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(told[0], &done, sizeof done) == sizeof done) last = done + 1;
    close(told[0]);
    return last;
}

static void object_is_right(struct scene *scene, uint64_t number)
{
    struct cache_entry expected, found;
    if (!cache_find(&scene->cache, (rota_object_id){1, number}, &found))
        fail_msg("object %d is lost", (int)number);
    if (!cache_take(&scene->cache, &found, scene->folder, "in", &scene->error))
        fail_msg("object %d: %s", (int)number, scene->error.text);
    assert_true(os_tree_remove_at(scene->folder, "in"));
    output_make(scene, number);  // taking it has verified every byte: the hash is enough
    expected = added(scene, "out", kind_of(number));
    assert_memory_equal(&found, &expected, sizeof found);
}

static void reported_contents_survive_a_kill(void **state)
{
    struct scene *scene = *state;
    uint64_t number = 0, seed = seed_take();
    for (int round = 0; round < ROUNDS; round++) {
        number = work_killed(scene, number, &seed);
        if (round % 10 != 9) continue;
        scene_reopen(scene, 1 << 20);  // hashes everything again
        for (uint64_t i = number < 38 ? 0 : number - 38; i < number; i++) object_is_right(scene, i);
    }
    scene_reopen(scene, 1 << 20);
    assert_int_equal(files_in(scene, "cache/tmp"), 0);
    os_tree_remove_at(scene->folder, "out");
    os_tree_remove_at(scene->folder, "kept-0");
    os_tree_remove_at(scene->folder, "kept-1");
    assert_int_equal(files_in(scene, ".") - files_in(scene, "cache"), 1);  // no partial copy
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reported_contents_survive_a_kill, scene_begin,
                                        scene_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
