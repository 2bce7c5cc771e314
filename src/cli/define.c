// define.c - `rota define`: a file of definitions becomes one turn of a database.
#include "cli/cli.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: rota define FILE --db DATABASE\n\n"
                            "    FILE     insert_task, update_task, delete_task; - is the standard"
                            " input\n"
                            "    --db     the database file, which is made if there is none\n";

static void mistake_print(const struct definition_error *error, const char *file)
{
    char line[600];
    definition_error_text(error, file, line, sizeof line);
    fprintf(stderr, "%s\n", line);
}

static int mistakes_print(const struct definitions *parsed, const char *file)
{
    for (uint32_t i = 0; i < parsed->error_count; i++) mistake_print(&parsed->errors[i], file);
    return 2;
}

static int parsed_define(struct session *session, const char *file,
                         const struct definitions *parsed)
{
    struct definition_error error;
    switch (define_all(&session->server, parsed, os_now(), zone_load, &error)) {
    case DEFINE_DONE: printf("%u done\n", parsed->count); return 0;
    case DEFINE_REFUSED: mistake_print(&error, file); return 2;
    default: return session_failed(session);
    }
}

int session_define(struct session *session, const char *file, const char *text, size_t size)
{
    struct definitions parsed = {0};
    bool fine = definitions_parse(&parsed, text, size);
    int status = fine ? parsed_define(session, file, &parsed) : mistakes_print(&parsed, file);
    definitions_release(&parsed);
    return status;
}

// A file that is wrong by itself makes no database.
static int text_define(const char *path, const char *file, const char *text, size_t size)
{
    struct definitions parsed = {0};
    struct session session;
    int status;
    if (!definitions_parse(&parsed, text, size)) {
        status = mistakes_print(&parsed, file);
    } else {
        status = session_open(&session, path, SESSION_MADE);
        if (!status) status = parsed_define(&session, file, &parsed);
        session_close(&session);
    }
    definitions_release(&parsed);
    return status;
}

int command_define(int count, char **words)
{
    const char *file = NULL, *path = NULL;
    bool wrong = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(words[i], "--db") == 0 && i + 1 < count)
            path = words[++i];
        else if (!file && (words[i][0] != '-' || !words[i][1]))
            file = words[i];
        else
            wrong = true;
    }
    if (wrong || !file || !path) {
        fputs(usage, stderr);
        return 2;
    }
    size_t size;
    char *text = os_file_read(file, DEFINITION_FILE_MAX, &size);
    if (!text) {
        fprintf(stderr, "rota: %s: %s\n", file, strerror(errno));
        return 2;
    }
    int status = text_define(path, file, text, size);
    free(text);
    return status;
}
