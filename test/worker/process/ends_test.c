// ends_test.c - the end of a command is reported correctly, and its output is kept unchanged.
#include "worker/process/served.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000

static void expect_end(struct wire_finished it, enum wire_end end, int status)
{
    if (it.end != (uint32_t)end || it.status != status)
        print_error("end %u status %d: %s\n", it.end, it.status, it.reason.bytes);
    assert_int_equal(it.end, end);
    assert_int_equal(it.status, status);
}

static void expect_log(struct served *served, uint32_t task, const char *text, size_t length)
{
    size_t size = 0;
    char *log = served_log(served, task, &size);
    assert_int_equal(size, length);
    assert_memory_equal(log, text, length);
    free(log);
}

static void hello_has_the_identity_and_the_limits(void **state)
{
    struct wire_message message = served_await(*state, WIRE_HELLO_MESSAGE);
    assert_int_equal(message.hello.version, WIRE_VERSION);
    assert_int_equal(message.hello.cores, 2);
    assert_string_equal(message.hello.name.bytes, "test");
    assert_true(message.hello.limits.length > 0);
}

static void an_exit_status_is_reported(void **state)
{
    expect_end(served_do(*state, COMMAND(1, "true")), WIRE_EXITED, 0);
    expect_end(served_do(*state, SHELL(2, "exit 255")), WIRE_EXITED, 255);
    expect_end(served_do(*state, SHELL(3, "exit 1")), WIRE_EXITED, 1);
}

static void a_signal_is_reported(void **state)
{
    expect_end(served_do(*state, SHELL(1, "kill -USR1 $$")), WIRE_SIGNALED, SIGUSR1);
    expect_end(served_do(*state, SHELL(2, "kill -9 $$")), WIRE_SIGNALED, SIGKILL);
    expect_end(served_do(*state, SHELL(3, "kill -PIPE $$")), WIRE_SIGNALED, SIGPIPE);
}

static void a_timeout_is_reported_with_the_signal(void **state)
{
    struct wire_run run = COMMAND(1, "/bin/sleep", "1000");
    run.timeout = 50000;
    expect_end(served_do(*state, run), WIRE_TIMED_OUT, SIGTERM);
    run = SHELL(2, "trap '' TERM; while :; do /bin/sleep 1000; done");
    run.timeout = 50000;
    expect_end(served_do(*state, run), WIRE_TIMED_OUT, SIGKILL);
}

static void a_stopped_command_is_reported_as_stopped(void **state)
{
    struct wire_run run = COMMAND(1, "/bin/sleep", "1000");
    served_run(*state, &run);
    served_await(*state, WIRE_STARTED_MESSAGE);
    served_stop(*state, 1, 10 * SECOND);
    expect_end(served_finished(*state), WIRE_STOPPED, SIGTERM);
    run = SHELL(2, "trap '' TERM; echo on; while :; do /bin/sleep 1000; done");
    served_run(*state, &run);
    served_await(*state, WIRE_STARTED_MESSAGE);
    served_stop(*state, 2, 0);
    expect_end(served_finished(*state), WIRE_STOPPED, SIGKILL);
}

static void too_much_memory_is_reported_as_such(void **state)
{
    struct wire_run run
        = COMMAND(1, "python3", "-c", "a = []\nwhile True: a.append(b\"x\" * 1000000)");
    run.memory_mib = 64;
    struct wire_finished it = served_do(*state, run);
    expect_end(it, WIRE_OUT_OF_MEMORY, 1);
    assert_non_null(strstr(it.reason.bytes, "64 MiB"));
}

static void a_command_that_cannot_start_is_reported_with_a_reason(void **state)
{
    struct served *served = *state;
    struct wire_finished it = served_do(served, COMMAND(1, "no-such-command"));
    expect_end(it, WIRE_NOT_STARTED, ENOENT);
    assert_non_null(strstr(it.reason.bytes, "no-such-command"));
    expect_end(served_do(served, COMMAND(2, "/etc/passwd")), WIRE_NOT_STARTED, EACCES);
    char path[256];
    snprintf(path, sizeof path, "%s/text", served->folder);
    int file = open(path, O_WRONLY | O_CREAT, 0755);
    assert_int_equal(write(file, "plain\n", 6), 6);
    close(file);
    it = served_do(served, COMMAND(3, path));
    expect_end(it, WIRE_NOT_STARTED, ENOEXEC);
    assert_non_null(strstr(it.reason.bytes, path));
    struct wire_run run = COMMAND(4, "true");
    run.cwd = wire_text_of("/no/such/directory");
    it = served_do(served, run);
    expect_end(it, WIRE_NOT_STARTED, ENOENT);
    assert_non_null(strstr(it.reason.bytes, "/no/such/directory"));
    run = COMMAND(5, "cat");
    run.stdin_path = wire_text_of("/no/such/file");
    expect_end(served_do(served, run), WIRE_NOT_STARTED, ENOENT);
    char *huge = malloc(400001);
    memset(huge, 'x', 400000);
    huge[400000] = 0;
    expect_end(served_do(served, COMMAND(6, "true", huge)), WIRE_NOT_STARTED, E2BIG);
    free(huge);
    expect_end(served_do(served, COMMAND(7, "true")), WIRE_EXITED, 0);
}

static void invalid_arguments_are_refused(void **state)
{
    struct wire_run run = COMMAND(1, "true");
    run.argv.count = 0;
    expect_end(served_do(*state, run), WIRE_NOT_STARTED, EINVAL);
    run = COMMAND(2, "true", "x");
    run.argv.items[1] = (wire_text){"a\0b", 3};
    expect_end(served_do(*state, run), WIRE_NOT_STARTED, EINVAL);
    run = COMMAND(3, "true");
    run.cores = 3;
    expect_end(served_do(*state, run), WIRE_NOT_STARTED, EINVAL);
}

static void the_resources_of_a_command_are_reported(void **state)
{
    struct wire_finished it
        = served_do(*state, SHELL(1, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
    expect_end(it, WIRE_EXITED, 0);
    assert_true(it.user + it.system > 1000);
    assert_true(it.memory_bytes > 100000);
    assert_true(it.began > 0);
    assert_true(it.ended >= it.began);
}

static void output_is_kept_byte_for_byte(void **state)
{
    struct wire_finished it = served_do(*state, SHELL(1, "printf 'a\\000\\377\\r\\n\\033[1mb'"));
    assert_int_equal(it.log_bytes, 10);
    assert_int_equal(it.flags, 0);
    expect_log(*state, 1, "a\0\377\r\n\033[1mb", 10);
}

static void both_outputs_keep_their_order(void **state)
{
    served_do(*state, SHELL(1, "echo 1; echo 2 >&2; echo 3; echo 4 >&2"));
    expect_log(*state, 1, "1\n2\n3\n4\n", 8);
}

static void a_silent_command_has_no_log(void **state)
{
    assert_int_equal(served_do(*state, COMMAND(1, "true")).log_bytes, 0);
    assert_null(served_log(*state, 1, NULL));
}

static void a_log_can_be_read_while_it_is_written(void **state)
{
    struct wire_run run = SHELL(1, "echo first; read line; echo second");
    char path[256], line[16];
    snprintf(path, sizeof path, "%s/gate", ((struct served *)*state)->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int gate = open(path, O_RDWR);
    run.stdin_path = wire_text_of(path);
    served_run(*state, &run);
    served_await(*state, WIRE_STARTED_MESSAGE);
    char *text = NULL;
    while (!text || strlen(text) < 6) {
        free(text);
        text = served_log(*state, 1, NULL);
    }
    assert_string_equal(text, "first\n");
    free(text);
    log_path(path, sizeof path, ((struct served *)*state)->folder, (rota_task_id){7, 1}, 1);
    struct log_reader *reader = log_open(path);
    assert_int_equal(log_next(reader, line, sizeof line), 6);
    assert_int_equal(log_next(reader, line, sizeof line), 0);
    assert_false(log_is_whole(reader));
    assert_int_equal(write(gate, "\n", 1), 1);
    expect_end(served_finished(*state), WIRE_EXITED, 0);
    assert_int_equal(log_next(reader, line, sizeof line), 7);
    assert_int_equal(log_next(reader, line, sizeof line), 0);
    assert_true(log_is_whole(reader));
    log_close(reader);
    close(gate);
}

static long memory_of(pid_t pid)
{
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * 4096;
}

static void too_much_output_is_cut_and_counted(void **state)
{
    struct served *served = *state;
    served_do(served, SHELL(1, "echo warm"));
    long before = memory_of(served->pid);
    struct wire_run run = COMMAND(2, "dd", "if=/dev/zero", "bs=1M", "count=200", "status=none");
    run.log_max = 1 << 20;
    struct wire_finished it = served_do(served, run);
    expect_end(it, WIRE_EXITED, 0);
    assert_int_equal(it.flags, WIRE_LOG_TRUNCATED);
    assert_int_equal(it.log_bytes, 200 << 20);
    assert_true(memory_of(served->pid) - before < 8 << 20);
    size_t size;
    char *log = served_log(served, 2, &size);
    const char *line = "\n[rota: 208666624 more bytes were cut]\n";
    assert_int_equal(size, (1 << 20) + strlen(line));
    assert_string_equal(log + (1 << 20), line);
    free(log);
}

static void a_full_disk_costs_the_log_and_not_the_command(void **state)
{
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);  // equivalent to a full disk
    struct served served = served_open((struct worker_options){.cores = 1});
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    struct wire_finished it
        = served_do(&served, COMMAND(1, "head", "-c", "3000000", "/dev/urandom"));
    expect_end(it, WIRE_EXITED, 0);
    assert_int_equal(it.flags, WIRE_LOG_TRUNCATED);
    assert_int_equal(it.log_bytes, 3000000);
    size_t size;
    char *log = served_log(&served, 1, &size);
    assert_non_null(log);
    assert_true(size > 10000);
    assert_true(size <= 100000);
    free(log);
    served_do(&served, SHELL(2, "echo small"));
    expect_log(&served, 2, "small\n", 6);
    served_close(&served);
}

static void the_environment_has_the_task_and_attempt(void **state)
{
    wire_text set[] = {wire_text_of("COLOUR=blue"), wire_text_of("HOME=/elsewhere")};
    struct wire_run run = SHELL(
        1, "echo \"$ROTA_TASK $ROTA_ID $ROTA_ATTEMPT $ROTA_TOKEN $ROTA_CPUS $COLOUR $HOME\";"
           "env | grep -c ^HOME=; echo $TRACEPARENT | wc -c; echo ${LD_BIND_NOW-none}; pwd; wc -c");
    run.env = (wire_texts){set, 2};
    run.cores = 2;
    expect_end(served_do(*state, run), WIRE_EXITED, 0);
    const char *text = "a task 7.1 1 41 2 blue /elsewhere\n1\n56\nnone\n/tmp\n0\n";
    expect_log(*state, 1, text, strlen(text));
}

static void a_command_can_read_a_file(void **state)
{
    struct wire_run run = COMMAND(1, "cat");
    run.stdin_path = wire_text_of("/etc/passwd");
    struct wire_finished it = served_do(*state, run);
    struct stat status;
    assert_int_equal(stat("/etc/passwd", &status), 0);
    assert_int_equal(it.log_bytes, status.st_size);
}

static void signals_are_as_a_program_expects_them(void **state)
{
    served_do(*state, SHELL(1, "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t'"));
    const char *text = "SigBlk:0000000000000000SigIgn:0000000000000000";
    expect_log(*state, 1, text, strlen(text));
}

static void no_file_of_the_worker_is_handed_on(void **state)
{
    served_do(*state, COMMAND(1, "/bin/ls", "/proc/self/fd"));
    expect_log(*state, 1, "0\n1\n2\n3\n", 8);  // 3 is the directory itself
}

int main(void)
{
    setenv("LD_BIND_NOW", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        SERVED_TEST(hello_has_the_identity_and_the_limits),
        SERVED_TEST(an_exit_status_is_reported),
        SERVED_TEST(a_signal_is_reported),
        SERVED_TEST(a_timeout_is_reported_with_the_signal),
        SERVED_TEST(a_stopped_command_is_reported_as_stopped),
        SERVED_TEST(too_much_memory_is_reported_as_such),
        SERVED_TEST(a_command_that_cannot_start_is_reported_with_a_reason),
        SERVED_TEST(invalid_arguments_are_refused),
        SERVED_TEST(the_resources_of_a_command_are_reported),
        SERVED_TEST(output_is_kept_byte_for_byte),
        SERVED_TEST(both_outputs_keep_their_order),
        SERVED_TEST(a_silent_command_has_no_log),
        SERVED_TEST(a_log_can_be_read_while_it_is_written),
        SERVED_TEST(too_much_output_is_cut_and_counted),
        cmocka_unit_test(a_full_disk_costs_the_log_and_not_the_command),
        SERVED_TEST(the_environment_has_the_task_and_attempt),
        SERVED_TEST(a_command_can_read_a_file),
        SERVED_TEST(signals_are_as_a_program_expects_them),
        SERVED_TEST(no_file_of_the_worker_is_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
