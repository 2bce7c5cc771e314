// simulate_cluster.c - `rota simulate --seed`: whole clusters in which everything goes wrong, and
// the judges.
#include "cli/isolate.h"
#include "cli/cli.h"
#include "job/file/jobfile.h"
#include "sim/cluster/simulation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHRINK_RUNS = 4000, TEXT_MAX = 32 << 20 };

struct swarm_request {
    uint64_t seed, count;
    const char *tape;
    bool has_tape, trace, shrink, json;
};

static const uint16_t no_choices[1];

static const char *const words_known[]
    = {"--seed", "--seeds", "--tape", "--trace", "--shrink", "--json"};

static bool has_value(int option)
{
    return option < 3;
}

static int option_of(const char *word)
{
    for (int i = 0; i < 6; i++)
        if (strcmp(word, words_known[i]) == 0) return i;
    return -1;
}

// Nothing but these words, and one of the first three: no file, so no job of somebody's.
bool swarm_is_meant(int count, char **words)
{
    bool meant = false;
    for (int i = 0; i < count; i++) {
        int option = option_of(words[i]);
        if (option < 0) return false;
        meant |= has_value(option);
        i += has_value(option);
    }
    return meant;
}

static bool number_take(const char *option, const char *word, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(word ? word : "", &end, 10);
    if (word && *word >= '0' && *word <= '9' && !*end && !errno) return true;
    fprintf(stderr, "rota simulate: %s %s: expected a number\n", option, word ? word : "");
    return false;
}

static bool words_take(struct swarm_request *request, int count, char **words)
{
    for (int i = 0; i < count; i++) {
        int option = option_of(words[i]);
        const char *value = has_value(option) && i + 1 < count ? words[++i] : NULL;
        if (option == 0 && !number_take("--seed", value, &request->seed)) return false;
        if (option == 1 && !number_take("--seeds", value, &request->count)) return false;
        if (option == 2) request->tape = value, request->has_tape = true;
        request->trace |= option == 3;
        request->shrink |= option == 4;
        request->json |= option == 5;
    }
    return true;
}

// ---- Tapes: the choices of a world -------------------------------------------------------------

// All of a file, with a 0 behind it. Null: it cannot be read.
static char *text_read(const char *path)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    char *text = file ? malloc(TEXT_MAX + 1) : NULL;
    size_t length = text ? fread(text, 1, TEXT_MAX + 1, file) : 0;
    bool whole = text && !ferror(file) && length <= TEXT_MAX;
    if (whole) text[length] = 0;
    if (file) fclose(file);
    if (whole) return text;
    free(text);
    return NULL;
}

static bool tape_read(const char *path, struct world_tape *tape)
{
    char *text = text_read(path);
    bool is_tape = text && world_tape_read(text, tape);
    if (!text)
        fprintf(stderr, "rota simulate: %s: cannot be read\n", path ? path : "--tape");
    else if (!is_tape)
        fprintf(stderr, "rota simulate: %s:%u: is no tape: expected NUMBER or NUMBER*TIMES\n",
                path, tape->line);
    free(text);
    return is_tape;
}

static void tape_write(uint64_t seed, const struct world_result *result)
{
    char path[64];
    snprintf(path, sizeof path, "rota-%llu.tape", (unsigned long long)seed);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "# seed %llu: %s\n", (unsigned long long)seed, result->wrong);
        world_tape_write(file, result->tape, result->tape_length);
    }
    if (!file || fclose(file))
        fprintf(stderr, "rota simulate: %s cannot be written\n", path);
    else
        printf("shortened to %u choices and %llu events: rota simulate --tape %s --trace\n",
               result->tape_length, (unsigned long long)result->events, path);
}

static void play_write(uint64_t seed, const struct world_options *options,
                       const struct world_result *result)
{
    char path[64], *text = apart_play(options, result);
    if (!text) {
        puts("the core alone does not show it: there is no play");
        return;
    }
    snprintf(path, sizeof path, "rota-%llu.play", (unsigned long long)seed);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "# seed %llu: %s\n", (unsigned long long)seed, result->wrong);
        fputs(text, file);
    }
    if (!file || fclose(file))
        fprintf(stderr, "rota simulate: %s cannot be written\n", path);
    else
        printf("the core alone shows it: rota play %s\n", path);
    free(text);
}

// ---- Worlds ----------------------------------------------------------------------------------

static void result_print(const struct swarm_request *request, uint64_t seed,
                         const struct world_result *result)
{
    if (request->json) {
        printf("{\"seed\":%llu,\"events\":%llu,\"seconds\":%.6f,\"digest\":\"%016llx\",\"wrong\":",
               (unsigned long long)seed, (unsigned long long)result->events,
               (double)result->time / 1e6, (unsigned long long)result->digest);
        json_text(stdout, result->wrong);
        puts("}");
    } else if (*result->wrong || request->count == 1) {
        printf("seed %llu: %llu events in %.1f s, digest %016llx: %s\n", (unsigned long long)seed,
               (unsigned long long)result->events, (double)result->time / 1e6,
               (unsigned long long)result->digest, *result->wrong ? result->wrong : "all is well");
    }
}

static bool world_play(const struct swarm_request *request, uint64_t seed,
                       struct world_options *options, uint64_t *events)
{
    struct world_result result;
    options->seed = seed;
    if (request->shrink && !request->trace)
        apart_run(options, &result);
    else
        world_run(options, &result);
    *events += result.events;
    result_print(request, seed, &result);
    bool well = !*result.wrong;
    if (!well && request->shrink) {
        world_shrink(options, &result, SHRINK_RUNS, apart_run);
        tape_write(seed, &result);
        play_write(seed, options, &result);
    }
    free(result.tape);
    return well;
}

int command_swarm(int count, char **words)
{
    struct swarm_request request = {.seed = 1, .count = 1};
    if (!words_take(&request, count, words)) return 2;
    struct world_options options = {.trace = request.trace ? stdout : NULL};
    struct world_tape tape = {0};
    if (request.has_tape) {
        if (!tape_read(request.tape, &tape)) return 2;
        options.tape = tape.choices ? tape.choices : no_choices;
        options.tape_length = tape.length;
    }
    uint64_t wrongs = 0, events = 0;
    for (uint64_t i = 0; i < request.count; i++)
        wrongs += !world_play(&request, request.seed + i, &options, &events);
    if (request.count > 1 && !request.json)
        printf("%llu worlds, %llu events, %llu wrong\n", (unsigned long long)request.count,
               (unsigned long long)events, (unsigned long long)wrongs);
    world_tape_release(&tape);
    return wrongs ? 1 : 0;
}
