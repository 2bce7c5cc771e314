// child.c - starts a child process, of this program or another, and reads its output.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { READS, WRITES };

// Starts the child with these pipes, an empty signal mask, and no input if `input` is null.
static int start(const char *path, char *const *words, const int input[2], const int output[2])
{
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (input)
        posix_spawn_file_actions_adddup2(&actions, input[READS], 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[WRITES], 1);
    posix_spawn_file_actions_adddup2(&actions, output[WRITES], 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = path ? posix_spawn(&child, path, &actions, &attributes, words, environ)
                     : posix_spawnp(&child, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = error;
    return error ? 0 : child;
}

int os_child_start(char *const *words, int *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    int child = start("/proc/self/exe", words, NULL, ends), error = errno;
    close(ends[WRITES]);
    if (child && fcntl(ends[READS], F_SETFL, O_NONBLOCK) == 0) {
        *output = ends[READS];
        return child;
    }
    close(ends[READS]);
    errno = error;
    return 0;
}

int os_program_start(char *const *words, int *input, int *output)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return 0;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[READS]);
        close(in[WRITES]);
        return 0;
    }
    int child = start(NULL, words, in, out), error = errno;
    close(in[READS]);
    close(out[WRITES]);
    if (child) {
        fcntl(out[READS], F_SETFL, O_NONBLOCK);
        *input = in[WRITES];
        *output = out[READS];
        return child;
    }
    close(in[WRITES]);
    close(out[READS]);
    errno = error;
    return 0;
}

void os_child_kill(int child)
{
    kill(child, SIGKILL);
}

int os_child_end(int child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 70;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
