// utf8_test.c - valid UTF-8 is decoded, and invalid UTF-8 is rejected.
#include "allocator.h"

// The shortest way to write the number, as the standard has it.
static size_t character_write(uint32_t number, char out[4])
{
    static const uint32_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; number >>= 6) out[i] = (char)(0x80 | (number & 0x3f));
    out[0] = (char)(leads[size] | number);
    return size;
}

static void each_character_is_read_as_its_number(void **state)
{
    (void)state;
    char text[4];
    for (uint32_t number = 0; number <= 0x10ffff; number++) {
        size_t size = character_write(number, text);
        uint32_t found = 0;
        bool surrogate = number >= 0xd800 && number < 0xe000;
        size_t length = character_read(text, size, &found);
        if (length != (surrogate ? 0 : size)) fail_msg("%x has %zu bytes", number, length);
        if (length && found != number) fail_msg("%x is read as %x", number, found);
    }
}

static void a_truncated_character_is_invalid(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0xe4, 0x20ac, 0x1f600};
    char text[4];
    uint32_t found;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t size = character_write(numbers[i], text);
        for (size_t length = 1; length < size; length++)
            assert_int_equal(character_read(text, length, &found), 0);
        text[size - 1] = 'x';
        assert_int_equal(character_read(text, size, &found), 0);
    }
}

static void other_bytes_are_invalid(void **state)
{
    (void)state;
    static const char *const texts[] = {"\x80",         "\xbf",         "\xc0\x80",
                                        "\xc1\xbf",     "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff\xbf\xbf\xbf"};
    uint32_t found;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(character_read(texts[i], strlen(texts[i]), &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_character_is_read_as_its_number),
        cmocka_unit_test(a_truncated_character_is_invalid),
        cmocka_unit_test(other_bytes_are_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
