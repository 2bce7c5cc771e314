// json_test.c - the JSON writer: commas, quotes and escapes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/json.h"

static char *text;
static size_t size;

static struct json begin(void)
{
    return (struct json){.out = open_memstream(&text, &size)};
}

static void wrote(struct json *json, const char *wanted)
{
    fclose(json->out);
    assert_string_equal(text, wanted);
    free(text);
}

static void members_and_items_have_commas_between_them(void **state)
{
    (void)state;
    struct json json = begin();
    json_open(&json, NULL, '{');
    json_number(&json, "n", "%d", -1);
    json_open(&json, "list", '[');
    json_string(&json, NULL, "a");
    json_open(&json, NULL, '{');
    json_close(&json, '}');
    json_plain(&json, NULL, "%u.%u", 7, 3);
    json_close(&json, ']');
    json_bool(&json, "yes", true);
    json_line(&json);
    json_open(&json, NULL, '{');
    json_line(&json);
    wrote(&json, "{\"n\":-1,\"list\":[\"a\",{},\"7.3\"],\"yes\":true}\n{}\n");
}

static void a_newline_follows_the_comma(void **state)
{
    (void)state;
    struct json json = begin();
    json_open(&json, NULL, '[');
    for (int i = 0; i < 2; i++) {
        json_newline(&json);
        json_number(&json, NULL, "%d", i);
    }
    json_close(&json, ']');
    wrote(&json, "[\n0,\n1]");
}

static void missing_values_are_null(void **state)
{
    (void)state;
    struct json json = begin();
    json_open(&json, NULL, '{');
    json_string(&json, "text", NULL);
    json_time(&json, "time", 0);
    json_real(&json, "limit", "%g", INFINITY);
    json_real(&json, "half", "%g", 0.5);
    json_close(&json, '}');
    wrote(&json, "{\"text\":null,\"time\":null,\"limit\":null,\"half\":0.5}");
}

static void any_bytes_become_a_valid_text(void **state)
{
    (void)state;
    struct json json = begin();
    json_open(&json, NULL, '[');
    json_string(&json, NULL, "a\"\\\n\x7f");
    json_bytes(&json, NULL, "\xff\xc3\xa4", 3);
    json_hex(&json, NULL, (const unsigned char *)"\x01\xfe", 2);
    json_close(&json, ']');
    wrote(&json, "[\"a\\\"\\\\\\u000a\\u007f\",\"\\ufffd\xc3\xa4\",\"01fe\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_items_have_commas_between_them),
        cmocka_unit_test(a_newline_follows_the_comma),
        cmocka_unit_test(missing_values_are_null),
        cmocka_unit_test(any_bytes_become_a_valid_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
