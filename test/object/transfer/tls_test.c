// tls_test.c - transfers between machines: over TCP and TLS, with the key of a peer.
#include "object/transfer/data_scene.h"

#include <stdio.h>
#include <string.h>

static void fetched(struct scene *scene, rota_object_id object, const char *address)
{
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, TICKET, address, NULL);
    expect_fetched(scene, object);
}

static void objects_come_over_tls(void **state)
{
    struct scene *scene = *state;
    const size_t sizes[] = {0, 1, 65536, (256 << 10) + 1, 3000000, LARGE / 4};
    char address[96];
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        fetched(scene, file_make(scene, i + 1, sizes[i], i % 2 ? 0755 : 0644), scene->address);
    fetched(scene, tree_make(scene, 100, 300), scene->address);
    // By name: a thread resolves it, and the file of the link is another one afterwards.
    snprintf(address, sizeof address, "localhost%s", strchr(scene->address, ':'));
    fetched(scene, file_make(scene, 200, 70000, 0644), address);
}

static void many_objects_come_over_tls_at_a_time(void **state)
{
    struct scene *scene = *state;
    rota_object_id objects[30];
    for (uint32_t i = 0; i < 30; i++) {
        objects[i] = file_make(scene, i + 1, i * 60013, 0644);
        serve(scene, objects[i], TICKET, 60000000);
        fetch(scene, objects[i], TICKET, scene->address, NULL);
    }
    for (uint32_t i = 0; i < 30; i++) {
        struct data_done done = wait_done(scene);
        if (done.fault) fail_msg("%s", done.reason);
    }
    for (uint32_t i = 0; i < 30; i++) object_is_same(scene, objects[i]);
}

static void no_other_key_gets_anything(void **state)
{
    struct scene *scene = *state;
    struct link_key unknown;
    rota_object_id object = file_make(scene, 1, 1000, 0644);
    serve(scene, object, TICKET, 600000000);
    scene->key = &scene->keys[1];  // known, but not that of a peer
    here_reopen(scene);
    fetch(scene, object, TICKET, scene->address, NULL);
    expect_fault(scene, object, DATA_MISSED, "refused");
    assert_true(link_key_make(&unknown, WIRE_PEER));
    scene->key = &unknown;
    here_reopen(scene);
    fetch(scene, object, TICKET, scene->address, NULL);
    expect_fault(scene, object, DATA_MISSED, "127.0.0.1");
    scene->key = &scene->keys[0];
    here_reopen(scene);
    fetched(scene, object, scene->address);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin_tls, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_come_over_tls),
        TEST(many_objects_come_over_tls_at_a_time),
        TEST(no_other_key_gets_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
