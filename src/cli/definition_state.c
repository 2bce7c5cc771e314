// definition_state.c - `rota stage`, `start`, `green`, `red`, `reset`, `freeze`, `abort`: change
// the state of a task by hand.
#include "cli/cli.h"
#include "base/base.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

static int entry_act(struct session *session, const char *word, const struct entry *entry)
{
    struct server *server = &session->server;
    struct rota_event event;
    act_event(word, entry->task, &event);
    server_begin(server, os_now());
    if (server_step(server, &event)) {
        fprintf(stderr, "rota: %s: %s\n", entry->what.name, server->reason);
        return 2;
    }
    if (!server_commit(server)) return session_failed(session);
    printf("%s %s\n", entry->what.name, rota_task_status(server->rota, entry->task));
    return 0;
}

static int unknown_print(const struct catalog *catalog, const char *name)
{
    struct word_meant meant = {0};
    for (uint32_t i = 0; i < catalog->count; i++)
        word_try(&meant, name, catalog->entries[i].what.name);
    fprintf(stderr, "rota: no such task: %s", name);
    if (meant.word) fprintf(stderr, " (did you mean %s?)", meant.word);
    fputc('\n', stderr);
    return 2;
}

static int name_act(struct session *session, const char *word, const char *name)
{
    struct catalog catalog;
    int status;
    if (!catalog_open(&catalog, &session->server)) {
        status = session_failed(session);
    } else {
        const struct entry *entry = catalog_find(&catalog, name, strlen(name));
        status = entry ? entry_act(session, word, entry) : unknown_print(&catalog, name);
    }
    catalog_close(&catalog);
    return status;
}

struct state_options {
    const char *db, *server, *key;
};

static int state_run(const struct command *command, int count, char **words)
{
    struct state_options options = {0};
    struct arguments arguments;
    struct session session;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    if (!options.db) return command_wrong(command, "missing option --db");
    status = session_open(&session, options.db, SESSION_THERE);
    if (!status) status = name_act(&session, command->name, arguments.items[0]);
    session_close(&session);
    return status;
}

static const struct option_row rows[] = {
    {0, "db", "DATABASE", "the database with the definition", OPTION_PATH,
     .at = offsetof(struct state_options, db)},
    {0, "server", "ADDRESS", "tell a server instead: a Unix socket or HOST:PORT", OPTION_PATH,
     .at = offsetof(struct state_options, server), .needs = NEEDS_ADDRESS},
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,
     .at = offsetof(struct state_options, key), .preset = "$ROTA_KEY"},
    OPTION_ROWS_END};

#define STATE_COMMAND(verb, what, example)                                                         \
    const struct command verb##_command = {                                                        \
        .name = #verb, .summary = what, .group = GROUP_CALENDAR,                                   \
        .argument = {ARGUMENT_NAME, "NAME", 1, 1}, .run = state_run,                               \
        .remote = remote_change, .options = rows,                                                  \
        .usage = "NAME --db DATABASE\nJOB.TASK... --server ADDRESS [--key FILE]\n",                \
        .examples = "rota " #verb " backup --db state.db\t" example "\n",                          \
        .exits = "0\tdone\n"                                                                       \
                 "2\tan option is wrong, or the task does not exist or is in another state\n"      \
                 "4\tthe server cannot be reached\n70\tthe disk failed\n",                         \
    }

STATE_COMMAND(stage, "make a definition due now", "stage `backup`");
STATE_COMMAND(start, "start a definition now, whatever its condition", "start `backup`");
STATE_COMMAND(green, "mark a definition as succeeded", "mark `backup` as succeeded");
STATE_COMMAND(red, "mark a definition as failed", "mark `backup` as failed");
STATE_COMMAND(reset, "mark a definition as not run", "mark `backup` as not run");
STATE_COMMAND(freeze, "skip a definition, without blocking its dependents", "skip `backup`");
STATE_COMMAND(abort, "stop a running definition", "stop `backup`");
