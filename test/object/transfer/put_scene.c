// put_scene.c - clients with their own keys that upload contents into the cache of a server.
#define _GNU_SOURCE
#include "object/transfer/put_scene.h"

#include <string.h>
#include <sys/socket.h>

enum { PATIENCE = 60 * 1000000 };

struct link *putter(struct scene *scene, uint64_t number)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    struct link *mine = link_over(pair[0]);
    struct data_adoption adoption = {.link = link_over(pair[1]), .rights = DATA_MAY_PUT,
                                     .owner = {number, true}};
    assert_true(mine && adoption.link);
    data_server_adopt(scene->server, &adoption, scene_now(scene));
    put_expect(scene, mine, WIRE_WELCOME_MESSAGE);
    return mine;
}

void put_say(struct link *link, struct wire_message message)
{
    wire_put(&link->out, &message);
    link_flush(link);
}

void put_piece(struct link *link, const char *entry, uint64_t offset, uint64_t bytes)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    message.piece = (struct wire_piece){wire_text_of(entry), offset, bytes};
    put_say(link, message);
}

void put_bytes(struct scene *scene, struct link *link, const char *bytes, size_t count)
{
    wire_out_append(&link->out, bytes, (uint32_t)count);
    int64_t until = os_ticks() + PATIENCE;
    while (link_flush(link) && link->out.length) {
        if (os_ticks() > until) fail_msg("the server does not read");
        data_server_work(scene->server, scene_now(scene));
    }
    for (int i = 0; i < 3; i++) data_server_work(scene->server, scene_now(scene));
}

void put_offer(struct link *link, const char *entry)
{
    struct wire_message message = {.kind = WIRE_OFFER_MESSAGE};
    wire_text text = wire_text_of(entry);
    message.offer.entries = (wire_texts){&text, 1};
    put_say(link, message);
}

void put_bind(struct link *link, rota_object_id object, const char *entry)
{
    struct wire_message message = {.kind = WIRE_BIND_MESSAGE};
    message.bind = (struct wire_bind){object, wire_text_of(entry)};
    put_say(link, message);
}

struct wire_message put_hear(struct scene *scene, struct link *link)
{
    struct wire_message message = {0};
    int64_t until = os_ticks() + PATIENCE;
    while (wire_take(&link->in, &message) != WIRE_GOT) {
        if (os_ticks() > until) fail_msg("the server sends nothing");
        if (!link_work(link) && link->in.length == link->in.taken) fail_msg("it is closed");
        data_server_work(scene->server, scene_now(scene));
    }
    return message;
}

void put_expect(struct scene *scene, struct link *link, enum wire_kind kind)
{
    struct wire_message message = put_hear(scene, link);
    if (message.kind == WIRE_REFUSE_MESSAGE && kind != WIRE_REFUSE_MESSAGE)
        fail_msg("refused: %s", message.refuse.reason.bytes);
    assert_string_equal(wire_kind_name(message.kind), wire_kind_name(kind));
}

void put_expect_refusal(struct scene *scene, struct link *link, enum wire_code code,
                        const char *reason)
{
    struct wire_message message = put_hear(scene, link);
    assert_string_equal(wire_kind_name(message.kind), "refuse");
    if (!strstr(message.refuse.reason.bytes, reason)) fail_msg("%s", message.refuse.reason.bytes);
    assert_int_equal(message.refuse.code, code);
}

void put_entry(struct scene *scene, const char *bytes, size_t count, char entry[CACHE_ENTRY_TEXT])
{
    struct cache_entry made = {.kind = CACHE_FILE, .bytes = count};
    struct os_hash *sum = cache_hash_open(&scene->here, &scene->error);
    assert_non_null(sum);
    os_hash_add(sum, bytes, count);
    os_hash_end(sum, made.hash);
    os_hash_close(sum);
    cache_entry_write(&made, entry);
}

void put_content(struct scene *scene, struct link *link, const char *entry, const char *bytes,
                 size_t count)
{
    put_piece(link, entry, 0, count);
    put_bytes(scene, link, bytes, count);
    put_expect(scene, link, WIRE_STORED_MESSAGE);
}

void putter_leave(struct scene *scene, struct link *link)
{
    uint32_t before = data_server_connections(scene->server);
    int64_t until = os_ticks() + PATIENCE;
    link_close(link);
    while (data_server_connections(scene->server) == before) {
        if (os_ticks() > until) fail_msg("the server does not notice that a client disconnected");
        data_server_work(scene->server, scene_now(scene));
    }
}
