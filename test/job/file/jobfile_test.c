// jobfile_test.c - job files are parsed to the same data from YAML and from JSON.
#include "job/file/refuse.h"

static const char full[] = "rota: 1\n"
                           "name: night\n"
                           "schedule: {cron: '0 3 * * *', zone: Europe/Berlin}\n"
                           "on_failure: fail_job\n"
                           "policy: pull\n"
                           "lanes:\n"
                           "  disk: {order: submit, strict: true}\n"
                           "  net:\n"
                           "defaults: {cpus: 2, env: {A: no, B: '1'}}\n"
                           "tasks:\n"
                           "  all:\n"
                           "    run: [cc, -c, a b]\n"
                           "    needs: other\n"
                           "    when: su(other) & (fa(b) | nr(night))\n"
                           "    lane: disk\n"
                           "    group: sda\n"
                           "    access: read\n"
                           "    in: [./x//y, {name: z, path: /etc/hosts}, ../up, made]\n"
                           "    out: [o, {name: d, kind: directory, keep: true}, e/]\n"
                           "    keep: [o]\n"
                           "    cpus: 3\n"
                           "    mem: 1.5G\n"
                           "    machine: db1\n"
                           "    env: {A: yes, C: }\n"
                           "    cwd: /tmp\n"
                           "    stdin: z\n"
                           "    timeout: 1h30m\n"
                           "    grace: 500ms\n"
                           "    retries: {max: 3, backoff: 0.5, factor: 1.5, codes: [75, 1]}\n"
                           "    priority: -5\n"
                           "    cache: true\n"
                           "  other: {run: 'true', out: made}\n"
                           "  b: 'false'\n"
                           "  night: {tasks: [{name: m, run: 'true'}]}\n";

static void a_command_is_taken_from_the_file(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_task *task = task_named(&file, "all");
    assert_int_equal(task->argc, 3);
    assert_string_equal(task->argv[2], "a b");
    assert_null(task->argv[3]);
    assert_false(task->shell);
    assert_string_equal(task->command, "cc -c 'a b'");
    assert_string_equal(task->cwd, "/tmp");
    assert_string_equal(task->machine, "db1");
    assert_int_equal(task->cores, 3);
    assert_int_equal(task->memory_mib, 1536);
    assert_int_equal(task->priority, -5);
    assert_true(task->cache);
    assert_int_equal(task->timeout, 5400000000);
    assert_int_equal(task->grace, 500000);
    assert_int_equal(task->place.line, 11);
    assert_int_equal(task->place.column, 3);
    jobfile_release(&file);
}

static void retries_have_a_pause_that_grows_and_codes(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_retries *retries = &task_named(&file, "all")->retries;
    assert_int_equal(retries->max, 3);
    assert_int_equal(retries->backoff, 500000);
    assert_int_equal(retries->factor_percent, 150);
    assert_int_equal(retries->code_count, 2);
    assert_int_equal(retries->codes[0], 75);
    assert_int_equal(task_named(&file, "b")->retries.max, 0);
    jobfile_release(&file);
}

static void top_level_keys_apply_to_all_tasks(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    assert_string_equal(file.name, "night");
    assert_string_equal(file.schedule.cron, "0 3 * * *");
    assert_string_equal(file.schedule.zone, "Europe/Berlin");
    assert_null(file.schedule.run_days);
    assert_int_equal(file.on_failure, ROTA_FAILURE_FAIL_JOB);
    assert_int_equal(file.policy, ROTA_POLICY_PULL);
    assert_int_equal(file.lane_count, 2);
    assert_true(file.lanes[0].strict && file.lanes[0].submit_order);
    assert_false(file.lanes[1].strict || file.lanes[1].submit_order);
    jobfile_release(&file);
}

static void an_environment_is_merged_by_name_and_plain_words_stay_words(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_task *task = task_named(&file, "all"), *other = task_named(&file, "b");
    assert_int_equal(task->env_count, 3);
    assert_string_equal(task->env[0], "A=yes");
    assert_string_equal(task->env[1], "B=1");
    assert_string_equal(task->env[2], "C=");
    assert_null(task->env[3]);
    assert_int_equal(other->env_count, 2);
    assert_string_equal(other->env[0], "A=no");
    assert_int_equal(other->cores, 2);
    jobfile_release(&file);
}

static void inputs_have_their_producers(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_task *task = task_named(&file, "all");
    assert_int_equal(task->input_count, 4);
    assert_string_equal(task->inputs[0].name, "x/y");
    assert_string_equal(task->inputs[1].path, "/etc/hosts");
    assert_int_equal(task->stdin_input, 2);
    assert_string_equal(task->inputs[2].name, "up");
    assert_string_equal(task->inputs[2].path, "../up");
    assert_int_equal(task->inputs[2].producer, 0);
    assert_string_equal(file.tasks[task->inputs[3].producer - 1].name, "other");
    assert_int_equal(task->inputs[3].output, 1);
    needs_are(&file, "all", "other");
    jobfile_release(&file);
}

static void outputs_have_kinds_and_may_be_kept(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_output *outputs = task_named(&file, "all")->outputs;
    assert_true(outputs[0].keep && outputs[0].kind == JOBFILE_FILE);
    assert_true(outputs[1].keep && outputs[1].kind == JOBFILE_DIRECTORY);
    assert_true(!outputs[2].keep && outputs[2].kind == JOBFILE_DIRECTORY);
    assert_string_equal(outputs[2].name, "e");
    jobfile_release(&file);
}

static void conditions_are_postfix_and_name_tasks_by_number(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    const struct jobfile_task *task = task_named(&file, "all");
    static const int kinds[] = {ROTA_CLAUSE_SUCCESS, ROTA_CLAUSE_FAILED, ROTA_CLAUSE_NOT_RUNNING,
                                ROTA_CLAUSE_OR, ROTA_CLAUSE_AND};
    assert_int_equal(task->clause_count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(task->clauses[i].kind, kinds[i]);
    assert_string_equal(file.tasks[task->clauses[1].task.task - 1].name, "b");
    assert_true(file.tasks[task->clauses[2].task.task - 1].is_bundle);
    jobfile_release(&file);
}

static void a_bundle_is_written_around_its_tasks_or_named_by_them(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML,
           "tasks:\n"
           "  a: {run: 'true', bundle: later}\n"
           "  night: {tasks: {m: 'true', n: {run: 'true', needs: m}}}\n"
           "  b: {run: 'true', bundle: night}\n"
           "  c: {run: 'true', needs: [night, later, a, night], when: done(b)}\n");
    assert_int_equal(file.bundle_count, 2);
    const struct jobfile_task *night = task_named(&file, "night"), *c = task_named(&file, "c");
    assert_int_equal(night->member_count, 3);
    assert_string_equal(file.tasks[night->members[2]].name, "b");
    assert_string_equal(file.tasks[task_named(&file, "a")->bundle - 1].name, "later");
    needs_are(&file, "c", "a");
    static const int kinds[] = {ROTA_CLAUSE_DONE, ROTA_CLAUSE_SUCCESS, ROTA_CLAUSE_AND,
                                ROTA_CLAUSE_SUCCESS, ROTA_CLAUSE_AND};
    assert_int_equal(c->clause_count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(c->clauses[i].kind, kinds[i]);
    jobfile_release(&file);
}

static void a_stream_flows_while_its_producer_runs(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML,
           "tasks:\n"
           "  make: {run: x, out: [{name: s, kind: stream}, f]}\n"
           "  read: {run: y, in: [s]}\n"
           "  both: {run: y, stdin: f}\n");
    needs_are(&file, "read", "");
    assert_int_equal(task_named(&file, "read")->inputs[0].producer, 1);
    needs_are(&file, "both", "make");
    assert_int_equal(task_named(&file, "both")->stdin_input, 1);
    jobfile_release(&file);
}

static void the_writer_of_a_stream_waits_for_all_its_readers(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML,
           "tasks:\n"
           "  make: {run: x, out: [{name: s, kind: stream}]}\n"
           "  pass: {run: y, stdin: s, out: [{name: t, kind: stream}], needs: one}\n"
           "  last: {run: y, stdin: t, needs: [two, one]}\n"
           "  one: x\n"
           "  two: x\n");
    needs_are(&file, "make", "one two");
    needs_are(&file, "pass", "one two");
    needs_are(&file, "last", "two one");
    jobfile_release(&file);
}

static void foreach_makes_many_tasks_that_share_a_name(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML,
           "tasks:\n"
           "  count: {foreach: [a, b c], run: 'wc {{item}} {{index}}', env: {X: '{{ item }}'}}\n"
           "  'do-{{x}}-{{y}}':\n"
           "    matrix: {x: [1, 2], y: [p, q]}\n"
           "    run: [do, '{{x}}{{y}}', '{{.Go}}', '{{ 1 }}']\n"
           "    needs: ['count-{{x}}']\n"
           "  end: {run: 'true', needs: [count, do, count-1]}\n");
    assert_string_equal(task_named(&file, "count-2")->command, "wc b c 2");
    assert_string_equal(task_named(&file, "count-2")->env[0], "X=b c");
    assert_string_equal(task_named(&file, "do-1-q")->argv[1], "1q");
    assert_string_equal(task_named(&file, "do-1-q")->argv[2], "{{.Go}}");
    assert_string_equal(task_named(&file, "do-1-q")->argv[3], "{{ 1 }}");
    assert_string_equal(file.tasks[2].name, "do-1-p");
    assert_string_equal(file.tasks[3].name, "do-1-q");
    assert_string_equal(file.tasks[4].name, "do-2-p");
    needs_are(&file, "do-2-q", "count-2");
    needs_are(&file, "end", "count-1 count-2 do-1-p do-1-q do-2-p do-2-q");
    jobfile_release(&file);
}

static void json_gives_the_same_data_as_yaml(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(
        &file, JOBFILE_JSON,
        "{\"name\": \"n\\u00e4cht\\ud83d\\ude00\",\r\n \"tasks\": [\n"
        "  {\"name\": \"a\", \"run\": \"printf 'x\\\\n' | cat\", \"cpus\": 2, \"cache\": true},\n"
        "  {\"name\": \"b\", \"run\": [\"echo\", \"\\t\\\"\"], \"needs\": [\"a\"], \"env\": "
        "{\"N\": 5}}"
        "]}\n");
    assert_string_equal(file.name, "n\xc3\xa4"
                                   "cht\xf0\x9f\x98\x80");
    assert_string_equal(file.tasks[0].argv[2], "printf 'x\\n' | cat");
    assert_true(file.tasks[0].shell && file.tasks[0].cache && file.tasks[0].cores == 2);
    assert_string_equal(file.tasks[1].argv[1], "\t\"");
    assert_string_equal(file.tasks[1].env[0], "N=5");
    assert_int_equal(file.tasks[1].place.line, 4);
    assert_int_equal(file.tasks[1].place.column, 3);
    jobfile_release(&file);
}

static void each_line_of_json_lines_is_a_task_but_perhaps_the_first(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_JSON_LINES,
           "{\"rota\": 1, \"name\": \"x\", \"defaults\": {\"cpus\": 4}}\n"
           "{\"name\": \"a\", \"run\": \"true\"}\n\n"
           "{\"name\": \"b\", \"run\": \"true\", \"needs\": \"a\"}\n");
    assert_string_equal(file.name, "x");
    assert_int_equal(file.task_count, 2);
    assert_int_equal(file.tasks[1].cores, 4);
    needs_are(&file, "b", "a");
    jobfile_release(&file);
    parsed(&file, JOBFILE_JSON_LINES, "{\"name\": \"a\", \"run\": \"true\"}");
    assert_int_equal(file.task_count, 1);
    assert_null(file.name);
    jobfile_release(&file);
    parsed(&file, JOBFILE_JSON_LINES,
           "{\"name\": \"B\", \"tasks\": [{\"name\": \"a\", \"run\": \"true\"}]}");
    assert_int_equal(file.bundle_count, 1);
    jobfile_release(&file);
}

static void a_byte_order_mark_and_line_ends_of_other_systems_are_taken(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, "\xef\xbb\xbftasks:\r\n  a: echo x\r\n  b: |\r\n    echo\r\n");
    assert_string_equal(file.tasks[0].argv[1], "x");
    assert_false(file.tasks[1].shell);
    jobfile_release(&file);
    parsed(&file, JOBFILE_JSON, "\xef\xbb\xbf{\"tasks\":\r\n{\"a\": \"true\"}}\r\n");
    jobfile_release(&file);
}

// The words of a line, with | between them; $ stands for a shell.
static void splits(const char *line, const char *expected)
{
    struct jobfile file;
    char text[500], words[500] = "";
    size_t length = 0, at = 0;
    at += (size_t)snprintf(text, sizeof text, "{\"tasks\":{\"a\":\"");
    for (; *line; line++) {
        bool escaped = *line == '"' || *line == '\\';
        if (escaped) text[at++] = '\\';
        text[at++] = *line == '\n' ? ' ' : *line;
        if (*line == '\n') memcpy(text + at - 1, "\\n", 2), at++;
    }
    snprintf(text + at, sizeof text - at, "\"}}");
    parsed(&file, JOBFILE_JSON, text);
    const struct jobfile_task *task = &file.tasks[0];
    for (uint32_t i = 0; i < task->argc && !task->shell; i++)
        length += (size_t)snprintf(words + length, sizeof words - length, "%s%s", i ? "|" : "",
                                   task->argv[i]);
    assert_string_equal(task->shell ? "$" : words, expected);
    if (task->shell) assert_string_equal(task->argv[2], task->command);
    jobfile_release(&file);
}

static void only_commands_without_shell_syntax_are_split(void **state)
{
    (void)state;
    splits("cc -c  a.c -o=b,c:d@e%f+g", "cc|-c|a.c|-o=b,c:d@e%f+g");
    splits(" ls 'a  b'\"c d\"e '' \"\"\n", "ls|a  bc de||");
    splits("grep '$x `y` \\z *' f", "grep|$x `y` \\z *|f");
    splits("echo hello", "echo|hello");
    splits("true\n\n", "true");
    static const char *const shells[]
        = {"a | b",     "a > b",  "a $x",     "a \"$x\"",  "a *",        "a ?",       "a [b]",
           "a ~",       "a #b",   "a \\b",    "a 'b",      "a \"b\\c\"", "a\nb",      "X=1 a",
           "cd /tmp",   "exit 3", "export A", ". ./x",     ": x",        "a; b",      "a && b",
           "a &",       "(a)",    "{ a; }",   "! a",       "if a",       "echo -n a", "echo 'a\\n'",
           "printf %s", "test a", "time a",   "a {b,c}",   "a `b`",      "a 'b' \"c", "\xc3\xa4 b",
           "'a=b' c",   "kill 1", "set -e",   "ulimit -n", "umask 0",    "source x",  "exec a",
           "a ^b",      "a !b",   "'' a",     "\"cd\" x",  "trap x",     "wait",      "eval a"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) splits(shells[i], "$");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_taken_from_the_file),
        cmocka_unit_test(retries_have_a_pause_that_grows_and_codes),
        cmocka_unit_test(top_level_keys_apply_to_all_tasks),
        cmocka_unit_test(an_environment_is_merged_by_name_and_plain_words_stay_words),
        cmocka_unit_test(inputs_have_their_producers),
        cmocka_unit_test(outputs_have_kinds_and_may_be_kept),
        cmocka_unit_test(conditions_are_postfix_and_name_tasks_by_number),
        cmocka_unit_test(a_bundle_is_written_around_its_tasks_or_named_by_them),
        cmocka_unit_test(a_stream_flows_while_its_producer_runs),
        cmocka_unit_test(the_writer_of_a_stream_waits_for_all_its_readers),
        cmocka_unit_test(foreach_makes_many_tasks_that_share_a_name),
        cmocka_unit_test(json_gives_the_same_data_as_yaml),
        cmocka_unit_test(each_line_of_json_lines_is_a_task_but_perhaps_the_first),
        cmocka_unit_test(a_byte_order_mark_and_line_ends_of_other_systems_are_taken),
        cmocka_unit_test(only_commands_without_shell_syntax_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
