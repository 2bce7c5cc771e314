// child.c - starts a child process: of this program, of another, or a command of the user.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

// ---- Commands in a process group of their own -------------------------------------------------

// The input is a file in memory, so rota need not feed a pipe while the program reads.
static int input_open(const struct os_command *command)
{
    int file = memfd_create("rota", MFD_CLOEXEC);
    size_t sent = 0;
    while (file >= 0 && sent < command->input_size) {
        ssize_t count = write(file, command->input + sent, command->input_size - sent);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            close(file);
            return -1;
        }
        sent += (size_t)count;
    }
    if (file >= 0) lseek(file, 0, SEEK_SET);
    return file;
}

// Runs in the child before exec. If exec fails, errno is written into the pipe.
static _Noreturn void become(const struct os_command *command, int input, int trouble, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (char *const *word = command->environment; *word; word++) putenv(*word);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(input, 0) == 0) execvp(command->words[0], command->words);
    int error = errno;
    if (write(trouble, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

int os_command_start(const struct os_command *command, int *ended)
{
    int ends[2], input = input_open(command), error = 0;
    if (input < 0) return 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(input);
        return 0;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) become(command, input, ends[1], parent);
    if (child < 0) error = errno;
    close(input);
    close(ends[1]);
    if (child > 0 && read(ends[0], &error, sizeof error) != sizeof error) error = 0;
    close(ends[0]);
    if (child > 0 && !error) {
        *ended = (int)syscall(SYS_pidfd_open, child, 0);
        if (*ended >= 0) return child;
        error = errno;
        kill(-child, SIGKILL);
    }
    if (child > 0) os_child_end(child);
    errno = error;
    return 0;
}

void os_command_stop(int child, enum os_stop how)
{
    kill(-child, how == OS_STOP_KILL ? SIGKILL : SIGTERM);
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
