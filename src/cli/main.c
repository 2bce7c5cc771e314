// main.c - runs the command that the first words name.
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_LOST = 70 };

// An answer that a full disk has cut short must not look complete. A reader that closed its pipe
// has all it wants.
static int output_end(int status)
{
    struct stat about;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    int reason = errno;  // 0: an earlier write failed
    bool piped = fstat(STDOUT_FILENO, &about) == 0
                 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
    if (piped || status) return status;
    fprintf(stderr, "rota: cannot write the standard output: %s\n",
            reason ? strerror(reason) : "the write failed");
    return OUTPUT_LOST;
}

static int command_begin(const struct command *command, int count, char **words)
{
    bool is_remote = command->remote && option_is_given(command, "server", count, words);
    return (is_remote ? command->remote : command->run)(command, count, words);
}

int main(int count, char **words)
{
    char help[] = "help", version[] = "version";
    startup_prepare();
    if (count < 2) {
        help_overview(stderr);
        return 2;
    }
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0) words[1] = help;
    if (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-V") == 0) words[1] = version;
    int used;
    const struct command *command = command_find(count - 1, words + 1, &used);
    if (!command) return command_unknown(words[1]);
    return output_end(command_begin(command, count - 1 - used, words + 1 + used));
}
