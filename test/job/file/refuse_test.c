// refuse_test.c - every error in a job file is reported, with its place and a reason.
#include "job/file/refuse.h"

// ---- YAML ------------------------------------------------------------------

struct wrong {
    const char *text, *expected;
};

#define TASKS "tasks:\n"
#define A "  a: 'true'\n"

static const struct wrong wrong_yaml[] = {
    // Invalid YAML, or too much of it.
    {"", "1:1: the file is empty\n"},
    {" \n# only words\n", "1:1: the file is empty\n"},
    {TASKS "\ta: x\n", "2:1: a tab in the indentation; use spaces\n"},
    {TASKS "  a: 'x\n  b: y\n", "2:6: unterminated string\n"},
    {TASKS "  a: \"x\n", "2:6: unterminated string\n"},
    {TASKS "  a: [x\n", ""},
    {TASKS "  a: x\n b: y\n", ""},
    {TASKS "  a: &x y\n", "2:6: anchors and aliases are not supported; use defaults or foreach\n"},
    {TASKS "  a: *x\n", "2:6: anchors and aliases are not supported; use defaults or foreach\n"},
    {TASKS "  a: !!str x\n", "2:6: tags are not supported; each key has a fixed type\n"},
    {TASKS "  a: {<<: {run: x}}\n",
     "2:7: merge keys are not supported; use defaults\n2:3: task \"a\" has no run\n"},
    {TASKS A "---\n" TASKS A, "3:1: a second document; a job file has one\n"},
    {TASKS "  a: \"x\\0y\"\n", "2:6: a zero byte in a string\n"},
    {"- a\n", "1:1: the file is a list; expected a mapping\n"},
    {"text\n", "1:1: the file is a string; expected a mapping\n"},
    // The top.
    {"name: x\n", "1:1: the file has no tasks\n"},
    {TASKS, "1:7: tasks is empty\n"},
    {"tasks: {}\n", "1:8: tasks is empty\n"},
    {"tasks: x\n", "1:8: tasks must be a mapping or a list\n"},
    {"task:\n" A, "1:1: the file has no key \"task\" (did you mean tasks?)\n"},
    {"nonsense: 1\n" TASKS A, "1:1: the file has no key \"nonsense\"\n"},
    {"[a]: 1\n" TASKS A, "1:1: a key of the file is a list; expected a string\n"},
    {"name: a\nname: b\n" TASKS A, "2:1: the file has a duplicate key name\n"},
    {"rota: 2\n" TASKS A, "1:7: rota is \"2\"; expected a number from 1 to 1\n"},
    {"name: a/b\n" TASKS A, "1:7: the name of the job contains /: \"a/b\"\n"},
    {"policy: push\n" TASKS A, "1:9: policy is \"push\"; expected plan, pull or claim\n"},
    {"on_failure: stop\n" TASKS A, "1:13: on_failure is \"stop\"; expected block or fail_job\n"},
    {"schedule: {corn: x}\n" TASKS A, "1:12: schedule has no key \"corn\" (did you mean cron?)\n"},
    {"schedule: {overlap: twice}\n" TASKS A,
     "1:21: overlap is \"twice\"; expected skip or queue\n"},
    {"schedule: [x]\n" TASKS A, "1:11: schedule is a list; expected a mapping\n"},
    {"lanes: [x]\n" TASKS A,
     "1:8: lanes must be a mapping, NAME: {order: ..., strict: ...}\n"},
    {"lanes: {a: {order: up}}\n" TASKS A, "1:20: order is \"up\"; expected request or submit\n"},
    {"lanes: {a: {strict: 2}}\n" TASKS A, "1:21: strict is \"2\"; expected true or false\n"},
    {"lanes: {a: , a: }\n" TASKS A, "1:14: duplicate lane \"a\"\n"},
    {"defaults: {run: x}\n" TASKS A, "1:17: defaults cannot have run\n"},
    {"defaults: {cpu: 1}\n" TASKS A, "1:12: defaults has no key \"cpu\" (did you mean cpus?)\n"},
    {"defaults: {cpus: x}\n" TASKS A "  b: x\n",
     "1:18: cpus is \"x\"; expected a number from 0 to 65536\n"},
    {"defaults: \n" TASKS A, "1:10: defaults has no value; expected a mapping\n"},
};

static const struct wrong wrong_tasks[] = {
    // Names and commands.
    {"  a: {need: b, run: x}\n", "2:7: a task has no key \"need\" (did you mean needs?)\n"},
    {"  a: {command: x}\n", "2:7: a task has no key \"command\" (did you mean run?)\n"
                           "2:3: task \"a\" has no run\n"},
    {"  a: {comand: x}\n", "2:7: a task has no key \"comand\" (did you mean run?)\n"
                          "2:3: task \"a\" has no run\n"},
    {"  a: {run: x, dependson: b}\n",
     "2:15: a task has no key \"dependson\" (did you mean needs?)\n"},
    {"  a: {run: x, depends_on: b}\n",
     "2:15: a task has no key \"depends_on\" (did you mean needs?)\n"},
    {"  a: {run: x, retry: 2}\n", "2:15: a task has no key \"retry\" (did you mean retries?)\n"},
    {"  a: {runn: x}\n", "2:7: a task has no key \"runn\" (did you mean run?)\n"
                         "2:3: task \"a\" has no run\n"},
    {"  a: {run: x, run: y}\n", "2:15: a task has a duplicate key run\n"},
    {A A, "3:3: duplicate task \"a\", first in line 2\n"},
    {"  a:\n", "2:3: task \"a\" has no run\n"},
    {"  a: {cpus: 1}\n", "2:3: task \"a\" has no run\n"},
    {"  a: []\n", "2:6: run is an empty list; expected a program and its arguments\n"},
    {"  a: {run: }\n", "2:12: run has no value\n"},
    {"  a: {run: ''}\n", "2:12: run is empty\n"},
    {"  a: ' '\n", "2:6: run is empty\n"},
    {"  a: ['']\n", "2:7: the program in run is empty\n"},
    {"  a: [[x]]\n", "2:7: the program in run is a list; expected a string\n"},
    {"  a: {run: {x: y}}\n", "2:12: run is a mapping; expected a string\n"},
    {"  a: {name: b, run: x}\n", "2:13: the key of the task is already its name\n"},
    {"  - x\n", "2:5: the task has no name\n"},
    {"  - {run: x}\n", "2:5: the task has no name\n"},
    {"  '': x\n", "2:3: the name of the task is empty: \"\"\n"},
    {"  a/b: x\n", "2:3: the name of the task contains /: \"a/b\"\n"},
    {"  \"a\\tb\": x\n", "2:3: the name of the task contains a control character: \"a?b\"\n"},
    {"  \"a\\u009bb\": x\n", "2:3: the name of the task contains a control character: \"a?b\"\n"},
    {"  [a]: x\n", "2:3: the name of a task is a list; expected a string\n"},
    // Others.
    {"  a: {run: x, needs: b}\n", "2:22: no such task: \"b\"\n"},
    {"  first: x\n  a: {run: x, needs: [firts]}\n",
     "3:23: no such task: \"firts\" (did you mean \"first\"?)\n"},
    {"  a: {run: x, needs: {b: c}}\n", "2:22: a name in needs is a mapping; expected a string\n"},
    {"  a: {run: x, needs: }\n", "2:22: a name in needs has no value\n"},
    {"  a: {run: x, when: su(b)}\n", "2:24: no such task: \"b\"\n"},
    {"  a: {run: x, when: 'su(b'}\n", "2:26: when: expected ) after the name\n"},
    {"  \xc3\xa4: {run: x, when: \"nr(a) & \xc3\xa4u(b)\"}\n",
     "2:30: when: expected success, failed, notrunning, done or '('\n"},
    {"  a: {run: x}\n  b: {run: x, when: faild(a)}\n",
     "3:21: when: expected success, failed, notrunning, done or '(' (did you mean failed?)\n"},
    {"  a: {run: x}\n  b: {run: x, when: (sucess(a))}\n",
     "3:22: when: expected success, failed, notrunning, done or '(' (did you mean success?)\n"},
    {"  a: {run: x}\n  b: {run: x, when: xyz(a)}\n",
     "3:21: when: expected success, failed, notrunning, done or '('\n"},
    {"  a:\n    run: x\n    when: >\n      su(b\n", "4:11: when: expected ) after the name\n"},
    {"  a: {run: x, bundle: b}\n  b: x\n", "2:23: \"b\" is not a bundle\n"},
    {"  b: {tasks: }\n", "2:14: tasks is empty\n"},
    {"  b: {tasks: {a: x}, run: y}\n", "2:27: a bundle cannot have run\n"},
    {"  b: {tasks: {c: {tasks: {a: x}}}}\n", "2:15: a bundle cannot be a member of a bundle\n"},
    {"  b: {tasks: {a: {run: x, bundle: d}}}\n", "2:35: the task is already in a bundle\n"},
    // Lanes.
    {"  a: {run: x, lane: l}\n",
     "2:21: no such lane: \"l\" (list it under lanes at the top of the file)\n"},
    {"  a: {run: x, group: g}\n", "2:22: group needs a lane\n"},
    {"  a: {run: x, access: read}\n", "2:23: access needs a lane\n"},
    {"  a: {run: x, access: run}\n", "2:23: access is \"run\"; expected read or write\n"
                                     "2:23: access needs a lane\n"},
    // Numbers.
    {"  a: {run: x, cpus: -1}\n", "2:21: cpus is \"-1\"; expected a number from 0 to 65536\n"},
    {"  a: {run: x, cpus: 99999999999999999999}\n",
     "2:21: cpus is \"99999999999999999999\"; expected a number from 0 to 65536\n"},
    {"  a: {run: x, cpus: [1]}\n", "2:21: cpus is a list; expected a string\n"},
    {"  a: {run: x, priority: 128}\n",
     "2:25: priority is \"128\"; expected a number from -128 to 127\n"},
    {"  a: {run: x, mem: 5X}\n",
     "2:20: mem is \"5X\"; expected a size like 512M or 2G, or a number of MiB\n"},
    {"  a: {run: x, mem: 9999999T}\n",
     "2:20: mem is \"9999999T\"; expected a size like 512M or 2G, or a number of MiB\n"},
    {"  a: {run: x, timeout: 5x}\n",
     "2:24: timeout is \"5x\"; expected a time like 90, 90s, 5m or 1h30m\n"},
    {"  a: {run: x, timeout: 5m1h}\n",
     "2:24: timeout is \"5m1h\"; expected a time like 90, 90s, 5m or 1h30m\n"},
    {"  a: {run: x, timeout: 101000d}\n",
     "2:24: timeout is \"101000d\"; expected a time like 90, 90s, 5m or 1h30m\n"},
    {"  a: {run: x, timeout: 0}\n", "2:24: timeout is 0; omit the key for no timeout\n"},
    {"  a: {run: x, grace: -1s}\n",
     "2:22: grace is \"-1s\"; expected a time like 90, 90s, 5m or 1h30m\n"},
    {"  a: {run: x, retries: 1001}\n",
     "2:24: retries is \"1001\"; expected a number from 0 to 1000\n"},
    {"  a: {run: x, retries: {backoff: 1}}\n", "2:24: retries has no max\n"},
    {"  a: {run: x, retries: {max: 1, factor: 0.5}}\n",
     "2:41: factor is \"0.5\"; expected a number from 1 to 100\n"},
    {"  a: {run: x, retries: {max: 1, codes: [0]}}\n",
     "2:41: an exit code is \"0\"; expected a number from 1 to 255\n"},
    {"  a: {run: x, retries: {max: 1, codes: []}}\n",
     "2:40: codes has 0 exit codes; expected 1 to 256\n"},
    {"  a: {run: x, cache: maybe}\n", "2:22: cache is \"maybe\"; expected true or false\n"},
    // Environment.
    {"  a: {run: x, env: [A]}\n", "2:20: env is not a mapping; expected NAME: VALUE\n"},
    {"  a: {run: x, env: {A: 1, B: 2, A: 3}}\n", "2:33: duplicate name in env\n"},
    {"  a: {run: x, env: {A=B: 1}}\n", "2:21: a name in env contains =: \"A=B\"\n"},
    {"  a: {run: x, env: {'': 1}}\n", "2:21: a name in env is empty\n"},
    {"  a: {run: x, env: {A: [1]}}\n", "2:24: a value in env is a list; expected a string\n"},
    // Data.
    {"  a: {run: x, out: ../b}\n", "2:20: the name of an output contains ..: \"../b\"\n"},
    {"  a: {run: x, out: b/../../c}\n",
     "2:20: the name of an output contains ..: \"b/../../c\"\n"},
    {"  a: {run: x, out: /b}\n", "2:20: the name of an output is not relative: \"/b\"\n"},
    {"  a: {run: x, out: ./}\n", "2:20: the name of an output is empty: \"./\"\n"},
    {"  a: {run: x, out: \"b\\nc\"}\n",
     "2:20: the name of an output contains a control character: \"b?c\"\n"},
    {"  a: {run: x, out: [b, ./b]}\n", "2:24: \"b\" is already an output of \"a\", in line 2\n"},
    {"  a: {run: x, out: b}\n  c: {run: x, out: [b]}\n",
     "3:21: \"b\" is already an output of \"a\", in line 2\n"},
    {"  a: {run: x, out: [{kind: file}]}\n", "2:21: an output has no name\n"},
    {"  a: {run: x, out: [{name: b, kind: pipe}]}\n",
     "2:37: kind is \"pipe\"; expected file, directory or stream\n"},
    {"  a: {run: x, in: [b, {name: b, path: c}]}\n", "2:23: duplicate input \"b\"\n"},
    {"  a: {run: x, in: [{}]}\n", "2:20: an input has neither a name nor a path\n"},
    {"  a: {run: x, in: [{name: ../b}]}\n", "2:20: the name of an input contains ..: \"../b\"\n"},
    {"  a: {run: x, keep: [b]}\n", "2:22: keep lists \"b\", which is not an output of the task\n"},
    // Many from one.
    {"  a: {run: 'x {{y}} z'}\n", "2:15: \"{{y}}\" is not defined here\n"},
    {"  a: {foreach: [1], run: 'x {{y}}'}\n", "2:29: \"{{y}}\" is not defined here\n"},
    {"  a-{{y}}: {foreach: [1, 2], run: x}\n  b: {run: x, needs: a}\n",
     "2:5: \"{{y}}\" is not defined here\n"},
    {"  a: {foreach: [], run: x}\n", "2:16: foreach is an empty list\n"},
    {"  a: {foreach: x, run: x}\n", "2:16: foreach is not a list\n"},
    {"  a: {foreach: {glob: '*'}, run: x}\n", "2:23: a glob needs a job file on disk\n"},
    {"  a: {foreach: {blob: '*'}, run: x}\n",
     "2:17: foreach has no key \"blob\" (did you mean glob?)\n"
     "2:16: foreach must be a list or {glob: ...}\n"},
    {"  a: {foreach: [1], matrix: {x: [1]}, run: x}\n",
     "2:16: foreach cannot be combined with matrix; add a key to matrix\n"},
    {"  a: {matrix: {x: 1}, run: x}\n", "2:19: x is not a list\n"},
    {"  a: {matrix: {}, run: x}\n", "2:15: matrix must be a mapping of lists\n"},
    {"  a: {matrix: {x: [1], x: [2]}, run: x}\n", "2:24: \"x\" is already used\n"},
    {"  a: {matrix: {x-y: [1]}, run: x}\n",
     "2:16: \"x-y\" is not a word of letters, digits and _\n"},
    {"  a: {foreach: [1], run: x}\n  a: x\n",
     "3:3: \"a\" is already the name of an expanded task\n"},
    {"  a: x\n  a: {foreach: [1], run: x}\n",
     "3:3: the group name \"a\" is already the name of a task\n"},
    {"  a: {foreach: [1, 2], run: x, out: o}\n",
     "2:37: \"o\" is already an output of \"a-1\", in line 2\n"},
    {"  a: {foreach: [1], run: x}\n  b: {run: x, when: su(a)}\n",
     "3:24: \"a\" is a group of tasks; put them into a bundle\n"},
};

static const struct wrong cycles[] = {
    {"  a: {run: x, needs: a}\n", "2:3: a cycle: \"a\" waits for \"a\"\n"},
    {"  a: {run: x, needs: b}\n  b: {run: x, needs: c}\n  c: {run: x, needs: b}\n",
     "3:3: a cycle: \"b\" waits for \"c\" waits for \"b\"\n"},
    {"  a: {run: x, in: o}\n  b: {run: x, needs: a, out: o}\n",
     "2:3: a cycle: \"a\" waits for \"b\" waits for \"a\"\n"},
    {"  a: {run: x, in: s, out: t}\n  b: {run: x, out: [{name: s, kind: stream}], in: t}\n",
     "2:3: a cycle: \"a\" waits for \"b\" waits for \"a\"\n"},
    {"  a: {run: x, when: done(b)}\n  b: {run: x, needs: a}\n",
     "2:3: a cycle: \"a\" waits for \"b\" waits for \"a\"\n"},
    {"  a: {run: x, bundle: B, needs: b}\n  b: {run: x, needs: B}\n",
     "2:3: a cycle: \"a\" waits for \"b\" waits for \"B\" waits for \"a\"\n"},
    {"  a: {run: x, bundle: B, when: su(B)}\n",
     "2:3: a cycle: \"a\" waits for \"B\" waits for \"a\"\n"},
    {"  a: {run: x, lane: l, needs: z}\n  z: {run: x, needs: b}\n  b: {run: x, lane: l}\nlanes:"
     " {l: {order: submit}}\n",
     "2:3: a cycle: \"a\" waits for \"z\" waits for \"b\" waits for \"a\"\n"},
};

// An empty expectation takes any single reason: the library's words may change.
static void wrong_check(enum jobfile_format format, const char *head, const struct wrong *wrong)
{
    char text[1000];
    struct jobfile file;
    snprintf(text, sizeof text, "%s%s", head, wrong->text);
    if (*wrong->expected) {
        refused(format, text, wrong->expected);
        return;
    }
    assert_false(jobfile_parse(&file, "f", format, text, strlen(text)));
    assert_int_equal(file.error_count, 1);
    assert_true(file.errors[0].place.line > 0 && file.errors[0].place.column > 0);
    jobfile_release(&file);
}

static void errors_at_the_top_level_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_yaml / sizeof *wrong_yaml; i++)
        wrong_check(JOBFILE_YAML, "", &wrong_yaml[i]);
}

static void errors_in_a_task_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_tasks / sizeof *wrong_tasks; i++)
        wrong_check(JOBFILE_YAML, TASKS, &wrong_tasks[i]);
}

static void a_cycle_is_reported_completely(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++)
        wrong_check(JOBFILE_YAML, TASKS, &cycles[i]);
}

// ---- JSON ------------------------------------------------------------------

static const struct wrong wrong_json[] = {
    {"", "1:1: the file is empty\n"},
    {"{\"tasks\": {\"a\": \"x}\n", "1:17: unterminated string on this line\n"},
    {"{\"tasks\": {\"a\": \"x", "1:17: unterminated string\n"},
    {"{\"tasks\":\n {\"a\": \"x\\n and much more text", "2:8: unterminated string\n"},
    {"{\"tasks\": {\"a\": \"x\\n and\n more\"}}", "1:17: unterminated string on this line\n"},
    {"{\"tasks\": {\"a\": \"x\\ty\\u00e4\\q and more\"}}",
     "1:28: unknown escape sequence\n"},
    {"{\"tasks\": {\"a\": \"x\ty\"}}", "1:19: write a tab in a string as \\t\n"},
    {"{\"tasks\": {\"a\": \"x\"", "1:20: expected , or }\n"},
    {"{\"tasks\": [1 2]}", "1:14: expected , or ]\n"},
    {"{\"tasks\" {}}", "1:10: expected : after the key\n"},
    {"{tasks: {}}", "1:2: expected a key in double quotes\n"},
    {"{\"tasks\": {\"a\": \"x\",}}", "1:21: expected a key in double quotes\n"},
    {"{\"tasks\": {\"a\": tru}}",
     "1:17: expected a string in quotes, a number, true, false, [ or {\n"},
    {"{\"tasks\": {\"a\": 01}}",
     "1:17: expected a string in quotes, a number, true, false, [ or {\n"},
    {"{\"tasks\":", "1:10: unexpected end of file\n"},
    {"{\"tasks\": {\"a\": \"x\"}} {}", "1:23: unexpected text after the end\n"},
    {"{\"tasks\": {\"a\": \"\\q\"}}", "1:18: unknown escape sequence\n"},
    {"{\"tasks\": {\"a\": \"\\u12g4\"}}", "1:18: \\u needs four hexadecimal digits\n"},
    {"{\"tasks\": {\"a\": \"\\ud800x\"}}", "1:18: incomplete surrogate pair after \\u\n"},
    {"{\"tasks\": {\"a\": \"x\\u0000\"}}", "1:19: a zero byte in a string\n"},
    {"{\"tasks\": {\"a\": null}}", "1:12: task \"a\" has no run\n"},
    {"{\"tasks\": {\"a\": {\"run\": null}}}", "1:25: run has no value\n"},
    {"{\"tasks\": {\"a\": \"x\",\n \"\\u00e4\\t\": \"x\", \"b\": {\"rum\": \"x\"}}}",
     "2:2: the name of the task contains a control character: \"\xc3\xa4?\"\n"
     "2:25: a task has no key \"rum\" (did you mean run?)\n"
     "2:19: task \"b\" has no run\n"},
    {"[]", "1:1: the file is a list; expected a mapping\n"},
};

static void invalid_json_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_json / sizeof *wrong_json; i++)
        wrong_check(JOBFILE_JSON, "", &wrong_json[i]);
    refused(JOBFILE_JSON_LINES, "{\"name\": \"a\", \"run\": \"x\"}\n\"b\"\n",
            "2:1: expected an object with a task\n");
    refused(JOBFILE_JSON_LINES, "{\"rota\": 1}\n", "1:1: the file has no tasks\n");
    refused(JOBFILE_JSON_LINES, "{\"name\": \"a\", \"run\": \"x\", \"policy\": 1}\n",
            "1:27: a task has no key \"policy\"\n");
}

// ---- Bytes and limits ----------------------------------------------------------

static void invalid_text_is_found(void **state)
{
    (void)state;
    refused(JOBFILE_YAML, TASKS "  \xc3\xa4: \xff\n", "2:6: not valid UTF-8\n");
    refused(JOBFILE_YAML, TASKS "  a: \xc3", "2:6: not valid UTF-8\n");
    refused(JOBFILE_YAML, TASKS "  a: \xed\xa0\x80", "2:6: not valid UTF-8\n");
    refused(JOBFILE_YAML, TASKS "  a: \xc0\x80", "2:6: not valid UTF-8\n");
    refused(JOBFILE_YAML,
            "\xff\xfe"
            "a",
            "1:1: not valid UTF-8\n");
    refused(JOBFILE_JSON, "{\"a\x1b\"}", "1:4: a control character\n");
    refused_bytes(JOBFILE_YAML, "tasks:\n\0", 8, "2:1: a zero byte; this is not a text file\n");
}

// The same piece over and over, between two others.
static char *repeated(const char *before, const char *piece, size_t count, const char *after)
{
    size_t length = strlen(piece), used = strlen(before);
    char *text = malloc(used + length * count + strlen(after) + 1);
    assert_non_null(text);
    memcpy(text, before, used);
    for (size_t i = 0; i < count; i++, used += length) memcpy(text + used, piece, length);
    memcpy(text + used, after, strlen(after) + 1);
    return text;
}

static void refused_repeated(enum jobfile_format format, const char *before, const char *piece,
                             size_t count, const char *expected)
{
    char *text = repeated(before, piece, count, "");
    refused(format, text, expected);
    free(text);
}

static void depth_ends_before_it_costs(void **state)
{
    (void)state;
    refused_repeated(JOBFILE_YAML, "a: ", "[", 1000000,
                     "1:67: more than 64 nested levels\n");
    refused_repeated(JOBFILE_YAML, "", "- ", 100000,
                     "1:129: more than 64 nested levels\n");
    refused_repeated(JOBFILE_JSON, "", "[", 1000000,
                     "1:65: more than 64 nested levels\n");
    refused_repeated(JOBFILE_JSON, "", "{\"a\":", 1000000,
                     "1:321: more than 64 nested levels\n");
}

static void long_names_and_commands_are_refused(void **state)
{
    (void)state;
    char *name = repeated(TASKS "  ", "n", 256, ": x\n");
    struct jobfile file;
    assert_false(jobfile_parse(&file, "f", JOBFILE_YAML, name, strlen(name)));
    assert_non_null(strstr(file.errors[0].reason, "is longer than 255 bytes"));
    jobfile_release(&file);
    free(name);
    char *run = repeated(TASKS "  a: {run: echo, env: {A: '", "x", 128 << 10, "'}}\n");
    refused(JOBFILE_YAML, run,
            "2:3: task \"a\": the command and its environment have 131080 bytes, more than 128 "
            "KiB\n");
    free(run);
}

static void only_the_first_errors_are_reported_each_once(void **state)
{
    (void)state;
    struct jobfile file;
    char *text = repeated("tasks:\n", "- {name: 'a/b', run: x}\n", 1000, "");
    assert_false(jobfile_parse(&file, "f", JOBFILE_YAML, text, strlen(text)));
    assert_int_equal(file.error_count, JOBFILE_ERRORS_MAX);
    assert_int_equal(file.errors[19].place.line, 21);
    jobfile_release(&file);
    free(text);
    text = repeated("defaults: {cpus: x}\ntasks:\n  a: {run: x, foreach: [", "1,", 1000, "]}");
    refused(JOBFILE_YAML, text, "1:18: cpus is \"x\"; expected a number from 0 to 65536\n");
    free(text);
}

static void too_many_tasks_and_needs_are_refused(void **state)
{
    (void)state;
    char *text = repeated("tasks: {a: {run: x, foreach: [", "1,", 1000001, "]}}");
    refused(JOBFILE_YAML, text, "1:9: more than 1000000 tasks\n");
    free(text);
    refused(JOBFILE_YAML,
            "tasks: {a: {run: x, matrix: {a: [1,2,3,4,5,6,7,8,9,0], b: [1,2,3,4,5,6,7,8,9,0], "
            "c: [1,2,3,4,5,6,7,8,9,0], d: [1,2,3,4,5,6,7,8,9,0], e: [1,2,3,4,5,6,7,8,9,0], "
            "f: [1,2,3,4,5,6,7,8,9,0], g: [1,2]}}}",
            "1:9: more than 1000000 tasks\n");
    text = repeated("tasks: {b: {run: x, needs: a, foreach: [", "1,", 4000,
                    "]},\n a: {run: x,"
                    " matrix: {p: [1,2,3,4,5,6,7,8,9,0], q: [1,2,3,4,5,6,7,8,9,0], r: "
                    "[1,2,3,4,5,6,7,8,9,0], s: [1,2,3,4]}}}");
    refused(JOBFILE_YAML, text, "1:9: more than 10000000 dependencies; put tasks into a bundle\n");
    free(text);
}

static void a_long_chain_may_be_a_cycle_too(void **state)
{
    (void)state;
    enum { COUNT = 100000, LINE = 60 };
    char *text = malloc(COUNT * LINE);
    size_t used = 0;
    struct jobfile file;
    assert_non_null(text);
    for (int i = 0; i < COUNT; i++)
        used += (size_t)snprintf(text + used, LINE,
                                 "{\"name\":\"t%d\",\"run\":\"x\",\"needs\":\"t%d\"}\n", i,
                                 (i + 1) % COUNT);
    assert_false(jobfile_parse(&file, "f", JOBFILE_JSON_LINES, text, used));
    assert_int_equal(file.error_count, 1);
    assert_non_null(strstr(file.errors[0].reason, ", 99850 more waits for \"t0\""));
    jobfile_release(&file);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_at_the_top_level_are_found),
        cmocka_unit_test(errors_in_a_task_are_found),
        cmocka_unit_test(a_cycle_is_reported_completely),
        cmocka_unit_test(invalid_json_is_found),
        cmocka_unit_test(invalid_text_is_found),
        cmocka_unit_test(depth_ends_before_it_costs),
        cmocka_unit_test(long_names_and_commands_are_refused),
        cmocka_unit_test(only_the_first_errors_are_reported_each_once),
        cmocka_unit_test(too_many_tasks_and_needs_are_refused),
        cmocka_unit_test(a_long_chain_may_be_a_cycle_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
