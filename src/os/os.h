// os.h - what rota asks of the system: the time, sleep, files and directories.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OS_PATH_BYTES = 4096 };  // of the longest path that is made here

// ---- clock.c, sleep.c: time, and chance ---------------------------------------------------------

int64_t os_now(void);    // microseconds since 1970 in UTC
int64_t os_ticks(void);  // microseconds that only go forwards
int64_t os_spent(void);  // nanoseconds of processor time that this process has had
int64_t os_boottime(void);  // the same since the machine was started, also while it slept

// From here on TERM and INT no longer end the program but the next sleep.
void os_signals_hold(void);
// Sleeps until then. False: somebody wants the program to end.
bool os_sleep_until(int64_t then);

bool os_random(void *bytes, size_t size);  // for secrets; false: not available

// ---- sha256.c: SHA-256, by libcrypto, which is loaded with the first one -----------------------

enum { OS_SUM = 32 };
struct os_digest_error {
    char text[200];
};
struct os_digest;
struct os_digest *os_digest_open(struct os_digest_error *error);  // null: `error` says why
void os_digest_close(struct os_digest *digest);                   // null is fine, as below

// Of bytes as they come. Several of one digest may be used by as many threads.
struct os_sum;
struct os_sum *os_sum_open(const struct os_digest *digest);  // begun; null: no memory
bool os_sum_begin(struct os_sum *sum);                       // again from the start
void os_sum_add(struct os_sum *sum, const void *bytes, size_t count);
void os_sum_end(struct os_sum *sum, uint8_t hash[OS_SUM]);
void os_sum_close(struct os_sum *sum);

// ---- file.c -------------------------------------------------------------------

bool os_file_is_there(const char *path);  // false, with errno: it cannot be read

// The bytes of the file and a zero, to be freed; "-" is the standard input. Null, with errno: it
// cannot be read, or has more than `max` bytes.
char *os_file_read(const char *path, size_t max, size_t *size);
// In place of what was there, as a whole. False with errno.
bool os_file_write(const char *path, const char *bytes, size_t size);
bool os_write_at(int file, const void *bytes, size_t size, uint64_t at);  // all, or errno says why

// ---- directory.c, directory_remove.c, copy.c: directories and all that is in them ------------

bool os_directory_make(const char *path);  // with its parents; false with errno
// Makes the parents of a path. False with errno.
bool os_parents_make(const char *path);
// Removes the file or the whole tree, whatever the modes and the depth. Fine when there is
// nothing. The last part of the name may be a link, which is removed; the rest is the caller's.
// False with errno: some of it could not be removed, the rest is gone.
bool os_tree_remove(const char *path);
bool os_tree_remove_at(int directory, const char *name);  // below an open directory

// ---- wait.c: any of several things ---------------------------------------------------

// HUP, and signals that ask a process to end (INT, TERM, QUIT, USR1, USR2, XCPU, ALRM), become
// bytes to read, unless they are ignored; -1 with errno. A broken pipe is an error, no signal.
int os_signals_open(void);
int os_signal_next(int signals);  // 0: none has come

struct os_watch {
    int file;
    bool write;  // also wake when it can be written
    bool can_read, can_write;
};
// Waits until one of them can, or the ticks are there. False: none can.
bool os_wait(struct os_watch *watches, uint32_t count, int64_t until);
void os_event_clear(int event);  // of an eventfd

// ---- epoll.c: any of very many things ---------------------------------------------------

struct os_ready {
    void *owner;
    bool can_read, can_write;
    bool is_over;  // the other side has closed it
};
int os_loop_open(void);  // -1 with errno
bool os_loop_add(int loop, int file, void *owner);
void os_loop_write(int loop, int file, void *owner, bool also);  // wake when it can be written, too
// Wakes when it can be read or written, as said, and in any case when the other side closes it.
void os_loop_watch(int loop, int file, void *owner, bool reads, bool writes);
void os_loop_remove(int loop, int file);
// The files that are ready, at most `max`; waits until the given ticks.
uint32_t os_loop_wait(int loop, struct os_ready *ready, uint32_t max, int64_t until);

bool os_is_terminal(int file);
uint32_t os_terminal_width(int file);
uint32_t os_files_raise(void);  // as many files as the system lets us open; returns how many

// ---- capacity.c: how much of this machine is ours -----------------------------------------------

struct os_share {
    uint32_t processors, memory_mib;
};
void os_share_read(struct os_share *share);  // the smallest of the machine and all that follows
// These lower what is there. The root is "", or that of a test.
void os_share_cgroup(struct os_share *share, const char *root);
void os_share_batch(struct os_share *share);

// ---- terminal.c: a terminal that gives every key at once ---------------------------------------

struct os_terminal;
struct os_terminal *os_terminal_open(int file);        // null: not a terminal
void os_terminal_close(struct os_terminal *terminal);  // as it was found; null is fine
void os_terminal_size(int file, uint32_t *columns, uint32_t *rows);
int os_terminal_key(int file);  // the next byte; 0: none has come

// ---- child.c: another process of this program ------------------------------------------

// Runs this program with these words (the first is its name); what it prints, also as errors, comes
// out of `output`, which does not wait. 0 with errno: it could not be started.
int os_child_start(char *const *words, int *output);
// The same with another program, which is looked up in PATH, and which reads what is written to
// `input`.
int os_program_start(char *const *words, int *input, int *output);
void os_child_kill(int child);
int os_child_end(int child);  // waits for its end; the exit status, or 128 and the signal

// ---- service.c: under a supervisor such as systemd --------------------------------------------

enum { OS_SERVICE_FILES = 16 };
struct os_service {
    char notify[108];  // a socket that wants to hear of us; "": none
    int64_t watchdog;  // microseconds within which it wants to hear "WATCHDOG=1"; 0: it does not
    int files[OS_SERVICE_FILES];  // that it has opened for us
    uint32_t file_count;
};
// From the environment, where nothing of it is left for those whom we start.
void os_service_read(struct os_service *service);
// "READY=1" and the like, a line each; never waits. Does nothing if nobody wants it.
void os_service_tell(const struct os_service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- command.c: somebody else's program ------------------------------------------------------

struct os_command {
    char *const *words;        // the first is looked up in PATH
    char *const *environment;  // NAME=VALUE, on top of our own; ends with null
    const char *input;         // what it reads
    size_t input_size;
};
// In a process group of its own, and it dies with us. The file can be read when it has ended. 0
// with errno: it could not be started.
int os_command_start(const struct os_command *command, int *ended);
enum os_stop { OS_STOP_TERM, OS_STOP_KILL };
void os_command_stop(int child, enum os_stop how);  // the whole group

// ---- file_stamp.c -----------------------------------------------------------------------------

// Another number whenever a file has another size, time or place; 0: it is not there.
uint64_t os_stamp(const char *folder, const char *path);

// ---- socket.c: a line over a local socket, and one back ---------------------------------

// The peer: "/" and the number of its user, or "10.0.0.1:4711"; "": unknown.
void os_socket_peer(int file, char *text, size_t size);
int os_socket_listen(const char *path);  // for its owner only; -1 with errno
// The next who asks, and the line; -1: nobody, or nobody who may.
int os_socket_accept(int listening, char *line, size_t size);
void os_socket_reply(int peer, const char *line);
// False: nobody listens there, or nobody answers.
bool os_socket_ask(const char *path, const char *line, char *answer, size_t size);

// ---- prefault.c ---------------------------------------------------------------------------

// So much of the heap, without waiting for each page.
void os_memory_ready(size_t bytes);

// ---- allocate.c: allocations that end the program when they fail --------------------------------

_Noreturn void os_out_of_memory(void);  // says so, and ends the program with 70
void *os_allocate(size_t count, size_t size);  // zeroed
