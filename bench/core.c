// core.c - rota-bench: the cost of the core, measured through rota.h alone.
#include "durable.h"

#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    int arguments_min, arguments_max;
    int (*run)(const char **arguments);
    const char *form;
};

static const struct command commands[] = {
    {"claim", 2, 2, claim_command, "SHAPE TASKS           claim and deliver, 100 at a time"},
    {"life", 2, 2, life_command, "SHAPE TASKS           plan, start and finish on 32 workers"},
    {"lane", 2, 2, lane_command, "plain|groups TASKS    the same, all readers of one lane"},
    {"scale", 0, 0, scale_command, "                      life at 100 k, 1 M and 10 M tasks"},
    {"plan", 2, 2, plan_command, "WORKERS TASKS         placing ready tasks with inputs"},
    {"durable", 3, 4, durable_command, "FILE TASKS BATCH [QUEUED]   submitted to recorded"},
    {"waiting", 2, 2, waiting_command, "FILE TASKS           makes a file of waiting tasks"},
    {"reopen", 1, 1, reopen_command, "FILE                 seconds until the core is back"},
    {"memory", 2, 3, memory_command, "SHAPE TASKS [edges|columns|own|all]   bytes per task"},
};

int main(int argc, char **argv)
{
    size_t count = sizeof commands / sizeof *commands;
    for (size_t i = 0; argc > 1 && i < count; i++) {
        int given = argc - 2;
        if (strcmp(argv[1], commands[i].name)) continue;
        if (given < commands[i].arguments_min || given > commands[i].arguments_max) break;
        return commands[i].run((const char **)argv + 2);
    }
    fprintf(stderr, "rota-bench\n");
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "    %-7s %s\n", commands[i].name, commands[i].form);
    }
    fprintf(stderr, "shapes: random layers chain independent\n");
    return 2;
}
