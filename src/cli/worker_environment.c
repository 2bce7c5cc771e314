// worker_environment.c - a worker keeps its own variables from its tasks.
//
// Processes of the same user can read /proc/PID/environ, which shows the block of memory that the
// kernel filled when the worker was started. So the worker copies what its commands get, and
// overwrites that block before it starts the process that runs them.
#define _GNU_SOURCE
#include "cli/worker.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

bool work_environment_hide(const struct worker_options *options)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **copies = calloc(count + 1, sizeof *copies);
    if (!copies) return false;
    for (size_t i = 0; i < count; i++)
        if (worker_passes_on(options, environ[i]) && !(copies[kept++] = strdup(environ[i])))
            return false;
    char **old = environ;
    environ = copies;
    for (size_t i = 0; i < count; i++) explicit_bzero(old[i], strlen(old[i]));
    return true;
}
