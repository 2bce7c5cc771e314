// internal.h - internals of a worker, shared by its files.
#pragma once

#include "worker/process/worker.h"

#include <signal.h>
#include <sys/resource.h>

// ---- log_write.c: output becomes a log --------------------------------------------------------

struct log_writer {
    struct log_writer *next;  // list of unused writers
    void *compressor;
    int file;         // -1: nothing has been written yet
    bool broken;      // the disk is full, or failed: the rest is only counted
    char last;        // byte that was kept
    uint64_t kept, came, max;
    uint32_t used;    // of raw
    int64_t due;      // when waiting data is flushed; INT64_MAX: none waits
    const char *path;  // of the attempt it belongs to
    char *raw, *packed;
};

enum { LOG_RAW = 64 << 10, LOG_FLUSH_AFTER = 200000 };

struct log_writer *log_writer_open(void);  // null: out of memory
void log_writer_begin(struct log_writer *log, const char *path, uint64_t max);
// Where the next bytes may be read into; if further output is only counted there is no room.
char *log_writer_room(struct log_writer *log, size_t *size);
void log_writer_came(struct log_writer *log, size_t count, int64_t now);
// The very first bytes, which were read before there was a log.
void log_writer_first(struct log_writer *log, const char *bytes, size_t count, int64_t now);
void log_writer_cut(struct log_writer *log, uint64_t count);  // bytes that were discarded
void log_writer_flush(struct log_writer *log);
bool log_writer_end(struct log_writer *log);  // true: the log has all of the output
void log_writer_close(struct log_writer *log);

// ---- command.c: a copy of a RUN -------------------------------------------------------------

struct environment {
    char **items;  // of the worker, without variables that are set for each command
    uint32_t count;
    const char *path;
};

bool environment_init(struct environment *environment, const struct worker_options *options,
                      char **from);
void environment_release(struct environment *environment);

// A copy of the message with all arguments of execve(), in one block of memory.
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

// False: out of memory.
bool command_copy(struct command *command, const struct wire_run *run,
                  const struct environment *environment, const char *folder);
const char *command_path_variable(const struct command *command);

// ---- path_search.c: finds a program ---------------------------------------------------------

struct finder {
    struct found { char *word, *path; } *items;
    uint32_t count, capacity;
};

// The path of the program, valid until the next call. Null with errno: not found.
const char *finder_find(struct finder *finder, const struct command *command,
                        const struct environment *environment);
void finder_forget(struct finder *finder, const char *path);
void finder_release(struct finder *finder);

// ---- spawn.c: starts a process without copying the memory of the worker ---------------------

enum spawn_step { SPAWN_FORK, SPAWN_USER, SPAWN_STDIN, SPAWN_DIRECTORY, SPAWN_LIMIT, SPAWN_EXEC };

struct spawn {
    const char *path, *directory, *stdin_path;  // null: keeps the directory, and reads /dev/null
    char **argv, **envp;
    int output;
    uint64_t data_max;     // bytes; 0: no limit
    rlim_t files_max;      // 0: unchanged
    const struct worker_user *user;  // null: as the worker
    bool dies_with_worker;
    int domain;            // of signal_wall.h; -1: none
    void *stack_end;
    int error;  // errno, and the step that failed
    enum spawn_step step;
};

void *spawn_stack(void);                 // null: out of memory
pid_t spawn_start(struct spawn *spawn);  // -1 with error and step

// ---- files.c, files_*.c: inputs and outputs of commands -------------------------------------

struct cache;
struct cache_error;
struct cache_entry;
struct cache_output;
struct attempt;

// The folder of the cache is created when the first content is stored.
struct files {
    const char *folder;  // of the worker, absolute
    uint64_t cache_max;
    const struct worker_user *user;  // of commands; null: the worker's
    struct cache *cache;     // null: not needed yet
    struct wire_file *lost;  // inputs that turned out to be missing
    uint32_t lost_count, lost_capacity;
    struct map hashed;  // sources by their attributes; index in hashes, from 1
    uint8_t (*hashes)[WIRE_HASH];
    uint32_t hash_count, hash_capacity;
};

struct files_key {  // of everything that determines the outputs of a command
    uint8_t hash[WIRE_HASH];
    bool is_known;
};

enum files_result {
    FILES_READY,
    FILES_CACHED,  // only from files_look_up: the command need not run
    FILES_BAD,     // the attempt has the reason; `lost` has objects to report
};

// Before there is a directory: looks up a known result, and copies its outputs to their places.
enum files_result files_look_up(struct files *files, struct attempt *attempt);
enum files_result files_prepare(struct files *files, struct attempt *attempt);
// After an exit status of 0, before the directory is removed.
enum files_result files_collect(struct files *files, struct attempt *attempt);
void files_drop(struct files *files, const wire_files *objects);
void files_release(struct files *files);
// A relative path that does not leave its directory: no "..", no empty parts, not absolute.
bool files_name_is_safe(const char *name);

struct cache *files_cache(struct files *files, struct cache_error *error);  // null: an error
void files_lost_add(struct files *files, rota_object_id object);
// Delivers the outputs, stores the result, and binds the objects, in this order.
enum files_result files_hand_over(struct files *files, struct attempt *attempt,
                                  const struct cache_output *made);
enum files_result files_key_make(struct files *files, struct attempt *attempt,
                                 struct files_key *key);
void files_result_put(struct files *files, struct attempt *attempt,
                      const struct cache_output *made);
// After another exit status: if that is a result, it is stored.
void files_failure_put(struct files *files, struct attempt *attempt);
// False: it cannot be read, is neither a file nor a folder, or has links that lead out of it.
bool files_source_hash(struct files *files, const char *path, struct cache_entry *entry);

// ---- attempt.c: the life cycle of an attempt ------------------------------------------------

enum attempt_state {
    ATTEMPT_FREE,
    ATTEMPT_QUEUED,
    ATTEMPT_RUNNING,
    ATTEMPT_LEFT,  // its first process has ended, others of its tree have not
    ATTEMPT_ENDED,  // it has no process any more; reported when its data in streams is passed on
};

struct output {  // a pipe that commands use one after the other
    struct output *next;
    struct attempt *attempt;
    int read, write;
};

struct attempt {
    struct attempt *next;
    enum attempt_state state;
    enum wire_end cause;  // why it was told to end, if it was
    struct command command;
    struct output *output;
    struct log_writer *log;
    pid_t pid;
    int status;
    struct rusage usage;
    int64_t began, ticks;  // UTC, and by the clock of the timers
    int64_t ended;
    int64_t timeout_due, kill_due, sweep_due, held_until;  // held: then it is reported
    enum wire_end end;
    uint32_t flags;
    uint64_t log_bytes;
    bool was_cached, output_is_shared;
    bool lacks_room;  // on the disk, for an input
    struct files_key key;
    char reason[WORKER_REASON_MAX];
};

struct attempt_list { struct attempt *first, *last; };

struct worker {
    const struct worker_options *options;
    char *folder, *cwd;  // absolute
    uint64_t log_max;
    int socket, epoll, signals, children;
    pid_t pid;
    bool is_init;  // of a PID namespace
    bool has_proc, has_system_kills;
    uint64_t system_kills;  // since the machine was booted
    bool is_quitting, is_draining, is_cut_off;
    uint32_t cores, cores_used, files_max;
    struct wire_in in;
    struct wire_out out;
    bool out_is_watched;
    bool is_urgent;       // more than starts wait to be sent
    int64_t started_due;  // when starts are sent at the latest
    struct environment environment;
    struct finder finder;
    struct files files;
    struct attempt_list queue, ended, idle;
    struct attempt_list pouring;  // ended, except for data in streams, or held back
    struct attempt **running;  // RUNNING and LEFT
    uint32_t running_count, running_capacity;
    struct output *outputs;
    struct log_writer *logs;
    struct stream *streams;
    struct stream_tee *tees;
    int tee_loop;     // -1: none yet
    struct stray *strays;
    uint32_t stray_count, stray_capacity;
    void *spawn_stack;
    int domain, null;   // of signal_wall.h, -1: none; for output that is only counted
    bool keeps_limits;  // commands cannot change each other's limits (limit_filter_enter)
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
int64_t on_timers(struct worker *worker, int64_t now);  // returns when to call it again
void attempts_start(struct worker *worker);             // starts those that fit, in order
void attempts_finish(struct worker *worker);            // finishes those that have ended
void attempt_append(struct attempt_list *list, struct attempt *attempt);
struct attempt *attempt_take_first(struct attempt_list *list);

// ---- start.c: starts a process --------------------------------------------------------------

bool attempt_begin(struct worker *worker, struct attempt *attempt);  // false: ENDED, with a reason

// ---- output.c: pipes that are read while commands run -----------------------------------------

struct output *output_take(struct worker *worker, struct attempt *attempt);  // null with errno
void output_close(struct worker *worker, struct output *output);
void output_drain(struct worker *worker, struct attempt *attempt);

// ---- process_tree.c: which processes belong to an attempt ---------------------------------

struct stray {  // a child of the worker that it has not started
    pid_t pid;
    struct attempt *attempt;
};

// Whether the worker has children that this attempt may have left behind.
bool tree_may_have_left(struct worker *worker, struct attempt *attempt);
void tree_forget(struct worker *worker, pid_t pid);
void tree_forget_attempt(struct worker *worker, const struct attempt *attempt);
// Sends the signal to all processes of the attempt; returns how many of them were alive.
uint32_t tree_signal(struct worker *worker, struct attempt *attempt, int signal);
// The same for all processes that the worker has ever started.
uint32_t tree_signal_all(struct worker *worker, int signal);
// Whether a process of the attempt has this file open.
bool tree_has_open(struct worker *worker, struct attempt *attempt, const char *path);

// ---- report.c: messages to the server -------------------------------------------------------

void report_held(struct worker *worker);  // objects that were in the cache before
void report_hello(struct worker *worker);
void report_lost(struct worker *worker);
void report_started(struct worker *worker, const struct attempt *attempt);
void report_finished(struct worker *worker, const struct attempt *attempt);

// ---- out_of_memory.c: whether a command ran out of memory --------------------------------------

// Notes once how many processes the system has killed so far. Reading that takes as long as a
// start, so it is done when the first command has just started, and cannot have used all memory.
void limit_watch(struct worker *worker);
// For an attempt with its status from wait4(). True: with a reason.
bool limit_was_memory(struct worker *worker, struct attempt *attempt);

// ---- stream.c: FIFOs between two commands -----------------------------------------------------

void streams_drop(struct worker *worker, const wire_files *objects);
bool streams_join(struct worker *worker, struct attempt *attempt, char *reason);
void streams_leave(struct worker *worker, struct attempt *attempt);
// Lets consumers see the end when their producer has ended; returns when to call it again.
int64_t streams_look(struct worker *worker, int64_t now);
void streams_release(struct worker *worker);
