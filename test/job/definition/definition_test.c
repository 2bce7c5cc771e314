// definition_test.c - definition files: parsing, refusals, and conversion back to text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/definition/internal.h"

static const char full[] = "# every key there is\n"
                           "insert_task: evening\n"
                           "    type: bundle\n"
                           "    run_days: mo-fr\n"
                           "    start_times: 23:59\n"
                           "    zone: Europe/Berlin   # not ours\n"
                           "    overlap: queue\n"
                           "    catch_up: once\n"
                           "\n"
                           "insert_task: nightly# # a comment\n"
                           "    type: callable            # or bundle\n"
                           "    command: make report # \"now\"\n"
                           "    condition: su(load) & (nr(backup)|fa(x))\n"
                           "    parent: evening\n"
                           "    machine: db1\n"
                           "    priority: important\n"
                           "    lane: disk\n"
                           "    group: sda\n"
                           "    access: write\n"
                           "    cores: 2\n"
                           "    memory: 512M\n"
                           "    retries: 2\n"
                           "    timeout: 1h\n"
                           "update_task: load\n"
                           "    machine:\n"
                           "    start_mins: 0,30\n"
                           "    priority: 3\n"
                           "delete_task: old\n";

// ---- Helpers ---------------------------------------------------------------

static void parsed(struct definitions *definitions, const char *text)
{
    if (definitions_parse(definitions, text, strlen(text))) return;
    const struct definition_error *error = &definitions->errors[0];
    fail_msg("%u:%u: %s", error->line, error->column, error->reason);
}

// All errors, a line each.
static void refused(const char *text, const char *expected)
{
    struct definitions definitions;
    char errors[8000] = "";
    size_t length = 0;
    assert_false(definitions_parse(&definitions, text, strlen(text)));
    for (uint32_t i = 0; i < definitions.error_count; i++) {
        length += (size_t)definition_error_text(&definitions.errors[i], "f", errors + length,
                                                sizeof errors - length);
        length += (size_t)snprintf(errors + length, sizeof errors - length, "\n");
    }
    assert_string_equal(errors, expected);
    definitions_release(&definitions);
}

static bool texts_equal(const char *left, const char *right)
{
    return left && right ? strcmp(left, right) == 0 : left == right;
}

static bool schedules_equal(const struct calendar_fields *left, const struct calendar_fields *right)
{
    return texts_equal(left->run_days, right->run_days)
           && texts_equal(left->start_times, right->start_times)
           && texts_equal(left->run_window, right->run_window)
           && texts_equal(left->start_mins, right->start_mins)
           && texts_equal(left->cron, right->cron) && texts_equal(left->zone, right->zone);
}

static bool definitions_equal(const struct definition *left, const struct definition *right)
{
    return left->action == right->action && left->given == right->given
           && texts_equal(left->name, right->name) && texts_equal(left->command, right->command)
           && texts_equal(left->condition, right->condition)
           && texts_equal(left->machine, right->machine) && texts_equal(left->lane, right->lane)
           && texts_equal(left->group, right->group) && texts_equal(left->parent, right->parent)
           && schedules_equal(&left->schedule, &right->schedule) && left->type == right->type
           && left->priority == right->priority && left->access == right->access
           && left->cores == right->cores && left->memory_mib == right->memory_mib
           && left->retries == right->retries && left->overlap == right->overlap
           && left->catch_up == right->catch_up && left->timeout == right->timeout;
}

// ---- What a file says ------------------------------------------------------

static void a_file_is_parsed_completely(void **state)
{
    (void)state;
    struct definitions file;
    parsed(&file, full);
    assert_int_equal(file.count, 4);
    const struct definition *bundle = &file.items[0], *task = &file.items[1];
    const struct definition *update = &file.items[2], *old = &file.items[3];
    assert_string_equal(bundle->name, "evening");
    assert_int_equal(bundle->line, 2);
    assert_int_equal(bundle->type, DEFINITION_BUNDLE);
    assert_string_equal(bundle->schedule.zone, "Europe/Berlin");
    assert_int_equal(bundle->overlap, CALENDAR_OVERLAP_QUEUE);
    assert_int_equal(bundle->catch_up, CALENDAR_CATCH_UP_ONCE);
    assert_string_equal(task->name, "nightly#");
    assert_string_equal(task->command, "make report # \"now\"");
    assert_string_equal(task->condition, "su(load) & (nr(backup)|fa(x))");
    assert_string_equal(task->parent, "evening");
    assert_int_equal(task->priority, DEFINITION_IMPORTANT);
    assert_int_equal(task->access, ROTA_ACCESS_WRITE);
    assert_int_equal(task->cores, 2);
    assert_int_equal(task->memory_mib, 512);
    assert_int_equal(task->timeout, 3600000000);
    assert_int_equal(update->action, DEFINITION_UPDATE);
    assert_string_equal(update->machine, "");
    assert_null(update->command);
    assert_int_equal(update->priority, DEFINITION_CRITICAL);
    assert_int_equal(update->line, 24);
    assert_int_equal(old->action, DEFINITION_DELETE);
    definitions_release(&file);
}

static void missing_keys_have_defaults(void **state)
{
    (void)state;
    struct definitions file;
    parsed(&file, "insert_task: a\ncommand: true");
    const struct definition *task = &file.items[0];
    assert_int_equal(task->given, 1u << DEFINITION_COMMAND);
    assert_int_equal(task->type, DEFINITION_CALLABLE);
    assert_int_equal(task->priority, DEFINITION_NORMAL);
    assert_int_equal(task->cores, 1);
    assert_int_equal(task->access, ROTA_ACCESS_NONE);
    assert_int_equal(task->timeout, 0);
    definitions_release(&file);
}

static void newlines_marks_and_blanks_do_not_matter(void **state)
{
    (void)state;
    struct definitions file;
    parsed(&file, "\xef\xbb\xbf\r\n \tinsert_task :  a \r\n\r\n# c\r\n  # d\r\ncommand:b c\t\r");
    assert_int_equal(file.count, 1);
    assert_int_equal(file.items[0].line, 2);
    assert_string_equal(file.items[0].name, "a");
    assert_string_equal(file.items[0].command, "b c");
    definitions_release(&file);
    parsed(&file, "");
    assert_int_equal(file.count, 0);
    definitions_release(&file);
}

static void sizes_and_times_have_units(void **state)
{
    (void)state;
    struct definitions file;
    parsed(&file, "insert_task: a\ncommand: x\nmemory: 1\ntimeout: 250ms\n"
                  "insert_task: b\ncommand: x\nmemory: 3G\ntimeout: 2d\n"
                  "insert_task: c\ncommand: x\nmemory: 1025K\ntimeout: 90m\n");
    assert_int_equal(file.items[0].memory_mib, 1);
    assert_int_equal(file.items[0].timeout, 250000);
    assert_int_equal(file.items[1].memory_mib, 3072);
    assert_int_equal(file.items[1].timeout, 172800000000);
    assert_int_equal(file.items[2].memory_mib, 2);
    assert_int_equal(file.items[2].timeout, 5400000000);
    definitions_release(&file);
}

// ---- Mistakes --------------------------------------------------------------

static void misspelt_words_are_guessed(void **state)
{
    (void)state;
    refused("insert_task: a\ncommand: x\ncomand: y\n",
            "f:3:1: unknown key \"comand\" (did you mean command?)\n");
    refused("insert_task: a\ncommand: x\n  strat_times: 10:00\n",
            "f:3:3: unknown key \"strat_times\" (did you mean start_times?)\n");
    refused("insert_taks: a\ncommand: x\nupdate_task: b\ncolour: red\n",
            "f:1:1: unknown key \"insert_taks\" (did you mean insert_task?)\n"
            "f:4:1: unknown key \"colour\"\n");
}

static void lines_must_have_a_form_and_a_place(void **state)
{
    (void)state;
    refused("command: x\n", "f:1:1: command before the first action\n");
    refused("insert_task: a\ncommand: x\njust text\n",
            "f:3:1: expected a key, a colon and a value\n");
    refused("insert_task: a\ncommand: x\nretries: 1\nretries: 2\n",
            "f:4:1: duplicate key retries\n");
    refused("insert_task: a\ncommand:\n", "f:2:9: command is empty\n");
    refused("insert_task: a\ncommand: x\nmachine: # none\n", "f:3:10: machine is empty\n");
}

static void values_must_be_of_their_type(void **state)
{
    (void)state;
    refused("insert_task: a\ncommand: x\ncores: two\nmemory: 5X\nretries: 1001\ntimeout: 1\n"
            "priority: 4\noverlap: wait\ncatch_up: all\ntype: box\n",
            "f:3:8: \"two\" is not a number from 0 to 4294967295\n"
            "f:4:9: \"5X\" is not a size like 512M or 4G\n"
            "f:5:10: \"1001\" is not a number from 0 to 1000\n"
            "f:6:10: \"1\" is not a time like 90s, 30m or 1h\n"
            "f:7:11: \"4\" is not a priority: 0 to 3, or low, normal, important, critical\n"
            "f:8:10: \"wait\" is not skip or queue\n"
            "f:9:11: \"all\" is not skip or once\n"
            "f:10:7: \"box\" is not a type (callable or bundle)\n");
    refused("insert_task: a\ncommand: x\ncores: 99999999999999999999\nmemory: 9999999999999T\n"
            "timeout: 9223372036854775807h\nretries: -1\n",
            "f:3:8: \"99999999999999999999\" is not a number from 0 to 4294967295\n"
            "f:4:9: \"9999999999999T\" is not a size like 512M or 4G\n"
            "f:5:10: \"9223372036854775807h\" is not a time like 90s, 30m or 1h\n"
            "f:6:10: \"-1\" is not a number from 0 to 1000\n");
}

static void names_must_fit_into_conditions(void **state)
{
    (void)state;
    char text[400], name[300];
    struct definitions file;
    memset(name, 'n', sizeof name);
    name[256] = 0;
    refused("insert_task:\ncommand: x\n", "f:1:13: \"\" is not a name (it is empty)\n");
    refused("insert_task: a b\ncommand: x\nmachine: a|b\n",
            "f:1:14: \"a b\" is not a name (blanks and ( ) & | are not allowed)\n"
            "f:3:10: \"a|b\" is not a name (blanks and ( ) & | are not allowed)\n");
    snprintf(text, sizeof text, "delete_task: %s\n", name);
    assert_false(definitions_parse(&file, text, strlen(text)));
    assert_non_null(strstr(file.errors[0].reason, "more than 255 bytes"));
    definitions_release(&file);
    snprintf(text, sizeof text, "update_task: a\ncondition: su(%s)\n", name);
    assert_false(definitions_parse(&file, text, strlen(text)));
    assert_string_equal(file.errors[0].reason, "a name is longer than 255 bytes");
    definitions_release(&file);
    name[255] = 0;
    snprintf(text, sizeof text, "delete_task: %s\n", name);
    parsed(&file, text);
    definitions_release(&file);
}

static void bytes_must_be_text(void **state)
{
    (void)state;
    refused("insert_task: \xc3\xa4\xff\ncommand: x\n",
            "f:1:15: not printable UTF-8\n"
            "f:2:1: command before the first action\n");
    const char *const wrong[]
        = {"\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8", "\xe2\x82",
           "\x01",     "\x7f",         "a\rb"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct definitions file;
        char text[40];
        snprintf(text, sizeof text, "# %s\n", wrong[i]);
        assert_false(definitions_parse(&file, text, strlen(text)));
        definitions_release(&file);
    }
    struct definitions file;
    assert_false(definitions_parse(&file, "# a\0b\n", 6));
    definitions_release(&file);
    parsed(&file, "insert_task: gr\xc3\xbc\xc3\x9f \n command: \xf0\x9f\x90\x84 \xe2\x82\xac");
    definitions_release(&file);
}

static void a_file_may_be_too_large(void **state)
{
    (void)state;
    struct definitions file;
    assert_false(definitions_parse(&file, "x", (size_t)DEFINITION_FILE_MAX + 1));
    assert_string_equal(file.errors[0].reason, "the file is larger than 64 MiB");
    definitions_release(&file);
}

static void too_many_errors_end_the_list(void **state)
{
    (void)state;
    struct definitions file;
    char text[400] = "";
    for (int i = 0; i < 100; i++) memcpy(text + 2 * i, "x\n", 3);
    assert_false(definitions_parse(&file, text, strlen(text)));
    assert_int_equal(file.error_count, DEFINITION_ERRORS_MAX);
    definitions_release(&file);
}

static void parts_must_go_together(void **state)
{
    (void)state;
    refused("insert_task: a\n", "f:1:14: \"a\" has no command\n");
    refused("insert_task: a\ncommand: x\nlane: l\ninsert_task: b\ncommand: x\ngroup: g\n"
            "access: read\n",
            "f:3:1: lane needs access (read or write)\n"
            "f:6:1: group needs a lane\n"
            "f:7:1: access needs a lane\n");
    refused("update_task: a\ntype: bundle\ncommand:\n",
            "f:2:1: the type of a task cannot be changed\nf:3:1: command is empty\n");
    refused("delete_task: a\nretries: 1\n", "f:2:1: delete_task takes only a name\n");
}

static void bundles_have_a_calendar_and_no_more(void **state)
{
    (void)state;
    refused("insert_task: a\ntype: bundle\ncommand: x\nparent: b\ncores: 1\n",
            "f:3:1: a bundle cannot have command\nf:4:1: a bundle cannot have parent\n"
            "f:5:1: a bundle cannot have cores\n");
}

static void schedules_are_checked(void **state)
{
    (void)state;
    refused("insert_task: a\ncommand: x\nstart_times: 23:59,24:10\n",
            "f:3:20: start_times: invalid time \"24:10\" (expected 00:00 to 23:59)\n");
    refused("insert_task: a\ncommand: x\nrun_window: 22:00-02:00\n",
            "f:3:13: run_window: needs start_mins\n");
    refused("update_task: a\ncron: * * * *\n",
            "f:2:7: cron: 4 fields instead of 5: minute, hour, day of the month, month, day of "
            "the week\n");
}

static void names_are_unique(void **state)
{
    (void)state;
    refused("insert_task: a\ncommand: x\ndelete_task: b\nupdate_task: a\nretries: 1\n",
            "f:4:14: duplicate task \"a\", first in line 1\n");
}

static void parents_are_bundles(void **state)
{
    (void)state;
    refused("insert_task: a\ncommand: x\nparent: b\ninsert_task: b\ncommand: x\n",
            "f:3:9: \"b\" is not a bundle\n");
    refused("insert_task: a\ncommand: x\nparent: a\n", "f:3:9: \"a\" is not a bundle\n");
    refused("delete_task: b\nupdate_task: a\nparent: b\n", "f:3:9: \"b\" is deleted in line 1\n");
    struct definitions file;
    parsed(&file, "insert_task: a\ncommand: x\nparent: elsewhere\n");
    definitions_release(&file);
}

static void the_nine_wrong_conditions_are_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "su(t",           "su(t1 & su(t2)", "su(t1) | su()",  "s(t)",    "(su(a) & su(b)",
        "su(a) & su(b))", "suc(t)",         "su(a) & suc(b)", "su(a) &",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct definitions file;
        char text[100];
        snprintf(text, sizeof text, "update_task: a\ncondition: %s\n", wrong[i]);
        assert_false(definitions_parse(&file, text, strlen(text)));
        assert_int_equal(file.errors[0].line, 2);
        assert_in_range(file.errors[0].column, 12, 12 + strlen(wrong[i]));
        definitions_release(&file);
    }
    refused("update_task: a\ncondition: su(a) & suc(b)\n",
            "f:2:20: expected success, failed, notrunning, done or '('\n");
}

// ---- Back to text ----------------------------------------------------------

static void a_written_definition_parses_as_the_same(void **state)
{
    (void)state;
    struct definitions file, again;
    char text[1000];
    parsed(&file, full);
    for (uint32_t i = 0; i < file.count; i++) {
        int length = definition_write(&file.items[i], text, sizeof text);
        assert_int_equal(length, strlen(text));
        parsed(&again, text);
        assert_int_equal(again.count, 1);
        assert_true(definitions_equal(&file.items[i], &again.items[0]));
        definitions_release(&again);
    }
    definitions_release(&file);
}

static void writing_returns_the_size_it_needs(void **state)
{
    (void)state;
    struct definition task = definition_begin(DEFINITION_INSERT, "a");
    char text[100];
    task.given = 1u << DEFINITION_COMMAND | 1u << DEFINITION_TIMEOUT;
    task.command = "true";
    task.timeout = 90000000;
    int length = definition_write(&task, text, sizeof text);
    assert_string_equal(text, "insert_task: a\n    command: true\n    timeout: 90s\n");
    assert_int_equal(definition_write(&task, NULL, 0), length);
    assert_int_equal(definition_write(&task, text, 6), length);
    assert_string_equal(text, "inser");
}

static void values_that_do_not_fit_on_a_line_are_not_written(void **state)
{
    (void)state;
    char text[100];
    const char *const commands[] = {"a\nb", " a", "a ", "a\r", "\xff", ""};
    struct definition task = definition_begin(DEFINITION_INSERT, "a");
    task.given = 1u << DEFINITION_COMMAND;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        task.command = commands[i];
        assert_int_equal(definition_write(&task, text, sizeof text), -1);
    }
    task.command = "a #b";
    assert_true(definition_write(&task, text, sizeof text) > 0);
    task.given |= 1u << DEFINITION_MACHINE;
    task.machine = "#m";
    assert_int_equal(definition_write(&task, text, sizeof text), -1);
    task = definition_begin(DEFINITION_DELETE, "a b");
    assert_int_equal(definition_write(&task, text, sizeof text), -1);
}

// ---- The documentation -----------------------------------------------------

// Keys by the first cell of a row: "| `key` |".
static void doc_row(const char *line, uint32_t *keys)
{
    char word[40] = "";
    if (sscanf(line, "| `%39[a-z_]`", word) != 1) return;
    enum definition_key key = key_find(word);
    if (key == DEFINITION_KEYS) fail_msg("there is no key %s", word);
    *keys |= 1u << key;
}

// The number of actions of an example, which must be valid.
static uint32_t example_count(const char *text)
{
    struct definitions definitions;
    parsed(&definitions, text);
    uint32_t count = definitions.count;
    definitions_release(&definitions);
    return count;
}

static void the_documentation_is_the_code(void **state)
{
    (void)state;
    char line[400], example[2000] = "";
    uint32_t keys = 0, actions = 0;
    bool in_keys = false, in_example = false;
    FILE *file = fopen("doc/calendar-and-definitions.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!strncmp(line, "## ", 3)) in_keys = !strcmp(line, "## Keys\n");
        if (in_keys) doc_row(line, &keys);
        if (!strncmp(line, "```", 3)) {
            if (in_example) actions += example_count(example);
            in_example = !strcmp(line, "```ini\n");
            example[0] = 0;
        } else if (in_example) {
            snprintf(example + strlen(example), sizeof example - strlen(example), "%s", line);
        }
    }
    fclose(file);
    assert_int_equal(keys, (1u << DEFINITION_KEYS) - 1);
    assert_int_equal(actions, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_parsed_completely),
        cmocka_unit_test(missing_keys_have_defaults),
        cmocka_unit_test(newlines_marks_and_blanks_do_not_matter),
        cmocka_unit_test(sizes_and_times_have_units),
        cmocka_unit_test(misspelt_words_are_guessed),
        cmocka_unit_test(lines_must_have_a_form_and_a_place),
        cmocka_unit_test(values_must_be_of_their_type),
        cmocka_unit_test(names_must_fit_into_conditions),
        cmocka_unit_test(bytes_must_be_text),
        cmocka_unit_test(a_file_may_be_too_large),
        cmocka_unit_test(too_many_errors_end_the_list),
        cmocka_unit_test(parts_must_go_together),
        cmocka_unit_test(bundles_have_a_calendar_and_no_more),
        cmocka_unit_test(schedules_are_checked),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(parents_are_bundles),
        cmocka_unit_test(the_nine_wrong_conditions_are_refused),
        cmocka_unit_test(a_written_definition_parses_as_the_same),
        cmocka_unit_test(writing_returns_the_size_it_needs),
        cmocka_unit_test(values_that_do_not_fit_on_a_line_are_not_written),
        cmocka_unit_test(the_documentation_is_the_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
