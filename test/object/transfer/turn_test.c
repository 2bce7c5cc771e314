// turn_test.c - a client with expensive messages does not block others.
#define _GNU_SOURCE
#include "object/transfer/put_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ENTRIES = SLOW ? 5000 : 20000, BINDS = 100 };
static const rota_object_id upload = {5, 1ull << 62 | 1};

static rota_object_id upload_of(uint32_t number)
{
    return (rota_object_id){number, 1ull << 62 | 2};
}

// The list of a tree of many files, all of the same content.
static void tree_put(struct scene *scene, struct link *link, char tree[CACHE_ENTRY_TEXT])
{
    char one[CACHE_ENTRY_TEXT], list[CACHE_ENTRY_TEXT], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    put_entry(scene, "x", 1, one);
    put_content(scene, link, one, "x", 1);
    fputs("rota tree 1\n", out);
    for (uint32_t i = 0; i < ENTRIES; i++) fprintf(out, "%s - %07u\n", one, i);
    fclose(out);
    put_entry(scene, text, size, list);
    snprintf(tree, CACHE_ENTRY_TEXT, "d:%d:%s", ENTRIES, strrchr(list, ':') + 1);
    put_content(scene, link, tree, text, size);
    free(text);
}

static int64_t processor(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec
           + usage.ru_stime.tv_usec;
}

static void a_tree_is_read_once_for_many_binds(void **state)
{
    struct scene *scene = *state;
    struct link *link = putter(scene, 1);
    char tree[CACHE_ENTRY_TEXT];
    tree_put(scene, link, tree);
    int64_t before = processor();
    put_bind(link, upload, tree);
    put_expect(scene, link, WIRE_BOUND_MESSAGE);
    int64_t once = processor() - before;
    for (uint32_t i = 0; i < BINDS; i++) {
        put_bind(link, i % 2 ? upload : upload_of(i), tree);
        put_expect(scene, link, WIRE_BOUND_MESSAGE);
    }
    int64_t all = processor() - before - once;
    if (all > once * BINDS / 3)
        fail_msg("once %jd, %d times %jd", (intmax_t)once, BINDS, (intmax_t)all);
    link_close(link);
}

static void a_tree_is_read_again_if_a_file_is_missing(void **state)
{
    struct scene *scene = *state;
    struct link *link = putter(scene, 1);
    struct cache_entry entry;
    struct cache_reading reading;
    char tree[CACHE_ENTRY_TEXT], one[CACHE_ENTRY_TEXT];
    tree_put(scene, link, tree);
    put_bind(link, upload, tree);
    put_expect(scene, link, WIRE_BOUND_MESSAGE);
    put_entry(scene, "x", 1, one);
    assert_true(cache_entry_read(one, &entry) && cache_read(&scene->there, &entry, &reading));
    cache_throw(&scene->there, &entry, &reading);
    close(reading.fd);
    put_bind(link, upload_of(1), tree);
    put_expect_refusal(scene, link, WIRE_REFUSED_NOT_FOUND, "not in the object store");
    link_close(link);
}

struct order {
    uint32_t bound, at;
};

static void on_bound(void *context, rota_object_id object, const struct cache_entry *entry)
{
    (void)entry;
    struct order *order = context;
    order->bound++;
    if (object.high == upload.high) order->at = order->bound;
}

static void another_owner_has_its_turn_between_the_messages_of_one(void **state)
{
    struct scene *scene = *state;
    struct link *links[] = {putter(scene, 1), putter(scene, 1), putter(scene, 2)};
    struct order order = {0};
    char one[CACHE_ENTRY_TEXT];
    put_entry(scene, "x", 1, one);
    put_content(scene, links[0], one, "x", 1);
    data_server_on_bound(scene->server, on_bound, &order);
    for (uint32_t i = 0; i < 400; i++) put_bind(links[i % 2], upload_of(1000 + i), one);
    put_bind(links[2], upload, one);
    put_expect(scene, links[2], WIRE_BOUND_MESSAGE);
    if (order.at > 300) fail_msg("after %u of others", order.at);
    for (uint32_t i = 0; i < 400; i++) put_expect(scene, links[i % 2], WIRE_BOUND_MESSAGE);
    for (uint32_t i = 0; i < 3; i++) link_close(links[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_is_read_once_for_many_binds),
        TEST(a_tree_is_read_again_if_a_file_is_missing),
        TEST(another_owner_has_its_turn_between_the_messages_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
