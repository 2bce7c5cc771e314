// kill_test.c - a fetcher that is killed, or whose disk is full, leaves no invalid files.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"
#include "seed.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = SLOW ? 15 : 60, OBJECTS = 3 };

// In a separate process, as fast as it can, until it has all objects or is killed.
static void fetch_all(struct scene *scene, const rota_object_id *objects)
{
    struct data_done done;
    struct cache_error error;
    if (!cache_open(&scene->here, scene->here_path, 1ull << 40, &error)) _exit(3);
    scene->fetcher = data_fetcher_open(&scene->here, NULL);
    scene->server = NULL;  // its parent's
    for (int i = 0; i < OBJECTS; i++) fetch(scene, objects[i], TICKET, scene->address, NULL);
    for (int i = 0; i < OBJECTS;) {
        scene_turn(scene);
        for (; data_fetcher_next_done(scene->fetcher, &done); i++)
            if (done.fault) _exit(1);
    }
    _exit(0);
}

static void server_work_until(struct scene *scene, int64_t until)
{
    while (os_ticks() < until) {
        struct os_watch watch = {.file = data_server_file(scene->server)};
        os_wait(&watch, 1, until);
        data_server_work(scene->server, scene_now(scene));
    }
}

// All bound objects are complete.
static uint32_t objects_whole(struct scene *scene, const rota_object_id *objects)
{
    struct cache fresh;
    struct cache_entry entry;
    uint32_t count = 0;
    assert_true(cache_open(&fresh, scene->here_path, 1ull << 40, &scene->error));
    for (int i = 0; i < OBJECTS; i++) {
        if (!cache_find(&fresh, objects[i], &entry)) continue;
        object_is_same(scene, objects[i]);
        count++;
    }
    assert_int_equal(files_in(scene, "here/tmp"), 0);  // opening has cleaned up
    cache_close(&fresh);
    return count;
}

static void whole_fetch(struct scene *scene, const rota_object_id *objects)
{
    int status;
    pid_t child = fork();
    if (child == 0) fetch_all(scene, objects);
    while (waitpid(child, &status, WNOHANG) == 0)
        server_work_until(scene, os_ticks() + 1000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(objects_whole(scene, objects), OBJECTS);
}

static void a_kill_at_any_moment_leaves_no_wrong_content(void **state)
{
    struct scene *scene = *state;
    uint64_t seed = seed_take();
    uint32_t some = 0;
    rota_object_id objects[OBJECTS] = {file_make(scene, 1, 4000000, 0644), tree_make(scene, 2, 120),
                                       file_make(scene, 3, 700, 0755)};
    for (int i = 0; i < OBJECTS; i++) serve(scene, objects[i], TICKET, 600000000);
    data_fetcher_close(scene->fetcher);
    scene->fetcher = NULL;
    cache_close(&scene->here);
    // On a busy machine it takes longer until something has arrived.
    for (uint32_t round = 0; round < ROUNDS || some == 0; round++) {
        int status;
        pid_t child = fork();
        if (child == 0) fetch_all(scene, objects);
        uint32_t most = (SLOW ? 200000u : 40000u) << round / ROUNDS;
        server_work_until(scene, os_ticks() + 500 + random_below(&seed, most));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        some += objects_whole(scene, objects) > 0;
        if (round % 4 == 3) os_tree_remove(scene->here_path);
    }
    os_tree_remove(scene->here_path);
    whole_fetch(scene, objects);
    assert_true(cache_open(&scene->here, scene->here_path, 1 << 30, &scene->error));
    scene->fetcher = data_fetcher_open(&scene->here, NULL);
}

// ---- A full disk --------------------------------------------------------------------------------

static bool disk_begin(struct scene *scene)
{
    data_fetcher_close(scene->fetcher);
    cache_close(&scene->here);
    scene->fetcher = NULL;
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
    if (mount("none", scene->here_path, "tmpfs", 0, "size=1m") != 0) return false;
    close(scene->folder);
    scene->folder = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(cache_open(&scene->here, scene->here_path, 1 << 30, &scene->error));
    scene->fetcher = data_fetcher_open(&scene->here, NULL);
    return true;
}

static void a_full_disk_has_its_own_error(void **state)
{
    struct scene *scene = *state;
    rota_object_id large = file_make(scene, 1, 2000000, 0644), tree = tree_make(scene, 2, 500),
                   small = file_make(scene, 3, 1000, 0644);
    if (!disk_begin(scene)) {
        puts("# skipped: only root can mount a small disk");
        skip();
    }
    serve(scene, large, TICKET, 60000000);
    serve(scene, tree, TICKET, 60000000);
    serve(scene, small, TICKET, 60000000);
    fetch(scene, large, TICKET, scene->address, scene->address);
    expect_fault(scene, large, DATA_FULL, "No space left on device");
    fetch(scene, tree, TICKET, scene->address, NULL);
    expect_fault(scene, tree, DATA_FULL, "No space left on device");
    data_fetcher_close(scene->fetcher);
    cache_close(&scene->here);
    assert_true(cache_open(&scene->here, scene->here_path, 1, &scene->error));
    cache_evict(&scene->here);
    scene->fetcher = data_fetcher_open(&scene->here, NULL);
    fetch(scene, small, TICKET, scene->address, NULL);
    expect_fetched(scene, small);
    data_fetcher_close(scene->fetcher);
    cache_close(&scene->here);
    umount2(scene->here_path, MNT_DETACH);
    assert_true(cache_open(&scene->here, scene->here_path, 1 << 30, &scene->error));
    scene->fetcher = data_fetcher_open(&scene->here, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kill_at_any_moment_leaves_no_wrong_content),
        TEST(a_full_disk_has_its_own_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
