// journal.c - the journal: all changes, one row per turn.
#include "store/sqlite/sqlite.h"

uint64_t sqlite_journal_last(const struct store *base)
{
    return ((const struct sqlite_store *)base)->sequence;
}

bool sqlite_journal(struct store *base, uint64_t first, uint64_t last, store_turn_fn *take,
                    void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    const char *sql = "SELECT sequence, at, lines FROM sched_event WHERE sequence BETWEEN ? AND ?"
                      " ORDER BY sequence";
    sqlite3_stmt *row = load_prepare(store, sql);
    int result = SQLITE_ERROR;
    if (row) {
        bind_number(row, 1, (int64_t)first);
        bind_number(row, 2, (int64_t)last);
    }
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        const char *lines = (const char *)sqlite3_column_text(row, 2);
        struct store_turn turn = {.sequence = (uint64_t)sqlite3_column_int64(row, 0),
                                  .at = sqlite3_column_int64(row, 1),
                                  .lines = lines ? lines : ""};
        if (!take(context, &turn)) break;
    }
    return load_end(store, row, result);
}

// Copies the text: a statement that is not reset would block checkpoints.
static const char *copy(struct line *line, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    line_clear(line);
    if (text) line_add_word(line, text);
    return line->data && !line->failed ? line->data : "";
}

bool sqlite_label_find(struct store *base, rota_task_id task, struct store_label *label)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = statement_get(store, GET_LABEL);
    if (!row) return false;
    bind_number(row, 1, row_id(task));
    bool found = sqlite3_step(row) == SQLITE_ROW;
    if (found) {
        label->name = copy(&store->lines[LINE_NAME], row, 0);
        label->lane = copy(&store->lines[LINE_LANE], row, 1);
    }
    sqlite3_reset(row);
    return found;
}
