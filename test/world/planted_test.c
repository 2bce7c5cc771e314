// planted_test.c - every planted mistake is found by some judge, or by an assertion, in few worlds.
//
//     planted_test [--seeds N]      how many worlds each of them may take
#include "base/planted.h"
#include "world/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum plant planted;

enum { SHRINK_RUNS = 1000 };

#define PLANT_NAME(name, text) #name,
#define PLANT_TEXT(name, text) text,
static const char *const names[] = {"NONE", PLANTS(PLANT_NAME)};
static const char *const texts[] = {"nothing", PLANTS(PLANT_TEXT)};

struct find {
    uint64_t seed, events;  // the seed that is being played, until one goes wrong
    char wrong[160];
};

static void tell(int to, const struct find *find)
{
    if (write(to, find, sizeof *find) != sizeof *find) _exit(2);
}

// In a process of its own: an assertion that speaks ends it.
static void look_for(enum plant plant, uint64_t seeds, int to)
{
    struct find find = {0};
    planted = plant;
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    for (find.seed = 1; find.seed <= seeds; find.seed++) {
        struct world_options options = {.seed = find.seed};
        struct world_result result;
        tell(to, &find);
        world_run(&options, &result);
        find.events += result.events;
        free(result.tape);
        if (!*result.wrong) continue;
        snprintf(find.wrong, sizeof find.wrong, "%.150s", result.wrong);
        tell(to, &find);
        _exit(1);
    }
    _exit(0);
}

static bool is_found(enum plant plant, uint64_t seeds, struct find *find)
{
    int ends[2], status;
    if (pipe(ends) != 0) exit(2);
    pid_t pid = fork();
    if (pid < 0) exit(2);
    if (pid == 0) look_for(plant, seeds, ends[1]);
    close(ends[1]);
    while (read(ends[0], find, sizeof *find) == sizeof *find) continue;
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid) exit(2);
    if (WIFSIGNALED(status))
        snprintf(find->wrong, sizeof find->wrong, "an assertion speaks (signal %d)",
                 WTERMSIG(status));
    return WIFSIGNALED(status) || WEXITSTATUS(status) == 1;
}

// A world that goes wrong is shortened, and what is left goes wrong again from its tape alone.
static int shrink_and_replay(void)
{
    struct world_options options = {.seed = 1}, again = {0};
    struct world_result result, replayed;
    planted = PLANT_TOKEN_SAME;
    world_run(&options, &result);
    uint32_t length = result.tape_length;
    if (!*result.wrong) return 2;
    world_shrink(&options, &result, SHRINK_RUNS);
    again.tape = result.tape;
    again.tape_length = result.tape_length;
    world_run(&again, &replayed);
    bool same = strcmp(replayed.wrong, result.wrong) == 0 && replayed.digest == result.digest;
    printf("# %u choices became %u: %s\n", length, result.tape_length, result.wrong);
    bool shorter = result.tape_length * 4 < length;
    free(result.tape), free(replayed.tape);
    return same && shorter ? 0 : 1;
}

int main(int count, char **words)
{
    uint64_t seeds = 4000;
    int missed = 0;
    if (count == 3 && strcmp(words[1], "--seeds") == 0) seeds = strtoull(words[2], NULL, 10);
    for (int i = 1; i < PLANT_COUNT; i++) {
        struct find find = {0};
        bool found = is_found((enum plant)i, seeds, &find);
        missed += !found;
        printf("%s %d - %s: %s\n", found ? "ok" : "not ok", i, names[i], texts[i]);
        if (found) printf("# seed %llu: %s\n", (unsigned long long)find.seed, find.wrong);
        fflush(stdout);
    }
    bool shrinks = shrink_and_replay() == 0;
    printf("%s %d - what goes wrong is shortened and goes wrong again\n1..%d\n",
           shrinks ? "ok" : "not ok", PLANT_COUNT, PLANT_COUNT);
    return missed > 0 || !shrinks;
}
