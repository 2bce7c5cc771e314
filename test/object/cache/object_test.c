// object_test.c - objects and results find their contents, and only existing ones.
#include "object/cache/cache_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void content_remove(const struct scene *scene, const struct cache_entry *entry)
{
    char path[160];
    content_path(entry, path);
    assert_int_equal(unlinkat(scene->folder, path, 0), 0);
}

static void an_object_finds_its_content_after_a_restart(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = {UINT64_MAX, 2};
    struct cache_entry entry = text_added(scene, "one"), found;
    assert_false(cache_find(&scene->cache, object, &found));
    assert_true(cache_bind(&scene->cache, object, &entry, &scene->error));
    scene_reopen(scene, 1 << 30);
    assert_true(cache_find(&scene->cache, object, &found));
    assert_memory_equal(&found, &entry, sizeof entry);
    struct cache_entry other = text_added(scene, "other");
    assert_true(cache_bind(&scene->cache, object, &other, &scene->error));
    assert_true(cache_find(&scene->cache, object, &found));
    assert_memory_equal(&found, &other, sizeof other);
    assert_true(cache_unbind(&scene->cache, object, &scene->error));
    assert_true(cache_unbind(&scene->cache, object, &scene->error));
    assert_false(cache_find(&scene->cache, object, &found));
}

static void an_object_without_its_content_is_not_found(void **state)
{
    struct scene *scene = *state;
    rota_object_id object = {1, 2};
    struct cache_entry entry = text_added(scene, "one"), found;
    assert_true(cache_bind(&scene->cache, object, &entry, &scene->error));
    content_remove(scene, &entry);
    assert_false(cache_find(&scene->cache, object, &found));
    assert_false(cache_bind(&scene->cache, (rota_object_id){3, 4}, &entry, &scene->error));
    assert_int_equal(scene->error.fault, CACHE_LOST);
    assert_int_equal(
        symlinkat("nonsense", scene->cache.object, "0000000000000009-0000000000000009"), 0);
    assert_false(cache_find(&scene->cache, (rota_object_id){9, 9}, &found));
    struct cache_entry again = text_added(scene, "one");
    assert_true(cache_bind(&scene->cache, (rota_object_id){9, 9}, &again, &scene->error));
    assert_true(cache_find(&scene->cache, (rota_object_id){9, 9}, &found));
    assert_true(cache_find(&scene->cache, object, &found));
}

static bool object_note(void *context, rota_object_id object, const struct cache_entry *entry)
{
    char *text = context;
    size_t length = strlen(text);
    snprintf(text + length, 100 - length, "%d-%d:%d ", (int)object.high, (int)object.low,
             (int)entry->bytes);
    return true;
}

static void objects_are_listed_in_order(void **state)
{
    struct scene *scene = *state;
    char text[100] = "";
    struct cache_entry entry = text_added(scene, "four"), gone = text_added(scene, "gone");
    const rota_object_id objects[] = {{2, 1}, {1, 300}, {1, 2}, {16, 0}, {1, 1}};
    for (int i = 0; i < 5; i++)
        assert_true(cache_bind(&scene->cache, objects[i], &entry, &scene->error));
    assert_true(cache_bind(&scene->cache, (rota_object_id){7, 7}, &gone, &scene->error));
    content_remove(scene, &gone);
    assert_true(cache_each(&scene->cache, object_note, text));
    assert_string_equal(text, "1-1:4 1-2:4 1-300:4 2-1:4 16-0:4 ");
}

static void a_result_is_found_until_a_part_of_it_is_removed(void **state)
{
    struct scene *scene = *state;
    uint8_t key[CACHE_HASH] = {1}, other[CACHE_HASH] = {2};
    char path[100];
    struct cache_entry log;
    struct cache_output outputs[] = {{wire_text_of("a b"), text_added(scene, "first")},
                                     {wire_text_of("c\nd"), text_added(scene, "second")}};
    struct cache_output found[] = {{.name = outputs[0].name}, {.name = outputs[1].name}};
    file_write(scene, "log", "it went well");
    snprintf(path, sizeof path, "%s/log", scene->path);
    assert_true(cache_result_put(&scene->cache, key, outputs, 2, path, &scene->error));
    scene_reopen(scene, 1 << 30);
    assert_false(cache_result_find(&scene->cache, other, found, 2, &log));
    assert_true(cache_result_find(&scene->cache, key, found, 2, &log));
    assert_memory_equal(&found[1].entry, &outputs[1].entry, sizeof log);
    assert_true(cache_take(&scene->cache, &log, scene->folder, "log-again", &scene->error));
    file_is(scene, "log-again", "it went well");
    content_remove(scene, &outputs[1].entry);
    assert_false(cache_result_find(&scene->cache, key, found, 2, &log));
    text_added(scene, "second");
    assert_false(cache_result_find(&scene->cache, key, found, 2, &log));  // it was removed
    assert_true(cache_result_put(&scene->cache, key, NULL, 0, NULL, &scene->error));
    assert_true(cache_result_find(&scene->cache, key, NULL, 0, &log));
    assert_int_equal(log.kind, CACHE_NONE);
    assert_false(cache_result_put(&scene->cache, key, outputs, 2, "/no/log", &scene->error));
}

static void an_incomplete_result_is_not_found(void **state)
{
    struct scene *scene = *state;
    uint8_t key[CACHE_HASH] = {0};
    char path[100] = "cache/result/", whole[400];
    size_t size;
    struct cache_entry log;
    struct cache_output output = {wire_text_of("name"), text_added(scene, "first")};
    memset(path + strlen(path), '0', 64);
    assert_true(cache_result_put(&scene->cache, key, &output, 1, NULL, &scene->error));
    char *text = file_read(scene, path, &size);
    assert_true(size < sizeof whole);
    memcpy(whole, text, size + 1);
    free(text);
    for (size_t length = 0; length <= size; length++) {
        char saved = whole[length];
        whole[length] = '\0';
        file_write(scene, path, whole);
        assert_int_equal(cache_result_find(&scene->cache, key, &output, 1, &log), length == size);
        whole[length] = saved;
    }
    output.name = wire_text_of("nam");
    assert_false(cache_result_find(&scene->cache, key, &output, 1, &log));
}

static void a_failure_is_found_completely_or_not_at_all(void **state)
{
    struct scene *scene = *state;
    uint8_t key[CACHE_HASH] = {0};
    char path[100] = "cache/result/", log_path[100];
    size_t size;
    int32_t status = 0;
    struct cache_entry log;
    memset(path + strlen(path), '0', 64);
    file_write(scene, "log", "it went wrong");
    snprintf(log_path, sizeof log_path, "%s/log", scene->path);
    assert_true(cache_failure_put(&scene->cache, key, 3, log_path, &scene->error));
    assert_true(cache_failure_find(&scene->cache, key, &status, &log));
    assert_int_equal(status, 3);
    char *text = file_read(scene, path, &size);
    for (size_t length = size; length-- > 0;) {
        text[length] = '\0';
        file_write(scene, path, text);
        assert_false(cache_failure_find(&scene->cache, key, &status, &log));
    }
    free(text);
    static const char *const others[] = {"", "0", "-1", "256", "x", "3 "};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char odd[100];
        snprintf(odd, sizeof odd, "rota failure 1 %s\n-\nend\n", others[i]);
        file_write(scene, path, odd);
        assert_false(cache_failure_find(&scene->cache, key, &status, &log));
    }
    assert_true(cache_failure_put(&scene->cache, key, 3, log_path, &scene->error));
    assert_false(cache_result_find(&scene->cache, key, NULL, 0, &log));  // it has to run again
    assert_false(cache_failure_find(&scene->cache, key, &status, &log));
    assert_true(cache_failure_put(&scene->cache, key, 3, log_path, &scene->error));
    assert_true(cache_result_put(&scene->cache, key, NULL, 0, NULL, &scene->error));
    assert_false(cache_failure_find(&scene->cache, key, &status, &log));
    assert_true(cache_result_find(&scene->cache, key, NULL, 0, &log));
}

static void no_two_commands_have_the_same_key(void **state)
{
    struct scene *scene = *state;
    uint8_t keys[9][CACHE_HASH];
    struct cache_output input = {wire_text_of("in"), text_added(scene, "x")}, executable = input;
    executable.entry.executable = true;
    wire_text ab_c[] = {wire_text_of("ab"), wire_text_of("c")};
    wire_text a_bc[] = {wire_text_of("a"), wire_text_of("bc")};
    const struct cache_command commands[] = {
        {.argv = {ab_c, 2}},
        {.argv = {a_bc, 2}},
        {.argv = {ab_c, 1}, .environment = {ab_c + 1, 1}},
        {.argv = {ab_c, 1}, .outputs = {ab_c + 1, 1}},
        {.argv = {ab_c, 1}, .directory = ab_c[1]},
        {.argv = {ab_c, 1}, .inputs = &input, .input_count = 1},
        {.argv = {ab_c, 1}, .inputs = &executable, .input_count = 1},
        {.argv = {ab_c, 1}},
        {.argv = {ab_c, 0}},
    };
    for (int i = 0; i < 9; i++) {
        uint8_t again[CACHE_HASH];
        assert_true(cache_key(&scene->cache, &commands[i], keys[i], &scene->error));
        assert_true(cache_key(&scene->cache, &commands[i], again, &scene->error));
        assert_memory_equal(keys[i], again, CACHE_HASH);
        for (int j = 0; j < i; j++) assert_memory_not_equal(keys[i], keys[j], CACHE_HASH);
    }
}

static bool key_note(void *context, rota_object_id key)
{
    uint64_t *seen = context;
    *seen += key.high;
    return true;
}

static uint64_t keys_told(struct scene *scene)
{
    uint64_t seen = 0;
    cache_known_each(&scene->cache, key_note, &seen);
    return seen;
}

static void a_content_key_is_listed_while_its_result_is_complete(void **state)
{
    struct scene *scene = *state;
    const struct cache_entry entries[]
        = {text_added(scene, "one"), text_added(scene, "two"), text_added(scene, "three")};
    assert_int_equal(keys_told(scene), 0);
    assert_true(cache_known_put(&scene->cache, (rota_object_id){1, 7}, entries, 2));
    assert_true(cache_known_put(&scene->cache, (rota_object_id){2, 7}, entries + 1, 2));
    assert_true(cache_known_put(&scene->cache, (rota_object_id){4, 7}, NULL, 0));
    assert_true(cache_known_put(&scene->cache, (rota_object_id){4, 7}, entries, 1));
    scene_reopen(scene, 1 << 30);
    assert_int_equal(keys_told(scene), 1 + 2 + 4);
    content_remove(scene, &entries[2]);
    assert_int_equal(keys_told(scene), 1 + 4);
    assert_int_equal(files_in(scene, "cache/known"), 2);
    content_remove(scene, &entries[0]);
    assert_int_equal(keys_told(scene), 0);
}

static void half_a_file_of_a_content_key_is_forgotten(void **state)
{
    struct scene *scene = *state;
    const struct cache_entry entry = text_added(scene, "one");
    const char *name = "cache/known/0000000000000008-0000000000000007";
    assert_true(cache_known_put(&scene->cache, (rota_object_id){8, 7}, &entry, 1));
    assert_int_equal(keys_told(scene), 8);
    file_write(scene, "cache/known/nonsense", "end\n");
    assert_int_equal(keys_told(scene), 8);
    assert_false(file_is_there(scene, "cache/known/nonsense"));
    file_write(scene, name, "f:3:");
    assert_int_equal(keys_told(scene), 0);
    assert_false(file_is_there(scene, name));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(an_object_finds_its_content_after_a_restart),
        TEST(an_object_without_its_content_is_not_found),
        TEST(objects_are_listed_in_order),
        TEST(a_result_is_found_until_a_part_of_it_is_removed),
        TEST(an_incomplete_result_is_not_found),
        TEST(a_failure_is_found_completely_or_not_at_all),
        TEST(no_two_commands_have_the_same_key),
        TEST(a_content_key_is_listed_while_its_result_is_complete),
        TEST(half_a_file_of_a_content_key_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
