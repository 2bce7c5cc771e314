// replay.c - `rota replay`: the journal of a database once more, and whether it comes to the same.
#include "query/replay.h"
#include "cli/cli.h"

#include <string.h>

static const char usage[]
    = "example: rota replay .rota/rota.db\n\n"
      "usage: rota replay [--json] FILE\n\n"
      "Repeats what the journal of a database has recorded, from its first turn on: each\n"
      "change of each task, in order. A core is made from what comes out and another from\n"
      "the rows of the database; they must be the same. A server may be at work meanwhile.\n\n"
      "    --json    one object\n\n"
      "The exit status is 0 when they are, 1 when they are not (each task that differs is\n"
      "printed), and 2 when the file is no database of rota or a part of its journal is missing.\n";

static int refuse(const char *path, const char *reason)
{
    fprintf(stderr, "rota replay: %s: %s\n", path, reason);
    return 2;
}

static void result_print(const char *path, const struct replay *replay, bool json)
{
    const char *text = json ? "{\"turns\":%llu,\"changes\":%llu,\"jobs\":%u,\"tasks\":%u,"
                              "\"different\":%u}\n"
                            : "%llu turns, %llu changes, %u jobs, %u tasks: %u different\n";
    if (!json) printf("%s: ", path);
    printf(text, (unsigned long long)replay->turns, (unsigned long long)replay->changes,
           replay->jobs, replay->tasks, replay->different);
}

static int file_replay(const char *path, bool json)
{
    struct store_error error;
    struct replay replay;
    struct store *store = store_look(path, &error);
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

int command_replay(int count, char **words)
{
    bool json = false;
    const char *path = NULL;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        bool option = words[i][0] == '-';
        if (strcmp(words[i], "--json") == 0) {
            json = true;
        } else if (option || path) {
            fprintf(stderr, "rota replay: '%s' is not understood here\n%s", words[i], usage);
            return 2;
        } else {
            path = words[i];
        }
    }
    if (path) return file_replay(path, json);
    fputs(usage, stderr);
    return 2;
}
