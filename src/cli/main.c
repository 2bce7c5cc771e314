// main.c - the table of commands.
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#ifndef ROTA_VERSION
#define ROTA_VERSION "0.1.0"
#endif

static command_fn command_help, command_version;

static const struct command { const char *name; command_fn *run; const char *summary; }
commands[] = {
    { "check", command_check, "say what is wrong in a job file" },
    { "graph", command_graph, "draw the tasks of a job file" },
    { "run", command_run, "run a job file with real processes, on this machine" },
    { "play", command_play, "run scenarios against the core in virtual time" },
    { "define", command_define, "insert, update and delete definitions, from a file" },
    { "stage", command_act, "a definition is due now" },
    { "start", command_act, "the same, whatever its condition says" },
    { "green", command_act, "a definition counts as succeeded" },
    { "red", command_act, "a definition counts as failed" },
    { "reset", command_act, "a definition counts as never run" },
    { "freeze", command_act, "a definition does not run; whoever needs it goes on" },
    { "abort", command_act, "a definition that is active is stopped" },
    { "allocator", command_allocator, "stage what is due by the calendar" },
    { "sql", command_sql, "ask a database file a question, or change its definitions" },
    { "jobs", command_jobs, "list the jobs in a database file" },
    { "history", command_history, "list what ran" },
    { "verify", command_verify, "check every promise about a database file" },
    { "help", command_help, "list the commands" },
    { "version", command_version, "say which rota this is" },
};

static int usage(FILE *out)
{
    fprintf(out, "usage: rota COMMAND [ARGUMENT...]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fprintf(out, "    %-10s %s\n", commands[i].name, commands[i].summary);
    }
    return out == stdout ? 0 : 2;
}

static int command_help(int count, char **words)
{
    (void)count, (void)words;
    return usage(stdout);
}

static int command_version(int count, char **words)
{
    (void)count, (void)words;
    printf("rota %s\n", ROTA_VERSION);
    return 0;
}

int main(int count, char **words)
{
    if (count < 2) return usage(stderr);
    const char *name = words[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) == 0) return commands[i].run(count - 2, words + 2);
    }
    fprintf(stderr, "rota: there is no command '%s'; 'rota help' lists them\n", name);
    return 2;
}
