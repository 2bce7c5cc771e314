// task_state.c - `rota stage`, `start`, `green`, `red`, `reset`, `freeze`, `abort`: one task, by
// hand.
#include "cli/cli.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

static int usage(const char *word, FILE *out)
{
    fprintf(out, "usage: rota %s NAME --db DATABASE\n", word);
    return out == stdout ? 0 : 2;
}

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

static int name_act(struct session *session, const char *word, const char *name)
{
    struct catalog catalog;
    int status;
    if (!catalog_open(&catalog, &session->server)) {
        status = session_failed(session);
    } else {
        const struct entry *entry = catalog_find(&catalog, name, strlen(name));
        if (!entry) fprintf(stderr, "rota: there is no task \"%s\"\n", name);
        status = entry ? entry_act(session, word, entry) : 2;
    }
    catalog_close(&catalog);
    return status;
}

int command_act(int count, char **words)
{
    const char *word = words[-1], *name = NULL, *path = NULL;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) return usage(word, stdout);
        if (strcmp(words[i], "--db") == 0 && i + 1 < count)
            path = words[++i];
        else if (!name && words[i][0] != '-')
            name = words[i];
        else
            return usage(word, stderr);
    }
    if (!name || !path) return usage(word, stderr);
    struct session session;
    int status = session_open(&session, path, SESSION_THERE);
    if (!status) status = name_act(&session, word, name);
    session_close(&session);
    return status;
}
