// sql.c - `rota sql`, `rota jobs`, `rota history`: questions to a database file.
#include "cli/cli.h"
#include "store/sqlite/query.h"

#include <stdlib.h>
#include <string.h>

static const char sql_usage[]
    = "usage: rota sql [--json] FILE \"select ...\"\n\n"
      "    --json   one object a line instead of a table\n\n"
      "insert, update and delete on sched_job change definitions, as rota define does.\n";
static const char jobs_usage[] = "usage: rota jobs [--json] FILE\n";
static const char history_usage[] = "usage: rota history [--json] [--task JOB.TASK] FILE\n";

static const char jobs_sql[]
    = "SELECT g.job, g.state, g.client, count(*) AS tasks,"
      " sum(s.status = 'SUCCESS') AS succeeded, sum(s.status IN ('FAILED', 'ABORTED')) AS failed,"
      " sum(s.status IN ('ASSIGNED', 'RUNNING')) AS running"
      " FROM sched_graph g JOIN sched_status s ON s.id BETWEEN g.job << 32 AND (g.job + 1 << 32) - "
      "1"
      " GROUP BY g.job ORDER BY g.job";

// What stands behind the name of the command.
struct question {
    const char *words[2];  // the file; the statement
    const char *task;
    enum query_format format;
    int count;
};

// Returns 0 to go on, or 1 more than the exit status.
static int question_read(int count, char **words, const char *usage, struct question *question)
{
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        bool option = word[0] == '-' && word[1];
        if (strcmp(word, "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(word, "--json") == 0)
            question->format = QUERY_JSON;
        else if (strcmp(word, "--task") == 0 && i + 1 < count)
            question->task = words[++i];
        else if (!option && question->count < 2)
            question->words[question->count++] = word;
        else {
            fprintf(stderr, "rota: '%s' is not understood here\n%s", word, usage);
            return 3;
        }
    }
    return 0;
}

static int question_ask(const struct question *question, const char *sql)
{
    struct store_error error;
    if (store_query(question->words[0], sql, question->format, stdout, &error)) return 0;
    fprintf(stderr, "rota: %s\n", error.text);
    return store_exit_status(&error);
}

static int wrong(const char *usage)
{
    fputs(usage, stderr);
    return 2;
}

int command_sql(int count, char **words)
{
    struct question question = {0};
    int done = question_read(count, words, sql_usage, &question);
    if (done) return done - 1;
    if (question.count != 2 || question.task) return wrong(sql_usage);
    if (sql_writes(question.words[1])) return sql_write(question.words[0], question.words[1]);
    return question_ask(&question, question.words[1]);
}

int command_jobs(int count, char **words)
{
    struct question question = {0};
    int done = question_read(count, words, jobs_usage, &question);
    if (done) return done - 1;
    if (question.count != 1 || question.task) return wrong(jobs_usage);
    return question_ask(&question, jobs_sql);
}

int command_history(int count, char **words)
{
    struct question question = {0};
    int done = question_read(count, words, history_usage, &question);
    if (done) return done - 1;
    if (question.count != 1) return wrong(history_usage);
    char sql[400], where[80] = "", *end = NULL;
    if (question.task) {
        unsigned long job = strtoul(question.task, &end, 10), task = 0;
        bool named = end != question.task && *end == '.';
        if (named) task = strtoul(end + 1, &end, 10);
        if (!named || *end) return wrong(history_usage);
        snprintf(where, sizeof where, " WHERE id = %llu", (unsigned long long)job << 32 | task);
    }
    snprintf(sql, sizeof sql,
             "SELECT seq, job, task, attempt, worker, status, exit, started, ended"
             " FROM sched_history%s ORDER BY seq",
             where);
    return question_ask(&question, sql);
}
