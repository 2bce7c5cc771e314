// queue_test.c - the order of starts, and a worker that gets invalid or too many messages.
#include "os/os.h"
#include "worker/process/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

static struct served open_with(uint32_t cores)
{
    return served_open((struct worker_options){.cores = cores});
}

static void commands_start_in_the_order_given(void **state)
{
    (void)state;
    struct served served = open_with(1);
    for (uint32_t task = 1; task <= 20; task++) {
        struct wire_run run = COMMAND(task, "true");
        served_run(&served, &run);
    }
    for (uint32_t task = 1; task <= 20; task++)
        assert_int_equal(served_finished(&served).task.task, task);
    served_close(&served);
}

// The server is not asked between an end and the next start, and the start is reported before the
// end.
static void the_next_task_starts_before_the_report(void **state)
{
    (void)state;
    struct served served = open_with(1);
    struct wire_run first = SHELL(1, "read line"), second = COMMAND(2, "true");
    char path[100];
    snprintf(path, sizeof path, "%s/gate", served.folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int gate = open(path, O_RDWR);
    first.stdin_path = wire_text_of(path);
    served_run(&served, &first);
    served_run(&served, &second);
    assert_int_equal(served_await(&served, WIRE_STARTED_MESSAGE).started.task.task, 1);
    assert_int_equal(write(gate, "\n", 1), 1);
    struct wire_message message;
    assert_true(served_next(&served, &message));
    assert_int_equal(message.kind, WIRE_STARTED_MESSAGE);
    assert_int_equal(message.started.task.task, 2);
    assert_int_equal(served_finished(&served).task.task, 1);
    assert_int_equal(served_finished(&served).task.task, 2);
    close(gate);
    served_close(&served);
}

static void a_command_takes_its_number_of_cores(void **state)
{
    (void)state;
    struct served served = open_with(4);
    struct wire_run one = COMMAND(1, "sleep", "1000"), wide = COMMAND(2, "true"),
                    after = COMMAND(3, "true");
    wide.cores = 4;
    served_run(&served, &one);
    served_run(&served, &wide);
    served_run(&served, &after);
    assert_int_equal(served_await(&served, WIRE_STARTED_MESSAGE).started.task.task, 1);
    served_stop(&served, 1, 0);
    struct wire_message message;
    uint32_t order[3], count = 0;
    while (count < 3) {
        assert_true(served_next(&served, &message));
        if (message.kind == WIRE_FINISHED_MESSAGE) order[count++] = message.finished.task.task;
    }
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(order[i], i + 1);
    served_close(&served);
}

static void a_queued_command_can_be_stopped(void **state)
{
    (void)state;
    struct served served = open_with(1);
    struct wire_run one = COMMAND(1, "sleep", "1000"), queued = COMMAND(2, "true");
    served_run(&served, &one);
    served_run(&served, &queued);
    served_stop(&served, 2, 0);
    struct wire_finished it = served_finished(&served);
    assert_int_equal(it.task.task, 2);
    assert_int_equal(it.end, WIRE_STOPPED);
    served_close(&served);
}

static void two_thousand_commands_run_without_a_trace(void **state)
{
    (void)state;
    struct served served = open_with(2);
    uint32_t done = 0;
    for (uint32_t task = 1; task <= 2000; task++) {
        struct wire_run run = COMMAND(task, "/bin/true");
        served_run(&served, &run);
        if (task <= 8) continue;
        assert_int_equal(served_finished(&served).end, WIRE_EXITED);
        done++;
    }
    for (; done < 2000; done++) assert_int_equal(served_finished(&served).end, WIRE_EXITED);
    char path[100];
    snprintf(path, sizeof path, "%s/log", served.folder);
    assert_int_equal(access(path, F_OK), -1);  // no command wrote anything
    served_quit(&served, 0);
    assert_int_equal(served_end(&served), 0);
    served_close(&served);
}

// The worker continues while the server does not read.
static void a_slow_server_holds_nothing_up(void **state)
{
    (void)state;
    struct served served = open_with(2);
    char path[100];
    snprintf(path, sizeof path, "echo 1 >%s/done", served.folder);
    for (uint32_t task = 1; task <= 3000; task++) {
        struct wire_run run = COMMAND(task, "no-such-command-with-a-rather-long-name");
        served_run(&served, &run);
    }
    struct wire_run last = SHELL(3001, path);
    served_run(&served, &last);
    served_number(&served, "done");
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(served_finished(&served).end, WIRE_NOT_STARTED);
    assert_int_equal(served_finished(&served).end, WIRE_EXITED);
    served_close(&served);
}

static void an_invalid_message_ends_the_worker(void **state)
{
    (void)state;
    struct served served = open_with(1);
    struct wire_run run = COMMAND(1, "sleep", "1000");
    served_run(&served, &run);
    served_await(&served, WIRE_STARTED_MESSAGE);
    assert_int_equal(send(served.socket, "\377\377\377\377\377\377\377\377", 8, 0), 8);
    struct wire_message message;
    assert_false(served_next(&served, &message));
    int status = served_end(&served);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    served_close(&served);
}

static void leftovers_of_an_earlier_worker_are_removed(void **state)
{
    (void)state;
    struct served served = open_with(1);
    served_await(&served, WIRE_HELLO_MESSAGE);
    served_end(&served);
    char path[100];
    snprintf(path, sizeof path, "%s/work/7.1.1", served.folder);
    assert_true(os_directory_make(path));
    struct worker_options options = {.folder = served.folder, .name = "again"};
    served.pid = worker_fork(&options, &served.socket);
    served.in.length = served.in.taken = 0;
    served_await(&served, WIRE_HELLO_MESSAGE);
    assert_int_equal(access(path, F_OK), -1);
    served_close(&served);
}

// A server that knows the content of HELLO need not wait for it.
static void a_known_worker_takes_commands_before_it_is_heard(void **state)
{
    (void)state;
    struct served served = served_open((struct worker_options){.cores = 1, .is_known = true});
    struct wire_message message;
    struct wire_run run = COMMAND(1, "/bin/true");
    served_run(&served, &run);
    assert_true(served_next(&served, &message));
    assert_int_equal(message.kind, WIRE_HELLO_MESSAGE);
    assert_int_equal(served_finished(&served).status, 0);
    served_close(&served);
    served = served_open((struct worker_options){.cores = 1, .is_known = true});
    // it also comes without other messages, a little later
    served_await(&served, WIRE_HELLO_MESSAGE);
    served_close(&served);
}

static void a_folder_is_free_without_worker_and_contents(void **state)
{
    (void)state;
    struct served served = open_with(1);
    served_await(&served, WIRE_HELLO_MESSAGE);
    assert_false(worker_folder_is_free(served.folder));
    served_end(&served);
    assert_true(worker_folder_is_free(served.folder));
    char path[100];
    snprintf(path, sizeof path, "%s/cache", served.folder);
    assert_true(os_directory_make(path));
    assert_false(worker_folder_is_free(served.folder));
    served_close(&served);
    assert_false(worker_folder_is_free(served.folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_start_in_the_order_given),
        cmocka_unit_test(the_next_task_starts_before_the_report),
        cmocka_unit_test(a_command_takes_its_number_of_cores),
        cmocka_unit_test(a_queued_command_can_be_stopped),
        cmocka_unit_test(two_thousand_commands_run_without_a_trace),
        cmocka_unit_test(a_slow_server_holds_nothing_up),
        cmocka_unit_test(an_invalid_message_ends_the_worker),
        cmocka_unit_test(leftovers_of_an_earlier_worker_are_removed),
        cmocka_unit_test(a_known_worker_takes_commands_before_it_is_heard),
        cmocka_unit_test(a_folder_is_free_without_worker_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
