// ticket_test.c - without a ticket a peer gets no object, and does not learn which ones exist.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void other_tickets_are_refused(void **state)
{
    struct scene *scene = *state;
    rota_object_id one = file_make(scene, 1, 1000, 0644), two = file_make(scene, 2, 2000, 0644);
    const char *foreign = "ffffffffffffffffffffffffffffffff";
    fetch(scene, one, TICKET, scene->address, NULL);  // none at all
    expect_fault(scene, one, DATA_MISSED, "refused");
    serve(scene, one, TICKET, 60000000);
    fetch(scene, one, foreign, scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
    fetch(scene, one, "0123456789abcdef0123456789abcde", scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
    fetch(scene, one, "", scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
    fetch(scene, two, TICKET, scene->address, NULL);  // for another object
    expect_fault(scene, two, DATA_MISSED, "refused");
    rota_object_id none = {9, 9};
    serve(scene, none, TICKET, 60000000);
    fetch(scene, none, TICKET, scene->address, NULL);  // for an object that does not exist
    expect_fault(scene, none, DATA_MISSED, "refused");
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fetched(scene, one);
}

static void a_ticket_ends(void **state)
{
    struct scene *scene = *state;
    rota_object_id one = file_make(scene, 1, 1000, 0644);
    serve(scene, one, TICKET, 60000000);
    scene->skew += 60000000;
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
    serve(scene, one, TICKET, 0);
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
}

static void a_ticket_that_arrives_a_moment_later_is_accepted(void **state)
{
    struct scene *scene = *state;
    rota_object_id one = file_make(scene, 1, 1000, 0644);
    fetch(scene, one, TICKET, scene->address, NULL);
    for (int i = 0; i < 5; i++) scene_turn(scene);
    serve(scene, one, TICKET, 60000000);
    expect_fetched(scene, one);
}

static void too_many_tickets_drop_the_one_that_expires_first(void **state)
{
    struct scene *scene = *state;
    char ticket[40];
    rota_object_id one = file_make(scene, 1, 1000, 0644), two = file_make(scene, 2, 2000, 0644);
    serve(scene, one, TICKET, 50000000);
    serve(scene, two, TICKET, 60000000);
    for (uint32_t i = 0; i < DATA_TICKETS_MAX - 1; i++) {
        snprintf(ticket, sizeof ticket, "%032u", i);
        serve(scene, (rota_object_id){8, i}, ticket, 70000000);
    }
    fetch(scene, two, TICKET, scene->address, NULL);
    expect_fetched(scene, two);
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
    struct wire_serve bad = {.object = one, .ticket = wire_text_of("short"), .valid = 1};
    assert_false(data_server_serve(scene->server, &bad, scene_now(scene)));
}

static void tickets_of_one_client_do_not_displace_others(void **state)
{
    struct scene *scene = *state;
    char ticket[40];
    rota_object_id one = file_make(scene, 1, 1000, 0644), two = file_make(scene, 2, 2000, 0644);
    struct wire_serve other = {two, wire_text_of(TICKET), 60000000, .client = 4711};
    serve(scene, one, TICKET, 60000000);
    assert_true(data_server_serve(scene->server, &other, scene_now(scene)));
    for (uint32_t i = 0; i < 3 * DATA_TICKETS_MAX; i++) {
        snprintf(ticket, sizeof ticket, "%032u", i);
        struct wire_serve flood = {{8, i}, wire_text_of(ticket), 60000000, .client = 7};
        assert_true(data_server_serve(scene->server, &flood, scene_now(scene)));
    }
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fetched(scene, one);
    fetch(scene, two, TICKET, scene->address, NULL);
    expect_fetched(scene, two);
}

static void too_many_tickets_of_a_client_drop_its_oldest(void **state)
{
    struct scene *scene = *state;
    char ticket[40];
    rota_object_id one = file_make(scene, 1, 1000, 0644), two = file_make(scene, 2, 2000, 0644);
    struct wire_serve serves[] = {{one, wire_text_of(TICKET), 60000000, .client = 7},
                                  {two, wire_text_of(TICKET), 60000000, .client = 7}};
    for (uint32_t i = 0; i < 2; i++)
        assert_true(data_server_serve(scene->server, &serves[i], scene_now(scene)));
    for (uint32_t i = 0; i < DATA_TICKETS_CLIENT - 1; i++) {
        snprintf(ticket, sizeof ticket, "%032u", i);
        struct wire_serve more = {{8, i}, wire_text_of(ticket), 60000000, .client = 7};
        assert_true(data_server_serve(scene->server, &more, scene_now(scene)));
    }
    fetch(scene, two, TICKET, scene->address, NULL);
    expect_fetched(scene, two);
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fault(scene, one, DATA_MISSED, "refused");
}

// ---- Single messages ------------------------------------------------------------------------

static struct link *stranger(struct scene *scene)
{
    struct link_error error;
    struct link *link = link_connect(scene->address, NULL, &error);
    assert_non_null(link);
    return link;
}

static void say(struct link *link, struct wire_message message)
{
    wire_put(&link->out, &message);
    link_flush(link);
}

static void greet(struct link *link, uint32_t version, uint32_t role)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet = (struct wire_greet){.version = version, .role = role};
    message.greet.name = wire_text_of("");
    say(link, message);
}

static void get(struct link *link, rota_object_id object, const char *ticket)
{
    struct wire_message message = {.kind = WIRE_GET_MESSAGE};
    message.get = (struct wire_get){object, wire_text_of(ticket)};
    say(link, message);
}

static void want(struct link *link, const char *entry, uint64_t offset)
{
    struct wire_message message = {.kind = WIRE_WANT_MESSAGE};
    message.want = (struct wire_want){wire_text_of(entry), offset};
    say(link, message);
}

// The last message before the connection is closed.
static void refused(struct scene *scene, struct link *link, const char *before)
{
    struct wire_message message;
    char heard[2000] = "", *at = heard;
    for (int i = 0; i < 200 && link->state != LINK_CLOSED; i++) {
        scene_turn(scene);
        link_work(link);
    }
    assert_int_equal(link->state, LINK_CLOSED);
    while (wire_take(&link->in, &message) == WIRE_GOT) {
        at += snprintf(at, 200, "%s ", wire_kind_name(message.kind));
        if (message.kind != WIRE_REFUSE_MESSAGE) continue;
        assert_int_equal(message.refuse.code, WIRE_REFUSED_NOT_FOUND);
        assert_string_equal(message.refuse.reason.bytes, "no object for this ticket");
    }
    assert_string_equal(heard, before);
    link_close(link);
}

static void every_refusal_has_the_same_answer(void **state)
{
    struct scene *scene = *state;
    rota_object_id one = file_make(scene, 1, 1000, 0644), two = file_make(scene, 2, 2000, 0644);
    struct cache_entry entry;
    char text[CACHE_ENTRY_TEXT];
    serve(scene, one, TICKET, 60000000);
    struct link *link = stranger(scene);
    greet(link, WIRE_VERSION + 1, WIRE_PEER);
    refused(scene, link, "refuse ");
    greet(link = stranger(scene), WIRE_VERSION, WIRE_WORKER);
    refused(scene, link, "refuse ");
    get(link = stranger(scene), one, TICKET);  // without a greeting
    refused(scene, link, "refuse ");
    want(link = stranger(scene), "f:1:00", 0);
    refused(scene, link, "refuse ");
    greet(link = stranger(scene), WIRE_VERSION, WIRE_PEER);
    greet(link, WIRE_VERSION, WIRE_PEER);
    refused(scene, link, "welcome refuse ");
    greet(link = stranger(scene), WIRE_VERSION, WIRE_PEER);
    wire_out_append(&link->out, "\xff\xff\xff\xff garbage", 12);
    link_flush(link);
    refused(scene, link, "welcome refuse ");
    // The ticket is for the other object: it does not allow these contents.
    assert_true(cache_find(&scene->there, two, &entry));
    cache_entry_write(&entry, text);
    greet(link = stranger(scene), WIRE_VERSION, WIRE_PEER);
    get(link, one, TICKET);
    want(link, text, 0);
    refused(scene, link, "welcome content refuse ");
    // Beyond the end, and of another size.
    assert_true(cache_find(&scene->there, one, &entry));
    cache_entry_write(&entry, text);
    greet(link = stranger(scene), WIRE_VERSION, WIRE_PEER);
    get(link, one, TICKET);
    want(link, text, 1001);
    refused(scene, link, "welcome content refuse ");
    entry.bytes++;
    cache_entry_write(&entry, text);
    greet(link = stranger(scene), WIRE_VERSION, WIRE_PEER);
    get(link, one, TICKET);
    want(link, text, 0);
    refused(scene, link, "welcome content refuse ");
}

static void a_silent_peer_makes_room_for_others(void **state)
{
    struct scene *scene = *state;
    struct link *links[200];
    rota_object_id one = file_make(scene, 1, 1000, 0644);
    for (uint32_t i = 0; i < 200; i++) {
        if (i % 50 == 49) scene_turn(scene);
        links[i] = stranger(scene);
    }
    serve(scene, one, TICKET, 60000000);
    fetch(scene, one, TICKET, scene->address, NULL);
    expect_fetched(scene, one);
    uint32_t open = 0;
    for (uint32_t i = 0; i < 200; i++) open += link_work(links[i]);
    assert_true(open <= DATA_PEERS_MAX);
    scene->skew += DATA_GREET_TICKS;
    scene_turn(scene);
    for (uint32_t i = 0; i < 200; i++) {
        assert_false(link_work(links[i]));
        link_close(links[i]);
    }
}

static void a_peer_that_does_not_read_is_disconnected(void **state)
{
    struct scene *scene = *state;
    char text[CACHE_ENTRY_TEXT];
    struct cache_entry entry;
    struct link *links[DATA_SENDING_MAX + 4];
    rota_object_id one = file_make(scene, 1, 3000000, 0644), two = file_make(scene, 2, 9, 0644);
    serve(scene, one, TICKET, 600000000);
    serve(scene, two, TICKET, 600000000);
    assert_true(cache_find(&scene->there, one, &entry));
    cache_entry_write(&entry, text);
    for (uint32_t i = 0; i < DATA_SENDING_MAX + 4; i++) {
        greet(links[i] = stranger(scene), WIRE_VERSION, WIRE_PEER);
        get(links[i], one, TICKET);
        want(links[i], text, 0);
        scene_turn(scene);
    }
    fetch(scene, two, TICKET, scene->address, NULL);
    int64_t before = scene->skew;
    scene->hurry = 1000000;
    expect_fetched(scene, two);
    assert_true(scene->skew - before > DATA_STALL_TICKS);
    for (uint32_t i = 0; i < DATA_SENDING_MAX + 4; i++) link_close(links[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_tickets_are_refused),
        TEST(a_ticket_ends),
        TEST(a_ticket_that_arrives_a_moment_later_is_accepted),
        TEST(too_many_tickets_drop_the_one_that_expires_first),
        TEST(tickets_of_one_client_do_not_displace_others),
        TEST(too_many_tickets_of_a_client_drop_its_oldest),
        TEST(every_refusal_has_the_same_answer),
        TEST(a_silent_peer_makes_room_for_others),
        TEST(a_peer_that_does_not_read_is_disconnected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
