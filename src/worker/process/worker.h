// worker.h - a process that runs commands for a server, and keeps their logs and files.
//
// A worker talks to its server over one socket, with the messages of wire.h. It is a separate
// process: when it dies, or its server does, no command that it has started keeps running.
#pragma once

#include "net/wire/wire.h"

#include <sys/types.h>

// ---- worker.c: the loop ---------------------------------------------------------------------

enum worker_contain {
    WORKER_CONTAIN_BEST,  // a PID namespace where the system allows it, else a tree
    WORKER_CONTAIN_TREE,  // the worker is the subreaper of all that it starts
};

// The user whose rights commands get if the worker runs as root.
struct worker_user {
    const char *name;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
};

struct worker_options {
    const char *folder;  // has log/, work/ and, once needed, cache/; created if it does not exist
    const char *name;
    uint32_t cores;  // 0: 1
    uint32_t memory_mib;
    uint64_t log_max;    // bytes of output that are kept of an attempt; 0: WORKER_LOG_MAX
    uint64_t cache_max;  // bytes of contents that are kept; 0: WORKER_CACHE_MAX
    enum worker_contain contain;
    int fence;           // a timerfd; all commands are killed when it expires; 0: none
    bool tells_drained;  // queued commands are reported as not started when DRAIN arrives
    const struct worker_user *user;  // commands run as this user; null: as the worker
    bool cleans_environment;  // commands get only a short list of the worker's variables,
    const char *const *env;   // and these: NAME, START* or NAME=VALUE
    uint32_t env_count;
    // Commands cannot use the caller's terminal nor, if the system supports.
    bool separates_commands;
                    // to that, signal each other
    bool is_known;  // HELLO is not waited for: it may come with other messages
};

enum { WORKER_LOG_MAX = 64 << 20, WORKER_REASON_MAX = 512 };
#define WORKER_CACHE_MAX ((uint64_t)10 << 30)

// Runs until QUIT is done or the socket is closed. Returns the exit status: 0, or 1 when the server
// sent an invalid message or the worker could not start. The process must have no other threads or
// children. As process 1 with CONTAIN_BEST it owns its namespace, and kills everything in it.
int worker_main(int socket, const struct worker_options *options);

// ---- open.c -------------------------------------------------------------------------------------

// Whether a worker with this folder will send HELLO at once and nothing before it: no other worker
// is still running there, and there are no contents from before.
bool worker_folder_is_free(const char *folder);

// ---- worker_process.c: the process -------------------------------------------------------------

// Whether "NAME=VALUE" is a variable that is set for each command, such as ROTA_TOKEN.
bool worker_sets(const char *item);

// Whether commands get this "NAME=VALUE" of the worker's environment.
bool worker_passes_on(const struct worker_options *options, const char *item);

// Starts a worker in a separate process and returns the server's end of the socket. -1 with errno.
// Call it early: the less memory the caller has, the less the worker starts with.
pid_t worker_fork(const struct worker_options *options, int *socket);

// ---- earlier_worker.c: the earlier worker of a folder ------------------------------------------

typedef void worker_say_fn(void *context, const char *text);
// Waits until the noted worker of the folder, and all processes of its namespace, have ended. The
// caller holds a lock that keeps other callers out. False: a signal arrived first.
bool worker_previous_await(const char *folder, int signals, worker_say_fn *say, void *context);
// Notes a worker that was forked, before it gets its first command. False with errno.
bool worker_note(const char *folder, pid_t pid);
uint64_t worker_pid_space(void);  // identifies the caller's PID namespace; 0: unknown

// ---- fence.c: deadlines that hold even if a loop hangs --------------------------------------

void worker_fence_await(int timer);  // returns when it has expired
// Kills all children of this process, and theirs, until there are none. Without a namespace, the
// processes of a killed worker become children of its subreaper.
void worker_children_end(void);

// ---- log_read.c: reads the log of a command -------------------------------------------------

// A log can be read while it is written, and after a crash cut it off.
struct log_reader;

void log_path(char *out, size_t size, const char *folder, rota_task_id task, uint32_t attempt);
struct log_reader *log_open(const char *path);  // null with errno
// The next bytes. 0: there are no more for now, try again later. -1 with errno: it cannot be read.
ssize_t log_next(struct log_reader *reader, void *out, size_t size);
bool log_is_whole(const struct log_reader *reader);  // its end has been read; nothing will follow
void log_close(struct log_reader *reader);

typedef bool log_fn(void *context, const char *bytes, size_t count);  // false: stop
// All data up to now. False with errno: it cannot be read.
bool log_read(const char *path, log_fn *write, void *context);

// The path of the stream of an object, below the folder of a worker, while a command writes or
// reads it. DROP for it says that its other end, on another machine, has ended.
void stream_path(char *out, size_t size, const char *folder, rota_object_id object);
