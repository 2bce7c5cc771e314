// play.c - `rota play`: runs plays from files.
#include "cli/cli.h"
#include "os/os.h"
#include "sim/play/play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PLAY_BYTES_MAX = 1 << 30 };

static enum play_result file_play(const char *path, const struct play_options *options)
{
    size_t size = 0;
    char *text = os_file_read(path, PLAY_BYTES_MAX, &size);
    bool zero = text && memchr(text, 0, size);
    if (!text || zero) {
        printf("%s: %s\n", path, strerror(zero ? EILSEQ : errno));
        free(text);
        return PLAY_WRONG;
    }
    enum play_result result = play_run(path, text, options, stdout);
    free(text);
    return result;
}

static int files_play(int count, char **paths, const struct play_options *options)
{
    // A broken invariant aborts the program; earlier output must be visible then. A play on a
    // database flushes when it has to.
    setvbuf(stdout, NULL, options->database && !options->trace ? _IOFBF : _IOLBF, BUFSIZ);
    unsigned passed = 0, failed = 0;
    enum play_result worst = PLAY_PASSED;
    for (int i = 0; i < count; i++) {
        enum play_result result = file_play(paths[i], options);
        if (result == PLAY_PASSED) passed++;
        else failed++;
        if (result > worst) worst = result;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return (int)worst;
}

static int play(const struct command *command, int count, char **words)
{
    struct play_options options = {.check = true};
    struct arguments files;
    int status = options_read(command, &options, NULL, &files, count, words);
    if (status >= 0) return status;
    if (options.database && files.count > 1)
        return command_wrong(command, "unexpected argument '%s': a database belongs to one play",
                             files.items[1]);
    return files_play((int)files.count, files.items, &options);
}

static const struct option_row rows[]
    = {
    {0, "trace", "", "print every decision of the core", OPTION_FLAG,
     .at = offsetof(struct play_options, trace)},
    {0, "restart-everywhere", "", "restore the core from its stored rows after every statement",
     OPTION_FLAG, .at = offsetof(struct play_options, restart_everywhere)},
    {0, "check", "", "check the core after every step; the default", OPTION_FLAG,
     .at = offsetof(struct play_options, check)},
    {0, "no-check", "", "do not check the core", OPTION_OFF,
     .at = offsetof(struct play_options, check)},
    {0, "db", "DATABASE", "keep the rows in this file, and resume where it ends", OPTION_PATH,
     .at = offsetof(struct play_options, database)},
    {0, "log-pages", "N", "pages in the log of the database before a checkpoint", OPTION_NUMBER,
     .at = offsetof(struct play_options, log_pages), .least = 1, .most = INT32_MAX,
     .preset = "8192"},
    OPTION_ROWS_END};

const struct command play_command = {
    .name = "play",
    .summary = "run scenarios against the scheduling core in virtual time",
    .group = GROUP_SIMULATION,
    .argument = {ARGUMENT_FILE, "FILE", 1, ARGUMENTS_ANY},
    .run = play,
    .options = rows,
    .usage = "[OPTION...] FILE...\n",
    .text = "rota-play(5) describes the format of the files.\n",
    .examples = "rota play examples/graph.play\trun a scenario\n"
                "rota play --trace examples/graph.play\tprint every decision\n",
    .exits = "0\tall plays passed\n1\tan expectation failed\n"
             "2\tan option or a file is wrong\n",
};
