// allocator.c - `rota allocator`: stages what is due, over and over.
#include "cli/cli.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

static const char usage[]
    = "usage: rota allocator --db DATABASE [--once] [--json] [--pretend] [--from T --until T]\n\n"
      "    --once       look once and end; otherwise look when something is due, and every 2 s\n"
      "                 for new definitions, until TERM\n"
      "    --json       one object a line for each task that was staged or has ended\n"
      "    --pretend    for tests: workers that execute nothing. A command succeeds at once;\n"
      "                 `exit N` as a whole fails with N, `sleep N` as a whole takes N seconds\n"
      "    --from T --until T\n"
      "                 for tests: a clock that goes from one due time to the next, in UTC, as in\n"
      "                 2026-11-16T23:59\n";

enum { POLL = 2000000 };

struct round {
    struct session session;
    struct allocator allocator;
    struct pretend pretend;
    const char *path;
    bool once, json, pretends, virtual;
    rota_time now, until;
};

// ---- Lines ---------------------------------------------------------------------------

static void entry_print(const struct round *round, const char *what, const struct entry *entry)
{
    const struct server *server = &round->session.server;
    struct line_about line = {.at = server->now, .what = what, .name = entry->what.name};
    line.task = entry->task;
    line.status = rota_task_status(server->rota, entry->task);
    line_print(&line, round->json);
}

static void ended_print(const struct round *round, enum definition_type type)
{
    const struct catalog *catalog = &round->allocator.catalog;
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct entry *entry = &catalog->entries[i];
        if (entry->ended && entry->what.type == type) entry_print(round, "ended", entry);
    }
}

// Called behind the commit only: what is printed has happened.
static void turn_print(const struct round *round)
{
    const struct allocator *allocator = &round->allocator;
    for (uint32_t i = 0; i < allocator->count; i++) {
        const struct schedule *schedule = &allocator->schedules[i];
        if (schedule->fired) entry_print(round, "staged", schedule->entry);
    }
    ended_print(round, DEFINITION_CALLABLE);
    ended_print(round, DEFINITION_BUNDLE);
    fflush(stdout);
}

// ---- Turns ---------------------------------------------------------------------------

// Turns until nothing more happens at this time. Returns the exit status.
static int time_work(struct round *round)
{
    struct server *server = &round->session.server;
    bool more;
    do {
        server_begin(server, round->now);
        allocator_stage(&round->allocator);
        more = round->pretends && pretend_work(&round->pretend, &round->allocator.catalog);
        if (!server_commit(server)) return session_failed(&round->session);
        allocator_note_ends(&round->allocator);
        turn_print(round);
    } while (more);
    return 0;
}

static int file_open(struct round *round)
{
    int status = session_open(&round->session, round->path, SESSION_THERE);
    if (status) return status;
    struct server *server = &round->session.server;
    round->pretend.server = server;
    if (allocator_open(&round->allocator, server, round->now, zone_load)) return 0;
    return session_failed(&round->session);
}

static void file_close(struct round *round)
{
    allocator_close(&round->allocator);
    session_close(&round->session);
}

static rota_time next_time(const struct round *round)
{
    rota_time next = allocator_look_at(&round->allocator);
    bool sooner = round->pretends && round->pretend.look_at < next;
    return sooner ? round->pretend.look_at : next;
}

// ---- Clocks --------------------------------------------------------------------------

static int virtual_run(struct round *round)
{
    int status = file_open(round);
    while (!status && round->now <= round->until) {
        status = time_work(round);
        rota_time next = next_time(round);
        if (next == ROTA_NEVER) break;
        round->now = next > round->now ? next : round->now + 1;
    }
    file_close(round);
    return status;
}

// The file is let go between two looks, so that other commands can have it, and their definitions
// are seen at the next one.
static int real_run(struct round *round)
{
    os_signals_hold();
    for (;;) {
        round->now = os_now();
        int status = file_open(round);
        if (!status) status = time_work(round);
        rota_time next = status ? 0 : next_time(round), poll = round->now + POLL;
        file_close(round);
        if (status || round->once) return status;
        if (!os_sleep_until(next < poll ? next : poll)) return 0;
    }
}

// Returns false when the word is not understood.
static bool option_take(struct round *round, const char *word, const char *value, int *used)
{
    *used = 0;
    if (strcmp(word, "--once") == 0) return round->once = true;
    if (strcmp(word, "--json") == 0) return round->json = true;
    if (strcmp(word, "--pretend") == 0) return round->pretends = true;
    *used = 1;
    if (!value) return false;
    if (strcmp(word, "--db") == 0) return (round->path = value) != NULL;
    if (strcmp(word, "--from") == 0) return round->virtual = time_read(value, &round->now);
    return strcmp(word, "--until") == 0 && time_read(value, &round->until);
}

int command_allocator(int count, char **words)
{
    struct round round = {.until = ROTA_NEVER, .pretend.look_at = ROTA_NEVER};
    for (int i = 0, used; i < count; i += 1 + used) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (option_take(&round, words[i], i + 1 < count ? words[i + 1] : NULL, &used)) continue;
        fprintf(stderr, "rota allocator: '%s' is not understood here\n%s", words[i], usage);
        return 2;
    }
    if (!round.path || round.virtual != (round.until != ROTA_NEVER)) {
        fputs(usage, stderr);
        return 2;
    }
    int status = round.virtual ? virtual_run(&round) : real_run(&round);
    pretend_release(&round.pretend);
    return status;
}
