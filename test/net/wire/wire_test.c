// wire_test.c - decoding returns the encoded message, and rejects all other bytes.
#include "net/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct wire_message run_message(wire_text *argv, struct wire_file *files)
{
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    argv[0] = wire_text_of("cc");
    argv[1] = wire_text_of("");
    argv[2] = wire_text_of("-o x");
    files[0] = (struct wire_file){.kind = WIRE_FILE, .flags = WIRE_KEEP, .bytes = 9};
    files[0].name = wire_text_of("x");
    files[0].path = wire_text_of("/home/x");
    files[0].object = (rota_object_id){7, 8};
    message.run.task = (rota_task_id){7, 3};
    message.run.attempt = 2;
    message.run.token = UINT64_MAX - 1;
    message.run.name = wire_text_of("build");
    message.run.argv = (wire_texts){argv, 3};
    message.run.cwd = wire_text_of("/tmp");
    message.run.timeout = -5;
    message.run.outputs = (wire_files){files, 1};
    return message;
}

static void feed(struct wire_in *in, const char *bytes, uint32_t count)
{
    memcpy(wire_in_room(in, count), bytes, count);
    wire_in_came(in, count);
}

static void decoding_returns_the_encoded_message(void **state)
{
    (void)state;
    wire_text argv[3];
    struct wire_file files[1];
    struct wire_message put = run_message(argv, files), got;
    struct wire_out out = {0};
    struct wire_in in = {0};
    char before[1000], after[1000];
    wire_put(&out, &put);
    wire_put(&out, &put);
    for (uint32_t i = 0; i < out.length; i++) {  // byte by byte
        feed(&in, out.bytes + i, 1);
        bool whole = i == out.length / 2 - 1 || i == out.length - 1;
        assert_int_equal(wire_take(&in, &got), whole ? WIRE_GOT : WIRE_MORE);
    }
    wire_dump(&put, before, sizeof before);
    wire_dump(&got, after, sizeof after);
    assert_string_equal(before, after);
    assert_string_equal(got.run.argv.items[2].bytes, "-o x");
    assert_int_equal(got.run.outputs.items[0].object.low, 8);
    wire_out_release(&out);
    wire_in_release(&in);
}

// Every prefix with a matching length, and every byte changed: never a crash, and the decoder stays
// within the frame (the sanitizers check it).
static void broken_frames_are_refused(void **state)
{
    (void)state;
    wire_text argv[3];
    struct wire_file files[1];
    struct wire_message put = run_message(argv, files), got;
    struct wire_out out = {0};
    wire_put(&out, &put);
    for (uint32_t cut = 1; cut < out.length - WIRE_HEAD; cut++) {
        struct wire_in in = {0};
        feed(&in, (const char *)&cut, sizeof cut);
        feed(&in, out.bytes + WIRE_HEAD, cut);
        assert_int_equal(wire_take(&in, &got), WIRE_BAD);
        wire_in_release(&in);
    }
    for (uint32_t at = WIRE_HEAD; at < out.length; at++) {
        struct wire_in in = {0};
        feed(&in, out.bytes, out.length);
        in.bytes[at] = (char)~in.bytes[at];
        wire_take(&in, &got);
        wire_in_release(&in);
    }
    wire_out_release(&out);
}

static void a_frame_longer_than_allowed_is_refused_at_both_ends(void **state)
{
    (void)state;
    struct wire_message put = {.kind = WIRE_HELLO_MESSAGE}, got;
    struct wire_out out = {0};
    struct wire_in in = {0};
    char *long_text = calloc(1, WIRE_FRAME_MAX);
    assert_non_null(long_text);
    put.hello.name = (wire_text){long_text, WIRE_FRAME_MAX};
    wire_put(&out, &put);
    assert_true(out.failed && out.too_long);
    assert_int_equal(out.length, 0);
    uint32_t length = WIRE_FRAME_MAX + 1;
    feed(&in, (const char *)&length, sizeof length);
    assert_int_equal(wire_take(&in, &got), WIRE_BAD);
    free(long_text);
    wire_out_release(&out);
    wire_in_release(&in);
}

// Only the version counts, with any other fields.
static void of_another_version_only_the_version_is_read(void **state)
{
    (void)state;
    const enum wire_kind kinds[] = {WIRE_GREET_MESSAGE, WIRE_WELCOME_MESSAGE};
    for (uint32_t i = 0; i < 4; i++) {
        struct wire_in in = {0};
        struct wire_message got;
        char frame[WIRE_HEAD + 12] = {0};
        uint32_t version = i < 2 ? WIRE_VERSION + 1 : WIRE_VERSION, length = 12;
        memcpy(frame, &length, sizeof length);
        frame[WIRE_HEAD] = (char)kinds[i % 2];
        memcpy(frame + WIRE_HEAD + 1, &version, sizeof version);
        memset(frame + WIRE_HEAD + 5, 0xff, 7);
        feed(&in, frame, sizeof frame);
        assert_int_equal(wire_take(&in, &got), version == WIRE_VERSION ? WIRE_BAD : WIRE_GOT);
        if (i == 0) assert_int_equal(got.greet.version, version);
        if (i == 0) assert_string_equal(got.greet.name.bytes, "");
        if (i == 1) assert_int_equal(got.welcome.version, version);
        wire_in_release(&in);
    }
}

static void waiting_messages_can_be_checked_by_kind(void **state)
{
    (void)state;
    struct wire_message started = {.kind = WIRE_STARTED_MESSAGE},
                        lost = {.kind = WIRE_LOST_MESSAGE};
    struct wire_message got;
    struct wire_out out = {0};
    struct wire_in in = {0};
    assert_true(wire_are_all(&in, WIRE_STARTED_MESSAGE));
    wire_put(&out, &lost);
    wire_put(&out, &started);
    wire_put(&out, &started);
    wire_put(&out, &lost);
    feed(&in, out.bytes, out.length - 1);
    assert_false(wire_are_all(&in, WIRE_STARTED_MESSAGE));
    assert_int_equal(wire_take(&in, &got), WIRE_GOT);
    assert_true(wire_are_all(&in, WIRE_STARTED_MESSAGE));  // the last is not complete
    feed(&in, out.bytes + out.length - 1, 1);
    assert_false(wire_are_all(&in, WIRE_STARTED_MESSAGE));
    wire_out_release(&out);
    wire_in_release(&in);
}

// There are always bytes left to send, and still the buffer does not grow.
static void sending_frees_space_in_the_buffer(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE}, got;
    struct wire_out out = {0};
    struct wire_in in = {0};
    uint32_t heard = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        message.stop.attempt = i;
        wire_put(&out, &message);
        uint32_t count = (out.length - out.sent) / 2;
        feed(&in, out.bytes + out.sent, count);
        wire_out_sent(&out, count);
        while (wire_take(&in, &got) == WIRE_GOT) assert_int_equal(got.stop.attempt, heard++);
    }
    assert_true(heard > 99990);
    assert_true(out.capacity <= 256 << 10);
    wire_out_release(&out);
    wire_in_release(&in);
}

// Both buffers still have the beginning or the end of another message.
static void a_long_message_releases_its_memory(void **state)
{
    (void)state;
    enum { LONG = 4 << 20, LITTLE = 32 << 10, FEW = 10 };
    struct wire_message message = {.kind = WIRE_HELLO_MESSAGE}, got;
    struct wire_out out = {0};
    struct wire_in in = {0};
    char *long_text = calloc(1, LONG + 1);
    assert_non_null(long_text);
    message.hello.name = (wire_text){long_text, LONG};
    wire_put(&out, &message);
    message.hello.name = wire_text_of("short");
    wire_put(&out, &message);
    feed(&in, out.bytes, out.length - FEW);
    wire_out_sent(&out, out.length - FEW);
    assert_int_equal(out.length - out.sent, FEW);
    assert_true(out.capacity <= LITTLE);
    assert_int_equal(wire_take(&in, &got), WIRE_GOT);
    assert_int_equal(got.hello.name.length, LONG);
    wire_in_trim(&in);
    assert_true(in.capacity <= LITTLE && in.arena_capacity <= LITTLE);
    feed(&in, out.bytes + out.sent, FEW);
    assert_int_equal(wire_take(&in, &got), WIRE_GOT);
    assert_string_equal(got.hello.name.bytes, "short");
    wire_in_trim(&in);
    assert_int_equal(wire_take(&in, &got), WIRE_MORE);
    free(long_text);
    wire_out_release(&out);
    wire_in_release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_returns_the_encoded_message),
        cmocka_unit_test(broken_frames_are_refused),
        cmocka_unit_test(a_frame_longer_than_allowed_is_refused_at_both_ends),
        cmocka_unit_test(of_another_version_only_the_version_is_read),
        cmocka_unit_test(waiting_messages_can_be_checked_by_kind),
        cmocka_unit_test(sending_frees_space_in_the_buffer),
        cmocka_unit_test(a_long_message_releases_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
