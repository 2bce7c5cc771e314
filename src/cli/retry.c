// retry.c - `rota retry` and `rota cancel`: to the run that is at work, or else to its database.
#define _GNU_SOURCE
#include "cli/query_options.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char retry_usage[]
    = "    rota retry build        what failed or was stopped is tried again\n\n"
      "usage: rota retry [--json] [--job N] [--db DATABASE] [FILE] TASK...\n\n"
      "A rota run that is at work does it now; else the next one does.\n";
static const char cancel_usage[]
    = "    rota cancel build       stops one task; what needs it does not run\n"
      "    rota cancel --job       stops the whole job\n\n"
      "usage: rota cancel [--json] [--db DATABASE] [FILE] TASK... | --job[=N]\n";

// ---- To a run that is at work -------------------------------------------------------------------

// Null: it was done; else why not, to be freed.
static char *line_send(const struct asker *asker, const char *word, const char *name)
{
    char *path, *line, answer[4096], *reason = NULL;
    if (strchr(name, '\n')) return strdup("a name with an end of line in it cannot be sent");
    if (asprintf(&path, "%s/socket", asker->folder) < 0
        || asprintf(&line, "%s%s%s\n", word, *name ? " " : "", name) < 0)
        ask_no_memory();
    if (!os_socket_ask(path, line, answer, sizeof answer))
        reason = strdup("the rota run that is at work does not answer");
    else if (strncmp(answer, "error ", 6) == 0)
        reason = strndup(answer + 6, strcspn(answer + 6, "\n"));
    else if (strcmp(answer, "ok\n") != 0)
        reason = strdup("the rota run that is at work gave an answer of another kind");
    free(path);
    free(line);
    return reason;
}

// ---- To the database ---------------------------------------------------------------------------

static char *event_do(struct session *session, const char *word, rota_task_id task)
{
    struct rota_event event = {.kind = ROTA_EVENT_CANCEL, .task = {task}};
    if (strcmp(word, "retry") == 0) event.kind = ROTA_EVENT_RETRY;
    return server_step(&session->server, &event) ? strdup(session->server.reason) : NULL;
}

// ---- Both --------------------------------------------------------------------------------------

static int told(const struct asker *asker, const char *word, const char *name, char *reason)
{
    const char *done = strcmp(word, "cancel") == 0 ? "is cancelled"
                       : asker->at_work            ? "is tried again"
                                                   : "is tried again by the next rota run";
    const char *whom = *name ? name : "the job";
    if (asker->json) {
        printf("{\"%s\":", word);
        json_text(stdout, whom);
        fputs(",\"error\":", stdout);
        if (reason)
            json_text(stdout, reason);
        else
            fputs("null", stdout);
        puts("}");
    } else {
        FILE *out = reason ? stderr : stdout;
        if (reason) fputs("rota: ", out);
        plain_write(out, whom, strlen(whom));
        fprintf(out, "%s%s\n", reason ? ": " : " ", reason ? reason : done);
    }
    int status = reason ? 2 : 0;
    free(reason);
    return status;
}

static int tasks_send(const struct asker *asker, const char *word)
{
    int status = 0;
    if (!asker->name_count) return told(asker, word, "", line_send(asker, word, ""));
    for (uint32_t i = 0; i < asker->name_count; i++) {
        uint32_t at = ask_find(&asker->ask, asker->names[i]);
        const char *name = asker->ask.tasks[at].name;
        if (told(asker, word, name, line_send(asker, word, name))) status = 2;
    }
    return status;
}

static int tasks_write(const struct asker *asker, const char *word)
{
    struct session session;
    int status = session_open(&session, asker->path, SESSION_THERE);
    if (!status) server_begin(&session.server, os_now());
    rota_task_id job = {asker->ask.job.number, 0};
    if (!status && !asker->name_count)
        status = told(asker, word, "", event_do(&session, word, job));
    for (uint32_t i = 0; !status && i < asker->name_count; i++) {
        const struct ask_task *task = &asker->ask.tasks[ask_find(&asker->ask, asker->names[i])];
        status = told(asker, word, task->name, event_do(&session, word, task->id));
    }
    if (session.store && !server_commit(&session.server)) status = session_failed(&session);
    session_close(&session);
    return status;
}

// All names are looked at before the first of them is told.
static int names_check(const struct asker *asker)
{
    int status = 0;
    uint32_t at;
    for (uint32_t i = 0; i < asker->name_count; i++)
        if (!asker_find(asker, asker->names[i], &at)) status = 2;
    return status;
}

static int tell(struct asker *asker, const char *word)
{
    int status = asker_load(asker);
    if (!status) status = names_check(asker);
    if (status) return status;
    return asker->at_work ? tasks_send(asker, word) : tasks_write(asker, word);
}

int command_tell(int count, char **words)
{
    static const struct asker_use uses[]
        = {{"retry", retry_usage, "", ASKER_TASKS}, {"cancel", cancel_usage, "w", ASKER_TASKS}};
    const struct asker_use *use = &uses[strcmp(words[-1], "cancel") == 0];
    struct asker asker;
    int status = asker_open(&asker, use, count, words);
    if (status < 0) {
        if (!asker.name_count && !asker.whole_job)
            status = asker_wrong(&asker, "which task?%s", use == uses ? "" : " (or --job)");
        else if (asker.name_count && asker.whole_job)
            status = asker_wrong(&asker, "either tasks or --job");
        else
            status = tell(&asker, use->name);
    }
    asker_close(&asker);
    return status;
}
