// forger_test.c - peers that send wrong data: none of it gets a name, and the next peer is asked.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum forgery {
    WRONG_BYTES, WRONG_LAST_BYTE, TOO_MANY, TOO_FEW, WRONG_HASH, WRONG_OFFSET, HUGE, OTHER_SIZE,
    NO_ENTRY, GARBAGE, GARBAGE_AFTER, SILENCE, SILENCE_IN_BETWEEN, DRIP, CONTENT_TWICE,
    UNASKED, HUGE_LIST, NOT_A_LIST, FORGERIES
};

// How each forgery is reported.
static const char *const reasons[FORGERIES] = {
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
    [GARBAGE_AFTER] = "do not match",
    [SILENCE] = "silent",
    [SILENCE_IN_BETWEEN] = "silent",
    [DRIP] = "slow",
    [CONTENT_TWICE] = "unexpected message",
    [UNASKED] = "unexpected message",
    [HUGE_LIST] = "above the limit",
    [NOT_A_LIST] = "cannot be read",
};

struct forger {
    struct scene *scene;
    struct link_listener listener;
    struct link *link;
    enum forgery forgery;
    struct cache_entry entry;
    const char *bytes;  // the honest ones
    uint32_t count, asked, sent;
};

static void say_content(struct forger *forger)
{
    char text[CACHE_ENTRY_TEXT];
    struct cache_entry entry = forger->entry;
    struct wire_message message = {.kind = WIRE_CONTENT_MESSAGE};
    if (forger->forgery == WRONG_HASH) entry.hash[31] ^= 1;
    if (forger->forgery == HUGE) entry.bytes = UINT64_MAX;
    if (forger->forgery == OTHER_SIZE) entry.bytes++;
    if (forger->forgery == HUGE_LIST || forger->forgery == NOT_A_LIST) entry.kind = CACHE_DIRECTORY;
    if (entry.kind == CACHE_DIRECTORY) message.content.list_bytes = forger->count;
    if (forger->forgery == HUGE_LIST) message.content.list_bytes = 1ull << 40;
    cache_entry_write(&entry, text);
    message.content.entry = wire_text_of(forger->forgery == NO_ENTRY ? "f:1000:whatever" : text);
    wire_put(&forger->link->out, &message);
}

static void send_bytes(struct forger *forger)
{
    struct wire_out *out = &forger->link->out;
    wire_out_append(out, forger->bytes, forger->count);
    char *sent = out->bytes + out->length - forger->count;
    if (forger->forgery == WRONG_BYTES) sent[0] ^= 1;
    if (forger->forgery == WRONG_LAST_BYTE) sent[forger->count - 1] ^= 1;
    if (forger->forgery == GARBAGE_AFTER) sent[7] ^= 1;
    if (forger->forgery == GARBAGE_AFTER) wire_out_append(out, "garbage that is no frame", 24);
    bool is_cut = forger->forgery == SILENCE_IN_BETWEEN || forger->forgery == DRIP;
    if (is_cut) out->length -= forger->count - 10;
}

static void say_piece(struct forger *forger, const struct wire_want *want)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    message.piece = (struct wire_piece){want->entry, want->offset, forger->count - want->offset};
    if (forger->forgery == TOO_MANY) message.piece.bytes++;
    if (forger->forgery == TOO_FEW) message.piece.bytes--;
    if (forger->forgery == WRONG_OFFSET) message.piece.offset++;
    if (forger->forgery == UNASKED) message.kind = WIRE_BEAT_MESSAGE;
    if (forger->forgery == UNASKED) message.beat.sent = 7;
    if (forger->forgery == CONTENT_TWICE) {
        say_content(forger);
        return;
    }
    wire_put(&forger->link->out, &message);
    send_bytes(forger);
}

static void forger_answer(struct forger *forger, const struct wire_message *message)
{
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    if (forger->forgery == SILENCE) return;
    if (forger->forgery == GARBAGE) {
        wire_out_append(&forger->link->out, "GET / HTTP/1.0\r\n\r\n", 18);
        return;
    }
    if (message->kind == WIRE_GREET_MESSAGE) wire_put(&forger->link->out, &welcome);
    if (message->kind == WIRE_GET_MESSAGE) say_content(forger);
    if (message->kind == WIRE_WANT_MESSAGE) say_piece(forger, &message->want);
}

static void forger_work(void *context)
{
    struct forger *forger = context;
    struct wire_message message;
    struct link *link = link_accept(&forger->listener);
    if (link) {
        link_close(forger->link);
        forger->link = link;
        forger->asked++;
    }
    if (!forger->link || !link_work(forger->link)) return;
    while (wire_take(&forger->link->in, &message) == WIRE_GOT) forger_answer(forger, &message);
    if (forger->forgery == DRIP && forger->link->out.length == 0 && forger->sent++ < 900)
        wire_out_append(&forger->link->out, "x", 1);
    link_flush(forger->link);
}

static char *honest_bytes(struct scene *scene, rota_object_id object, struct forger *forger)
{
    struct cache_reading reading;
    assert_true(cache_find(&scene->there, object, &forger->entry));
    assert_true(cache_read(&scene->there, &forger->entry, &reading));
    char *bytes = malloc(reading.bytes);
    assert_int_equal(pread(reading.fd, bytes, reading.bytes, 0), reading.bytes);
    forger->count = (uint32_t)reading.bytes;
    close(reading.fd);
    return bytes;
}

static void forger_begin(struct forger *forger, struct scene *scene, enum forgery forgery,
                         rota_object_id object)
{
    struct link_error error;
    *forger = (struct forger){.scene = scene, .forgery = forgery};
    forger->bytes = honest_bytes(scene, object, forger);
    if (!link_listen(&forger->listener, scene->other, NULL, &error)) fail_msg("%s", error.text);
    scene->actor = forger_work;
    scene->context = forger;
}

static void forger_end(struct forger *forger)
{
    link_close(forger->link);
    link_listener_close(&forger->listener);
    free((char *)forger->bytes);
    forger->scene->actor = NULL;
}

static bool is_slow(enum forgery forgery)
{
    return forgery == SILENCE || forgery == SILENCE_IN_BETWEEN || forgery == DRIP;
}

static void a_peer_with_false_content_is_asked_once(void **state)
{
    struct scene *scene = *state;
    struct forger forger;
    for (enum forgery forgery = 0; forgery < FORGERIES; forgery++) {
        rota_object_id object = file_make(scene, forgery + 1, 200000, 0644);
        forger_begin(&forger, scene, forgery, object);
        fetch(scene, object, TICKET, scene->other, NULL);
        scene->hurry = is_slow(forgery) ? 500000 : 0;
        struct data_done done = wait_done(scene);
        scene->hurry = 0;
        assert_int_equal(done.fault, DATA_MISSED);
        if (!strstr(done.reason, reasons[forgery])) fail_msg("%d: %s", forgery, done.reason);
        assert_int_equal(forger.asked, is_slow(forgery) ? DATA_ROUNDS : 1);
        nothing_is_left(scene);
        // Wrong data is not kept under any name; an invalid list has the name of its hash.
        assert_int_equal(files_in(scene, "here/content"), forgery == NOT_A_LIST);
        assert_int_equal(files_in(scene, "here/object"), 0);
        forger_end(&forger);
    }
}

static void after_false_content_another_peer_is_asked(void **state)
{
    struct scene *scene = *state;
    struct forger forger;
    for (enum forgery forgery = 0; forgery < FORGERIES; forgery++) {
        rota_object_id object = file_make(scene, forgery + 1, 200000, 0644);
        forger_begin(&forger, scene, forgery, object);
        serve(scene, object, TICKET, 600000000);
        fetch(scene, object, TICKET, scene->other, scene->address);
        scene->hurry = is_slow(forgery) ? 500000 : 0;
        expect_fetched(scene, object);
        scene->hurry = 0;
        // The bytes of a slow peer are mixed with those of others.
        assert_int_equal(forger.asked, forgery == DRIP ? 2 : 1);
        forger_end(&forger);
    }
}

// Half of it is wrong, and the source is unknown: none is blamed, and nothing of it is reused.
static void false_content_does_not_damage_other_transfers(void **state)
{
    struct scene *scene = *state;
    struct forger forger;
    rota_object_id object = file_make(scene, 1, 200000, 0644);
    forger_begin(&forger, scene, SILENCE_IN_BETWEEN, object);
    ((char *)forger.bytes)[3] ^= 1;
    serve(scene, object, TICKET, 600000000);
    fetch(scene, object, TICKET, scene->other, scene->address);
    scene->hurry = 500000;
    expect_fetched(scene, object);
    assert_true(forger.asked <= 2);
    forger_end(&forger);
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
