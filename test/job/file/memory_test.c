// memory_test.c - reading and sending job files without enough memory: each failure is reported.
//
// This program has its own malloc(), which fails when it is told to; so all that asks for memory,
// libyaml too, gets none.
#include "job/file/refuse.h"
#include "job/message/submission.h"

#ifdef __SANITIZE_ADDRESS__
#define SYSTEM(name) __interceptor_##name
#else
#define SYSTEM(name) __libc_##name
#endif
void *SYSTEM(malloc)(size_t size);
void *SYSTEM(calloc)(size_t count, size_t size);
void *SYSTEM(realloc)(void *memory, size_t size);

// The nth allocation from now on fails, and perhaps all after it; 0: none of them.
static long fails, after;
static size_t size_max = SIZE_MAX;  // what is larger fails, too
static long refused_sizes;

static bool is_refused(void)
{
    if (!fails) return false;
    if (fails > 1) return --fails, false;
    if (!after) fails = 0;
    after++;
    return true;
}

void *malloc(size_t size)
{
    if (size > size_max) return refused_sizes++, NULL;
    return is_refused() ? NULL : SYSTEM(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : SYSTEM(calloc)(count, size);
}

void *realloc(void *memory, size_t size)
{
    return is_refused() ? NULL : SYSTEM(realloc)(memory, size);
}

// ---- Files -----------------------------------------------------------------------------------

static const char full[]
    = "name: night\n"
      "schedule: {cron: '0 3 * * *', zone: Europe/Berlin}\n"
      "lanes: {disk: {order: submit}, net: }\n"
      "defaults: {cpus: 2, env: {A: no, B: '1'}}\n"
      "tasks:\n"
      "  all:\n"
      "    run: [cc, -c, a b]\n"
      "    needs: [other, each]\n"
      "    when: su(other) & (fa(b) | nr(night))\n"
      "    lane: disk\n"
      "    group: sda\n"
      "    in: [./x//y, {name: z, path: /etc/hosts}, ../up, made]\n"
      "    out: [o, {name: d, kind: directory, keep: true}, e/]\n"
      "    keep: [./o]\n"
      "    env: {A: yes, C: }\n"
      "    stdin: z\n"
      "    retries: {max: 3, backoff: 0.5, codes: [75, 1]}\n"
      "  other: {run: 'true', out: made, lane: net}\n"
      "  b: {run: 'cat < /dev/null', needs: night, stdin: made}\n"
      "  w: {run: seq 9, out: [{name: s, kind: stream}]}\n"
      "  r1: {run: cat, stdin: s, needs: b}\n"
      "  r2: {run: cat, stdin: s}\n"
      "  each: {foreach: [a, b], run: 'echo {{item}}', bundle: late}\n"
      "  grid-{{x}}-{{y}}: {matrix: {x: [1, 2], y: [3, 4]}, run: 'echo {{x}} {{y}} {{index}}'}\n"
      "  night: {tasks: [{name: m, run: 'true'}]}\n";
static const char lines[] = "{\"name\": \"a\", \"run\": \"echo \\u00e4\"}\n"
                            "{\"name\": \"b\", \"run\": [\"true\"], \"needs\": [\"a\"]}\n";
static const char wrong[] = "tasks:\n"
                            "  a: {run: 'true', neds: b, out: [../x, y/../z]}\n"
                            "  b: {run: 'true', needs: ab, when: su(nobody)}\n"
                            "  c: {foreach: [1], run: '{{what}}', lane: none}\n"
                            "  a: {cpus: many}\n";
static const char circle[] = "tasks:\n"
                             "  a: {run: x, needs: b}\n"
                             "  b: {run: x, needs: c}\n"
                             "  c: {run: x, needs: a}\n";
static const char broken[] = "tasks: {a: [\n";

// ---- Reading them ----------------------------------------------------------------------------

static void errors_are_true(const struct jobfile *file, const struct jobfile *whole)
{
    for (uint32_t i = 0; i < file->error_count; i++) {
        const struct jobfile_error *error = &file->errors[i];
        bool is_memory = file->lacks_memory && i + 1 == file->error_count;
        if (is_memory)
            assert_string_equal(error->reason, "out of memory");
        else
            assert_string_equal(error->reason, whole->errors[i].reason);
    }
}

// Without the first, the second, ... until there is nothing left to go without.
static void read_without(enum jobfile_format format, const char *text, long all_after)
{
    struct jobfile whole, file;
    long tries = 0;
    bool fine = jobfile_parse(&whole, "f", format, text, strlen(text));
    for (long refusals = 1; refusals;) {
        fails = ++tries;
        after = all_after;
        bool read = jobfile_parse(&file, "f", format, text, strlen(text));
        fails = 0;
        refusals = after - all_after;
        assert_int_equal(read, fine && !refusals);
        assert_true(!refusals || file.lacks_memory);
        assert_true(read || file.error_count);
        errors_are_true(&file, &whole);
        jobfile_release(&file);
    }
    assert_true(tries > 3);
    jobfile_release(&whole);
}

static void all_read(enum jobfile_format format, const char *text)
{
    read_without(format, text, 0);
    read_without(format, text, 1);
}

static void each_lack_of_memory_is_reported(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    jobfile_release(&file);
    all_read(JOBFILE_YAML, full);
    all_read(JOBFILE_JSON_LINES, lines);
    all_read(JOBFILE_JSON, "{\"tasks\": {\"a\": {\"run\": [\"sh\", \"-c\", \"it's\"]}}}");
}

static void other_errors_beside_it_are_correct(void **state)
{
    (void)state;
    all_read(JOBFILE_YAML, wrong);
    all_read(JOBFILE_YAML, circle);
    all_read(JOBFILE_YAML, broken);
}

// Most of a file is stored in blocks, and a second block is rarely needed. By varying the length of
// the first task, each of the other allocations becomes the one that needs it.
static void pads_read(const char *text)
{
    enum { FIRST_BLOCK = 1 << 15 };
    const char *tasks = strstr(text, "tasks:\n");
    struct jobfile whole, file;
    long lacks = 0;
    size_t room = FIRST_BLOCK + strlen(text) + 100;
    char *padded = calloc(1, room), *blanks = calloc(1, FIRST_BLOCK);
    memset(blanks, 'x', FIRST_BLOCK - 1);
    for (size_t pad = 0; pad < FIRST_BLOCK / 2; pad += 7) {
        snprintf(padded, room, "%.*stasks:\n  pad: {run: 'echo %.*s'}\n%s", (int)(tasks - text),
                 text, (int)pad, blanks, tasks + strlen("tasks:\n"));
        bool fine = jobfile_parse(&whole, "f", JOBFILE_YAML, padded, strlen(padded));
        refused_sizes = 0;
        size_max = FIRST_BLOCK * 4;
        bool read = jobfile_parse(&file, "f", JOBFILE_YAML, padded, strlen(padded));
        size_max = SIZE_MAX;
        assert_int_equal(read, fine && !refused_sizes);
        assert_int_equal(file.lacks_memory, refused_sizes > 0);
        errors_are_true(&file, &whole);
        lacks += refused_sizes > 0;
        jobfile_release(&file);
        jobfile_release(&whole);
    }
    assert_true(lacks > 10);
    free(padded);
    free(blanks);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    pads_read(full);
    pads_read(wrong);
    pads_read(circle);
}

// Arrays and tables that have to grow again and again.
static void each_allocation_of_a_large_file_may_fail(void **state)
{
    (void)state;
    char *text = calloc(1, 200000);
    size_t used = (size_t)snprintf(text, 200000, "{\"tasks\": {");
    for (int i = 0; i < 1500; i++)
        used += (size_t)snprintf(text + used, 200000 - used,
                                 "%s\"t%d\": {\"run\": \"echo '%d\", \"out\": [\"./o%d\"]}",
                                 i ? "," : "", i, i, i);
    snprintf(text + used, 200000 - used, "}}");
    all_read(JOBFILE_JSON, text);
    free(text);
}

// ---- Sending them ----------------------------------------------------------------------------

static const struct submit_upload *upload_of(const void *context, const char *path)
{
    return strstr(path, "hosts") ? context : NULL;
}

static void messages_write(const struct jobfile *file, submit_upload_fn *upload)
{
    static const struct submit_upload uploaded = {{5, 6}, WIRE_FILE};
    struct wire_make made = {.object = uploaded.object};
    struct submit_job job = {.file = file, .folder = "/there", .request = {1, 2}};
    struct wire_out whole = {0}, out;
    long refusals = 1;
    job.upload = upload;
    job.context = &uploaded;
    job.uploads = &made;
    job.upload_count = upload != NULL;
    submit_put(&job, &whole);
    for (long tries = 1; refusals; tries++) {
        out = (struct wire_out){0};
        fails = tries;
        after = 0;
        submit_put(&job, &out);
        fails = 0;
        refusals = after;
        assert_int_equal(out.failed, refusals > 0);
        if (!refusals) assert_int_equal(out.length, whole.length);
        if (!refusals) assert_memory_equal(out.bytes, whole.bytes, whole.length);
        wire_out_release(&out);
    }
    wire_out_release(&whole);
}

static void messages_are_complete_or_missing(void **state)
{
    (void)state;
    struct jobfile file;
    parsed(&file, JOBFILE_YAML, full);
    messages_write(&file, NULL);
    messages_write(&file, upload_of);
    jobfile_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lack_of_memory_is_reported),
        cmocka_unit_test(other_errors_beside_it_are_correct),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(each_allocation_of_a_large_file_may_fail),
        cmocka_unit_test(messages_are_complete_or_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
