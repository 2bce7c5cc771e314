// isolate.c - runs simulations and plays in child processes, so that a failed assertion ends only
// the child.
#include "sim/program/isolate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 64 << 20, LINE_MAX = 300 };

// ---- Processes ----------------------------------------------------------------------------------

// The child's error messages are discarded.
static pid_t child_begin(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0 && !freopen("/dev/null", "w", stderr)) _exit(2);
    return pid;
}

// Its exit status; -N: signal N killed it.
static int child_end(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 2;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// The text of a file, ended by a 0, with room for one more line. Null: there is no memory.
static char *file_text(FILE *file)
{
    char *text = malloc(TEXT_MAX + LINE_MAX);
    rewind(file);
    size_t length = text ? fread(text, 1, TEXT_MAX, file) : 0;
    if (text) text[length] = 0;
    return text;
}

// Runs a simulation for its play or its choices, and returns that text. Null: there is no memory,
// or no temporary file.
static char *sim_written(const struct sim_options *options, bool is_play)
{
    struct sim_options writing = *options;
    FILE *file = tmpfile();
    if (!file) return NULL;
    writing.trace = NULL;
    *(is_play ? &writing.play : &writing.choices) = file;
    pid_t pid = child_begin();
    if (pid == 0) {
        struct sim_result result;
        sim_run(&writing, &result);
        _exit(0);
    }
    child_end(pid);
    char *text = file_text(file);
    fclose(file);
    return text;
}

// ---- Simulations --------------------------------------------------------------------------------

static void result_send(int to, const struct sim_options *options)
{
    struct sim_options quiet = *options;
    struct sim_result result;
    quiet.trace = NULL;
    sim_run(&quiet, &result);
    FILE *out = fdopen(to, "w");
    if (!out) _exit(2);
    fwrite(&result, sizeof result, 1, out);
    fwrite(result.tape, sizeof *result.tape, result.tape_length, out);
    _exit(fclose(out) ? 2 : 0);
}

static bool result_receive(FILE *from, struct sim_result *result)
{
    if (!from || fread(result, sizeof *result, 1, from) != 1) return false;
    result->tape = malloc((result->tape_length + 1) * sizeof *result->tape);
    return result->tape
           && fread(result->tape, sizeof *result->tape, result->tape_length, from)
                  == result->tape_length;
}

// Finds the choices made before the assertion failed.
static void tape_recover(const struct sim_options *options, struct sim_result *result)
{
    struct sim_tape tape = {0};
    char *text = sim_written(options, false);
    if (text && sim_tape_read(text, &tape)) {
        result->tape = tape.choices;
        result->tape_length = tape.length;
    }
    free(text);
}

void isolate_run(const struct sim_options *options, struct sim_result *result)
{
    int ends[2];
    *result = (struct sim_result){0};
    if (pipe(ends) != 0) abort();
    pid_t pid = child_begin();
    if (pid == 0) result_send(ends[1], options);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool whole = result_receive(from, result);
    if (from) fclose(from);
    int status = child_end(pid);
    if (whole && !status) return;
    if (whole) free(result->tape);
    *result = (struct sim_result){0};
    snprintf(result->wrong, sizeof result->wrong, "an assertion failed (signal %d)", -status);
    tape_recover(options, result);
}

// ---- Plays --------------------------------------------------------------------------------------

enum play_result isolate_play_run(const char *text)
{
    struct play_options options = {.check = true};
    pid_t pid = child_begin();
    if (pid == 0) {
        FILE *nowhere = fopen("/dev/null", "w");
        _exit(nowhere ? (int)play_run("simulation.play", text, &options, nowhere) : PLAY_BROKEN);
    }
    int status = child_end(pid);
    return status < 0 ? PLAY_BROKEN : (enum play_result)status;
}

char *isolate_play(const struct sim_options *options, const struct sim_result *result)
{
    struct sim_options again = *options;
    again.tape = result->tape;
    again.tape_length = result->tape_length;
    char *text = sim_written(&again, true);
    if (!text) return NULL;
    sim_play_settle(text);
    size_t length = strlen(text);
    if (*result->expect) snprintf(text + length, LINE_MAX, "%s\n", result->expect);
    enum play_result said = isolate_play_run(text);
    if (said == PLAY_FAILED || said == PLAY_BROKEN) return text;
    free(text);
    return NULL;
}
