// internal.h - the inside of a worker, as its files share it.
#pragma once

#include "worker/process/worker.h"

#include <signal.h>
#include <sys/resource.h>

// ---- log_write.c: output becomes a log --------------------------------------------------------

struct log_writer {
    struct log_writer *next;  // of those that nobody uses
    void *compressor;
    int file;         // -1: nothing has been written yet
    bool broken;      // the disk is full, or worse: the rest is only counted
    char last;        // byte that was kept
    uint64_t kept, came, max;
    uint32_t used;    // of raw
    int64_t due;      // when what waits is to be flushed; INT64_MAX: nothing waits
    const char *path;  // of the run that it is for
    char *raw, *packed;
};

enum { LOG_RAW = 64 << 10, LOG_FLUSH_AFTER = 200000 };

struct log_writer *log_writer_open(void);  // null: no memory
void log_writer_begin(struct log_writer *log, const char *path, uint64_t max);
// Where the next bytes may be read into; when everything more is only counted there is no room.
char *log_writer_room(struct log_writer *log, size_t *size);
void log_writer_came(struct log_writer *log, size_t count, int64_t now);
// The very first bytes, which were read before there was a log.
void log_writer_first(struct log_writer *log, const char *bytes, size_t count, int64_t now);
void log_writer_cut(struct log_writer *log, uint64_t count);  // bytes that were thrown away
void log_writer_flush(struct log_writer *log);
bool log_writer_end(struct log_writer *log);  // true: the log has all of the output
void log_writer_close(struct log_writer *log);

// ---- command.c: a RUN that is kept ------------------------------------------------------------

struct environment {
    char **items;  // of the worker, without what is set for each command
    uint32_t count;
    const char *path;
};

bool environment_init(struct environment *environment, const struct worker_options *options,
                      char **from);
void environment_release(struct environment *environment);

// A copy of the message with all that execve() wants, in one block of memory.
struct command {
    char *block;
    size_t used, capacity;
    struct wire_run run;
    char **argv, **envp;
    char *directory;   // private, or the cwd
    char *log;         // path
    char *stdin_path;  // absolute; null: none
    struct wire_file *made;
};

// False: no memory.
bool command_copy(struct command *command, const struct wire_run *run,
                  const struct environment *environment, const char *folder);
const char *command_path_variable(const struct command *command);

// ---- path_search.c: where a command is ----------------------------------------------------------

struct finder {
    struct found { char *word, *path; } *items;
    uint32_t count, capacity;
};

// The path of the program, valid until the next call. Null with errno: there is none.
const char *finder_find(struct finder *finder, const struct command *command,
                        const struct environment *environment);
void finder_forget(struct finder *finder, const char *path);
void finder_release(struct finder *finder);

// ---- spawn.c: a new process, without copying the worker ---------------------------------------

enum spawn_step { SPAWN_FORK, SPAWN_USER, SPAWN_STDIN, SPAWN_DIRECTORY, SPAWN_LIMIT, SPAWN_EXEC };

struct spawn {
    const char *path, *directory, *stdin_path;  // null: stays where it is, and reads nothing
    char **argv, **envp;
    int output;
    uint64_t data_max;     // bytes; 0: no limit
    rlim_t files_max;      // 0: as it is
    const struct worker_user *user;  // null: as the worker
    bool dies_with_worker;
    int domain;            // of signal_wall.h; -1: none
    void *stack_end;
    int error;             // errno, and where it came from
    enum spawn_step step;
};

void *spawn_stack(void);  // null: no memory
pid_t spawn_start(struct spawn *spawn);  // -1 with error and step

// ---- files.c, files_*.c: what goes into a command and what comes out --------------------------

struct cache;
struct cache_error;
struct cache_entry;
struct cache_output;
struct run;

// The folder of the cache is made when the first content goes into it, not before.
struct files {
    const char *folder;  // of the worker, absolute
    uint64_t cache_max;
    const struct worker_user *user;  // of commands; null: the worker's
    struct cache *cache;     // null: not needed yet
    struct wire_file *lost;  // inputs that have turned out not to be there
    uint32_t lost_count, lost_capacity;
    struct map hashed;       // sources by what they look like; a place in hashes, from 1
    uint8_t (*hashes)[WIRE_HASH];
    uint32_t hash_count, hash_capacity;
};

struct files_key {  // of all that decides what a command makes
    uint8_t hash[WIRE_HASH];
    bool is_known;
};

enum files_result {
    FILES_READY,
    FILES_CACHED,  // only of files_look_up: nothing needs to run
    FILES_BAD,     // the run's reason says why; `lost` has what is to be told of
};

// Before there is a directory: was the same done already? Then all is put where it belongs, and the
// run has the status of then.
enum files_result files_look_up(struct files *files, struct run *run);
enum files_result files_prepare(struct files *files, struct run *run);
// After an exit status of 0, before the directory is removed.
enum files_result files_collect(struct files *files, struct run *run);
void files_drop(struct files *files, const wire_files *objects);
void files_release(struct files *files);
// A relative path that stays where it is: no "..", no empty parts, not absolute.
bool files_name_is_safe(const char *name);

struct cache *files_cache(struct files *files, struct cache_error *error);  // null: an error
void files_lost_add(struct files *files, rota_object_id object);
// Delivers what is kept, stores the result, and binds the objects, in this order.
enum files_result files_hand_over(struct files *files, struct run *run,
                                  const struct cache_output *made);
enum files_result files_key_make(struct files *files, struct run *run, struct files_key *key);
void files_result_put(struct files *files, struct run *run, const struct cache_output *made);
// After another exit status: if that is a result, it is kept.
void files_failure_put(struct files *files, struct run *run);
// False: it cannot be read, is neither a file nor a folder, or has links that lead out of it.
bool files_source_hash(struct files *files, const char *path, struct cache_entry *entry);

// ---- attempt.c: the life of one attempt ---------------------------------------------------------

enum run_state {
    RUN_FREE,
    RUN_QUEUED,
    RUN_RUNNING,
    RUN_LEFT,   // its process has ended, others of its tree have not
    RUN_ENDED,  // nothing is left of it; to be reported, when what it wrote to streams is passed on
};

struct output {  // a pipe that commands use one after the other
    struct output *next;
    struct run *run;
    int read, write;
};

struct run {
    struct run *next;
    enum run_state state;
    enum wire_end cause;  // why it was told to end, if it was
    struct command command;
    struct output *output;
    struct log_writer *log;
    pid_t pid;
    int status;
    struct rusage usage;
    int64_t began, ticks;  // UTC, and as the timers count
    int64_t ended;
    int64_t timeout_due, kill_due, sweep_due, held_until;  // held: its end is told then; 0: at once
    enum wire_end end;
    uint32_t flags;
    uint64_t log_bytes;
    bool was_cached, output_is_shared;
    struct files_key key;
    char reason[WORKER_REASON_MAX];
};

struct run_list { struct run *first, *last; };

struct worker {
    const struct worker_options *options;
    char *folder, *cwd;  // absolute
    uint64_t log_max;
    int socket, epoll, signals, children;
    pid_t pid;
    bool is_init;  // of a PID namespace
    bool has_proc, has_system_kills;
    uint64_t system_kills;  // since the machine was started
    bool is_quitting, is_draining, is_cut_off;
    uint32_t cores, cores_used, files_max;
    struct wire_in in;
    struct wire_out out;
    bool out_is_watched;
    bool is_urgent;       // what waits there is more than starts
    int64_t started_due;  // when even these are sent
    struct environment environment;
    struct finder finder;
    struct files files;
    struct run_list queue, ended, idle;
    struct run_list pouring;  // ended, but for what they wrote to streams, or held back
    struct run **running;  // RUNNING and LEFT
    uint32_t running_count, running_capacity;
    struct output *outputs;
    struct log_writer *logs;
    struct stream *streams;
    struct spread *spreads;
    int spread_loop;  // -1: none yet
    struct stray *strays;
    uint32_t stray_count, stray_capacity;
    void *spawn_stack;
    int domain, null;  // of signal_wall.h, -1: none; where output goes that is only counted
    bool keeps_limits;  // commands cannot change each other's (limit_filter_enter)
    char *waste;  // LOG_RAW bytes to read into when there is no log
};

bool worker_init(struct worker *worker, int socket, const struct worker_options *options);
void worker_release(struct worker *worker);

bool fence_begin(struct worker *worker);  // fence.c; false with errno
void on_run(struct worker *worker, const struct wire_run *run);
void on_stop(struct worker *worker, const struct wire_stop *stop);
void on_drain(struct worker *worker);
void on_quit(struct worker *worker, int64_t grace);
void on_output(struct worker *worker, struct output *output);
void on_children(struct worker *worker);
int64_t on_timers(struct worker *worker, int64_t now);  // when it wants to be called next
void runs_start(struct worker *worker);   // those that fit, in order
void runs_finish(struct worker *worker);  // those that have ended
void run_append(struct run_list *list, struct run *run);
struct run *run_take_first(struct run_list *list);

// ---- start.c: from the queue to a process -----------------------------------------------------

bool run_begin(struct worker *worker, struct run *run);  // false: it is ENDED, with a reason

// ---- output.c: pipes that are read while commands run -----------------------------------------

struct output *output_take(struct worker *worker, struct run *run);  // null with errno
void output_give(struct worker *worker, struct output *output);
void output_close(struct worker *worker, struct output *output);
void output_drain(struct worker *worker, struct run *run);

// ---- process_tree.c: which processes belong to a run --------------------------------------------

struct stray {  // a child of the worker that it has not started
    pid_t pid;
    struct run *run;
};

// Are there children of the worker which may have been left behind by this run?
bool tree_may_have_left(struct worker *worker, struct run *run);
void tree_forget(struct worker *worker, pid_t pid);
void tree_forget_run(struct worker *worker, const struct run *run);
// Sends the signal to all processes of the run; how many of them were alive.
uint32_t tree_signal(struct worker *worker, struct run *run, int signal);
// The same for all that the worker has ever started.
uint32_t tree_signal_all(struct worker *worker, int signal);
// Has any process of the run this file open?
bool tree_has_open(struct worker *worker, struct run *run, const char *path);

// ---- report.c: what the server hears ----------------------------------------------------------

void report_held(struct worker *worker);  // what lies in the cache from before
void report_hello(struct worker *worker);
void report_lost(struct worker *worker);
void report_started(struct worker *worker, const struct run *run);
void report_finished(struct worker *worker, const struct run *run);

// ---- limit.c: was it memory that a command ran out of? ----------------------------------------

// Notes whom the system has killed so far, once. Reading that takes as long as starting a command,
// so that is done when the first has just begun, and cannot have taken all memory yet.
void limit_watch(struct worker *worker);
// For a run whose status is as wait4() gave it. True: with a reason.
bool limit_was_memory(struct worker *worker, struct run *run);

// ---- stream.c: FIFOs between two commands -----------------------------------------------------

void streams_drop(struct worker *worker, const wire_files *objects);
bool streams_join(struct worker *worker, struct run *run, char *reason);
void streams_leave(struct worker *worker, struct run *run);
// Lets consumers of which the producer has ended see the end; when to look again.
int64_t streams_look(struct worker *worker, int64_t now);
void streams_release(struct worker *worker);
