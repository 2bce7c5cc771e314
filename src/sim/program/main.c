// main.c - `rota-sim`: runs the cluster simulator from seeds and tapes, and prints what the judges
// find.
#include "base/base.h"
#include "sim/cluster/simulation.h"
#include "sim/program/isolate.h"
#include "os/json.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHRINK_RUNS = 4000, TEXT_MAX = 32 << 20 };

static const char usage[]
    = "    rota-sim --seed 1 --seeds 2000\n\n"
      "Simulates whole clusters with faults, in virtual time, and checks what happens in them.\n\n"
      "usage: rota-sim --seed N [--seeds COUNT] [--trace] [--shrink] [--json]\n"
      "       rota-sim --tape FILE [--trace] [--shrink] [--json]\n\n"
      "    --seed N       the seed of the first run (1)\n"
      "    --seeds COUNT  number of runs, each with the next seed (1)\n"
      "    --tape FILE    make the choices that are recorded in FILE\n"
      "    --trace        print each event\n"
      "    --shrink       if a run fails: write the shortest tape that fails in the same way to\n"
      "                   rota-N.tape, and, if the core alone shows it, a play to rota-N.play\n"
      "    --json         print one object for each run\n"
      "    --help         print this help\n\n"
      "Exit status: 0 if no run fails, 1 if one does, 2 if an option or a tape is invalid.\n"
      "doc/testing.md describes the faults, the judges and the format of tapes.\n";

struct request {
    uint64_t seed, count;
    const char *tape;
    bool has_seed, trace, shrink, json;
};

// ---- Options ------------------------------------------------------------------------------------

static bool refuse_option(const char *word)
{
    static const char *const known[]
        = {"--seed", "--seeds", "--tape", "--trace", "--shrink", "--json", "--help"};
    struct word_meant meant = {0};
    if (*word != '-') {
        fprintf(stderr, "rota-sim: unexpected argument '%s'\n", word);
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) word_try(&meant, word, known[i]);
    fprintf(stderr, "rota-sim: unknown option %s", word);
    if (meant.word) fprintf(stderr, " (did you mean %s?)", meant.word);
    fputs("\n", stderr);
    return false;
}

static bool number_take(const char *option, const char *value, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(value ? value : "", &end, 10);
    if (value && *value >= '0' && *value <= '9' && !*end && !errno) return true;
    fprintf(stderr, "rota-sim: option %s needs a number", option);
    if (value) fprintf(stderr, ", not '%s'", value);
    fputs("\n", stderr);
    return false;
}

static bool path_take(const char *option, const char *value, const char **path)
{
    *path = value;
    if (!value) fprintf(stderr, "rota-sim: option %s needs a file\n", option);
    return value;
}

// `words` ends with a null.
static bool options_take(struct request *request, char **words)
{
    for (; *words; words++) {
        const char *word = *words;
        bool has_value = true, fine = true;
        if (!strcmp(word, "--seed") || !strcmp(word, "--seeds")) {
            bool is_count = word[6];
            request->has_seed = true;
            fine = number_take(word, words[1], is_count ? &request->count : &request->seed);
        } else if (!strcmp(word, "--tape")) {
            fine = path_take(word, words[1], &request->tape);
        } else {
            has_value = false;
            if (!strcmp(word, "--trace")) request->trace = true;
            else if (!strcmp(word, "--shrink")) request->shrink = true;
            else if (!strcmp(word, "--json")) request->json = true;
            else fine = refuse_option(word);
        }
        if (!fine) return false;
        words += has_value;
    }
    if (!request->has_seed != !request->tape) return true;
    fputs(request->tape ? "rota-sim: --tape excludes --seed and --seeds\n"
                        : "rota-sim: --seed, --seeds or --tape is missing (see rota-sim --help)\n",
          stderr);
    return false;
}

// ---- Tapes and plays ----------------------------------------------------------------------------

static bool tape_read(const char *path, struct sim_tape *tape)
{
    size_t size;
    char *text = os_file_read(path, TEXT_MAX, &size);
    bool is_tape = text && sim_tape_read(text, tape);
    if (!text)
        fprintf(stderr, "rota-sim: cannot read %s: %s\n", path, strerror(errno));
    else if (!is_tape)
        fprintf(stderr, "rota-sim: %s:%u: invalid tape: expected NUMBER or NUMBER*TIMES\n", path,
                tape->line);
    free(text);
    return is_tape;
}

// Opens rota-SEED.ENDING and writes its first line.
static FILE *finding_open(char *path, size_t size, uint64_t seed, const char *ending,
                          const struct sim_result *result)
{
    snprintf(path, size, "rota-%llu.%s", (unsigned long long)seed, ending);
    FILE *file = fopen(path, "w");
    if (file) fprintf(file, "# seed %llu: %s\n", (unsigned long long)seed, result->wrong);
    return file;
}

static bool finding_close(FILE *file, const char *path)
{
    if (file && fclose(file) == 0) return true;
    fprintf(stderr, "rota-sim: cannot write %s: %s\n", path, strerror(errno));
    return false;
}

static void tape_write(uint64_t seed, const struct sim_result *result)
{
    char path[64];
    FILE *file = finding_open(path, sizeof path, seed, "tape", result);
    if (file) sim_tape_write(file, result->tape, result->tape_length);
    if (finding_close(file, path))
        printf("shortened to %u choices and %llu events: rota-sim --tape %s --trace\n",
               result->tape_length, (unsigned long long)result->events, path);
}

static void play_write(uint64_t seed, const struct sim_options *options,
                       const struct sim_result *result)
{
    char path[64], *text = isolate_play(options, result);
    if (!text) {
        puts("the core alone does not show it: there is no play");
        return;
    }
    FILE *file = finding_open(path, sizeof path, seed, "play", result);
    if (file) fputs(text, file);
    if (finding_close(file, path)) printf("the core alone shows it: rota play %s\n", path);
    free(text);
}

// ---- Runs ---------------------------------------------------------------------------------------

static void result_print(const struct request *request, uint64_t seed,
                         const struct sim_result *result)
{
    if (request->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_number(&json, "seed", "%llu", (unsigned long long)seed);
        json_number(&json, "events", "%llu", (unsigned long long)result->events);
        json_number(&json, "seconds", "%.6f", (double)result->time / 1e6);
        json_plain(&json, "digest", "%016llx", (unsigned long long)result->digest);
        json_string(&json, "error", result->wrong);
        json_line(&json);
    } else if (*result->wrong || request->count == 1) {
        printf("seed %llu: %llu events in %.1f s, digest %016llx: %s\n", (unsigned long long)seed,
               (unsigned long long)result->events, (double)result->time / 1e6,
               (unsigned long long)result->digest, *result->wrong ? result->wrong : "OK");
    }
}

// Whether the run passes.
static bool seed_run(const struct request *request, uint64_t seed, struct sim_options *options,
                     uint64_t *events)
{
    struct sim_result result;
    options->seed = seed;
    if (request->shrink && !request->trace)
        isolate_run(options, &result);
    else
        sim_run(options, &result);
    *events += result.events;
    result_print(request, seed, &result);
    bool passes = !*result.wrong;
    if (!passes && request->shrink) {
        sim_shrink(options, &result, SHRINK_RUNS, isolate_run);
        tape_write(seed, &result);
        play_write(seed, options, &result);
    }
    free(result.tape);
    return passes;
}

static int request_run(const struct request *request)
{
    static const uint16_t no_choices[1];
    struct sim_options options = {.trace = request->trace ? stdout : NULL};
    struct sim_tape tape = {0};
    if (request->tape) {
        if (!tape_read(request->tape, &tape)) return 2;
        options.tape = tape.choices ? tape.choices : no_choices;
        options.tape_length = tape.length;
    }
    uint64_t failed = 0, events = 0;
    for (uint64_t i = 0; i < request->count; i++)
        failed += !seed_run(request, request->seed + i, &options, &events);
    if (request->count > 1 && !request->json)
        printf("%llu runs, %llu events, %llu failed\n", (unsigned long long)request->count,
               (unsigned long long)events, (unsigned long long)failed);
    sim_tape_release(&tape);
    return failed ? 1 : 0;
}

int main(int count, char **words)
{
    struct request request = {.seed = 1, .count = 1};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--help") != 0) continue;
        fputs(usage, stdout);
        return 0;
    }
    return options_take(&request, words + 1) ? request_run(&request) : 2;
}
