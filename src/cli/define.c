// define.c - `rota define`: applies a file of definitions to a database, all of it or nothing.
#include "cli/cli.h"
#include "job/definition/definition.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    case DEFINE_DONE:
        printf("%u definition%s changed\n", parsed->count, parsed->count == 1 ? "" : "s");
        return 0;
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

// A file with errors does not make a database.
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

struct define_options {
    const char *db;
};

static int define(const struct command *command, int count, char **words)
{
    struct define_options options = {0};
    struct arguments arguments;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    if (!options.db) return command_wrong(command, "missing option --db");
    size_t size;
    const char *file = arguments.items[0];
    char *text = os_file_read(file, DEFINITION_FILE_MAX, &size);
    if (!text) {
        fprintf(stderr, "rota: %s: %s\n", file, strerror(errno));
        return 2;
    }
    status = text_define(options.db, file, text, size);
    free(text);
    return status;
}

static const struct option_row rows[] = {
    {0, "db", "DATABASE", "the database; rota makes it if it does not exist", OPTION_PATH,
     .at = offsetof(struct define_options, db)},
    OPTION_ROWS_END};

const struct command define_command = {
    .name = "define",
    .summary = "insert, update and delete definitions from a file",
    .group = GROUP_CALENDAR,
    .argument = {ARGUMENT_FILE, "FILE", 1, 1},
    .run = define,
    .options = rows,
    .usage = "FILE --db DATABASE\n",
    .text = "FILE has insert_task, update_task and delete_task entries; '-' is the standard input. "
            "Either all of them are applied or none. Nothing executes definitions yet: see "
            "'rota help allocator'.\n",
    .examples = "rota define night.def --db night.db\tapply the definitions of a file\n",
    .exits = "0\tdone\n2\tthe file, an option or the database is wrong\n70\tthe disk failed\n",
};
