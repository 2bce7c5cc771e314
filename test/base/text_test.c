// text_test.c - text is added piece by piece; without memory the rest is left out.
#include "allocator.h"

static void pieces_follow_each_other(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct text text = {0};
    text_add(&memory, &text, "%s", "");
    assert_int_equal(text.length, 0);
    text_add(&memory, &text, "task %u", 7u);
    assert_string_equal(text.data, "task 7");
    text_add(&memory, &text, "%s", "");
    text_add(&memory, &text, " -> %s\n", "READY");
    assert_string_equal(text.data, "task 7 -> READY\n");
    assert_int_equal(text.length, strlen(text.data));
    text_release(&memory, &text);
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    assert_int_equal(allocator.bytes, 0);
}

static void many_pieces_are_all_there(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct text text = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        text_add(&memory, &text, "%04u ", i);
        assert_int_equal(text.length, (i + 1) * 5);
        assert_int_equal(text.data[text.length], 0);
    }
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(strtoul(text.data + i * 5, NULL, 10), i);
    text_release(&memory, &text);
    assert_int_equal(allocator.bytes, 0);
}

// As the trace of a core is, after each turn.
static void a_text_may_begin_again(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct text text = {0};
    text_add(&memory, &text, "a long line");
    text.length = 0;
    text_add(&memory, &text, "short");
    assert_string_equal(text.data, "short");
    text_release(&memory, &text);
}

static void the_end_has_room_too(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct text text = {0};
    for (uint32_t length = 1; length <= 300; length++) {
        text_add(&memory, &text, "x");
        assert_int_equal(text.length, length);
        assert_true(text.capacity > length);
    }
    text_release(&memory, &text);
    assert_int_equal(allocator.bytes, 0);
}

static void a_piece_is_cut_at_255(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    char piece[400];
    memset(piece, 'x', sizeof piece);
    for (uint32_t length = 253; length < 260; length++) {
        struct text text = {0};
        text_add(&memory, &text, "%.*s", (int)length, piece);
        assert_int_equal(text.length, length < 255 ? length : 255);
        assert_int_equal(strlen(text.data), text.length);
        text_add(&memory, &text, "%s", "end");
        assert_string_equal(text.data + text.length - 4, "xend");
        text_release(&memory, &text);
    }
    assert_int_equal(allocator.bytes, 0);
}

static void text_without_memory_is_left_out(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct text text = {0};
    allocator_refuse_next(&allocator, 0);
    text_add(&memory, &text, "lost");
    assert_int_equal(text.length, 0);
    assert_null(text.data);
    text_add(&memory, &text, "here");
    allocator_refuse_next(&allocator, 0);
    text_add(&memory, &text, "%0100d", 0);
    assert_string_equal(text.data, "here");
    assert_int_equal(text.length, 4);
    text_add(&memory, &text, " again");
    assert_string_equal(text.data, "here again");
    text_release(&memory, &text);
    assert_int_equal(allocator.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(many_pieces_are_all_there),
        cmocka_unit_test(a_text_may_begin_again),
        cmocka_unit_test(the_end_has_room_too),
        cmocka_unit_test(a_piece_is_cut_at_255),
        cmocka_unit_test(text_without_memory_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
