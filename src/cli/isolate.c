// isolate.c - worlds and plays in processes of their own: an assertion ends only them.
#include "cli/isolate.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 64 << 20, LINE_MAX = 300 };

// ---- Processes ----------------------------------------------------------------------------------

// Says nothing to anybody.
static pid_t child_begin(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0 && !freopen("/dev/null", "w", stderr)) _exit(2);
    return pid;
}

// How it ended; -N: by signal N.
static int child_end(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 2;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// All that was written to it, with a 0 behind it and room for one line more. Null: no memory.
static char *file_text(FILE *file)
{
    char *text = malloc(TEXT_MAX + LINE_MAX);
    rewind(file);
    size_t length = text ? fread(text, 1, TEXT_MAX, file) : 0;
    if (text) text[length] = 0;
    return text;
}

// Runs a world that only writes, and gives what it wrote. Null: there is no room for it.
static char *world_written(const struct world_options *options, bool is_play)
{
    struct world_options writing = *options;
    FILE *file = tmpfile();
    if (!file) return NULL;
    writing.trace = NULL;
    *(is_play ? &writing.play : &writing.choices) = file;
    pid_t pid = child_begin();
    if (pid == 0) {
        struct world_result result;
        world_run(&writing, &result);
        _exit(0);
    }
    child_end(pid);
    char *text = file_text(file);
    fclose(file);
    return text;
}

// ---- Worlds -------------------------------------------------------------------------------------

static void result_send(int to, const struct world_options *options)
{
    struct world_options quiet = *options;
    struct world_result result;
    quiet.trace = NULL;
    world_run(&quiet, &result);
    FILE *out = fdopen(to, "w");
    if (!out) _exit(2);
    fwrite(&result, sizeof result, 1, out);
    fwrite(result.tape, sizeof *result.tape, result.tape_length, out);
    _exit(fclose(out) ? 2 : 0);
}

static bool result_receive(FILE *from, struct world_result *result)
{
    if (!from || fread(result, sizeof *result, 1, from) != 1) return false;
    result->tape = malloc((result->tape_length + 1) * sizeof *result->tape);
    return result->tape
           && fread(result->tape, sizeof *result->tape, result->tape_length, from)
                  == result->tape_length;
}

// The choices up to the assertion.
static void tape_recover(const struct world_options *options, struct world_result *result)
{
    struct world_tape tape = {0};
    char *text = world_written(options, false);
    if (text && world_tape_read(text, &tape)) {
        result->tape = tape.choices;
        result->tape_length = tape.length;
    }
    free(text);
}

void apart_run(const struct world_options *options, struct world_result *result)
{
    int ends[2];
    *result = (struct world_result){0};
    if (pipe(ends) != 0) abort();
    pid_t pid = child_begin();
    if (pid == 0) result_send(ends[1], options);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool whole = result_receive(from, result);
    if (from) fclose(from);
    int status = child_end(pid);
    if (whole && !status) return;
    *result = (struct world_result){0};
    snprintf(result->wrong, sizeof result->wrong, "an assertion speaks (signal %d)", -status);
    tape_recover(options, result);
}

// ---- Plays --------------------------------------------------------------------------------------

enum play_result apart_play_run(const char *text)
{
    struct play_options options = {.check = true};
    pid_t pid = child_begin();
    if (pid == 0) {
        FILE *nowhere = fopen("/dev/null", "w");
        _exit(nowhere ? (int)play_run("world.play", text, &options, nowhere) : PLAY_BROKEN);
    }
    int status = child_end(pid);
    return status < 0 ? PLAY_BROKEN : (enum play_result)status;
}

char *apart_play(const struct world_options *options, const struct world_result *result)
{
    struct world_options again = *options;
    again.tape = result->tape;
    again.tape_length = result->tape_length;
    char *text = world_written(&again, true);
    if (!text) return NULL;
    world_play_settle(text);
    size_t length = strlen(text);
    if (*result->expect) snprintf(text + length, LINE_MAX, "%s\n", result->expect);
    enum play_result said = apart_play_run(text);
    if (said == PLAY_FAILED || said == PLAY_BROKEN) return text;
    free(text);
    return NULL;
}
