// spool_test.c - reports survive faults of the worker and of its disk.
#define _GNU_SOURCE
#include "worker/agent/spool.h"
#include "os/os.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SERVER = 77 };

struct scene {
    char folder[64];
    struct spool spool;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rota-spool-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    assert_true(spool_open(&scene->spool, scene->folder));
    assert_true(spool_belongs(&scene->spool, SERVER));
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    spool_close(&scene->spool);
    os_tree_remove(scene->folder);
    free(scene);
    return 0;
}

static struct report *add(struct spool *spool, uint32_t task)
{
    struct wire_file output = {.kind = WIRE_FILE, .name = wire_text_of("o"), .bytes = task};
    output.path = wire_text_of("");
    const struct wire_finished finished = {.task = {1, task},
                                           .attempt = 1,
                                           .token = 100 + task,
                                           .end = WIRE_EXITED,
                                           .reason = wire_text_of("because"),
                                           .outputs = {&output, 1}};
    return spool_add(spool, &finished);
}

static void reopen(struct scene *scene)
{
    spool_close(&scene->spool);
    assert_true(spool_open(&scene->spool, scene->folder));
}

static const char *path_of(const struct scene *scene, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    return path;
}

static void has_tasks(struct spool *spool, uint32_t from, uint32_t to)
{
    struct wire_message message;
    assert_int_equal(spool->count, from <= to ? to - from + 1 : 0);
    for (struct report *report = spool->first; report; report = report->next, from++) {
        const struct wire_finished *it = spool_message(report, &message);
        assert_int_equal(it->task.task, from);
        assert_int_equal(it->token, 100 + from);
        assert_string_equal(it->reason.bytes, "because");
        assert_int_equal(it->outputs.items[0].bytes, from);
        assert_true(report->is_safe);
    }
}

static void synced_reports_survive_a_restart(void **state)
{
    struct scene *scene = *state;
    for (uint32_t task = 1; task <= 5; task++) add(&scene->spool, task);
    assert_int_equal(scene->spool.unsafe, 5);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    assert_int_equal(scene->spool.unsafe, 0);
    reopen(scene);
    has_tasks(&scene->spool, 1, 5);
    assert_int_equal(scene->spool.server, SERVER);
    assert_int_equal(scene->spool.dropped, 0);
}

static void recorded_reports_are_removed(void **state)
{
    struct scene *scene = *state;
    for (uint32_t task = 1; task <= 5; task++) add(&scene->spool, task);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    spool_remove(&scene->spool, scene->spool.first);
    spool_remove(&scene->spool, scene->spool.first);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    reopen(scene);
    has_tasks(&scene->spool, 3, 5);
    while (scene->spool.first) spool_remove(&scene->spool, scene->spool.first);
    reopen(scene);
    has_tasks(&scene->spool, 1, 0);
}

static void two_workers_cannot_share_a_folder(void **state)
{
    struct scene *scene = *state;
    struct spool second;
    assert_false(spool_open(&second, scene->folder));
    assert_non_null(strstr(second.error, "another rota worker is running in"));
    spool_close(&second);
}

// ---- Another version -------------------------------------------------------------------------

static void a_file_of_another_version_is_refused(void **state)
{
    struct scene *scene = *state;
    add(&scene->spool, 1);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    spool_close(&scene->spool);
    FILE *file = fopen(path_of(scene, "spool"), "r+");
    assert_non_null(file);
    char head[SPOOL_HEAD];
    spool_head_write(head, SERVER);
    memcpy(head, "rota spool 1", 12);
    uint32_t sum = spool_checksum(head, SPOOL_HEAD - sizeof sum);
    memcpy(head + SPOOL_HEAD - sizeof sum, &sum, sizeof sum);
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_false(spool_open(&scene->spool, scene->folder));
    assert_non_null(strstr(scene->spool.error, "is of another version of rota"));
    assert_int_equal(access(path_of(scene, "spool"), F_OK), 0);
}

// ---- Damage --------------------------------------------------------------------------------

static void two_pieces_write(struct scene *scene, char **bytes, size_t *size, size_t *first)
{
    add(&scene->spool, 1);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    *first = scene->spool.length;
    add(&scene->spool, 2);
    add(&scene->spool, 3);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    spool_close(&scene->spool);
    *bytes = os_file_read(path_of(scene, "spool"), 1 << 20, size);
    assert_non_null(*bytes);
    assert_true(*size > *first);
}

static void a_piece_that_was_cut_off_is_dropped(void **state)
{
    struct scene *scene = *state;
    size_t size, first;
    char *bytes;
    two_pieces_write(scene, &bytes, &size, &first);
    for (size_t length = 0; length <= size; length++) {
        assert_true(os_file_write(path_of(scene, "spool"), bytes, length));
        assert_true(spool_open(&scene->spool, scene->folder));
        has_tasks(&scene->spool, 1, length == size ? 3 : length >= first ? 1 : 0);
        if (length == first || length == size) assert_int_equal(scene->spool.dropped, 0);
        spool_close(&scene->spool);
    }
    free(bytes);
}

static void a_byte_that_has_changed_is_found(void **state)
{
    struct scene *scene = *state;
    size_t size, first;
    char *bytes;
    two_pieces_write(scene, &bytes, &size, &first);
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x41;
        os_tree_remove(path_of(scene, "spool.damaged-1"));
        assert_true(os_file_write(path_of(scene, "spool"), bytes, size));
        bool is_open = spool_open(&scene->spool, scene->folder);
        assert_int_equal(is_open, at >= first);
        if (is_open) has_tasks(&scene->spool, 1, 1);
        if (!is_open) assert_non_null(strstr(scene->spool.error, "moved to spool.damaged-1"));
        spool_close(&scene->spool);
        bytes[at] ^= 0x41;
        if (is_open) continue;
        size_t kept;
        char *aside = os_file_read(path_of(scene, "spool.damaged-1"), 1 << 20, &kept);
        assert_int_equal(kept, size);
        free(aside);
        assert_true(spool_open(&scene->spool, scene->folder));
        has_tasks(&scene->spool, 1, 0);
        spool_close(&scene->spool);
    }
    free(bytes);
}

static void a_damaged_file_is_moved_aside(void **state)
{
    struct scene *scene = *state;
    struct wire_message message = {.kind = WIRE_BEAT_MESSAGE};
    wire_put(&scene->spool.pending, &message);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    spool_close(&scene->spool);
    assert_false(spool_open(&scene->spool, scene->folder));
    assert_non_null(strstr(scene->spool.error, "is damaged at byte 32"));
}

static void reports_for_another_server_are_put_aside(void **state)
{
    struct scene *scene = *state;
    add(&scene->spool, 1);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    reopen(scene);
    assert_true(spool_belongs(&scene->spool, SERVER));
    has_tasks(&scene->spool, 1, 1);
    assert_true(spool_belongs(&scene->spool, SERVER + 1));
    has_tasks(&scene->spool, 1, 0);
    assert_int_equal(access(path_of(scene, "spool.foreign-1"), F_OK), 0);
    add(&scene->spool, 2);
    assert_int_equal(spool_sync(&scene->spool), SPOOL_SAFE);
    reopen(scene);
    has_tasks(&scene->spool, 2, 2);
    assert_int_equal(scene->spool.server, SERVER + 1);
}

// ---- Growth ----------------------------------------------------------------------------------

static void a_file_that_never_gets_empty_stays_small(void **state)
{
    struct scene *scene = *state;
    struct spool *spool = &scene->spool;
    for (uint32_t task = 1; task <= 100000; task++) {
        add(spool, task);
        if (task % 500) continue;
        assert_int_equal(spool_sync(spool), SPOOL_SAFE);
        while (spool->count > 10) spool_remove(spool, spool->first);
        assert_true(spool->length < 5 << 20);
    }
    assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    reopen(scene);
    has_tasks(&scene->spool, 99991, 100000);
}

static void a_file_without_reports_is_truncated(void **state)
{
    struct scene *scene = *state;
    struct spool *spool = &scene->spool;
    for (uint32_t task = 1; task <= 1000; task++) add(spool, task);
    assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    while (spool->first) spool_remove(spool, spool->first);
    assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    assert_int_equal(spool->length, 0);
    add(spool, 1);
    assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    reopen(scene);
    has_tasks(&scene->spool, 1, 1);
}

// ---- A disk that is full -----------------------------------------------------------------------

static bool fill(const struct scene *scene)
{
    char block[4096] = {0};
    int file = open(path_of(scene, "fat"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(file, block, sizeof block) > 0) continue;
    return close(file) == 0;
}

static void full_disk_of(struct scene *scene)
{
    struct spool *spool = &scene->spool;
    assert_true(spool_open(spool, scene->folder));
    assert_true(spool_belongs(spool, SERVER));
    assert_true(fill(scene));
    uint32_t task = 0;
    while (spool->length < SPOOL_BALLAST - (1 << 20)) {  // the ballast is for this
        for (uint32_t i = 0; i < 1000; i++) add(spool, ++task);
        assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    }
    uint32_t safe = task;
    enum spool_result result;
    do {
        safe = task;
        for (uint32_t i = 0; i < 1000; i++) add(spool, ++task);
    } while ((result = spool_sync(spool)) == SPOOL_SAFE);
    assert_int_equal(result, SPOOL_FULL);
    assert_int_equal(spool->unsafe, task - safe);
    assert_int_equal(spool_sync(spool), SPOOL_FULL);
    os_tree_remove(path_of(scene, "fat"));
    assert_int_equal(spool_sync(spool), SPOOL_SAFE);
    reopen(scene);
    has_tasks(spool, 1, task);
}

// A private mount that no other process sees, if permitted.
static void a_full_disk_loses_nothing(void **state)
{
    struct scene *scene = *state;
    spool_close(&scene->spool);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
            || mount("none", scene->folder, "tmpfs", 0, "size=20m") != 0)
            _exit(77);
        full_disk_of(scene);
        spool_close(&scene->spool);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        puts("# skipped: only root can mount a small disk");
        skip();
    }
    assert_int_equal(status, 0);
}

// ---- Being killed ------------------------------------------------------------------------------

// Reports how many are safe, and runs until it is killed.
static void child(const struct scene *scene, int told)
{
    struct spool spool;
    uint32_t task = 0;
    if (!spool_open(&spool, scene->folder) || !spool_belongs(&spool, SERVER)) _exit(1);
    for (;;) {
        for (uint32_t i = 0; i < 7; i++) add(&spool, ++task);
        if (spool_sync(&spool) != SPOOL_SAFE) _exit(1);
        if (write(told, &task, sizeof task) != sizeof task) _exit(1);
    }
}

static void synced_reports_survive_a_kill(void **state)
{
    struct scene *scene = *state;
    for (int round = 0; round < 40; round++) {
        int pipes[2];
        spool_close(&scene->spool);
        os_tree_remove(path_of(scene, "spool"));
        assert_int_equal(pipe(pipes), 0);
        pid_t pid = fork();
        if (pid == 0) child(scene, pipes[1]);
        close(pipes[1]);
        uint32_t safe = 0, last;
        for (int i = 0; i < 3 + round && read(pipes[0], &last, sizeof last) > 0; i++) safe = last;
        kill(pid, SIGKILL);
        while (read(pipes[0], &last, sizeof last) == sizeof last) safe = last;
        waitpid(pid, NULL, 0);
        close(pipes[0]);
        assert_true(safe > 0);
        assert_true(spool_open(&scene->spool, scene->folder));
        assert_true(scene->spool.count >= safe);
        has_tasks(&scene->spool, 1, scene->spool.count);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(synced_reports_survive_a_restart),
        TEST(recorded_reports_are_removed),
        TEST(a_file_of_another_version_is_refused),
        TEST(two_workers_cannot_share_a_folder),
        TEST(a_piece_that_was_cut_off_is_dropped),
        TEST(a_byte_that_has_changed_is_found),
        TEST(a_damaged_file_is_moved_aside),
        TEST(reports_for_another_server_are_put_aside),
        TEST(a_file_that_never_gets_empty_stays_small),
        TEST(a_file_without_reports_is_truncated),
        TEST(a_full_disk_loses_nothing),
        TEST(synced_reports_survive_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
