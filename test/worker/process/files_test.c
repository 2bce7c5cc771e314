// files_test.c - private directories, inputs, outputs and streams.
#define _GNU_SOURCE
#include "worker/process/served.h"
#include "os/os.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct wire_file file_of(uint32_t kind, const char *name, const char *path, uint64_t object)
{
    struct wire_file file = {.kind = kind, .object = {1, object}};
    file.name = wire_text_of(name);
    file.path = wire_text_of(path);
    return file;
}

static struct wire_run private_shell(uint32_t task, const char *script, struct wire_file *inputs,
                                     uint32_t input_count, struct wire_file *outputs,
                                     uint32_t output_count)
{
    struct wire_run run = SHELL(task, script);
    run.cwd = wire_text_of("");
    run.flags = WIRE_RUN_PRIVATE;
    run.inputs = (wire_files){inputs, input_count};
    run.outputs = (wire_files){outputs, output_count};
    return run;
}

static void expect_text(const char *path, const char *expected)
{
    size_t size;
    char *text = os_file_read(path, 1 << 20, &size);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void a_private_directory_is_removed_after_its_task(void **state)
{
    struct served *served = *state;
    struct wire_file input = file_of(WIRE_SOURCE, "deep/in.txt", "/etc/passwd", 0);
    struct wire_run run = private_shell(
        1,
        "cmp deep/in.txt /etc/passwd && cmp $ROTA_IN_deep_in_txt /etc/passwd && pwd &&"
        " mkdir -p a/b/c && echo x >a/b/c/d && ln -s /etc a/link && chmod 0 a/b",
        &input, 1, NULL, 0);
    struct wire_finished it = served_do(served, run);
    assert_int_equal(it.end, WIRE_EXITED);
    assert_int_equal(it.status, 0);
    char path[100], *log = served_log(served, 1, NULL);
    snprintf(path, sizeof path, "%s/work/7.1.1", served->folder);
    assert_memory_equal(log, path, strlen(path));
    free(log);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
}

static void a_command_with_too_many_files_is_refused(void **state)
{
    struct served *served = *state;
    enum { MANY = WIRE_FILES_MAX + 1 };
    static struct wire_file outputs[MANY];
    for (uint32_t i = 0; i < MANY; i++) outputs[i] = file_of(WIRE_STREAM, "o", "", i + 1);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t count = i ? MANY : WIRE_STREAMS_MAX + 1;
        struct wire_finished it
            = served_do(served, private_shell(i + 1, "true", NULL, 0, outputs, count));
        assert_int_equal(it.end, WIRE_NOT_STARTED);
        assert_non_null(strstr(it.reason.bytes, "at most"));
    }
}

static void outputs_are_reported_and_kept(void **state)
{
    struct served *served = *state;
    char path[100], tree[100], inside[150];
    snprintf(path, sizeof path, "%s/kept/result", served->folder);
    snprintf(tree, sizeof tree, "%s/kept/tree", served->folder);
    struct wire_file outputs[]
        = {file_of(WIRE_FILE, "out/result", path, 5), file_of(WIRE_DIRECTORY, "tree", tree, 6)};
    outputs[0].flags = outputs[1].flags = WIRE_KEEP;
    for (uint32_t task = 1; task <= 2; task++) {
        struct wire_run run
            = private_shell(task,
                            "echo made by $ROTA_ID >$ROTA_OUT_out_result; mkdir -p tree/below;"
                            "echo $ROTA_ID >tree/below/leaf; touch tree/$ROTA_ID",
                            NULL, 0, outputs, 2);
        struct wire_finished it = served_do(served, run);
        assert_int_equal(it.end, WIRE_EXITED);
        assert_int_equal(it.outputs.count, 2);
        assert_int_equal(it.outputs.items[0].bytes, 12);
        assert_int_equal(it.outputs.items[0].object.low, 5);
    }
    expect_text(path, "made by 7.2\n");
    snprintf(inside, sizeof inside, "%s/below/leaf", tree);
    expect_text(inside, "7.2\n");
    snprintf(inside, sizeof inside, "%s/7.1", tree);
    assert_int_equal(access(inside, F_OK), -1);
    snprintf(inside, sizeof inside, "%s/kept", served->folder);
    assert_int_equal(os_tree_remove(path) && os_tree_remove(tree), 1);
    assert_int_equal(rmdir(inside), 0);  // no partial copy was left
}

static void an_output_that_is_not_as_declared_is_reported(void **state)
{
    struct {
        const char *script, *why;
        uint32_t kind;
    } cases[] = {
        {"true", "is missing", WIRE_FILE},
        {"ln -s /etc/passwd result", "is a symbolic link", WIRE_FILE},
        {"mkfifo result", "is a FIFO", WIRE_FILE},
        {"mkdir result", "is a directory", WIRE_FILE},
        {"touch result", "is a file, not a directory", WIRE_DIRECTORY},
        {"ln -s /etc result", "is a symbolic link", WIRE_DIRECTORY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_file output = file_of(cases[i].kind, "result", "", 5);
        struct wire_finished it = served_do(
            *state, private_shell((uint32_t)i + 1, cases[i].script, NULL, 0, &output, 1));
        assert_int_equal(it.end, WIRE_BAD_OUTPUT);
        assert_non_null(strstr(it.reason.bytes, "result"));
        assert_non_null(strstr(it.reason.bytes, cases[i].why));
    }
}

static void no_output_is_taken_from_outside_the_directory(void **state)
{
    struct wire_file output = file_of(WIRE_FILE, "sub/passwd", "", 5);
    struct wire_finished it
        = served_do(*state, private_shell(1, "rmdir sub; ln -s /etc sub", NULL, 0, &output, 1));
    assert_int_equal(it.end, WIRE_BAD_OUTPUT);
    output = file_of(WIRE_FILE, "../passwd", "", 5);
    it = served_do(*state, private_shell(2, "true", NULL, 0, &output, 1));
    assert_int_equal(it.end, WIRE_NOT_STARTED);
}

static void a_missing_input_is_reported(void **state)
{
    struct wire_file input = file_of(WIRE_SOURCE, "in", "/no/such/file", 0);
    struct wire_finished it = served_do(*state, private_shell(1, "true", &input, 1, NULL, 0));
    assert_int_equal(it.end, WIRE_BAD_INPUT);
    assert_non_null(strstr(it.reason.bytes, "in"));
}

static void expect_log(struct served *served, uint32_t task, const char *text)
{
    char *log = served_log(served, task, NULL);
    assert_non_null(log);
    assert_string_equal(log, text);
    free(log);
}

static void run_stream(struct served *served, uint32_t task, bool as_producer, const char *script)
{
    struct wire_file stream = file_of(WIRE_STREAM, "flow", "", 9);
    struct wire_run run = private_shell(task, script, as_producer ? NULL : &stream, !as_producer,
                                        as_producer ? &stream : NULL, as_producer);
    served_run(served, &run);
}

static void a_stream_works_in_either_start_order(void **state)
{
    struct served *served = *state;
    run_stream(served, 1, true, "seq 100000 >flow");
    run_stream(served, 2, false, "wc -l <flow");
    served_finished(served);
    served_finished(served);
    expect_log(served, 2, "100000\n");
    run_stream(served, 3, false, "wc -l <$ROTA_IN_flow");
    served_await(served, WIRE_STARTED_MESSAGE);
    run_stream(served, 4, true, "seq 10 >$ROTA_OUT_flow");
    served_finished(served);
    served_finished(served);
    expect_log(served, 3, "10\n");
}

static void a_late_reader_gets_the_complete_stream(void **state)
{
    struct served *served = *state;
    run_stream(served, 1, true, "seq 10 >flow");
    assert_int_equal(served_finished(served).end, WIRE_EXITED);
    run_stream(served, 2, false, "wc -l <flow");
    assert_int_equal(served_finished(served).end, WIRE_EXITED);
    expect_log(served, 2, "10\n");
}

static void a_consumer_that_leaves_does_not_hold_the_producer(void **state)
{
    struct served *served = *state;
    run_stream(served, 1, true, "seq 1000000 >flow; echo over");
    run_stream(served, 2, false, "head -n 1 <flow");
    served_finished(served);
    served_finished(served);
    expect_log(served, 2, "1\n");
    run_stream(served, 3, false, "true");
    served_finished(served);
    run_stream(served, 4, true, "seq 1000000 >flow; echo over");
    assert_int_equal(served_finished(served).end, WIRE_EXITED);
    expect_log(served, 4, "over\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(a_private_directory_is_removed_after_its_task),
        SERVED_TEST(outputs_are_reported_and_kept),
        SERVED_TEST(a_command_with_too_many_files_is_refused),
        SERVED_TEST(an_output_that_is_not_as_declared_is_reported),
        SERVED_TEST(no_output_is_taken_from_outside_the_directory),
        SERVED_TEST(a_missing_input_is_reported),
        SERVED_TEST(a_stream_works_in_either_start_order),
        SERVED_TEST(a_late_reader_gets_the_complete_stream),
        SERVED_TEST(a_consumer_that_leaves_does_not_hold_the_producer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
