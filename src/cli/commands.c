// commands.c - the table of commands, in the order of `rota help all`.
//
// meson.build reads this table, too: it makes a manual page for each row, rota-run.1 for the first.
#include "cli/cli.h"
#include "base/base.h"

#include <string.h>

static const struct command *const commands[] = {
    &run_command,      &check_command,         &graph_command,

    &ps_command,       &show_command,          &logs_command,          &why_command,
    &lanes_command,    &data_command,          &top_command,           &retry_command,
    &cancel_command,   &trace_command,         &report_command,

    &server_command,   &worker_command,        &worker_drain_command,  &worker_forget_command,
    &keys_command,     &submit_command,        &wait_command,          &close_command,
    &events_command,   &pause_command,         &resume_command,

    &fetch_command,    &renew_command,         &deliver_command,       &fail_command,

    &define_command,   &stage_command,         &start_command,         &green_command,
    &red_command,      &reset_command,         &freeze_command,        &abort_command,
    &allocator_command,

    &sql_command,      &jobs_command,          &history_command,       &verify_command,
    &replay_command,

    &simulate_command, &play_command,

    &completion_command, &help_command,        &version_command,
};

const struct command *command_at(size_t place)
{
    return place < sizeof commands / sizeof *commands ? commands[place] : NULL;
}

// A name such as "worker drain" is two words, and follows the name of its first word in the table.
const struct command *command_find(int count, char **words, int *used)
{
    const struct command *found = NULL;
    size_t length = count ? strlen(words[0]) : 0;
    for (size_t i = 0; count && i < sizeof commands / sizeof *commands; i++) {
        const char *name = commands[i]->name;
        bool begins = strncmp(name, words[0], length) == 0;
        if (!begins && found) break;
        if (!begins) continue;
        if (!name[length]) found = commands[i], *used = 1;
        bool is_two = name[length] == ' ' && count > 1 && strcmp(name + length + 1, words[1]) == 0;
        if (is_two) return *used = 2, commands[i];
    }
    return found;
}

const char *command_group_title(enum command_group group)
{
    static const char titles[GROUPS][32]
        = {"Run job files", "Inspect and control a run", "Run on a cluster", "External workers",
           "Calendar and definitions", "Databases", "Simulation", "Other"};
    return titles[group];
}

// Words that other programs use.
static const char *synonym_of(const char *name)
{
    static const char *const synonyms[][2]
        = {{"stop", "cancel"}, {"kill", "cancel"}, {"status", "ps"}, {"list", "ps"},
           {"ls", "ps"},       {"rm", "close"},    {"delete", "close"}, {"remove", "close"},
           {"log", "logs"}};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i][0], name) == 0) return synonyms[i][1];
    return NULL;
}

int command_unknown(const char *name)
{
    struct word_meant meant = {.word = synonym_of(name)};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        word_try(&meant, name, commands[i]->name);
    fprintf(stderr, "rota: unknown command '%s'", name);
    if (meant.word)
        fprintf(stderr, " (did you mean %s?)\n", meant.word);
    else
        fputs(" (see 'rota help')\n", stderr);
    return 2;
}
