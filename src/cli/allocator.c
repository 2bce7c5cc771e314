// allocator.c - `rota allocator`: stages definitions when they are due.
#include "cli/cli.h"
#include "cli/show/time_text.h"
#include "sim/play/pretend_worker.h"
#include "os/os.h"

#include <stdio.h>

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

// Called after the commit, so that the output tells only what is durable.
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

// Makes turns until nothing more happens at this time. Returns the exit status.
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

// Closes the database between two turns, so that other commands can change its definitions.
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

enum { ALLOCATOR_FROM, ALLOCATOR_UNTIL };

static bool time_take(void *values, uint32_t number, const char *value)
{
    struct round *round = values;
    if (number == ALLOCATOR_UNTIL) return time_read(value, &round->until);
    return round->virtual = time_read(value, &round->now);
}

static int allocator_run(const struct command *command, int count, char **words)
{
    struct round round = {.until = ROTA_NEVER, .pretend.look_at = ROTA_NEVER};
    struct arguments arguments;
    int status = options_read(command, &round, time_take, &arguments, count, words);
    if (status >= 0) return status;
    if (!round.path) return command_wrong(command, "missing option --db");
    if (round.virtual != (round.until != ROTA_NEVER))
        return command_wrong(command, "options --from and --until need each other");
    if (!round.pretends)
        fputs("rota allocator: tasks are only staged: nothing executes them yet (for tests:"
              " --pretend)\n", stderr);
    status = round.virtual ? virtual_run(&round) : real_run(&round);
    pretend_release(&round.pretend);
    return status;
}

static const struct option_row rows[]
    = {
    {0, "db", "DATABASE", "the database with the definitions", OPTION_PATH,
     .at = offsetof(struct round, path)},
    {0, "once", "", "stage what is due now, and end", OPTION_FLAG,
     .at = offsetof(struct round, once)},
    JSON_LINES_ROW(struct round),
    {0, "pretend", "", "for tests: execute nothing; a command succeeds at once, `exit N` fails "
     "with status N, `sleep N` takes N seconds", OPTION_FLAG,
     .at = offsetof(struct round, pretends)},
    {0, "from", "TIME", "for tests: use a virtual clock that starts at this time in UTC, such as "
     "2026-11-16T23:59", OPTION_OTHER, .at = ALLOCATOR_FROM, .needs = "a time such as "
     "2026-11-16T23:59"},
    {0, "until", "TIME", "the end of the virtual clock", OPTION_OTHER, .at = ALLOCATOR_UNTIL,
     .needs = "a time such as 2026-11-16T23:59"},
    OPTION_ROWS_END};

const struct command allocator_command = {
    .name = "allocator",
    .summary = "stage the definitions that are due by the calendar",
    .group = GROUP_CALENDAR,
    .run = allocator_run,
    .options = rows,
    .usage = "--db DATABASE [OPTION...]\n",
    .text = "Runs until SIGTERM. Looks for new definitions every 2 seconds, and prints a line for "
            "each task that was staged or has ended. Without --pretend nothing executes the "
            "tasks that it stages yet.\n",
    .examples = "rota allocator --db state.db\tstage definitions when they are due\n"
                "rota allocator --db state.db --once\tstage what is due now, and end\n",
    .exits = "0\tdone\n2\tan option or the database is wrong\n70\tthe disk failed\n",
};
