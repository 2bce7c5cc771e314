// sql.c - queries of the tables of a play's database.
#include "sim/play/internal.h"

#include "store/sqlite/query.h"

#include <stdlib.h>
#include <string.h>

// One line for each row, the first with the names of the columns; tabs between the fields.
static void rows_take(const char *text, struct strings *rows)
{
    for (const char *line = text + strcspn(text, "\n"); *line; line += strcspn(line, "\n")) {
        if (!*++line) break;
        strings_add_piece(rows, line, strcspn(line, "\n"));
        char *row = rows->items[rows->count - 1];
        for (char *tab = row; (tab = strchr(tab, '\t'));) *tab = '|';
    }
}

bool sql_ask(const struct play *play, const char *sql, struct strings *rows,
             struct store_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) {
        error->fault = STORE_NO_MEMORY;
        snprintf(error->text, sizeof error->text, "out of memory for an answer");
        return false;
    }
    bool answered = store_query(play->options.database, sql, QUERY_TABLE, memory, error);
    fclose(memory);
    if (answered) rows_take(text, rows);
    free(text);
    return answered;
}

void look_sql(struct play *play, struct strings *actual)
{
    const char *sql = take_name(play);
    struct strings rows = {0};
    struct store_error error;
    if (!play->options.database) play_wrong(play, "tables need a database: rota play --db FILE");
    if (play->lasting) play->halt = PLAY_SKIPS;  // the tables are further ahead
    if (play->halt) return;
    if (sql_ask(play, sql, &rows, &error)) {
        char *text = strings_join(&rows, ",");
        strings_add(actual, "%s", rows.count ? text : "-");
        free(text);
    } else {
        play_wrong(play, "%s", error.text);
    }
    strings_release(&rows);
}

void sql_compare_table(struct play *play, const char *table, const struct strings *tasks)
{
    char sql[200];
    struct strings rows = {0};
    struct store_error error = {0};
    if (!play->options.database || play->lasting) return;
    snprintf(sql, sizeof sql,
             "SELECT j.name FROM %s t JOIN sched_job j ON j.id = t.id ORDER BY t.id", table);
    sql_ask(play, sql, &rows, &error);
    char *core = strings_join(tasks, " "), *file = strings_join(&rows, " ");
    if (error.fault)
        play_fail(play, "an answer", error.text);
    else if (strcmp(core, file) != 0)
        play_fail(play, core, file);
    free(core);
    free(file);
    strings_release(&rows);
}
