// cli.h - the commands of rota.
#pragma once

// Each gets the words behind its name and returns the exit status.
typedef int command_fn(int count, char **words);

command_fn command_play;                                // play.c
command_fn command_sql, command_jobs, command_history;  // sql.c
command_fn command_verify;                              // verify.c
