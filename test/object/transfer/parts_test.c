// parts_test.c - interrupted uploads: each client resumes its own, within its share of space.
#define _GNU_SOURCE
#include "object/transfer/put_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { MIB = 1 << 20, SIZE = 4 * MIB, CUT = 2 * MIB };

static char *content_make(struct scene *scene, uint32_t number, char entry[CACHE_ENTRY_TEXT])
{
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    memcpy(bytes, &number, sizeof number);
    put_entry(scene, bytes, SIZE, entry);
    return bytes;
}

// Starts an upload of the content with that number, and is interrupted.
static void cut_off(struct scene *scene, uint64_t owner, uint32_t number, bool is_right)
{
    char entry[CACHE_ENTRY_TEXT], *bytes = content_make(scene, number, entry);
    struct link *link = putter(scene, owner);
    if (!is_right) bytes[MIB] = 1;
    put_piece(link, entry, 0, SIZE);
    put_bytes(scene, link, bytes, CUT);
    putter_leave(scene, link);
    free(bytes);
}

static uint64_t offset_asked(struct scene *scene, struct link *link, const char *entry)
{
    put_offer(link, entry);
    struct wire_message message = put_hear(scene, link);
    assert_string_equal(wire_kind_name(message.kind), "want");
    uint64_t offset = message.want.offset;
    put_expect(scene, link, WIRE_OFFERED_MESSAGE);
    return offset;
}

static uint64_t kept(struct scene *scene, uint64_t owner, uint32_t number)
{
    char entry[CACHE_ENTRY_TEXT];
    free(content_make(scene, number, entry));
    struct link *link = putter(scene, owner);
    uint64_t offset = offset_asked(scene, link, entry);
    putter_leave(scene, link);
    return offset;
}

static void a_client_does_not_resume_the_upload_of_another(void **state)
{
    struct scene *scene = *state;
    cut_off(scene, 1, 5, false);
    assert_int_equal(kept(scene, 2, 5), 0);
    assert_int_equal(kept(scene, 1, 5), CUT);
    cut_off(scene, 2, 5, true);
    assert_int_equal(kept(scene, 2, 5), CUT);
}

static void wrong_bytes_before_the_cut_are_sent_again(void **state)
{
    struct scene *scene = *state;
    char entry[CACHE_ENTRY_TEXT], *bytes = content_make(scene, 5, entry);
    cut_off(scene, 1, 5, false);
    struct link *link = putter(scene, 1);
    assert_int_equal(offset_asked(scene, link, entry), CUT);
    put_piece(link, entry, CUT, SIZE - CUT);
    put_bytes(scene, link, bytes + CUT, SIZE - CUT);
    put_expect_refusal(scene, link, WIRE_REFUSED_NOT_FOUND, "do not match their hash");
    putter_leave(scene, link);
    link = putter(scene, 1);
    assert_int_equal(offset_asked(scene, link, entry), 0);
    put_content(scene, link, entry, bytes, SIZE);
    link_close(link);
    free(bytes);
}

static void the_one_that_has_most_loses_its_oldest(void **state)
{
    struct scene *scene = *state;
    cut_off(scene, 2, 100, true);
    for (uint32_t i = 0; i < 20; i++) cut_off(scene, 1, i, true);
    cut_off(scene, 3, 101, true);
    assert_int_equal(kept(scene, 2, 100), CUT);
    assert_int_equal(kept(scene, 3, 101), CUT);
    assert_int_equal(kept(scene, 1, 0), 0);
    assert_int_equal(kept(scene, 1, 19), CUT);
}

static void interrupted_uploads_share_the_space_of_the_cache(void **state)
{
    struct scene *scene = *state;
    scene->there.bytes_max = 3 * CUT;
    cut_off(scene, 2, 100, true);
    for (uint32_t i = 0; i < 4; i++) cut_off(scene, 1, i, true);
    assert_int_equal(kept(scene, 2, 100), CUT);
    assert_int_equal(kept(scene, 1, 1), 0);
    assert_int_equal(kept(scene, 1, 2), CUT);
    assert_int_equal(kept(scene, 1, 3), CUT);
}

static void an_upload_larger_than_any_disk_is_refused_at_once(void **state)
{
    struct scene *scene = *state;
    struct statvfs disk;
    char entry[CACHE_ENTRY_TEXT], large[CACHE_ENTRY_TEXT];
    assert_int_equal(statvfs(scene->path, &disk), 0);
    uint64_t bytes = (uint64_t)disk.f_blocks * disk.f_frsize + 1;
    put_entry(scene, "x", 1, entry);
    snprintf(large, sizeof large, "f:%ju:%s", (uintmax_t)bytes, strrchr(entry, ':') + 1);
    struct link *link = putter(scene, 1);
    put_piece(link, large, 0, bytes);
    put_expect_refusal(scene, link, WIRE_REFUSED_FULL, "no space");
    link_close(link);
}

static void a_long_message_is_refused(void **state)
{
    struct scene *scene = *state;
    struct link *link = putter(scene, 1);
    wire_out_append(&link->out, "\1\0\x10\0\x2c", 5);
    link_flush(link);
    put_expect_refusal(scene, link, WIRE_REFUSED_REQUEST, "1 MiB");
    link_close(link);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_does_not_resume_the_upload_of_another),
        TEST(wrong_bytes_before_the_cut_are_sent_again),
        TEST(the_one_that_has_most_loses_its_oldest),
        TEST(interrupted_uploads_share_the_space_of_the_cache),
        TEST(an_upload_larger_than_any_disk_is_refused_at_once),
        TEST(a_long_message_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
