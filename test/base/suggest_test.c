// suggest_test.c - suggests the word that a user probably meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static const char *meant_by(const char *word)
{
    static const char *const known[] = {"retries", "needs", "run", "in", "keep", "concatenation"};
    struct word_meant meant = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) word_try(&meant, word, known[i]);
    return meant.word ? meant.word : "nothing";
}

static void letters_changed_added_left_out_and_swapped(void **state)
{
    (void)state;
    assert_string_equal(meant_by("retires"), "retries");
    assert_string_equal(meant_by("retry"), "nothing");
    assert_string_equal(meant_by("retrys"), "retries");
    assert_string_equal(meant_by("nedes"), "needs");
    assert_string_equal(meant_by("runn"), "run");
    assert_string_equal(meant_by("rnu"), "run");
    assert_string_equal(meant_by("n"), "in");
    assert_string_equal(meant_by("concatination"), "concatenation");
    assert_string_equal(meant_by("conctnatoin"), "concatenation");
}

static void another_word_is_another_word(void **state)
{
    (void)state;
    char longest[400];
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_string_equal(meant_by(""), "nothing");
    assert_string_equal(meant_by("x"), "nothing");
    assert_string_equal(meant_by("rxx"), "nothing");
    assert_string_equal(meant_by("output"), "nothing");
    assert_string_equal(meant_by(longest), "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_changed_added_left_out_and_swapped),
        cmocka_unit_test(another_word_is_another_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
