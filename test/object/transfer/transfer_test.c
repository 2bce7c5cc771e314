// transfer_test.c - objects of every kind arrive complete in the other cache.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void fetched(struct scene *scene, rota_object_id object)
{
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, TICKET, scene->address, NULL);
    expect_fetched(scene, object);
}

static void files_of_every_size_arrive_complete(void **state)
{
    const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, 5000000};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        fetched(*state, file_make(*state, i + 1, sizes[i], 0644));
}

static void a_large_file_arrives_complete(void **state)
{
    fetched(*state, file_make(*state, 1, LARGE, 0644));
}

static void an_executable_stays_one(void **state)
{
    struct scene *scene = *state;
    rota_object_id plain = file_make(scene, 1, 1000, 0644);
    struct cache_entry entry;
    fetched(scene, plain);
    rota_object_id other = {7, 2};
    assert_true(cache_find(&scene->there, plain, &entry));
    assert_true(cache_take(&scene->there, &entry, scene->folder, "made", &scene->error));
    assert_int_equal(fchmodat(scene->folder, "made", 0755, 0), 0);  // a link to the content
    assert_true(cache_add_copy(&scene->there, scene->folder, "made", CACHE_FILE, &entry,
                               &scene->error));
    assert_true(entry.executable);
    assert_true(cache_bind(&scene->there, other, &entry, &scene->error));
    fetched(scene, other);
    assert_true(cache_find(&scene->here, other, &entry));
    assert_true(entry.executable);
    assert_true(cache_find(&scene->here, plain, &entry));
    assert_false(entry.executable);
}

static void a_tree_of_a_thousand_files_arrives_complete(void **state)
{
    fetched(*state, tree_make(*state, 1, 1000));
    fetched(*state, tree_make(*state, 2, 0));
}

static void content_remove(struct scene *scene, const struct cache_entry *entry)
{
    struct cache_reading reading;
    assert_true(cache_read(&scene->here, entry, &reading));
    cache_throw(&scene->here, entry, &reading);
    close(reading.fd);
}

static void only_missing_files_of_a_tree_are_fetched(void **state)
{
    struct scene *scene = *state;
    rota_object_id tree = tree_make(scene, 1, 1000);
    fetched(scene, tree);
    uint32_t contents = files_in(scene, "here/content");
    assert_true(cache_unbind(&scene->here, tree, &scene->error));
    struct cache_files files;
    struct cache_entry entry;
    assert_true(cache_find(&scene->there, tree, &entry));
    assert_true(cache_files_load(&scene->here, &entry, &files, &scene->error));
    content_remove(scene, &entry);
    content_remove(scene, &files.items[10]);
    content_remove(scene, &files.items[500]);
    cache_files_release(&files);
    assert_int_equal(files_in(scene, "here/content"), contents - 3);
    fetched(scene, tree);
    assert_int_equal(files_in(scene, "here/content"), contents);
}

static void many_objects_come_at_a_time(void **state)
{
    struct scene *scene = *state;
    rota_object_id objects[60];
    uint64_t seen = 0;
    for (uint32_t i = 0; i < 60; i++) {
        objects[i] = i % 10 ? file_make(scene, i + 1, i * 30011, 0644)
                            : tree_make(scene, i + 1, 20);
        serve(scene, objects[i], TICKET, 60000000);
        fetch(scene, objects[i], TICKET, scene->address, NULL);
    }
    for (uint32_t i = 0; i < 60; i++) {
        struct data_done done = wait_done(scene);
        if (done.fault) fail_msg("%s", done.reason);
        assert_true(done.object.low >= 1 && done.object.low <= 60);
        seen |= 1ull << done.object.low;
    }
    assert_int_equal(seen, (1ull << 61) - 2);
    for (uint32_t i = 0; i < 60; i++) object_is_same(scene, objects[i]);
}

static void an_object_requested_twice_is_fetched_once(void **state)
{
    struct scene *scene = *state;
    struct data_done done;
    rota_object_id object = file_make(scene, 1, 300000, 0644);
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, "an old ticket that is no longer valid", scene->other, NULL);
    fetch(scene, object, TICKET, scene->address, NULL);
    expect_fetched(scene, object);
    for (int i = 0; i < 20; i++) assert_false(data_fetcher_next_done(scene->fetcher, &done));
    // And when it exists already, no source is asked.
    fetch(scene, object, "whatever it may be", scene->other, NULL);
    expect_fetched(scene, object);
}

static void a_cancelled_fetch_is_not_reported(void **state)
{
    struct scene *scene = *state;
    struct data_done done;
    rota_object_id one = file_make(scene, 1, 3000000, 0644), two = file_make(scene, 2, 9, 0644);
    serve(scene, one, TICKET, 60000000);
    serve(scene, two, TICKET, 60000000);
    fetch(scene, one, TICKET, scene->address, NULL);
    for (int i = 0; i < 3; i++) scene_turn(scene);
    data_fetcher_forget(scene->fetcher, one);
    nothing_is_left(scene);
    fetch(scene, two, TICKET, scene->address, NULL);
    expect_fetched(scene, two);
    assert_false(data_fetcher_next_done(scene->fetcher, &done));
}

static void a_damaged_content_is_not_taken_for_the_object(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = file_make(scene, 1, 200000, 0644);
    fetched(scene, object);
    struct cache_entry entry;
    struct cache_reading reading;
    char path[64];
    assert_true(cache_find(&scene->here, object, &entry));
    assert_true(cache_unbind(&scene->here, object, &scene->error));
    assert_true(cache_read(&scene->here, &entry, &reading));
    snprintf(path, sizeof path, "/proc/self/fd/%d", reading.fd);
    assert_int_equal(chmod(path, 0644), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 70000), 1);
    close(fd);
    close(reading.fd);
    here_reopen(scene);
    fetched(scene, object);
}

static void a_good_content_is_not_sent_again(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = file_make(scene, 1, 200000, 0644), same = {7, 2};
    struct cache_entry entry;
    struct cache_reading before, after;
    fetched(scene, object);
    assert_true(cache_find(&scene->there, object, &entry));
    assert_true(cache_bind(&scene->there, same, &entry, &scene->error));
    assert_true(cache_read(&scene->here, &entry, &before));
    here_reopen(scene);
    fetched(scene, same);
    assert_true(cache_read(&scene->here, &entry, &after));
    assert_int_equal(before.stamp, after.stamp);  // the same file
    close(before.fd);
    close(after.fd);
}

// Unbound and unused it would be evicted first; but its reader holds it.
static void contents_that_are_served_are_not_evicted(void **state)
{
    struct scene *scene = *state;
    struct cache other;
    rota_object_id objects[]
        = {file_make(scene, 1, 3000000, 0644), tree_make(scene, 2, 300)};
    for (int i = 0; i < 2; i++) {
        struct cache_entry entry;
        assert_true(cache_find(&scene->there, objects[i], &entry));
        serve(scene, objects[i], TICKET, 60000000);
        fetch(scene, objects[i], TICKET, scene->address, NULL);
        for (int turn = 0; turn < 4; turn++) scene_turn(scene);
        assert_true(cache_unbind(&scene->there, objects[i], &scene->error));
        cache_release(&scene->there, &entry);
        assert_true(cache_open(&other, scene->there_path, 1, &scene->error));
        cache_evict(&other);
        cache_close(&other);
        struct data_done done = wait_done(scene);
        if (done.fault) fail_msg("%s", done.reason);
        assert_true(cache_bind(&scene->there, objects[i], &entry, &scene->error));
        object_is_same(scene, objects[i]);
        assert_true(cache_unbind(&scene->there, objects[i], &scene->error));
    }
}

static void an_object_of_another_size_is_not_taken(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = file_make(scene, 1, 1000, 0644);
    wire_text address = wire_text_of(scene->address);
    struct wire_fetch wanted = {.object = object, .bytes = 1001, .addresses = {&address, 1}};
    wanted.ticket = wire_text_of(TICKET);
    serve(scene, object, TICKET, 60000000);
    assert_true(data_fetcher_fetch(scene->fetcher, &wanted, scene_now(scene)));
    expect_fault(scene, object, DATA_MISSED, "wrong number of bytes");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_every_size_arrive_complete),
        TEST(a_large_file_arrives_complete),
        TEST(an_executable_stays_one),
        TEST(a_tree_of_a_thousand_files_arrives_complete),
        TEST(only_missing_files_of_a_tree_are_fetched),
        TEST(many_objects_come_at_a_time),
        TEST(an_object_requested_twice_is_fetched_once),
        TEST(a_cancelled_fetch_is_not_reported),
        TEST(a_damaged_content_is_not_taken_for_the_object),
        TEST(a_good_content_is_not_sent_again),
        TEST(contents_that_are_served_are_not_evicted),
        TEST(an_object_of_another_size_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
