// query_options.h - commands that ask about a run: what they share.
#pragma once

#include "query/query.h"
#include "cli/cli.h"
#include "job/file/jobfile.h"

// ---- query_options.c: options, the database and the job -----------------------------------------

enum asker_words { ASKER_FILE, ASKER_TASKS };  // what the words behind the command are

struct asker_use {
    const char *name, *usage;
    const char *options;  // letters of what it takes beside --db, --job, --json and --help:
                          // a all, f follow, r raw, n attempt, o output, w whole job, p planned,
                          // t waits, c content
    enum asker_words words;
};

struct asker {
    const struct asker_use *use;
    const char *db, *file, *out;  // as given; null: not
    const char *planned, *waits;  // the same: what a server says when it passes a question on
    const char *content;          // a content key, or the task that has it
    uint32_t job, attempt;        // 0: not given
    bool all, follow, raw, whole_job, json;
    char **names;                 // of tasks
    uint32_t name_count;

    char *path, *folder;          // of the database; where it lies, with the logs
    rota_time now;
    bool at_work;                 // a server has the database
    struct store *store;
    struct ask ask;
};

// Reads the words. -1: go on; else the exit status. Close it in either case.
int asker_open(struct asker *asker, const struct asker_use *use, int count, char **words);
// Opens the database and the job. Returns the exit status, and has said why it is not 0.
int asker_load(struct asker *asker);
void asker_unload(struct asker *asker);  // to load it again, as it is then
void asker_close(struct asker *asker);
// The core of it. Null: the status is set, and why was said.
struct rota *asker_core(struct asker *asker, int *status);
// The place of a task; says so if there is none, with the nearest name.
bool asker_find(const struct asker *asker, const char *name, uint32_t *task);
int asker_wrong(const struct asker *asker, const char *format, ...)  // use; returns 2
    __attribute__((format(printf, 2, 3)));

// What goes to a file as a whole: the memory it is written to, and then to -o FILE, or to whoever
// reads the standard output; a terminal gets a file of that name instead. Returns the exit status.
struct asker_file {
    FILE *out;
    char *bytes;
    size_t size;
};
void asker_file_open(struct asker_file *file);
int asker_file_close(const struct asker *asker, struct asker_file *file, const char *name);

// ---- table.c: columns for people -------------------------------------------------------------

struct table {
    uint32_t columns, count, capacity;
    struct table_cell {
        char *text;
        size_t width;
    } * cells;
    bool colour;
};

void table_open(struct table *table, uint32_t columns);
// A cell of the next row; of a long text only the beginning.
void table_add(struct table *table, const char *text);
void table_addf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The first row is the head; without others nothing is printed. Releases it.
void table_print(struct table *table, FILE *out);

// ---- names as texts --------------------------------------------------------------------------

const char *colour_of(const char *status);  // "" for most
void name_write(FILE *out, const struct ask *ask, uint32_t task);
// The last attempt that ended or is out; null: there is none.
const struct ask_attempt *attempt_last(const struct ask *ask, const struct ask_task *task);
