// model_test.c - runs random histories of the core against the model.
//
//     model_test --events N --seed S [--stats] [--play] [--without FEATURE]...
//
// Histories run in child processes, so that a failed assert in the core is found and shrunk, too.
// Without --seed it takes the seed of seed.h. A history that fails has a seed of its own. --play
// prints the history of seed S as a play; --without leaves out a feature, by its number.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seed.h"
#include "shrink.h"

enum { BATCH = 200 };  // histories one child runs

static void bytes_fill(uint8_t *bytes, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < HISTORY_BYTES; i++) {  // splitmix64
        state += 0x9e3779b97f4a7c15u;
        uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        bytes[i] = (uint8_t)(mixed >> 56);
    }
}

// The options.
struct order {
    uint64_t events, seed, without;
    bool stats, play;
};

// Prints the state of the model, also what it does not show to others.
static void tasks_print(const struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        printf("#   %u.%u %s%s%s%s", task->id.job, task->id.task, rota_task_state_name(task->state),
               task->regenerating ? " regenerating" : "", task->placed ? " placed" : "",
               task->stopping ? " stopping" : "");
        if (task->leader.job) printf(" led by %u.%u", task->leader.job, task->leader.task);
        if (task->worker.number) printf(" on w%u", task->worker.number);
        printf("\n");
    }
}

static int play_bytes(const uint8_t *bytes, size_t size, uint64_t without)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct history *history = malloc(sizeof *history);
        struct model *model = malloc(sizeof *model);
        struct history_setup setup = {.bytes = bytes, .size = size, .without = without};
        setup.stats = calloc(1, sizeof *setup.stats);
        setup.play = stdout;
        if (!history || !model || !setup.stats) _exit(2);
        setvbuf(stdout, NULL, _IOLBF, 0);
        bool fine = history_run(history, model, &setup);
        if (!fine) tasks_print(model);
        if (!fine) printf("# DISAGREEMENT: %s\n", model->difference);
        fflush(stdout);
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("# the core ended with signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int report(uint64_t seed, uint64_t without)
{
    uint8_t bytes[HISTORY_BYTES];
    bytes_fill(bytes, seed);
    printf("seed %" PRIu64 ": core and model disagree; shrinking\n", seed);
    size_t size = history_shrink(bytes, HISTORY_BYTES, without, 20);
    printf("# %zu bytes after shrinking; again: model_test --seed %" PRIu64 " --events 1\n", size,
           seed);
    play_bytes(bytes, size, without);
    return 1;
}

static void batch_run(struct history_stats *stats, const struct order *order, uint64_t seed)
{
    struct history *history = malloc(sizeof *history);
    struct model *model = malloc(sizeof *model);
    uint8_t bytes[HISTORY_BYTES];
    struct history_setup setup = {.bytes = bytes, .size = HISTORY_BYTES, .stats = stats};
    setup.without = order->without;
    if (!history || !model) _exit(2);
    for (uint64_t i = 0; i < BATCH && stats->events < order->events; i++) {
        stats->current_seed = seed + i;
        bytes_fill(bytes, seed + i);
        alarm(60);
        if (!history_run(history, model, &setup)) _exit(1);
    }
    _exit(0);
}

static void stats_print(const struct history_stats *stats)
{
    static const char *const names[] = {"",
                                        "restore",
                                        "submit",
                                        "close",
                                        "client_left",
                                        "cancel",
                                        "retry",
                                        "stage",
                                        "manual",
                                        "keep",
                                        "release",
                                        "read",
                                        "wait",
                                        "lane",
                                        "worker_joined",
                                        "worker_heard",
                                        "worker_silent",
                                        "worker_left",
                                        "worker_asks",
                                        "claim",
                                        "deliver",
                                        "fail",
                                        "task_started",
                                        "task_finished",
                                        "key_completed",
                                        "object_held",
                                        "object_lost",
                                        "streamed",
                                        "time",
                                        "plan",
                                        "claim_started",
                                        "pause",
                                        "resume",
                                        "held_all"};
    static const char *const actions[]
        = {"",    "accept", "confirm", "job_over", "wait_over", "read",     "grant",
           "run", "stop",   "fetch",   "drop",     "stream",    "completed",
           "show",  "alias"};
    for (int i = ROTA_EVENT_SUBMIT; i < ROTA_EVENTS; i++) {
        printf("%-16s %10" PRIu64 " accepted %10" PRIu64 " refused\n", names[i], stats->accepted[i],
               stats->refused[i]);
    }
    for (int i = ROTA_ACTION_ACCEPT; i <= ROTA_ACTION_ALIAS; i++) {
        printf("action %-10s %10" PRIu64 "\n", actions[i], stats->actions[i]);
    }
    for (int from = 0; from < ROTA_TASK_STATES; from++) {
        for (int to = 0; to < ROTA_TASK_STATES; to++) {
            if (!stats->moves[from][to]) continue;
            printf("%-10s -> %-10s %10" PRIu64 "\n",
                   rota_task_state_name((enum rota_task_state)from),
                   rota_task_state_name((enum rota_task_state)to), stats->moves[from][to]);
        }
    }
    printf("restarts %" PRIu64 ", moves while regenerating %" PRIu64 "\n", stats->restarts,
           stats->regenerations);
}

static int run(struct history_stats *stats, const struct order *order)
{
    uint64_t told = 0;
    for (uint64_t next = order->seed; stats->events < order->events; next += BATCH) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) batch_run(stats, order, next);
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            return report(stats->current_seed, order->without);
        }
        if (stats->events / 100000 == told) continue;
        told = stats->events / 100000;
        printf("%" PRIu64 " events, %" PRIu64 " histories\n", stats->events, stats->histories);
    }
    printf("ok %" PRIu64 " events %" PRIu64 " histories\n", stats->events, stats->histories);
    return 0;
}

static bool order_read(struct order *order, int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        const char *word = arguments[i];
        const char *number = i + 1 < count ? arguments[i + 1] : "0";
        if (strcmp(word, "--stats") == 0)
            order->stats = true;
        else if (strcmp(word, "--play") == 0)
            order->play = true;
        else if (strcmp(word, "--events") == 0)
            order->events = strtoull(number, NULL, 10), i++;
        else if (strcmp(word, "--seed") == 0)
            order->seed = strtoull(number, NULL, 10), i++;
        else if (strcmp(word, "--without") == 0) {
            order->without |= UINT64_C(1) << (strtoul(number, NULL, 10) & 63), i++;
        } else
            return false;
    }
    return true;
}

int main(int count, char **arguments)
{
    const char *sanitized = getenv("SANITIZED");  // much slower
    uint64_t events = sanitized && *sanitized ? 100000 : 1000000;
    struct order order = {.events = events, .seed = seed_take()};
    if (!order_read(&order, count, arguments)) {
        fprintf(stderr, "usage: model_test [--events N] [--seed S] [--stats] [--play]"
                        " [--without FEATURE]...\n");
        return 2;
    }
    uint8_t bytes[HISTORY_BYTES];
    bytes_fill(bytes, order.seed);
    if (order.play) return play_bytes(bytes, HISTORY_BYTES, order.without);
    struct history_stats *stats
        = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stats == MAP_FAILED) return 2;
    int status = run(stats, &order);
    if (order.stats) stats_print(stats);
    return status;
}
