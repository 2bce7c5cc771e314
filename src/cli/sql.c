// sql.c - `rota sql`, `rota jobs`, `rota history`: queries to a database file.
#include "cli/cli.h"
#include "cli/query_options.h"
#include "os/os.h"
#include "store/sqlite/query.h"

#include <stdlib.h>

static const char jobs_sql[]
    = "SELECT g.job, g.state, g.client, count(*) AS tasks,"
      " sum(s.status = 'SUCCESS') AS succeeded, sum(s.status IN ('FAILED', 'ABORTED')) AS failed,"
      " sum(s.status IN ('ASSIGNED', 'RUNNING')) AS running"
      " FROM sched_graph g JOIN sched_status s ON s.id BETWEEN g.job << 32 AND (g.job + 1 << 32) - "
      "1"
      " GROUP BY g.job ORDER BY g.job";

// A worker reports when a command ran; without its report, the times are those of the server.
#define ENDED_OF(table)                                                                            \
    "SELECT seq, id >> 32 AS job, id & 4294967295 AS task, attempt, worker, result AS status,"     \
    " end_text(\"end\", end_status, end_flags, reason, result, result_exit) AS \"end\","           \
    " coalesce(nullif(ran_from, 0), started) AS started, coalesce(nullif(ran_to, 0), ended) AS"    \
    " ended FROM " table " WHERE seq IS NOT NULL"

struct question {
    const char *server, *key;  // jobs and history: main() handles them
    const char *task;
    bool json;
};

static int question_ask(const struct question *question, const char *path, const char *statement)
{
    enum query_format format = question->json ? QUERY_JSON : QUERY_TABLE;
    struct store_error error;
    if (store_query(path, statement, format, stdout, &error)) return 0;
    fprintf(stderr, "rota: %s\n", error.text);
    return store_exit_status(&error);
}

static int sql(const struct command *command, int count, char **words)
{
    struct question question = {0};
    struct arguments arguments;
    int status = options_read(command, &question, NULL, &arguments, count, words);
    if (status >= 0) return status;
    if (arguments.count < 2) return command_wrong(command, "missing argument STATEMENT");
    const char *path = arguments.items[0], *statement = arguments.items[1];
    if (sql_writes(statement)) return sql_write(path, statement);
    return question_ask(&question, path, statement);
}

// Without an argument it is the database of the last `rota run` in this folder, as for `rota ps`.
static int database_ask(const struct question *question, const struct arguments *arguments,
                        const char *statement)
{
    static const char usual[] = ".rota/rota.db";
    if (arguments->count) return question_ask(question, arguments->items[0], statement);
    if (!os_file_is_there(usual)) return query_database_missing(usual);
    return question_ask(question, usual, statement);
}

static int jobs(const struct command *command, int count, char **words)
{
    struct question question = {0};
    struct arguments arguments;
    int status = options_read(command, &question, NULL, &arguments, count, words);
    return status >= 0 ? status : database_ask(&question, &arguments, jobs_sql);
}

static int history(const struct command *command, int count, char **words)
{
    struct question question = {0};
    struct arguments arguments;
    int status = options_read(command, &question, NULL, &arguments, count, words);
    if (status >= 0) return status;
    char sql_text[1200], where[80] = "";
    rota_task_id id;
    if (question.task) {
        if (!word_is_id(ID_TASK, question.task, &id))
            return command_wrong(command, "option --task needs JOB.TASK, not '%s'", question.task);
        snprintf(where, sizeof where, " AND id = %llu", (unsigned long long)id.job << 32 | id.task);
    }
    snprintf(sql_text, sizeof sql_text,
             ENDED_OF("sched_state") "%s UNION ALL " ENDED_OF("sched_run") "%s ORDER BY seq",
             where, where);
    return database_ask(&question, &arguments, sql_text);
}

#define JSON_ROW                                                                                   \
    {0, "json", "", "print an object on each line instead of a table", OPTION_FLAG,                \
     .at = offsetof(struct question, json), .in_query = true}
#define SERVER_ROWS                                                                                \
    {0, "server", "ADDRESS", "ask a server instead of a file: a Unix socket or HOST:PORT",         \
     OPTION_PATH, .at = offsetof(struct question, server), .needs = NEEDS_ADDRESS},                \
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,                        \
     .at = offsetof(struct question, key), .preset = "$ROTA_KEY"}

static const struct option_row sql_rows[] = {JSON_ROW, OPTION_ROWS_END};
static const struct option_row jobs_rows[] = {JSON_ROW, SERVER_ROWS, OPTION_ROWS_END};
static const struct option_row history_rows[] = {
    JSON_ROW,
    {0, "task", "JOB.TASK", "only the attempts of this task", OPTION_TEXT,
     .at = offsetof(struct question, task), .in_query = true},
    SERVER_ROWS,
    OPTION_ROWS_END};

static const char exits[] = "0\tdone\n2\tan option is wrong, or the file is not a rota database\n"
                            "4\tthe server cannot be reached\n";

const struct command sql_command = {
    .name = "sql",
    .summary = "query a database, or change its definitions",
    .group = GROUP_DATABASE,
    .argument = {ARGUMENT_DATABASE, "DATABASE", 1, 2},
    .run = sql,
    .options = sql_rows,
    .usage = "[--json] DATABASE STATEMENT\n",
    .text = "insert, update and delete on the view sched_job change definitions, as rota define "
            "does.\n",
    .examples = "rota sql .rota/rota.db \"select id, status from sched_status\"\tlist tasks\n",
    .exits = exits,
};

const struct command jobs_command = {
    .name = "jobs",
    .summary = "list the jobs of a database or a server",
    .group = GROUP_DATABASE,
    .query = QUERY_PLAIN,
    .argument = {ARGUMENT_DATABASE, "DATABASE", 0, 1},
    .run = jobs,
    .remote = remote_query,
    .options = jobs_rows,
    .usage = "[--json] [DATABASE]\n[--json] --server ADDRESS [--key FILE]\n",
    .text = "Without DATABASE it is .rota/rota.db. The state LAST means that all tasks of the job "
            "were submitted, whether or not they have ended.\n",
    .examples = "rota jobs\tlist the jobs of the last runs\n",
    .exits = exits,
};

const struct command history_command = {
    .name = "history",
    .summary = "list the attempts of a database or a server",
    .group = GROUP_DATABASE,
    .query = QUERY_PLAIN,
    .argument = {ARGUMENT_DATABASE, "DATABASE", 0, 1},
    .run = history,
    .remote = remote_query,
    .options = history_rows,
    .usage = "[--json] [--task JOB.TASK] [DATABASE]\n"
             "[--json] [--task JOB.TASK] --server ADDRESS [--key FILE]\n",
    .text = "Without DATABASE it is .rota/rota.db.\n",
    .examples = "rota history --task 1.2\tlist the attempts of one task\n",
    .exits = exits,
};
