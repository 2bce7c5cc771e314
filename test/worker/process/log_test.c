// log_test.c - incomplete logs can be read as far as they go.
#include "os/os.h"
#include "worker/process/served.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void path_of(struct served *served, char *path, size_t size)
{
    log_path(path, size, served->folder, (rota_task_id){7, 1}, 1);
}

// Numbers, one per line, of which each prefix differs from all others.
static void a_log_of_any_length_is_a_beginning(void **state)
{
    struct served *served = *state;
    char path[256];
    path_of(served, path, sizeof path);
    served_do(served, COMMAND(1, "seq", "200000"));
    size_t size, part;
    char *whole = served_log(served, 1, &size);
    assert_int_equal(size, 1288895);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    for (off_t length = status.st_size - 1; length > 0; length = length * 3 / 4) {
        assert_int_equal(truncate(path, length), 0);
        char *log = served_log(served, 1, &part);
        assert_true(part <= size);
        if (part) assert_memory_equal(log, whole, part);
        if (length > status.st_size / 2) assert_true(part > size / 4);
        free(log);
    }
    free(whole);
}

static void a_file_that_is_no_log_is_refused(void **state)
{
    struct served *served = *state;
    char path[256];
    path_of(served, path, sizeof path);
    served_await(served, WIRE_HELLO_MESSAGE);
    assert_true(os_parents_make(path));
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, "this is not a log at all\n", 25), 25);
    close(file);
    assert_null(served_log(served, 1, NULL));
    assert_int_equal(errno, EBADMSG);
}

static void output_of_many_sizes_is_kept(void **state)
{
    struct served *served = *state;
    char path[256], count[32];
    path_of(served, path, sizeof path);
    static const uint32_t sizes[] = {1, 4095, 65535, 65536, 65537, 131072, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(count, sizeof count, "%u", sizes[i]);
        struct wire_run run = COMMAND(1, "head", "-c", count, "/dev/zero");
        run.log_max = 65536;
        struct wire_finished it = served_do(served, run);
        assert_int_equal(it.log_bytes, sizes[i]);
        assert_int_equal(it.flags, sizes[i] > 65536 ? WIRE_LOG_TRUNCATED : 0);
        size_t size;
        char *log = served_log(served, 1, &size);
        assert_true(size >= (sizes[i] < 65536 ? sizes[i] : 65536));
        assert_int_equal(log[sizes[i] < 65536 ? sizes[i] : 65536], sizes[i] > 65536 ? '\n' : 0);
        free(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(a_log_of_any_length_is_a_beginning),
        SERVED_TEST(a_file_that_is_no_log_is_refused),
        SERVED_TEST(output_of_many_sizes_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
