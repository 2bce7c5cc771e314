// measure.c - the clock, the memory in use, and the line that reports them.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A line of /proc/self/status, in bytes. The peak of getrusage() would not do: it begins with
// the memory of the process that started this one.
static double status_bytes(const char *name)
{
    char line[128];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) exit(1);
    while (!kib && fgets(line, sizeof line, file)) {
        if (!strncmp(line, name, strlen(name))) kib = strtoul(line + strlen(name), NULL, 10);
    }
    fclose(file);
    return (double)kib * 1024;
}

// In a child process, so that the memory does not count for this one.
void memory_wake(size_t bytes)
{
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
        char *memory = mmap(NULL, bytes, access, kind, -1, 0);
        if (memory == MAP_FAILED) _exit(1);
        madvise(memory, bytes, MADV_HUGEPAGE);  // whole, or others are handed out first
        for (size_t at = 0; at < bytes; at += PAGE) ((volatile char *)memory)[at] = 1;
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

double bytes_now(void)
{
    return status_bytes("VmRSS:");
}

double bytes_peak(void)
{
    return status_bytes("VmHWM:");
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + !count, size);
    if (memory) return memory;
    fprintf(stderr, "no memory for %zu times %zu bytes\n", count, size);
    exit(1);
}

uint32_t number_parse(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (number > 0 && number < UINT32_MAX / 4 && *end == '\0') return (uint32_t)number;
    fprintf(stderr, "%s is not a number I can work with\n", text);
    exit(2);
}

void measure_begin(struct measure *measure)
{
    measure->bytes_before = bytes_now();
    measure->began = seconds_now();
}

void measure_built(struct measure *measure)
{
    measure->built = seconds_now();
}

void measure_walked(struct measure *measure)
{
    measure->walked = seconds_now();
}

void measure_print(const struct measure *measure, uint32_t task_count)
{
    double nanoseconds = 1e9 / task_count;
    printf("%.2f build=%.2f walk=%.2f bytes_per_task=%.1f",
           (measure->walked - measure->began) * nanoseconds,
           (measure->built - measure->began) * nanoseconds,
           (measure->walked - measure->built) * nanoseconds,
           (bytes_peak() - measure->bytes_before) / task_count);
}
