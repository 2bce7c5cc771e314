// expect.c - expectations: compares the values in the play with the actual ones.
#include "sim/play/internal.h"

#include <stdlib.h>
#include <string.h>

// ---- Comparing words -------------------------------------------------------

// A number with or without a sign.
static bool integer_parse(const char *text, int64_t *integer)
{
    uint64_t number;
    bool negative = *text == '-';
    if (!number_parse(text + (negative || *text == '+'), INT64_MAX, &number)) return false;
    *integer = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

static bool word_equals(const char *expected, const char *actual)
{
    int64_t left, right;
    if (strcmp(expected, actual) == 0) return true;
    return integer_parse(expected, &left) && integer_parse(actual, &right) && left == right;
}

// Both sides may be alternatives with | between them: one in common is enough.
static bool word_matches(const char *expected, const char *actual)
{
    struct strings left = { 0 }, right = { 0 };
    bool found = false;
    strings_split(&left, expected, '|');
    strings_split(&right, actual, '|');
    for (uint32_t i = 0; i < left.count; i++) {
        for (uint32_t k = 0; k < right.count; k++) {
            if (word_equals(left.items[i], right.items[k])) found = true;
        }
    }
    strings_release(&left);
    strings_release(&right);
    return found;
}

// ---- Comparing lists -------------------------------------------------------

static bool order_matches(const struct strings *expected, const struct strings *actual)
{
    if (expected->count != actual->count) return false;
    for (uint32_t i = 0; i < expected->count; i++) {
        if (!word_matches(expected->items[i], actual->items[i])) return false;
    }
    return true;
}

static bool set_matches(const struct strings *expected, const struct strings *actual)
{
    if (expected->count != actual->count) return false;
    bool *used = array_resize(NULL, actual->count, sizeof *used), all = true;
    memset(used, 0, actual->count * sizeof *used);
    for (uint32_t i = 0; i < expected->count && all; i++) {
        uint32_t k = 0;
        while (k < actual->count && (used[k] || !word_matches(expected->items[i],
                                                              actual->items[k]))) k++;
        if (k < actual->count) used[k] = true;
        else all = false;
    }
    free(used);
    return all;
}

// A set as written: separated by blanks or commas, "-" if it is empty.
static void set_add(struct strings *set, const char *text)
{
    if (strcmp(text, "-") != 0) strings_split(set, text, ',');
}

// "w0|-" means: that worker, or no worker.
static bool set_holds(const struct strings *expected, const struct strings *actual)
{
    bool one_for_none = !actual->count && expected->count == 1;
    return one_for_none ? word_matches(expected->items[0], "-") : set_matches(expected, actual);
}

static bool text_set_holds(const char *expected, const char *actual)
{
    struct strings left = { 0 }, right = { 0 };
    set_add(&left, expected);
    set_add(&right, actual);
    bool holds = set_holds(&left, &right);
    strings_release(&left);
    strings_release(&right);
    return holds;
}

// ---- Comparing fields, times and text --------------------------------------

static const char *field_find(const struct strings *actual, const char *key)
{
    size_t length = strlen(key);
    for (uint32_t i = 0; i < actual->count; i++) {
        const char *item = actual->items[i];
        if (strncmp(item, key, length) == 0 && item[length] == '=') return item + length + 1;
    }
    return NULL;
}

static bool field_matches(const char *key, const char *expected, const char *actual)
{
    uint64_t left, right;
    bool is_size = strcmp(key, "mem") == 0 || strcmp(key, "size") == 0;
    if (is_size && size_parse(expected, &left) && size_parse(actual, &right)) return left == right;
    return text_set_holds(expected, actual);
}

// Only the fields that are written are compared.
static bool fields_match(struct play *play, const struct word *words, uint32_t count,
                         const struct strings *actual)
{
    if (count == 1 && !words->value && strcmp(words->text, "-") == 0) return !actual->count;
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        const char *value = field_find(actual, words[i].text);
        if (!words[i].value || (actual->count && !value)) {
            play_wrong(play, "unknown field '%s'", words[i].text);
        } else if (!value || !field_matches(words[i].text, words[i].value, value)) {
            all = false;
        }
    }
    return all;
}

static bool time_matches(struct play *play, const char *expected, const char *actual)
{
    rota_time time = ROTA_NEVER;
    char text[32];
    bool never = strcmp(expected, "-") == 0 || strcmp(expected, "never") == 0;
    if (!never && !time_parse(expected, &time)) play_wrong(play, "'%s' is not a time", expected);
    time_text(time, text, sizeof text);
    return strcmp(text, actual) == 0;
}

static char small_letter(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool text_contains(const char *text, const char *piece)
{
    for (; *text; text++) {
        size_t i = 0;
        while (piece[i] && small_letter(text[i]) == small_letter(piece[i])) i++;
        if (!piece[i]) return true;
    }
    return !*piece;
}

// ---- The statement ---------------------------------------------------------

struct expectation {
    char relation;             // '=' or '~'
    const struct word *words;  // the expected values
    uint32_t count;
};

// Marks the words after the relation as used, so that the view sees only its own words.
static bool expectation_cut(struct play *play, struct expectation *expectation)
{
    uint32_t at = 1;
    while (at < play->word_count && (play->words[at].value
           || (strcmp(play->words[at].text, "=") != 0 && strcmp(play->words[at].text, "~") != 0))) {
        at++;
    }
    if (at + 1 >= play->word_count) {
        play_wrong(play, "the form is: expect WHAT = VALUES, or expect WHAT ~ TEXT");
        return false;
    }
    expectation->relation = play->words[at].text[0];
    expectation->words = &play->words[at + 1];
    expectation->count = play->word_count - at - 1;
    for (uint32_t i = at; i < play->word_count; i++) play->words[i].used = true;
    return true;
}

static void expected_write(const struct expectation *expectation, struct strings *expected)
{
    for (uint32_t i = 0; i < expectation->count; i++) {
        const struct word *word = &expectation->words[i];
        if (word->value) strings_add(expected, "%s=%s", word->text, word->value);
        else strings_add(expected, "%s", word->text);
    }
}

static bool shape_holds(struct play *play, const struct expectation *expectation,
                        enum view_shape shape, const struct strings *actual)
{
    struct strings values = { 0 };
    for (uint32_t i = 0; i < expectation->count; i++) {
        if (!expectation->words[i].value) set_add(&values, expectation->words[i].text);
    }
    bool holds = false;
    if (shape == VIEW_SET) holds = set_holds(&values, actual);
    else if (shape == VIEW_ORDER) holds = order_matches(&values, actual);
    else holds = fields_match(play, expectation->words, expectation->count, actual);
    strings_release(&values);
    return holds;
}

static void judge(struct play *play, const struct expectation *expectation, enum view_shape shape,
                  const struct strings *actual)
{
    struct strings words = { 0 };
    expected_write(expectation, &words);
    char *expected = strings_join(&words, " ");
    char *text = strings_join(actual, " ");
    bool holds = false;
    if (expectation->relation == '~') holds = text_contains(text, expected);
    else if (shape == VIEW_TEXT) holds = strcmp(text, expected) == 0;
    else if (shape == VIEW_TIME) holds = time_matches(play, expected, text);
    else holds = shape_holds(play, expectation, shape, actual);
    if (!holds && !play->halt) play_fail(play, expected, *text ? text : "-");
    free(text);
    free(expected);
    strings_release(&words);
}

void verb_expect(struct play *play)
{
    struct expectation expectation;
    enum view_shape shape;
    struct strings actual = { 0 };
    if (play->refused) play_wrong(play, "an expectation cannot be refused");
    const char *what = take_name(play);
    if (play->halt || !expectation_cut(play, &expectation)) return;
    if (view_look(play, what, &shape, &actual)) judge(play, &expectation, shape, &actual);
    strings_release(&actual);
}
