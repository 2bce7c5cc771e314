// served.h - a worker in a separate process, as a server sees it.
#pragma once

#include "worker/process/worker.h"

struct served {
    pid_t pid;
    int socket;
    char folder[64];
    struct wire_in in;
    struct wire_out out;
};

struct served served_open(struct worker_options options);  // its folder is a new one
void served_again(struct served *served, struct worker_options options);  // another, same folder
void served_close(struct served *served);                  // waits for its end, removes the folder
int served_end(struct served *served);                     // waits; its status as of waitpid()

// Around each test of cmocka: the state is a worker of two cores.
int served_set_up(void **state);
int served_tear_down(void **state);
#define SERVED_TEST(name)                                                                          \
    cmocka_unit_test_setup_teardown(name, served_set_up, served_tear_down)

// A command with attempt 1, as a null-terminated list of words. `task` counts within job 7.
struct wire_run served_command(uint32_t task, const char *const *words);
#define COMMAND(task, ...) served_command(task, (const char *const[]){__VA_ARGS__, NULL})
#define SHELL(task, script) COMMAND(task, "/bin/sh", "-c", script)

void served_run(struct served *served, const struct wire_run *run);
void served_stop(struct served *served, uint32_t task, int64_t grace);
void served_quit(struct served *served, int64_t grace);
void served_send(struct served *served, const struct wire_message *message);
// The next message, valid until the next call. False: the worker is gone.
bool served_next(struct served *served, struct wire_message *message);
struct wire_message served_await(struct served *served, enum wire_kind kind);  // skips the others
struct wire_finished served_finished(struct served *served);
struct wire_finished served_do(struct served *served, struct wire_run run);  // runs and waits

// Returns the log of attempt 1, ended by a zero, or null if it has none. The caller frees it.
char *served_log(struct served *served, uint32_t task, size_t *size);
// Reads the number that a command has written into a file of the folder; waits until it exists.
long served_number(struct served *served, const char *name);
// The first process on the machine that has this word in its arguments; 0: none.
pid_t served_process_with(const char *word);
void served_await_gone(const char *word);
