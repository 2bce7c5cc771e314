// cli.h - the commands of rota, and what several of them share.
#pragma once

#include "cli/options.h"
#include "net/wire/wire.h"
#include "os/os.h"
#include "os/print.h"
#include "server/definitions/definitions.h"
#include "turn/definitions.h"
#include "turn/session/session.h"

#include <stdio.h>

extern const struct command run_command, check_command, graph_command;  // run.c, check.c, graph.c
extern const struct command ps_command, show_command, logs_command;     // ps.c, show.c, logs.c
extern const struct command why_command, lanes_command, data_command;   // why.c, lanes.c, data.c
extern const struct command top_command, retry_command, cancel_command; // top.c, retry.c
extern const struct command trace_command, report_command;              // trace.c, report.c
extern const struct command server_command, worker_command;             // server.c, worker.c
extern const struct command worker_drain_command, worker_forget_command;  // pause.c
extern const struct command keys_command, submit_command, wait_command; // keys.c, submit.c, wait.c
extern const struct command close_command, events_command;              // remote.c, events.c
extern const struct command pause_command, resume_command;              // pause.c
extern const struct command fetch_command;                              // fetch.c
extern const struct command renew_command, deliver_command, fail_command;  // handler.c
extern const struct command define_command, allocator_command;          // define.c, allocator.c
extern const struct command stage_command, start_command, green_command, red_command;
extern const struct command reset_command, freeze_command, abort_command;  // definition_state.c
extern const struct command sql_command, jobs_command, history_command; // sql.c
extern const struct command verify_command, replay_command;             // verify.c, replay.c
extern const struct command simulate_command, play_command;             // simulate.c, play.c
extern const struct command completion_command;                         // completion.c
extern const struct command help_command, version_command;              // help.c

// ---- server_options.c --------------------------------------------------------------------------

struct serve_options;
extern const struct option_row server_rows[];
// Returns -1, or the exit status.
int serve_options_read(struct serve_options *options, const struct command *command, int count,
                       char **words);

// ---- server_queries.c: which queries a server answers -----------------------------------------

const char *server_query_fault(const wire_texts *words, char *text, size_t size);

// ---- id.c: jobs and tasks of a server, as arguments ---------------------------------------------

enum id_kind { ID_JOB = 1, ID_TASK = 2, ID_ANY = ID_JOB | ID_TASK };

bool word_is_id(enum id_kind kind, const char *word, rota_task_id *id);
// The same, with an error message. Returns -1, or the exit status.
int word_id(const struct command *command, enum id_kind kind, const char *word, rota_task_id *id);

// ---- load_job.c: job files ---------------------------------------------------------------

struct jobfile;
bool jobfile_load(struct jobfile *file, const char *path);  // false: the errors were printed

// ---- startup.c ------------------------------------------------------------------------

// Opens the standard streams that are closed, so that no database gets one of their numbers and
// then a message. Clears the bits of the umask that would lock rota out of its own files.
void startup_prepare(void);

// ---- define.c ----------------------------------------------------------------------

// Applies the definitions of the text and prints the outcome; error messages name `file`.
int session_define(struct session *session, const char *file, const char *text, size_t size);

// ---- sql_write.c -------------------------------------------------------------------

bool sql_writes(const char *sql);
int sql_write(const char *path, const char *sql);

// ---- defaults.c: addresses and databases of servers ---------------------------------------------

const char *default_address(char path[OS_PATH_BYTES]);  // where it listens
const char *default_database(char path[OS_PATH_BYTES]);
// Whether it is the path of a Unix socket from the working folder: dir/a, or a.sock.
bool address_is_relative(const char *address);

// ---- remote.c: commands with --server ----------------------------------------------------------

command_fn remote_query;   // a server answers the command
command_fn remote_change;  // a server changes tasks
command_fn remote_logs;

// ---- data_remote.c: objects of a server --------------------------------------------------------

bool data_verb_is_remote(const char *verb);  // put, keep and unkeep need a server
command_fn remote_data;
char *path_absolute(const char *path);  // the caller frees it; null: no memory
