// handler.h - commands of external workers: what they share.
#pragma once

#include "cli/connect.h"

// Exit statuses, in addition to 0 and CONNECT_FAILED.
enum { HANDLER_NOTHING = 1, HANDLER_WRONG = 2, HANDLER_REFUSED = 3, HANDLER_TASK_FAILED = 5 };

// ---- handler.c ---------------------------------------------------------------------------------

// Prints why the client's last call failed, and returns the exit status.
int handler_failed(const struct connection *connection);

// ---- fetch_print.c: a task as shell variables, JSON and environment ---------------------------

void grant_print_shell(FILE *out, const struct client_grant *grant);
void grant_print_json(FILE *out, const struct client_grant *grant);
// NAME=VALUE, ends with null; free it with grant_environment_free(). Null: no memory.
char **grant_environment(const struct client_grant *grant);
void grant_environment_free(char **environment);

// ---- fetch_run.c -----------------------------------------------------------------------------

// Runs a command for the task, renews the lease meanwhile, and reports how it ended. Returns the
// exit status.
int grant_run(struct connection *connection, const struct client_grant *grant, char **words);
// Renews until the command is ended or the lease is lost. Returns the exit status.
int claim_keep(struct connection *connection, rota_task_id task, uint64_t token);
