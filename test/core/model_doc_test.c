// model_doc_test.c - the table of transitions in src/core/README.md matches the code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "rota.h"

static enum rota_task_state state_named(const char *name, size_t length)
{
    for (int state = 0; state < ROTA_TASK_STATES; state++) {
        const char *known = rota_task_state_name((enum rota_task_state)state);
        if (strlen(known) == length && !memcmp(known, name, length)) return state;
    }
    return ROTA_TASK_STATES;
}

static size_t word_length(const char *word)
{
    return strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

// "| FROM | TO, TO |" into one row of the table.
static void row_read(const char *line, bool table[ROTA_TASK_STATES][ROTA_TASK_STATES])
{
    const char *at = line + 2;
    enum rota_task_state from = state_named(at, word_length(at));
    assert_int_not_equal(from, ROTA_TASK_STATES);
    for (at += word_length(at); *at; at++) {
        size_t length = word_length(at);
        if (!length) continue;
        enum rota_task_state to = state_named(at, length);
        assert_int_not_equal(to, ROTA_TASK_STATES);
        table[from][to] = true;
        at += length - 1;
    }
}

static void the_table_of_moves_is_the_code(void **state)
{
    (void)state;
    bool table[ROTA_TASK_STATES][ROTA_TASK_STATES] = {{false}};
    char line[400];
    bool inside = false;
    FILE *file = fopen("src/core/README.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') inside = !strcmp(line, "### Moves\n");
        if (inside && line[0] == '|' && word_length(line + 2) > 1) row_read(line, table);
    }
    fclose(file);
    for (int from = 0; from < ROTA_TASK_STATES; from++)
        for (int to = 1; to < ROTA_TASK_STATES; to++)
            if (table[from][to]
                != rota_task_may_move((enum rota_task_state)from, (enum rota_task_state)to))
                fail_msg("%s to %s", rota_task_state_name((enum rota_task_state)from),
                         rota_task_state_name((enum rota_task_state)to));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_of_moves_is_the_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
