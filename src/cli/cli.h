// cli.h - the commands of rota.
#pragma once

#include "turn/turn.h"

#include <stdio.h>

// Each gets the words behind its name, which is words[-1], and returns the exit status.
typedef int command_fn(int count, char **words);

command_fn command_play;                                // play.c
command_fn command_simulate;                            // simulate.c
command_fn command_swarm;                               // simulate_cluster.c, behind the other
bool swarm_is_meant(int count, char **words);
command_fn command_sql, command_jobs, command_history;  // sql.c
command_fn command_verify;                              // verify.c
command_fn command_replay;                              // replay.c
command_fn command_define;                              // define.c
command_fn command_act;                                 // task_state.c
command_fn command_allocator;                           // allocator.c
command_fn command_run;                                 // run.c
command_fn command_check, command_graph;                // check.c, graph.c
command_fn command_ps, command_show, command_logs;      // ps.c, show.c, logs.c
command_fn command_why, command_lanes, command_data;    // why.c, lanes.c, data.c
command_fn command_tell;                                // retry.c
command_fn command_trace, command_report;               // trace.c, report.c
command_fn command_keys;                                // keys.c
command_fn command_worker;                              // worker.c
command_fn command_completion;                          // completion.c
command_fn command_server;                              // server.c
command_fn command_submit;                              // submit.c
command_fn command_close;                               // remote.c
command_fn command_top;                                 // top.c
command_fn command_wait, command_events;                // wait.c, events.c
command_fn command_fetch;                               // fetch.c
command_fn command_pause, command_resume, worker_drain, worker_name_forget; // pause.c
command_fn command_renew, command_deliver, command_fail;  // handler.c

// ---- main.c: the table of them -------------------------------------------------------

struct command {
    const char *name;
    command_fn *run;
    const char *summary;
    const char *words;    // what follows it, for completion: file, task, database, name
    const char *options;  // with blanks between
};
const struct command *command_at(size_t place);  // null behind the last

// ---- load_job.c: job files ---------------------------------------------------------------

struct jobfile;
bool jobfile_load(struct jobfile *file, const char *path);  // false: it has said what is wrong

// ---- session.c: a database file with a core --------------------------------------

struct session {
    struct store *store;
    struct server server;
};

enum session_mode { SESSION_THERE, SESSION_MADE };  // whether a file that is not there is made

// Waits a moment if another process has the file. Returns the exit status, and has said why it is
// not 0. Close it in either case.
int session_open(struct session *session, const char *path, enum session_mode mode);
void session_close(struct session *session);
// Says what went wrong in a turn, and returns the exit status.
int session_failed(const struct session *session);

zone_read_fn zone_load;  // of /usr/share/zoneinfo

// ---- startup.c ------------------------------------------------------------------------

// What we open next must not become our standard output: a text would end in a database. And a
// umask may not lock us out of our own files.
void surroundings_mend(void);

// ---- cli/show/time_text.c: times and words for people -------------------------------------------

// "2026-11-16", "2026-11-16T23:59" or "2026-11-16T23:59:30", in UTC.
bool time_read(const char *text, rota_time *time);
enum { TIME_TEXT = 32 };
const char *time_write(rota_time time, char out[TIME_TEXT]);

// One line about a task: "2026-11-16T23:59:00Z staged load", or an object with --json.
struct line_about {
    rota_time at;
    const char *what, *name, *status;
    rota_task_id task;
};
void line_print(const struct line_about *line, bool json);

// ---- table.c: what can be shown there ---------------------------------------------------

bool terminal_is_able(FILE *out);  // to write over what it shows
bool colour_is_wanted(FILE *out);  // NO_COLOR is not set, either

// ---- cli/show/plain_text.c: texts of others, with nothing in them that could harm a terminal ----

size_t plain_write(FILE *out, const char *text, size_t length);  // on one line; its columns
void plain_word_write(FILE *out, const char *word);  // in quotes if a shell would take it apart
void plain_lines_write(FILE *out, const char *text, size_t length);  // newlines and tabs stay

// What a command has printed, on the standard output, in pieces that may cut a character.
enum { PLAIN_CUT = 4 };
struct plain_log {
    char cut[PLAIN_CUT];  // a character that is not whole so far
    size_t cut_length;
    bool is_open;         // the last line has no end
};
void plain_log_add(struct plain_log *log, const char *bytes, size_t count);
void plain_log_end(struct plain_log *log);  // with the end of a line, if that is missing

// ---- define.c ----------------------------------------------------------------------

// Does what the text says and tells the outcome; `file` is what mistakes are said to be in.
int session_define(struct session *session, const char *file, const char *text, size_t size);

// ---- sql_write.c -------------------------------------------------------------------

bool sql_writes(const char *sql);
int sql_write(const char *path, const char *sql);

// ---- defaults.c: of a server -------------------------------------------------------------

enum { PLACE_MAX = 4096 };
const char *default_address(char path[PLACE_MAX]);  // where it listens, or is to be found
const char *default_database(char path[PLACE_MAX]);

// ---- remote.c: commands with --server among their words ------------------------------------

int remote_ask(const char *name, int count, char **words);
int remote_change(const char *name, int count, char **words);
int remote_logs(const char *name, int count, char **words);

// ---- data_remote.c: objects of a server ---------------------------------------------------------

bool data_verb_is_remote(const char *verb);  // put, keep and unkeep need a server
int remote_data(int count, char **words);
char *path_absolute(const char *path);  // to be freed; null: no memory
