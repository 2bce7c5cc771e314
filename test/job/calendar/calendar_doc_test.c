// calendar_doc_test.c - the examples in doc/calendar-and-definitions.md are what the code does.
#include "almanac.h"

// Cuts the next cell of a row, without the blanks and backquotes around it.
static char *cell_take(char **row)
{
    char *start = *row + strspn(*row, "| `"), *end = strchr(start, '|');
    assert_non_null(end);
    *row = end;
    while (end > start && strchr(" `", end[-1])) end--;
    if (*end == '|') fail_msg("a cell does not end with a blank: %s", start);
    *end = 0;
    return start;
}

static void row_check(char *row)
{
    const char *fields = cell_take(&row), *after = cell_take(&row), *expected = cell_take(&row);
    char text[600] = "", one[40];
    struct almanac almanac;
    almanac_open(&almanac, fields);
    for (rota_time time = at(after); strlen(text) < strlen(expected);) {
        time = calendar_next(&almanac.calendar, time);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "",
                 shown(almanac.zone, time, one));
    }
    if (strcmp(text, expected)) fail_msg("%s after %s: %s", fields, after, text);
    almanac_close(&almanac);
}

static void the_examples_are_the_code(void **state)
{
    (void)state;
    char line[800];
    int rows = 0;
    bool inside = false;
    FILE *file = fopen("doc/calendar-and-definitions.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "## ", 3)) inside = !strcmp(line, "## Examples\n");
        if (!inside || strncmp(line, "| `", 3)) continue;
        row_check(line);
        rows++;
    }
    fclose(file);
    assert_true(rows >= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_examples_are_the_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
