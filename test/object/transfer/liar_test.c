// liar_test.c - peers that send wrong data: none of it gets a name, and the next peer is asked.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum lie {
    WRONG_BYTES, WRONG_LAST_BYTE, TOO_MANY, TOO_FEW, WRONG_HASH, WRONG_OFFSET, HUGE, OTHER_SIZE,
    NO_ENTRY, GARBAGE, GARBAGE_BEHIND, SILENCE, SILENCE_IN_BETWEEN, DRIP, CONTENT_TWICE,
    UNASKED, HUGE_LIST, NOT_A_LIST, LIES
};

// How each lie is reported.
static const char *const reasons[LIES] = {
    [WRONG_BYTES] = "do not match their hash",
    [WRONG_LAST_BYTE] = "do not match their hash",
    [TOO_MANY] = "was not requested",
    [TOO_FEW] = "was not requested",
    [WRONG_HASH] = "do not match their hash",
    [WRONG_OFFSET] = "was not requested",
    [HUGE] = "above the limit",
    [OTHER_SIZE] = "wrong number of bytes",
    [NO_ENTRY] = "invalid content",
    [GARBAGE] = "invalid message",
    [GARBAGE_BEHIND] = "do not match",
    [SILENCE] = "silent",
    [SILENCE_IN_BETWEEN] = "silent",
    [DRIP] = "slow",
    [CONTENT_TWICE] = "unexpected message",
    [UNASKED] = "unexpected message",
    [HUGE_LIST] = "above the limit",
    [NOT_A_LIST] = "cannot be read",
};

struct liar {
    struct scene *scene;
    struct link_listener listener;
    struct link *link;
    enum lie lie;
    struct cache_entry entry;
    const char *bytes;  // the honest ones
    uint32_t count, asked, sent;
};

static void say_content(struct liar *liar)
{
    char text[CACHE_ENTRY_TEXT];
    struct cache_entry entry = liar->entry;
    struct wire_message message = {.kind = WIRE_CONTENT_MESSAGE};
    if (liar->lie == WRONG_HASH) entry.hash[31] ^= 1;
    if (liar->lie == HUGE) entry.bytes = UINT64_MAX;
    if (liar->lie == OTHER_SIZE) entry.bytes++;
    if (liar->lie == HUGE_LIST || liar->lie == NOT_A_LIST) entry.kind = CACHE_DIRECTORY;
    if (entry.kind == CACHE_DIRECTORY) message.content.list_bytes = liar->count;
    if (liar->lie == HUGE_LIST) message.content.list_bytes = 1ull << 40;
    cache_entry_write(&entry, text);
    message.content.entry = wire_text_of(liar->lie == NO_ENTRY ? "f:1000:whatever" : text);
    wire_put(&liar->link->out, &message);
}

static void send_bytes(struct liar *liar)
{
    struct wire_out *out = &liar->link->out;
    wire_out_append(out, liar->bytes, liar->count);
    char *sent = out->bytes + out->length - liar->count;
    if (liar->lie == WRONG_BYTES) sent[0] ^= 1;
    if (liar->lie == WRONG_LAST_BYTE) sent[liar->count - 1] ^= 1;
    if (liar->lie == GARBAGE_BEHIND) sent[7] ^= 1;
    if (liar->lie == GARBAGE_BEHIND) wire_out_append(out, "garbage that is no frame", 24);
    if (liar->lie == SILENCE_IN_BETWEEN || liar->lie == DRIP) out->length -= liar->count - 10;
}

static void say_piece(struct liar *liar, const struct wire_want *want)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    message.piece = (struct wire_piece){want->entry, want->offset, liar->count - want->offset};
    if (liar->lie == TOO_MANY) message.piece.bytes++;
    if (liar->lie == TOO_FEW) message.piece.bytes--;
    if (liar->lie == WRONG_OFFSET) message.piece.offset++;
    if (liar->lie == UNASKED) message.kind = WIRE_BEAT_MESSAGE;
    if (liar->lie == UNASKED) message.beat.sent = 7;
    if (liar->lie == CONTENT_TWICE) {
        say_content(liar);
        return;
    }
    wire_put(&liar->link->out, &message);
    send_bytes(liar);
}

static void liar_answer(struct liar *liar, const struct wire_message *message)
{
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    if (liar->lie == SILENCE) return;
    if (liar->lie == GARBAGE) {
        wire_out_append(&liar->link->out, "GET / HTTP/1.0\r\n\r\n", 18);
        return;
    }
    if (message->kind == WIRE_GREET_MESSAGE) wire_put(&liar->link->out, &welcome);
    if (message->kind == WIRE_GET_MESSAGE) say_content(liar);
    if (message->kind == WIRE_WANT_MESSAGE) say_piece(liar, &message->want);
}

static void liar_work(void *context)
{
    struct liar *liar = context;
    struct wire_message message;
    struct link *link = link_accept(&liar->listener);
    if (link) {
        link_close(liar->link);
        liar->link = link;
        liar->asked++;
    }
    if (!liar->link || !link_work(liar->link)) return;
    while (wire_take(&liar->link->in, &message) == WIRE_GOT) liar_answer(liar, &message);
    if (liar->lie == DRIP && liar->link->out.length == 0 && liar->sent++ < 900)
        wire_out_append(&liar->link->out, "x", 1);
    link_flush(liar->link);
}

static char *honest_bytes(struct scene *scene, rota_object_id object, struct liar *liar)
{
    struct cache_reading reading;
    assert_true(cache_find(&scene->there, object, &liar->entry));
    assert_true(cache_read(&scene->there, &liar->entry, &reading));
    char *bytes = malloc(reading.bytes);
    assert_int_equal(pread(reading.fd, bytes, reading.bytes, 0), reading.bytes);
    liar->count = (uint32_t)reading.bytes;
    close(reading.fd);
    return bytes;
}

static void liar_begin(struct liar *liar, struct scene *scene, enum lie lie, rota_object_id object)
{
    struct link_error error;
    *liar = (struct liar){.scene = scene, .lie = lie};
    liar->bytes = honest_bytes(scene, object, liar);
    if (!link_listen(&liar->listener, scene->other, NULL, &error)) fail_msg("%s", error.text);
    scene->actor = liar_work;
    scene->context = liar;
}

static void liar_end(struct liar *liar)
{
    link_close(liar->link);
    link_listener_close(&liar->listener);
    free((char *)liar->bytes);
    liar->scene->actor = NULL;
}

static bool is_slow(enum lie lie)
{
    return lie == SILENCE || lie == SILENCE_IN_BETWEEN || lie == DRIP;
}

static void a_peer_with_false_content_is_asked_once(void **state)
{
    struct scene *scene = *state;
    struct liar liar;
    for (enum lie lie = 0; lie < LIES; lie++) {
        rota_object_id object = file_make(scene, lie + 1, 200000, 0644);
        liar_begin(&liar, scene, lie, object);
        fetch(scene, object, TICKET, scene->other, NULL);
        scene->hurry = is_slow(lie) ? 500000 : 0;
        struct data_done done = wait_done(scene);
        scene->hurry = 0;
        assert_int_equal(done.fault, DATA_MISSED);
        if (!strstr(done.reason, reasons[lie])) fail_msg("%d: %s", lie, done.reason);
        assert_int_equal(liar.asked, is_slow(lie) ? DATA_ROUNDS : 1);
        nothing_is_left(scene);
        // Wrong data is not kept under any name; an invalid list has the name of its hash.
        assert_int_equal(files_in(scene, "here/content"), lie == NOT_A_LIST);
        assert_int_equal(files_in(scene, "here/object"), 0);
        liar_end(&liar);
    }
}

static void after_false_content_another_peer_is_asked(void **state)
{
    struct scene *scene = *state;
    struct liar liar;
    for (enum lie lie = 0; lie < LIES; lie++) {
        rota_object_id object = file_make(scene, lie + 1, 200000, 0644);
        liar_begin(&liar, scene, lie, object);
        serve(scene, object, TICKET, 600000000);
        fetch(scene, object, TICKET, scene->other, scene->address);
        scene->hurry = is_slow(lie) ? 500000 : 0;
        expect_fetched(scene, object);
        scene->hurry = 0;
        assert_int_equal(liar.asked, lie == DRIP ? 2 : 1);  // its bytes are mixed with others'
        liar_end(&liar);
    }
}

// Half of it is wrong, and the source is unknown: none is blamed, and nothing of it is reused.
static void false_content_does_not_damage_other_transfers(void **state)
{
    struct scene *scene = *state;
    struct liar liar;
    rota_object_id object = file_make(scene, 1, 200000, 0644);
    liar_begin(&liar, scene, SILENCE_IN_BETWEEN, object);
    ((char *)liar.bytes)[3] ^= 1;
    serve(scene, object, TICKET, 600000000);
    fetch(scene, object, TICKET, scene->other, scene->address);
    scene->hurry = 500000;
    expect_fetched(scene, object);
    assert_true(liar.asked <= 2);
    liar_end(&liar);
}

static void a_missing_peer_is_reported(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = file_make(scene, 1, 10, 0644);
    fetch(scene, object, TICKET, scene->other, NULL);
    expect_fault(scene, object, DATA_MISSED, "no server is listening there");
    fetch(scene, object, TICKET, "no address at all", NULL);
    expect_fault(scene, object, DATA_MISSED, "invalid address");
    struct wire_fetch none = {.object = object, .ticket = wire_text_of(TICKET)};
    assert_true(data_fetcher_fetch(scene->fetcher, &none, scene_now(scene)));
    expect_fault(scene, object, DATA_MISSED, "no source was given");
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, TICKET, scene->other, scene->address);
    expect_fetched(scene, object);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_peer_with_false_content_is_asked_once),
        TEST(after_false_content_another_peer_is_asked),
        TEST(false_content_does_not_damage_other_transfers),
        TEST(a_missing_peer_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
