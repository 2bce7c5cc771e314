// limit_run.c - the least that running a graph of commands can cost: posix_spawn() and wait().
//
//     limit_run JOBS GRAPH PROGRAM [ARGUMENT...]
//
// GRAPH has a line for each task, with the numbers of the tasks it needs, all of earlier lines.
// Every task is the same command; JOBS of them run at a time. Nothing is captured or kept.
#include "bench.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { JOBS_MAX = 64 };

struct walk {
    uint32_t task_count, edge_count, edge_capacity;
    uint32_t *needed, *by;  // an edge: `by` waits for `needed`
    uint32_t *first;        // by task, and one more: where its dependents begin in `after`
    uint32_t *after;
    uint32_t *lacks;  // by task: how many it still waits for
    uint32_t *ready;  // all tasks, in the order in which they could begin
    uint32_t ready_count, started, ended;
    pid_t pids[JOBS_MAX];  // 0: this place is free
    uint32_t tasks[JOBS_MAX];
};

static _Noreturn void stop(const char *what)
{
    perror(what);
    exit(1);
}

static void edge_add(struct walk *walk, uint32_t needed)
{
    if (walk->edge_count == walk->edge_capacity) {
        walk->edge_capacity = walk->edge_capacity * 2 + 1024;
        size_t bytes = walk->edge_capacity * sizeof(uint32_t);
        walk->needed = realloc(walk->needed, bytes);
        walk->by = realloc(walk->by, bytes);
        if (!walk->needed || !walk->by) stop("realloc");
    }
    walk->needed[walk->edge_count] = needed;
    walk->by[walk->edge_count++] = walk->task_count;
}

static void edges_read(struct walk *walk, const char *path)
{
    char *line = NULL, *end;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file) stop(path);
    while (getline(&line, &size, file) > 0) {
        for (const char *at = line;; at = end) {
            unsigned long needed = strtoul(at, &end, 10);
            if (end == at) break;
            edge_add(walk, (uint32_t)needed);
        }
        walk->task_count++;
    }
    free(line);
    fclose(file);
}

static void edges_turn(struct walk *walk)
{
    walk->first = allocate(walk->task_count + 1, sizeof *walk->first);
    walk->after = allocate(walk->edge_count, sizeof *walk->after);
    walk->lacks = allocate(walk->task_count, sizeof *walk->lacks);
    walk->ready = allocate(walk->task_count, sizeof *walk->ready);
    for (uint32_t i = 0; i < walk->edge_count; i++) {
        walk->first[walk->needed[i]]++;
        walk->lacks[walk->by[i]]++;
    }
    for (uint32_t i = 0; i < walk->task_count; i++) walk->first[i + 1] += walk->first[i];
    for (uint32_t i = walk->edge_count; i-- > 0;)
        walk->after[--walk->first[walk->needed[i]]] = walk->by[i];
    for (uint32_t i = 0; i < walk->task_count; i++)
        if (!walk->lacks[i]) walk->ready[walk->ready_count++] = i;
}

static void start(struct walk *walk, uint32_t place, char **words)
{
    int error = posix_spawn(&walk->pids[place], words[0], NULL, NULL, words, environ);
    if (error) {
        fprintf(stderr, "%s: %s\n", words[0], strerror(error));
        exit(1);
    }
    walk->tasks[place] = walk->ready[walk->started++];
}

static void finish(struct walk *walk)
{
    int status;
    uint32_t place = 0;
    pid_t pid = wait(&status);
    if (pid < 0 || status) stop("a command failed");
    while (walk->pids[place] != pid) place++;
    walk->pids[place] = 0;
    walk->ended++;
    uint32_t task = walk->tasks[place];
    for (uint32_t i = walk->first[task]; i < walk->first[task + 1]; i++)
        if (--walk->lacks[walk->after[i]] == 0) walk->ready[walk->ready_count++] = walk->after[i];
}

int main(int count, char **words)
{
    if (count < 4) return 2;
    struct walk walk = {0};
    uint32_t jobs = number_parse(words[1]);
    if (jobs > JOBS_MAX) return 2;
    edges_read(&walk, words[2]);
    edges_turn(&walk);
    while (walk.ended < walk.task_count) {
        for (uint32_t place = 0; place < jobs && walk.started < walk.ready_count; place++)
            if (!walk.pids[place]) start(&walk, place, words + 3);
        finish(&walk);
    }
    return 0;
}
