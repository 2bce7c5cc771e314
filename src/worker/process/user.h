// user.h - commands that run as another user than the worker (worker_options.user).
//
// Without such a user all of these functions do nothing, and succeed.
#pragma once

#include "worker/process/internal.h"

typedef bool user_fn(void *context);  // false with errno
// Calls it with that user's file permissions: it can read what a command could, and nothing else.
// Null: with the worker's own rights. False with errno, also if the rights cannot be changed; then
// nothing was called.
bool user_call(const struct worker_user *user, user_fn *call, void *context);

// Null: the worker may do what this run asks for. Else why root must not do it for a client.
const char *user_run_fault(const struct worker *worker, const struct wire_run *run);
bool user_prepare(const struct worker *worker);  // the folder; false: an error was printed
// Hand over to the user what the worker has created. False with errno.
bool user_give(const struct worker *worker, const char *path);
bool user_give_file(const struct worker *worker, int file);
bool user_give_tree(const struct worker *worker, const char *path);
