// memory_test.c - memory that is refused at any moment: the turn fails, and the file stays valid.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "both.h"
#include "scene.h"

// Every request takes a minute and a half; these take some seconds. Most are of the opening.
enum { STEP_OPENING = 97, STEP = 11 };

static char path[128];
static sqlite3_mem_methods heap;
static uint64_t requests, refuse_at;

static void *refusing_malloc(int size)
{
    return ++requests == refuse_at ? NULL : heap.xMalloc(size);
}

static void *refusing_realloc(void *old, int size)
{
    return ++requests == refuse_at ? NULL : heap.xRealloc(old, size);
}

// Which request it was, and what became of the story.
static bool run(uint64_t at, struct scene *scene)
{
    *scene = (struct scene){.path = path};
    scene->options = store_options_default();
    scene->options.ballast_bytes = 0;
    scene->options.wal_pages = 50;
    requests = 0;
    refuse_at = at;
    bool fine = scene_run(scene);
    refuse_at = 0;
    const char *wrong = scene_judge(scene);
    if (wrong) fail_msg("request %llu: %s", (unsigned long long)at, wrong);
    return fine;
}

static void a_refused_request_never_damages_the_file(void **state)
{
    (void)state;
    struct scene scene;
    uint32_t stopped[SCENE_TURNS + 2] = {0}, is_same_process = 0;
    assert_true(run(0, &scene));
    for (uint64_t at = 1;; at += scene.tried ? STEP : STEP_OPENING) {
        bool fine = run(at, &scene);
        if (fine && requests < at) break;
        if (fine)
            is_same_process++;
        else
            stopped[scene.tried]++;
        if (!fine) assert_int_equal(scene.error.fault, STORE_NO_MEMORY);
    }
    uint32_t turns = 0;
    for (uint32_t turn = 2; turn <= SCENE_TURNS; turn++) turns += stopped[turn] > 0;
    print_message(
        "%u stopped in the opening, %u in the first turn, others in %u turns; %u continued\n",
        stopped[0], stopped[1], turns, is_same_process);
    assert_true(turns > 5);
    both_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_request_never_damages_the_file),
    };
    snprintf(path, sizeof path, "%s/rota-memory-%ld", both_folder(), (long)getpid());
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap);
    sqlite3_mem_methods refusing = heap;
    refusing.xMalloc = refusing_malloc;
    refusing.xRealloc = refusing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &refusing);
    sqlite3_initialize();  // the store's own memory comes too late
    return cmocka_run_group_tests(tests, NULL, NULL);
}
