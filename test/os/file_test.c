// file_test.c - files that are replaced atomically, and devices and pipes that are written to.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"

static void a_pipe_is_written_to_and_stays_a_pipe(void **state)
{
    (void)state;
    char folder[] = "/tmp/rota-file-XXXXXX", path[64], got[8] = "";
    struct stat at;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_true(os_file_write(path, "text", 4));
    assert_int_equal(read(reader, got, sizeof got), 4);
    assert_string_equal(got, "text");
    assert_int_equal(stat(path, &at), 0);
    assert_true(S_ISFIFO(at.st_mode));
    close(reader);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_is_written_to_and_stays_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
