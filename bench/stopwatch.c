// stopwatch.c - runs a program several times and prints how long it took, with all its children.
//
//     stopwatch TIMES TASKS FOLDER BEFORE PROGRAM [ARGUMENT...]
//
// Runs in FOLDER, each time after the shell command BEFORE, which is not timed; "" for none. Prints
// the median of the microseconds by the clock, then cpu=, the processor time: user and system, of
// the program and all its descendants, even orphans. Both are divided by TASKS.
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Of all children that have ended.
static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static pid_t start(char **words)
{
    pid_t pid;
    int error = posix_spawnp(&pid, words[0], NULL, NULL, words, environ);
    if (!error) return pid;
    fprintf(stderr, "%s: %s\n", words[0], strerror(error));
    exit(1);
}

static void wait_for(pid_t pid, const char *name)
{
    int status;
    if (waitpid(pid, &status, 0) == pid && !status) return;
    fprintf(stderr, "%s ended with status %#x\n", name, status);
    exit(1);
}

static void prepare(char *before)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *words[] = {shell, option, before, NULL};
    if (*before) wait_for(start(words), before);
}

// The program's own words are of no interest; what this one says is.
static int silence(void)
{
    int out = dup(1), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (out < 0 || null < 0) exit(1);
    fcntl(out, F_SETFD, FD_CLOEXEC);
    dup2(null, 0);
    dup2(null, 1);
    return out;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int main(int count, char **words)
{
    if (count < 6) return 2;
    uint32_t times = number_parse(words[1]), tasks = number_parse(words[2]);
    double *wall = allocate(times, sizeof *wall), *processor = allocate(times, sizeof *processor);
    if (chdir(words[3]) != 0) return perror(words[3]), 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int out = silence();
    for (uint32_t i = 0; i < times; i++) {
        prepare(words[4]);
        double spent = processor_seconds(), began = seconds_now();
        wait_for(start(words + 5), words[5]);
        wall[i] = (seconds_now() - began) * 1e6 / tasks;
        while (wait(NULL) > 0) continue;
        processor[i] = (processor_seconds() - spent) * 1e6 / tasks;
    }
    dprintf(out, "%.3f cpu=%.3f\n", median(wall, times), median(processor, times));
    free(wall);
    free(processor);
    return 0;
}
