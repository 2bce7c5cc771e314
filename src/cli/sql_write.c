// sql_write.c - `rota sql` with a statement that inserts, changes or deletes definitions.
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *blanks_skip(const char *sql)
{
    for (;;) {
        while (isspace((unsigned char)*sql)) sql++;
        if (strncmp(sql, "--", 2) != 0) return sql;
        sql += strcspn(sql, "\n");
    }
}

bool sql_writes(const char *sql)
{
    static const char *const words[] = {"insert", "replace", "update", "delete"};
    sql = blanks_skip(sql);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(sql, words[i], strlen(words[i])) == 0) return true;
    return false;
}

static int statement_define(struct session *session, const char *sql)
{
    struct catalog_rows rows;
    struct store_error error;
    if (!store_catalog(session->store, &rows)) {
        catalog_rows_release(&rows);
        return session_failed(session);
    }
    char *text = catalog_sql(&rows, sql, &error);
    catalog_rows_release(&rows);
    if (!text) {
        fprintf(stderr, "rota: %s\n", error.text);
        return store_exit_status(&error);
    }
    int status = session_define(session, "sql", text, strlen(text));
    free(text);
    return status;
}

int sql_write(const char *path, const char *sql)
{
    struct session session;
    int status = session_open(&session, path, SESSION_THERE);
    if (!status) status = statement_define(&session, sql);
    session_close(&session);
    return status;
}
