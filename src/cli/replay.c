// replay.c - `rota replay`: replays the journal of a database, and compares the result.
#include "query/replay.h"
#include "cli/cli.h"
#include "os/json.h"

static int refuse(const char *path, const char *reason)
{
    fprintf(stderr, "rota replay: %s: %s\n", path, reason);
    return 2;
}

static void result_print(const char *path, const struct replay *replay, bool is_json)
{
    struct json json = {.out = stdout};
    if (!is_json) {
        printf("%s: %llu turns, %llu changes, %u job%s, %u task%s: %u different\n", path,
               (unsigned long long)replay->turns, (unsigned long long)replay->changes, replay->jobs,
               replay->jobs == 1 ? "" : "s", replay->tasks, replay->tasks == 1 ? "" : "s",
               replay->different);
        return;
    }
    json_open(&json, NULL, '{');
    json_number(&json, "turns", "%llu", (unsigned long long)replay->turns);
    json_number(&json, "changes", "%llu", (unsigned long long)replay->changes);
    json_number(&json, "jobs", "%u", replay->jobs);
    json_number(&json, "tasks", "%u", replay->tasks);
    json_number(&json, "different", "%u", replay->different);
    json_line(&json);
}

static int file_replay(const char *path, bool json)
{
    struct store_error error;
    struct replay replay;
    struct store *store = snapshot_open(path, &error);
    if (!store) {
        fprintf(stderr, "rota replay: %s\n", error.text);
        return store_exit_status(&error);
    }
    int status = 0;
    if (!replay_journal(store, &replay, json ? stderr : stdout))
        status = refuse(path, store_error(store)->text);
    else if (replay.is_incomplete)
        status = refuse(path, replay.reason);
    else
        result_print(path, &replay, json);
    if (!status && replay.different) status = 1;
    store_close(store);
    return status;
}

struct replay_options {
    bool json;
};

static int replay(const struct command *command, int count, char **words)
{
    struct replay_options options = {0};
    struct arguments arguments;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    return status >= 0 ? status : file_replay(arguments.items[0], options.json);
}

static const struct option_row rows[] = {
    {0, "json", "", "print a JSON object", OPTION_FLAG,
     .at = offsetof(struct replay_options, json)},
    OPTION_ROWS_END};

const struct command replay_command = {
    .name = "replay",
    .summary = "replay the journal of a database and compare the result",
    .group = GROUP_DATABASE,
    .argument = {ARGUMENT_DATABASE, "DATABASE", 1, 1},
    .run = replay,
    .options = rows,
    .usage = "[--json] DATABASE\n",
    .text = "Applies every recorded change of every task in order, and compares the outcome with "
            "the rows of the database. A server may use the database at the same time. Tasks that "
            "differ are printed.\n",
    .examples = "rota replay .rota/rota.db\treplay the journal of the last runs\n",
    .exits = "0\tthe journal leads to the same state\n1\tit does not\n"
             "2\tan option is wrong, the file is not a rota database, or a part of its journal is "
             "missing\n",
};
