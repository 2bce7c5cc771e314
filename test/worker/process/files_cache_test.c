// files_cache_test.c - objects and cached results of a worker: held, lost and dropped.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void again(struct served *served)
{
    served_quit(served, 0);
    served_end(served);
    wire_in_release(&served->in);
    served_again(served, (struct worker_options){.cores = 2});
}

static struct wire_file file_of(uint32_t kind, const char *name, const char *path, uint64_t object)
{
    struct wire_file file = {.kind = kind, .object = {object ? 1 : 0, object}};
    file.name = wire_text_of(name);
    file.path = wire_text_of(path);
    return file;
}

static struct wire_run with(struct wire_run run, struct wire_file *input, struct wire_file *output)
{
    run.cwd = wire_text_of("");
    run.flags = WIRE_RUN_PRIVATE;
    run.inputs = (wire_files){input, input ? 1 : 0};
    run.outputs = (wire_files){output, output ? 1 : 0};
    return run;
}

static struct wire_finished make(struct served *served, uint32_t task, uint64_t object)
{
    struct wire_file output = file_of(WIRE_FILE, "made", "", object);
    char script[100];
    snprintf(script, sizeof script, "echo object %d >made", (int)object);
    return served_do(served, with(SHELL(task, script), NULL, &output));
}

static struct wire_finished take(struct served *served, uint32_t task, uint64_t object)
{
    struct wire_file input = file_of(WIRE_FILE, "a name/of its own", "", object);
    return served_do(served, with(SHELL(task, "cat 'a name/of its own'"), &input, NULL));
}

// How many are held; all are reported before HELLO.
static uint32_t held_count(struct served *served)
{
    struct wire_message message;
    uint32_t count = 0;
    while (served_next(served, &message) && message.kind == WIRE_HELD_MESSAGE)
        count += message.held.objects.count;
    assert_int_equal(message.kind, WIRE_HELLO_MESSAGE);
    return count;
}

static bool is_there(struct served *served, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", served->folder, name);
    return access(path, F_OK) == 0;
}

// ---- Objects ------------------------------------------------------------------------------------

static void without_objects_there_is_no_cache(void **state)
{
    struct served *served = *state;
    assert_int_equal(held_count(served), 0);
    assert_int_equal(served_do(served, SHELL(1, "true")).end, WIRE_EXITED);
    assert_false(is_there(served, "cache"));
}

static void an_object_goes_from_one_command_to_the_next(void **state)
{
    struct served *served = *state;
    struct wire_finished it = make(served, 1, 5);
    assert_int_equal(it.end, WIRE_EXITED);
    assert_int_equal(it.outputs.items[0].bytes, strlen("object 5\n"));
    assert_int_equal(take(served, 2, 5).status, 0);
    char *log = served_log(served, 2, NULL);
    assert_string_equal(log, "object 5\n");
    free(log);
}

// A command may have stored other content under the same id.
static void an_input_with_another_hash_is_lost(void **state)
{
    struct served *served = *state;
    struct wire_file input = file_of(WIRE_FILE, "in", "", 5);
    struct wire_finished it = make(served, 1, 5);
    input.content = it.outputs.items[0].content;
    for (uint32_t i = 0; i < 2; i++) {
        struct wire_run right = with(SHELL(10 + i, "cat in"), &input, NULL);
        right.flags |= i ? WIRE_RUN_CACHE : 0;
        assert_int_equal(served_do(served, right).end, WIRE_EXITED);
        input.content.hash[0] ^= 1;
        struct wire_run wrong = with(SHELL(20 + i, "cat in"), &input, NULL);
        wrong.flags = right.flags;
        assert_int_equal(served_do(served, wrong).end, WIRE_BAD_INPUT);
        input.content.hash[0] ^= 1;
        make(served, 2 + i, 5);
    }
}

static void all_objects_are_reported_before_hello(void **state)
{
    struct served *served = *state;
    for (uint32_t i = 1; i <= 5; i++) make(served, i, i);
    again(served);
    struct wire_message message = served_await(served, WIRE_HELD_MESSAGE);
    assert_int_equal(message.held.objects.count, 5);
    assert_int_equal(message.held.objects.items[2].object.low, 3);
    assert_int_equal(message.held.objects.items[2].bytes, strlen("object 3\n"));
    assert_int_equal(held_count(served), 0);
    assert_int_equal(take(served, 9, 4).status, 0);
}

static void a_dropped_object_is_not_held(void **state)
{
    struct served *served = *state;
    for (uint32_t i = 1; i <= 3; i++) make(served, i, i);
    struct wire_file items[]
        = {file_of(0, "", "", 1), file_of(0, "", "", 3), file_of(0, "", "", 9)};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE, .drop = {{items, 3}}};
    served_send(served, &message);
    again(served);
    assert_int_equal(held_count(served), 1);
}

static void a_lost_input_is_reported_before_the_end_of_its_reader(void **state)
{
    struct served *served = *state;
    struct wire_file inputs[]
        = {file_of(WIRE_FILE, "here", "", 1), file_of(WIRE_FILE, "gone", "", 8),
           file_of(WIRE_DIRECTORY, "gone too", "", 9)};
    make(served, 1, 1);
    struct wire_run run = with(SHELL(2, "true"), NULL, NULL);
    run.inputs = (wire_files){inputs, 3};
    served_run(served, &run);
    struct wire_message message = {.kind = WIRE_NONE};
    while (message.kind != WIRE_LOST_MESSAGE) {
        assert_true(served_next(served, &message));
        assert_int_not_equal(message.kind, WIRE_FINISHED_MESSAGE);
    }
    assert_int_equal(message.lost.objects.count, 2);
    assert_int_equal(message.lost.objects.items[0].object.low, 8);
    assert_int_equal(message.lost.objects.items[1].object.low, 9);
    struct wire_finished it = served_finished(served);
    assert_int_equal(it.end, WIRE_BAD_INPUT);
    assert_non_null(strstr(it.reason.bytes, "gone"));
}

static void writing_to_an_input_does_not_change_the_cache(void **state)
{
    struct served *served = *state;
    struct wire_file input = file_of(WIRE_FILE, "in", "", 5);
    make(served, 1, 5);
    served_do(served, with(SHELL(2, "echo more >>in; chmod 666 in; rm -f in"), &input, NULL));
    assert_int_equal(take(served, 3, 5).status, 0);
    char *log = served_log(served, 3, NULL);
    assert_string_equal(log, "object 5\n");
    free(log);
}

// ---- Results ------------------------------------------------------------------------------------

// Counts how often its command has run, in a file outside the folder of the task.
static struct wire_finished count(struct served *served, uint32_t task, const char *text,
                                  struct wire_file *input, struct wire_file *output)
{
    char script[300];
    snprintf(script, sizeof script, "echo ran >>%s/runs; echo told; echo %s >made", served->folder,
             text);
    struct wire_run run = with(SHELL(task, script), input, output);
    run.flags |= WIRE_RUN_CACHE;
    return served_do(served, run);
}

static size_t runs_of(struct served *served)
{
    char path[200];
    size_t size;
    snprintf(path, sizeof path, "%s/runs", served->folder);
    char *text = os_file_read(path, 1000, &size);
    free(text);
    return text ? size / strlen("ran\n") : 0;
}

static void a_result_is_known_the_second_time(void **state)
{
    struct served *served = *state;
    char path[100];
    snprintf(path, sizeof path, "%s/kept", served->folder);
    struct wire_file output = file_of(WIRE_FILE, "made", path, 5);
    output.flags = WIRE_KEEP;
    assert_int_equal(count(served, 1, "x", NULL, &output).flags & WIRE_CACHED, 0);
    assert_int_equal(unlink(path), 0);
    output.object.low = 6;
    struct wire_finished it = count(served, 2, "x", NULL, &output);
    assert_int_equal(it.flags & WIRE_CACHED, WIRE_CACHED);
    assert_int_equal(it.end, WIRE_EXITED);
    assert_int_equal(it.log_bytes, strlen("told\n"));
    assert_int_equal(it.outputs.items[0].bytes, 2);
    assert_int_equal(it.outputs.items[0].object.low, 6);
    assert_int_equal(runs_of(served), 1);
    assert_true(is_there(served, "kept"));
    assert_int_equal(take(served, 3, 6).status, 0);
    char *log = served_log(served, 2, NULL);
    assert_string_equal(log, "told\n");
    free(log);
}

static void another_input_is_another_result(void **state)
{
    struct served *served = *state;
    struct wire_file input = file_of(WIRE_FILE, "in", "", 1);
    struct wire_file output = file_of(WIRE_FILE, "made", "", 5);
    make(served, 1, 1);
    make(served, 2, 2);
    count(served, 3, "x", &input, &output);
    count(served, 4, "x", &input, &output);
    assert_int_equal(runs_of(served), 1);
    input.object.low = 2;
    count(served, 5, "x", &input, &output);
    assert_int_equal(runs_of(served), 2);
    input.name = wire_text_of("other");
    count(served, 6, "x", &input, &output);
    assert_int_equal(runs_of(served), 3);
}

static void an_incomplete_result_is_made_again(void **state)
{
    struct served *served = *state;
    char path[200];
    struct wire_file output = file_of(WIRE_FILE, "made", "", 5);
    count(served, 1, "x", NULL, &output);
    for (uint32_t i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "%s/cache/content/%02x", served->folder, i);
        assert_true(os_tree_remove(path));
    }
    assert_int_equal(count(served, 2, "x", NULL, &output).flags & WIRE_CACHED, 0);
    assert_int_equal(runs_of(served), 2);
    assert_int_equal(take(served, 3, 5).status, 0);
}

static void a_failure_is_not_a_result(void **state)
{
    struct served *served = *state;
    struct wire_file output = file_of(WIRE_FILE, "not made", "", 5);
    for (uint32_t task = 1; task <= 2; task++)
        assert_int_equal(count(served, task, "x", NULL, &output).end, WIRE_BAD_OUTPUT);
    for (uint32_t task = 3; task <= 4; task++)
        assert_int_equal(count(served, task, "x; exit 3;", NULL, NULL).status, 3);
    assert_int_equal(runs_of(served), 4);
}

// Of a task that failed with 3 when it was run for the first time.
static struct wire_finished fails(struct served *served, uint32_t task, uint32_t attempt,
                                  const char *how)
{
    char script[300];
    snprintf(script, sizeof script, "echo ran >>%s/runs; echo told; %s", served->folder, how);
    struct wire_run run = with(SHELL(task, script), NULL, NULL);
    run.attempt = attempt;
    run.flags |= WIRE_RUN_CACHE | WIRE_RUN_CACHE_FAILURE;
    return served_do(served, run);
}

static void a_cached_failure_counts_for_first_attempts_only(void **state)
{
    struct served *served = *state;
    assert_int_equal(fails(served, 1, 1, "exit 3").flags & WIRE_CACHED, 0);
    struct wire_finished again = fails(served, 2, 1, "exit 3");
    assert_int_equal(again.status, 3);
    assert_int_equal(again.log_bytes, strlen("told\n"));
    assert_int_equal(again.flags & WIRE_CACHED, WIRE_CACHED);
    assert_int_equal(runs_of(served), 1);
    assert_int_equal(fails(served, 2, 2, "exit 3").flags & WIRE_CACHED, 0);
    assert_int_equal(runs_of(served), 2);
    assert_int_equal(fails(served, 3, 1, "exit 3").flags & WIRE_CACHED, WIRE_CACHED);
}

static void only_normal_exits_are_cached(void **state)
{
    struct served *served = *state;
    static const char *const how[] = {"exit 126", "no-such-command", "kill -9 $$", "exit 255"};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(fails(served, i + 1, 1, how[i / 2]).flags & WIRE_CACHED, 0);
    assert_int_equal(runs_of(served), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_TEST(without_objects_there_is_no_cache),
        SERVED_TEST(an_object_goes_from_one_command_to_the_next),
        SERVED_TEST(an_input_with_another_hash_is_lost),
        SERVED_TEST(all_objects_are_reported_before_hello),
        SERVED_TEST(a_dropped_object_is_not_held),
        SERVED_TEST(a_lost_input_is_reported_before_the_end_of_its_reader),
        SERVED_TEST(writing_to_an_input_does_not_change_the_cache),
        SERVED_TEST(a_result_is_known_the_second_time),
        SERVED_TEST(another_input_is_another_result),
        SERVED_TEST(an_incomplete_result_is_made_again),
        SERVED_TEST(a_failure_is_not_a_result),
        SERVED_TEST(a_cached_failure_counts_for_first_attempts_only),
        SERVED_TEST(only_normal_exits_are_cached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
