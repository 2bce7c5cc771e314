// submission_work_test.c - the work for a submission grows with its length, not with its square.
//
// Work is measured as processor time of this thread, and compared with that of a plain submission:
// the limits are far above what is needed, and far below what the square would take.
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TASKS = 6000, FILES = 9000, NAMES = 1700, NAME = 4000, PATH = 4096, CLAUSES = 199 };
enum { EASE = 20, LEAST = 100000000 };  // how much more is allowed, and of how many ns at least

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static wire_text empty;
static struct wire_spec specs[TASKS];
static struct wire_file files[FILES + 1];

static int begin_alone(void **state)
{
    begin(state);
    empty = wire_text_of("");
    greets(&client, WIRE_CLIENT, "client", 0);
    memset(files, 0, sizeof files);
    for (uint32_t i = 0; i <= FILES; i++) {
        files[i] = (struct wire_file){.kind = WIRE_SOURCE};
        files[i].name = wire_text_of("f");
        files[i].path = wire_text_of("/x");
    }
    return 0;
}

static struct wire_out body_of(const struct wire_run *of)
{
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE, .run = *of};
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true");
    run.run.name = empty;
    if (!run.run.cwd.length) run.run.cwd = empty;
    if (!run.run.stdin_path.length) run.run.stdin_path = empty;
    run.run.argv = (wire_texts){&word, 1};
    wire_put(&frame, &run);
    return frame;
}

// Submits tasks with this command, and returns the processor time of the turn.
static int64_t submitted(const struct wire_run *run, struct wire_submit *submit, const char *told)
{
    static uint64_t requests;
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit}, answer;
    struct wire_out frame = body_of(run);
    wire_text body = {frame.bytes, frame.length}, word = wire_text_of("true");
    message.submit.high = 1;
    message.submit.low = ++requests;
    message.submit.name = empty;
    message.submit.bodies = (wire_texts){&body, 1};
    message.submit.commands = (wire_texts){&word, 1};
    int64_t before = now();
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    int64_t took = now() - before;
    enum wire_kind kind = played_hears(&client, &answer);
    assert_string_equal(kind == WIRE_REFUSE_MESSAGE ? answer.refuse.reason.bytes : "", told);
    assert_int_equal(kind, told[0] ? WIRE_REFUSE_MESSAGE : WIRE_ACCEPTED_MESSAGE);
    wire_out_release(&frame);
    return took;
}

static struct wire_submit tasks_of(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        specs[i] = (struct wire_spec){.body = 1, .cores = 1};
        specs[i].name = specs[i].details = empty;
    }
    return (struct wire_submit){.tasks = {specs, count}};
}

static void is_not_much_more(int64_t took, int64_t plain)
{
    if (took > EASE * plain + LEAST) print_error("%lld ns, plain %lld ns\n", (long long)took,
                                                 (long long)plain);
    assert_true(took <= EASE * plain + LEAST);
}

// ---- Bodies -------------------------------------------------------------------------------------

static void a_body_of_many_tasks_is_decoded_once(void **state)
{
    (void)state;
    struct wire_submit submit = tasks_of(TASKS);
    struct wire_use *uses = calloc(TASKS, sizeof *uses);
    struct wire_make make = {.task = 1, .object = {5, 77}};
    for (uint32_t i = 1; i < TASKS; i++) uses[i] = (struct wire_use){.task = i + 1};
    specs[0].body = 0;
    submit.policy = ROTA_POLICY_PLAN;
    submit.outputs = (wire_makes){&make, 1};
    submit.inputs = (wire_uses){uses + 1, TASKS - 1};
    int64_t took[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct wire_run run = {.inputs = {files, i ? FILES + 1 : 1}};
        files[0].kind = WIRE_FILE;
        make.object.low++;
        for (uint32_t at = 1; at < TASKS; at++) uses[at].object = make.object;
        files[0].object = make.object;
        took[i] = submitted(&run, &submit, "");
    }
    is_not_much_more(took[1], took[0]);
    free(uses);
}

static void an_undeclared_object_ends_the_search(void **state)
{
    (void)state;
    struct wire_submit submit = tasks_of(2);
    for (uint32_t i = 0; i < 3; i++) files[i].kind = WIRE_FILE;
    for (uint32_t i = 0; i < 3; i++) files[i].object = (rota_object_id){5, 1 + i % 2};
    struct wire_make makes[] = {{.task = 1, .object = {5, 1}}, {.task = 1, .object = {5, 2}}};
    struct wire_use uses[] = {{.task = 2, .object = {5, 2}}, {.task = 2, .object = {5, 1}}};
    specs[0].body = 0;
    submit.policy = ROTA_POLICY_PLAN;
    submit.outputs = (wire_makes){makes, 2};
    submit.inputs = (wire_uses){uses, 1};
    struct wire_run run = {.inputs = {files, 3}};
    submitted(&run, &submit,
              "task 2: its command reads an object that is not an input of the task");
    submit.inputs.count = 2;
    submitted(&run, &submit, "");
}

// ---- Names --------------------------------------------------------------------------------------

static void a_path_is_limited(void **state)
{
    (void)state;
    char long_path[PATH + 1];
    memset(long_path, 'a', PATH);
    long_path[0] = '/';
    long_path[PATH] = 0;
    for (uint32_t at = 0; at < 8; at++) {
        uint32_t length = PATH - 1 + at / 4;
        wire_text path = {long_path + PATH - length, length};
        struct wire_submit submit = tasks_of(1);
        struct wire_run run = {.inputs = {files, 1}};
        char absolute[PATH + 1];
        memcpy(absolute, path.bytes, length + 1);
        absolute[0] = '/';
        wire_text whole = {absolute, length};
        char inside[PATH + 1];
        memcpy(inside, path.bytes, length + 1);
        inside[0] = 'a';
        files[0].name = at % 4 == 0 ? (wire_text){inside, length} : wire_text_of("f");
        files[0].path = at % 4 == 1 ? whole : wire_text_of("/x");
        if (at % 4 == 2) run.cwd = whole;
        if (at % 4 == 3) run.stdin_path = whole;
        submitted(&run, &submit, at < 4 ? "" : "task 1: a path may have at most 4,095 bytes");
    }
}

static void many_long_names_take_no_more_time_than_short_ones(void **state)
{
    (void)state;
    int64_t took[2];
    char *names = malloc(2ul * NAMES * (NAME + 8));
    for (uint32_t slashes = 0; slashes < 2; slashes++) {
        for (uint32_t i = 0; i < 2 * NAMES; i++) {
            char *name = names + (size_t)i * (NAME + 8);
            for (uint32_t at = 0; at < NAME; at++) name[at] = slashes && at % 2 ? '/' : 'a';
            snprintf(name + NAME, 8, "%04u%s", i / 2, i % 2 ? "x/y" : "");
            files[i].kind = i % 2 ? WIRE_FILE : WIRE_SOURCE;
            files[i].name = wire_text_of(name);
        }
        struct wire_submit submit = tasks_of(1);
        struct wire_run run = {.flags = WIRE_RUN_PRIVATE, .inputs = {files, 2 * NAMES}};
        took[slashes] = submitted(&run, &submit, "");
    }
    is_not_much_more(took[1], took[0]);
    free(names);
}

static void a_file_below_a_link_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *link, *other;
        bool below;
    } cases[] = {{"a", "a/b", true},      {"a", "ab/c", false},  {"a", "a", false},
                 {"a", "a-b/c", false},   {"a/b", "a", false},   {"a/b", "a/b/c/d", true},
                 {"a/b", "a/bc/d", false}, {"a", "a//b", true},  {"b", "a/b", false},
                 {"a", "a\x01/b", false},  {"a", "\xc3\xa4/b", false}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t makes = 0; makes < 2; makes++) {
            struct wire_submit submit = tasks_of(1);
            struct wire_file noise[] = {files[0], files[0], files[0], files[0]};
            noise[0].name = wire_text_of("a-b/c");
            noise[1].name = wire_text_of(cases[i].link);
            noise[2].name = wire_text_of("0");
            noise[3].name = wire_text_of(cases[i].other);
            noise[0].kind = noise[3].kind = WIRE_FILE;
            struct wire_run run = {.flags = WIRE_RUN_PRIVATE,
                                   .inputs = {noise, makes ? 3 : 4},
                                   .outputs = {noise + 3, makes}};
            submitted(&run, &submit, cases[i].below ? "task 1: a file of a task is below an input "
                      "that is a link to another location" : "");
        }
}

// ---- Conditions ---------------------------------------------------------------------------------

static struct wire_clause clauses[CLAUSES];

static struct wire_submit conditions_of(uint32_t count)
{
    struct wire_submit submit = tasks_of(1 + count);
    for (uint32_t i = 0; i < CLAUSES; i++) {
        clauses[i].kind = i && i % 2 == 0 ? ROTA_CLAUSE_AND : ROTA_CLAUSE_DONE;
        clauses[i].task = (rota_task_id){0, i && i % 2 == 0 ? 0 : 1};
    }
    for (uint32_t i = 1; i <= count; i++) specs[i].clause_count = CLAUSES;
    submit.clauses = (wire_clauses){clauses, CLAUSES};
    return submit;
}

// Each change of a task that a condition names causes an evaluation of all of its clauses.
static void the_conditions_of_a_job_are_limited(void **state)
{
    (void)state;
    struct wire_run run = {0};
    enum { FITTING = 100000000 / (CLAUSES * CLAUSES), HALF = FITTING / 2 };
    char told[256];
    const char *why = "the conditions of the job are too long: the sum of the squares of their "
                      "numbers of clauses may be at most 100,000,000 (name a bundle instead of its "
                      "tasks)";
    struct wire_submit submit = conditions_of(HALF);
    submit.flags = WIRE_SUBMIT_OPEN;
    submitted(&run, &submit, "");
    submit = conditions_of(FITTING - HALF + 1);
    submit.job = 1;
    snprintf(told, sizeof told, "task %d: %s", FITTING + 3, why);
    submitted(&run, &submit, told);
    submit = conditions_of(FITTING - HALF);
    submit.job = 1;
    submitted(&run, &submit, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_alone, end)
    const struct CMUnitTest tests[] = {
        TEST(a_body_of_many_tasks_is_decoded_once),
        TEST(an_undeclared_object_ends_the_search),
        TEST(a_path_is_limited),
        TEST(many_long_names_take_no_more_time_than_short_ones),
        TEST(a_file_below_a_link_is_refused),
        TEST(the_conditions_of_a_job_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
