// id_test.c - the numbers of jobs and tasks: one form for each, and nothing else.
#include "allocator.h"

static void a_job_or_a_task_is_read(void **state)
{
    (void)state;
    uint32_t job, task;
    assert_int_equal(task_id_read("7", &job, &task), 1);
    assert_int_equal(job, 7);
    assert_int_equal(task, 0);
    assert_int_equal(task_id_read("7.30", &job, &task), 4);
    assert_int_equal(job, 7);
    assert_int_equal(task, 30);
    assert_int_equal(task_id_read("4294967295.4294967295", &job, &task), 21);
    assert_int_equal(job, UINT32_MAX);
    assert_int_equal(task, UINT32_MAX);
}

static void the_rest_of_the_text_is_left(void **state)
{
    (void)state;
    uint32_t job, task;
    assert_int_equal(task_id_read("7/sum", &job, &task), 1);
    assert_int_equal(task_id_read("7.3/sum", &job, &task), 3);
    assert_int_equal(task_id_read("7.3.1", &job, &task), 3);
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    static const char *const texts[]
        = {"",    "x",   "0",    "07",   " 7",         "+7",           "-7",
           ".7",  "7.",  "7.0",  "7.03", "7.-1",       "7. 1",         "7.x",
           "0.7", "7..", "7.+1", "0x7",  "4294967296", "7.4294967296", "18446744073709551617"};
    uint32_t job, task;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(task_id_read(texts[i], &job, &task), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_or_a_task_is_read),
        cmocka_unit_test(the_rest_of_the_text_is_left),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
