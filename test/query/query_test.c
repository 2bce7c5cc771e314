// query_test.c - suggestions for misspelled names, charts of attempts, and readable durations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"

enum { MS = 1000, SECOND = 1000 * MS };

// ---- Names --------------------------------------------------------------------------------------

static struct query_task task_make(uint32_t number, const char *name)
{
    return (struct query_task){
        .id = {7, number}, .name = name, .status = "SUCCESS", .details = "", .outputs = ""};
}

static void tasks_are_found_by_name_and_by_number(void **state)
{
    (void)state;
    struct query_task tasks[] = {task_make(1, "load"), task_make(2, "7.1"), task_make(3, "mail")};
    struct query query = {.job = {7}, .tasks = tasks, .task_count = 3};
    assert_int_equal(query_find(&query, "mail"), 2);
    assert_int_equal(query_find(&query, "7.3"), 2);
    assert_int_equal(query_find(&query, "7.1"), 1);  // a name goes first
    assert_int_equal(query_find(&query, "8.1"), QUERY_NOT_FOUND);
    assert_int_equal(query_find(&query, "7.4"), QUERY_NOT_FOUND);
    assert_int_equal(query_find(&query, "7.0"), QUERY_NOT_FOUND);
    assert_int_equal(query_find(&query, "7.3x"), QUERY_NOT_FOUND);
    assert_int_equal(query_find(&query, ""), QUERY_NOT_FOUND);
}

static void a_suggested_name_is_similar(void **state)
{
    (void)state;
    struct query_task tasks[]
        = {task_make(1, "compile"), task_make(2, "compare"), task_make(3, "ok")};
    struct query query = {.job = {7}, .tasks = tasks, .task_count = 3};
    char longest[400];
    assert_string_equal(query_nearest(&query, "comile"), "compile");
    assert_string_equal(query_nearest(&query, "compar"), "compare");
    assert_string_equal(query_nearest(&query, "o"), "ok");
    assert_null(query_nearest(&query, "deploy"));
    memset(longest, 'c', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_null(query_nearest(&query, longest));
}

static void objects_have_the_names_of_the_details(void **state)
{
    (void)state;
    struct query_task task = task_make(1, "load");
    struct query query = {.job = {7}, .tasks = &task, .task_count = 1};
    struct query_object object;
    size_t length;
    task.details = "group g 1\nin a.txt\nout b.txt\nout-directory c d\n";
    task.outputs = "700000001-1:12:keep 700000001-2:0:keep";
    assert_true(query_object(&query, 0, 0, &object));
    assert_int_equal(object.length, 5);
    assert_memory_equal(object.name, "b.txt", 5);
    assert_string_equal(object.kind, "file");
    assert_true(query_object(&query, 0, 1, &object));
    assert_memory_equal(object.name, "c d\n", 4);
    assert_string_equal(object.kind, "directory");
    assert_false(query_object(&query, 0, 2, &object));
    assert_memory_equal(query_detail(task.details, "group", 0, &length), "g 1", 3);
    assert_int_equal(length, 3);
    assert_null(query_detail(task.details, "group", 1, &length));
    task.details = "";
    assert_true(query_object(&query, 0, 0, &object));
    assert_int_equal(object.length, 0);
}

// ---- Pictures -----------------------------------------------------------------------------------

static struct query_attempt ran(uint32_t task, rota_time began, rota_time ended)
{
    return (struct query_attempt){.task = task,
                                  .attempt = 1,
                                  .began = began,
                                  .ended = ended,
                                  .ran = true,
                                  .end = "exit",
                                  .status = "SUCCESS",
                                  .reason = ""};
}

static void bars_of_a_line_do_not_overlap(void **state)
{
    (void)state;
    struct query_attempt attempts[]
        = {ran(0, 0, SECOND), ran(1, SECOND - MS, 2 * SECOND),  // begins before the clock was read
           ran(2, 1500 * MS, 3 * SECOND), ran(3, 2 * SECOND, 0)};
    struct query query = {.attempts = attempts, .attempt_count = 4};
    assert_int_equal(query_slots(&query, 4 * SECOND), 2);
    assert_int_equal(attempts[1].slot, 0);
    assert_int_equal(attempts[1].drawn, SECOND);
    assert_int_equal(attempts[2].slot, 1);
    assert_int_equal(attempts[3].slot, 0);
    query_release(&(struct query){.blocks = query.blocks});
}

static void overlapping_attempts_are_on_different_lines(void **state)
{
    (void)state;
    struct query_attempt attempts[] = {ran(0, 0, SECOND), ran(1, SECOND - 3 * MS, SECOND - MS),
                                       ran(2, SECOND - 2 * MS, SECOND)};
    struct query query = {.attempts = attempts, .attempt_count = 3};
    assert_int_equal(query_slots(&query, SECOND), 2);
    assert_int_equal(attempts[1].slot, 1);
    assert_int_equal(attempts[1].drawn, SECOND - 3 * MS);
    assert_int_equal(attempts[2].slot, 0);
    assert_int_equal(attempts[2].drawn, SECOND);
    query_release(&(struct query){.blocks = query.blocks});
}

static void the_longest_chain_leads_through_bundles(void **state)
{
    (void)state;
    // 0 and 1 are members of bundle 2; 3 needs the bundle; 4 needs nothing.
    static const uint32_t on_bundle[] = {2};
    struct query_task tasks[] = {task_make(1, "a"), task_make(2, "b"), task_make(3, "bundle"),
                                 task_make(4, "c"), task_make(5, "d")};
    struct query_attempt attempts[] = {ran(0, 0, 30), ran(1, 0, 50), ran(3, 50, 70), ran(4, 0, 60)};
    struct query query
        = {.tasks = tasks, .task_count = 5, .attempts = attempts, .attempt_count = 4};
    uint32_t path[5];
    rota_time length;
    tasks[0].bundle = tasks[1].bundle = 3;
    tasks[2].is_bundle = true;
    tasks[3].needs = on_bundle, tasks[3].need_count = 1;
    tasks[0].count = tasks[1].count = tasks[3].count = tasks[4].count = 1;
    tasks[1].first = 1, tasks[3].first = 2, tasks[4].first = 3;
    assert_int_equal(query_critical(&query, 100, path, &length), 2);
    assert_int_equal(length, 70);
    assert_int_equal(path[0], 1);
    assert_int_equal(path[1], 3);
}

static void a_cycle_of_conditions_ends(void **state)
{
    (void)state;
    static const uint32_t first[] = {1}, second[] = {0};
    struct query_task tasks[] = {task_make(1, "a"), task_make(2, "b")};
    struct query query = {.tasks = tasks, .task_count = 2};
    uint32_t path[2];
    rota_time length;
    tasks[0].needs = first, tasks[0].need_count = 1;
    tasks[1].needs = second, tasks[1].need_count = 1;
    assert_int_equal(query_critical(&query, 100, path, &length), 0);
    assert_int_equal(length, 0);
}

// ---- Words --------------------------------------------------------------------------------------

static void times_and_sizes_are_short(void **state)
{
    (void)state;
    char out[QUERY_TEXT];
    assert_string_equal(query_time_text(0, out), "0 ms");
    assert_string_equal(query_time_text(999 * MS, out), "999 ms");
    assert_string_equal(query_time_text(1250 * MS, out), "1.25 s");
    assert_string_equal(query_time_text(192ll * SECOND, out), "3 m 12 s");
    assert_string_equal(query_time_text(3660ll * SECOND, out), "1 h 01 m");
    assert_string_equal(query_time_text(90000ll * SECOND, out), "1 d 01 h");
    assert_string_equal(query_time_text(-5, out), "-");
    assert_string_equal(query_bytes_text(1023, out), "1023 B");
    assert_string_equal(query_bytes_text(1536, out), "1.5 KiB");
    assert_string_equal(query_bytes_text(5ull << 30, out), "5.0 GiB");
    assert_string_equal(query_bytes_text(UINT64_MAX, out), "15.9 EiB");
}

static void ends_have_a_readable_text(void **state)
{
    (void)state;
    char out[QUERY_TEXT];
    struct query_attempt attempt = ran(0, 0, 1);
    attempt.code = 3;
    assert_string_equal(query_end_text(&attempt, out), "exit 3");
    attempt.end = "signal", attempt.code = 9;
    assert_string_equal(query_end_text(&attempt, out), "signal 9 (Killed)");
    attempt.end = "timeout", attempt.reason = "after 5 s";
    assert_string_equal(query_end_text(&attempt, out), "timed out: after 5 s");
    attempt.end = "input", attempt.reason = "a.txt is not here";
    assert_string_equal(query_end_text(&attempt, out), "a.txt is not here");
    attempt.end = "", attempt.reason = "", attempt.status = "LOST";
    assert_string_equal(query_end_text(&attempt, out), "LOST");
    attempt.ended = 0;
    assert_string_equal(query_end_text(&attempt, out), "running");
    attempt.is_carried = true;
    assert_string_equal(query_end_text(&attempt, out), "done before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_found_by_name_and_by_number),
        cmocka_unit_test(a_suggested_name_is_similar),
        cmocka_unit_test(objects_have_the_names_of_the_details),
        cmocka_unit_test(bars_of_a_line_do_not_overlap),
        cmocka_unit_test(overlapping_attempts_are_on_different_lines),
        cmocka_unit_test(the_longest_chain_leads_through_bundles),
        cmocka_unit_test(a_cycle_of_conditions_ends),
        cmocka_unit_test(times_and_sizes_are_short),
        cmocka_unit_test(ends_have_a_readable_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
