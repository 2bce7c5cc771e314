// os.h - system calls: clocks, files, directories, sockets, processes, terminals, limits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OS_PATH_BYTES = 4096 };  // the longest path that rota builds

// ---- clock.c, sleep.c: clocks, sleeping, random bytes -------------------------------------------

int64_t os_now(void);    // wall clock: microseconds since 1970 in UTC
int64_t os_ticks(void);  // monotonic clock in microseconds
int64_t os_spent(void);  // processor time of this process in nanoseconds
int64_t os_boottime(void);  // microseconds since boot, including suspended time

// From now on TERM and INT interrupt os_sleep_until() instead of ending the program.
void os_signals_hold(void);
// Sleeps until that time of os_now(). False: a signal asked the program to end.
bool os_sleep_until(int64_t then);

bool os_random(void *bytes, size_t size);  // for secrets; false: none are available

// ---- sha256.c: SHA-256 by libcrypto, which is loaded on first use ------------------------------

enum { OS_HASH = 32 };
struct os_digest_error {
    char text[200];
};
struct os_digest;
struct os_digest *os_digest_open(struct os_digest_error *error);  // null: `error` says why
void os_digest_close(struct os_digest *digest);                   // null is allowed, also below

// An incremental hash. Each thread may use its own, all with the same digest.
struct os_hash;
struct os_hash *os_hash_open(const struct os_digest *digest);  // already begun; null: out of memory
bool os_hash_begin(struct os_hash *sum);                       // starts again
void os_hash_add(struct os_hash *sum, const void *bytes, size_t count);
void os_hash_end(struct os_hash *sum, uint8_t hash[OS_HASH]);
void os_hash_close(struct os_hash *sum);

// ---- file.c -------------------------------------------------------------------

bool os_file_is_there(const char *path);  // false: not readable, see errno

// Returns the content, ended by a zero; the caller frees it. "-" is standard input. Null: not
// readable or larger than `max` bytes, see errno.
char *os_file_read(const char *path, size_t max, size_t *size);
// Replaces the file atomically. False: see errno.
bool os_file_write(const char *path, const char *bytes, size_t size);
// All bytes, or false with errno.
bool os_write_at(int file, const void *bytes, size_t size, uint64_t at);

// ---- directory.c: directory trees --------------------------------------------------------------

bool os_directory_make(const char *path);  // with its parents; false: see errno
// Creates the parents of a path. False: see errno.
bool os_parents_make(const char *path);
// Removes a file or a tree of any depth and permissions; succeeds if nothing is there. If the last
// part of the path is a symbolic link, only the link is removed; links in the other parts are
// followed. False: part of the tree could not be removed, see errno.
bool os_tree_remove(const char *path);
bool os_tree_remove_at(int directory, const char *name);  // relative to an open directory

// ---- wait.c: signals, and waiting for a few files ------------------------------------

// Returns a signalfd, or -1 with errno. It delivers HUP and the signals that ask a process to end
// (INT, TERM, QUIT, USR1, USR2, XCPU, ALRM) unless they are ignored. A broken pipe becomes an error
// of write() instead of a signal.
int os_signals_open(void);
int os_signal_next(int signals);  // 0: no signal is pending

struct os_watch {
    int file;
    bool write;  // also wake up when the file is writable
    bool can_read, can_write;
};
// Waits until a file is ready or until that time of os_ticks(). False: no file is ready.
bool os_wait(struct os_watch *watches, uint32_t count, int64_t until);
void os_event_clear(int event);  // reads an eventfd until it is empty

// ---- epoll.c: waiting for many files ----------------------------------------------------

struct os_ready {
    void *owner;
    bool can_read, can_write;
    bool is_over;  // the peer has closed it
};
int os_loop_open(void);  // -1: see errno
bool os_loop_add(int loop, int file, void *owner);
// Wakes the loop up when the file is readable and, if `also` is set, when it is writable.
void os_loop_write(int loop, int file, void *owner, bool also);
// Sets which events wake the loop up. The peer closing the file always does.
void os_loop_watch(int loop, int file, void *owner, bool reads, bool writes);
void os_loop_remove(int loop, int file);
// Waits until that time of os_ticks(), and returns the number of files that are ready, up to `max`.
uint32_t os_loop_wait(int loop, struct os_ready *ready, uint32_t max, int64_t until);

bool os_is_terminal(int file);
uint32_t os_terminal_width(int file);
uint32_t os_files_raise(void);  // raises the limit of open files to the maximum; returns it

// ---- capacity.c: processors and memory that this process may use --------------------------------

struct os_share {
    uint32_t processors, memory_mib;
};
void os_share_read(struct os_share *share);  // the smallest of all limits
// These lower the limits further. `root` is "", or the root folder of a test.
void os_share_cgroup(struct os_share *share, const char *root);

// ---- terminal.c: a terminal in unbuffered mode -------------------------------------------------

struct os_terminal;
struct os_terminal *os_terminal_open(int file);        // null: not a terminal
void os_terminal_close(struct os_terminal *terminal);  // restores the settings; null is allowed
void os_terminal_size(int file, uint32_t *columns, uint32_t *rows);
int os_terminal_key(int file);  // the next byte; 0: no key was pressed

// ---- child.c: child processes ----------------------------------------------------------

// Runs this program with these arguments (the first is its name). Its output and its errors can be
// read from `output`, which does not block. 0: could not start, see errno.
int os_child_start(char *const *words, int *output);
// The same with another program, found by PATH. It reads its standard input from `input`.
int os_program_start(char *const *words, int *input, int *output);
void os_child_kill(int child);
int os_child_end(int child);  // waits; returns the exit status, or 128 + signal

// ---- service.c: the protocol of supervisors such as systemd -----------------------------------

enum { OS_SERVICE_FILES = 16 };
struct os_service {
    char notify[108];  // NOTIFY_SOCKET; "": none
    int64_t watchdog;  // microseconds between two "WATCHDOG=1"; 0: not required
    int files[OS_SERVICE_FILES];  // sockets that the supervisor has opened for rota
    uint32_t file_count;
};
// Reads the variables and removes them from the environment, so that child processes do not inherit
// them.
void os_service_read(struct os_service *service);
// Sends lines such as "READY=1"; never blocks. Does nothing without a supervisor.
void os_service_tell(const struct os_service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- command.c: external programs ------------------------------------------------------------

struct os_command {
    char *const *words;        // the first is found by PATH
    char *const *environment;  // NAME=VALUE, added to the environment of rota; ends with null
    const char *input;         // its standard input
    size_t input_size;
};
// Starts the program in its own process group; the kernel kills it if rota dies. `ended` becomes
// readable when the program ends. 0: could not start, see errno.
int os_command_start(const struct os_command *command, int *ended);
enum os_stop { OS_STOP_TERM, OS_STOP_KILL };
void os_command_stop(int child, enum os_stop how);  // signals the process group

// ---- file_stamp.c -----------------------------------------------------------------------------

// A number that changes with the size, time or inode of a file, or of any file in a folder; 0:
// absent.
uint64_t os_stamp(const char *folder, const char *path);

// ---- socket.c: one request line and one reply line over a local socket ------------------

// The peer: "/UID" for a local socket, or "10.0.0.1:4711"; "": unknown.
void os_socket_peer(int file, char *text, size_t size);
int os_socket_listen(const char *path);  // mode 0600; -1: see errno
// Accepts a connection and reads its line; -1: no connection, no line, or not permitted.
int os_socket_accept(int listening, char *line, size_t size);
void os_socket_reply(int peer, const char *line);
// False: no program listens at the path, or it does not answer in time.
bool os_socket_ask(const char *path, const char *line, char *answer, size_t size);

// ---- prefault.c ---------------------------------------------------------------------------

// Faults in this much of the heap at once instead of page by page.
void os_memory_ready(size_t bytes);

// ---- allocate.c: allocations that end the program when they fail --------------------------------

_Noreturn void os_out_of_memory(void);  // prints it and exits with status 70
void *os_allocate(size_t count, size_t size);  // zeroed
