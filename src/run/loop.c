// loop.c - the event loop of `rota run`: reads messages, makes a turn, sends messages.
#define _GNU_SOURCE
#include "run/loop.h"
#include "os/os.h"

#include <errno.h>
#include <sys/socket.h>

// A turn costs the same for one message as for ten. While the worker has enough tasks, messages are
// collected; otherwise they are handled at once. A report that commands have started needs no
// answer, and most of them end before anyone would look.
enum {
    GATHER = 8000,
    GATHER_STARTS = 50000,
    DRAW = 100000,
    LISTEN_AFTER = 50000,
    SYNC_EVERY = 50000,
    READ_AT_ONCE = 64 << 10,
    CHECK_EVERY = 500000  // of the database files: half of the promised second
};

// ---- The worker's socket --------------------------------------------------------------------

static void worker_lost(struct runner *runner)
{
    runner->worker_is_gone = true;
    if (runner->quitting) return;
    progress_say(&runner->progress, "the worker has ended unexpectedly; run again to continue\n");
    runner->fault = 70;
}

static void messages_send(struct runner *runner)
{
    struct wire_out *out = &runner->out;
    if (out->failed) os_out_of_memory();
    while (out->sent < out->length && !runner->worker_is_gone) {
        ssize_t count = send(runner->socket, out->bytes + out->sent, out->length - out->sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) break;
        if (count < 0) {
            worker_lost(runner);
            break;
        }
        wire_out_sent(out, (uint32_t)count);
    }
}

static void messages_read(struct runner *runner)
{
    char *room = wire_in_room(&runner->in, READ_AT_ONCE);
    if (!room) os_out_of_memory();
    ssize_t count = recv(runner->socket, room, READ_AT_ONCE, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        worker_lost(runner);
        return;
    }
    wire_in_came(&runner->in, (uint32_t)count);
    runner->input = true;
}

// ---- A turn ---------------------------------------------------------------------------------

static void message_take(struct runner *runner, const struct wire_message *message)
{
    struct run *run = &runner->run;
    switch (message->kind) {
    case WIRE_HELLO_MESSAGE: runner->all_held = true; break;
    case WIRE_HELD_MESSAGE: run_held_add(&runner->held, &message->held.objects); break;
    case WIRE_STARTED_MESSAGE:
        run_intake(run, message);
        if (runner->options.json)
            progress_started(&runner->progress, message->started.task.task - 1);
        break;
    default: run_intake(run, message); break;
    }
}

static void messages_take(struct runner *runner)
{
    struct wire_message message;
    enum wire_result result;
    while ((result = wire_take(&runner->in, &message)) == WIRE_GOT) message_take(runner, &message);
    if (result == WIRE_NO_MEMORY) os_out_of_memory();
    if (result == WIRE_BAD) worker_lost(runner);
    runner->input = false;
}

// Sends the decisions to the worker, and writes them to the database.
bool runner_perform(struct runner *runner)
{
    struct run *run = &runner->run;
    run_perform(run, &runner->out);
    messages_send(runner);
    runner->turn = server_commit_write(run->server);
    return runner->turn;
}

// The core decides about the reports; then the worker gets its orders, and while it starts the next
// tasks, the turn is written. If this process dies, or the turn is lost, the worker and all its
// commands end before another run begins. So no command runs that the database does not know.
static bool runner_turn(struct runner *runner)
{
    server_begin(runner->run.server, runner_now(runner));
    messages_take(runner);
    return runner_turn_end(runner);
}

static bool turn_failed(struct runner *runner)
{
    progress_clear(&runner->progress);
    runner->fault = session_failed(&runner->session);
    return false;
}

bool runner_turn_end(struct runner *runner)
{
    struct run *run = &runner->run;
    runner->turn_at = os_ticks();
    if (!server_decide(run->server)) return turn_failed(runner);
    return runner_perform(runner) || turn_failed(runner);
}

// ---- Sync ---------------------------------------------------------------------------------------

// The end of a task is printed when it is durable. A few milliseconds later is early enough, so one
// sync covers many turns. A thread makes the sync; a short run needs no thread.
static void sync_when_due(struct runner *runner)
{
    int64_t now = os_ticks();
    if (runner->turn == runner->synced || now < runner->sync_at) return;
    if (runner->settled < 0) runner->settled = store_settled_event(runner->session.store);
    if (!store_sync_begin(runner->session.store)) runner->fault = session_failed(&runner->session);
    runner->synced = runner->turn;
    runner->sync_at = now + SYNC_EVERY;
}

static void ends_tell(struct runner *runner)
{
    struct run *run = &runner->run;
    if (!run->end_count || store_settled(runner->session.store) < runner->turn) return;
    for (uint32_t i = 0; i < run->end_count; i++) progress_ended(&runner->progress, &run->ends[i]);
    run_ends_drop(run);
}

// ---- The end ----------------------------------------------------------------------------------

void runner_quit(struct runner *runner, rota_time grace)
{
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    message.quit.grace = grace;
    wire_put(&runner->out, &message);
    runner->quitting = true;
    messages_send(runner);
}

static void on_signal(struct runner *runner)
{
    while (os_signal_next(runner->signals)) {
        // Further signals change nothing, and unread lines would fill a pipe.
        if (++runner->interrupts > 2) continue;
        progress_say(&runner->progress, runner->interrupts == 1
                                            ? "interrupted: stopping running tasks (interrupt"
                                              " again to kill them)\n"
                                            : "killing running tasks\n");
        run_drain(&runner->run, &runner->out);
        runner_quit(runner, runner->interrupts == 1 ? WIRE_GRACE : 0);
    }
}

static bool is_over(const struct runner *runner)
{
    if (runner->fault) return true;
    if (runner->input) return false;
    return runner->quitting ? runner->worker_is_gone : run_is_over(&runner->run);
}

// How long messages may wait while the worker has tasks.
static int64_t input_due(const struct runner *runner)
{
    bool starts = wire_are_all(&runner->in, WIRE_STARTED_MESSAGE);
    return runner->turn_at + (starts ? GATHER_STARTS : GATHER);
}

static int64_t wake_at(const struct runner *runner)
{
    int64_t at = runner->check_at;
    if (runner->progress.terminal) at = os_ticks() + DRAW;
    if (runner->input) at = input_due(runner);
    if (runner->control == -1 && runner->listen_at < at) at = runner->listen_at;
    if (runner->turn != runner->synced && runner->sync_at < at) at = runner->sync_at;
    rota_time next = run_deadline(&runner->run);
    if (next == ROTA_NEVER) return at;
    int64_t then = os_ticks() + (next - runner_now(runner));
    return then < at ? then : at;
}

static bool turn_is_due(const struct runner *runner)
{
    const struct run *run = &runner->run;
    if (runner_now(runner) >= run_deadline(run)) return true;
    if (!runner->input) return false;
    bool busy = run->count[RUN_GIVEN] > runner->cores
                || wire_are_all(&runner->in, WIRE_STARTED_MESSAGE);
    return !busy || os_ticks() >= input_due(runner);
}

// A run whose database files were deleted or replaced must not report a task as finished.
static bool files_are_there(struct runner *runner)
{
    return runner->fault || store_check(runner->session.store) || turn_failed(runner);
}

static void files_check_when_due(struct runner *runner)
{
    if (os_ticks() < runner->check_at) return;
    runner->check_at = os_ticks() + CHECK_EVERY;
    files_are_there(runner);
}

static void once(struct runner *runner, int64_t until)
{
    struct os_watch watches[] = {{.file = runner->socket, .write = runner->out.length > 0},
                                 {.file = runner->signals},
                                 {.file = runner->settled},
                                 {.file = runner->control}};
    os_wait(watches, 4, until);  // a missing one has descriptor -1 and never becomes ready
    if (watches[0].can_read && !runner->worker_is_gone) messages_read(runner);
    if (watches[0].can_write) messages_send(runner);
    if (watches[1].can_read) on_signal(runner);
    if (watches[2].can_read) os_event_clear(runner->settled);
    if (watches[3].can_read) control_answer(runner);
}

bool runner_meet(struct runner *runner)
{
    while (!runner->all_held && !runner->fault) {
        once(runner, INT64_MAX);
        messages_take(runner);
        if (runner->interrupts) runner->fault = 130;
    }
    return !runner->fault;
}

void runner_loop(struct runner *runner)
{
    store_foresee(runner->session.store);  // the worker was just given its first tasks and is busy
    runner->listen_at
        = os_ticks() + LISTEN_AFTER;  // a run that ends before that needs no socket
    runner->sync_at = os_ticks() + SYNC_EVERY;
    while (!is_over(runner)) {
        once(runner, wake_at(runner));
        files_check_when_due(runner);
        if (runner->fault) break;
        if (turn_is_due(runner) && !runner_turn(runner)) return;
        sync_when_due(runner);
        ends_tell(runner);
        progress_draw(&runner->progress, os_now());
        if (runner->control == -1 && os_ticks() >= runner->listen_at) control_open(runner);
    }
    // The worker ends while the disk syncs.
    if (!runner->fault && !runner->quitting && !runner->worker_is_gone) runner_quit(runner, 0);
    bool fine = files_are_there(runner)
                && (runner->turn == 0 || store_settle(runner->session.store, runner->turn));
    if (!fine && !runner->fault) runner->fault = session_failed(&runner->session);
    if (fine) ends_tell(runner);
    progress_clear(&runner->progress);
    if (!runner->fault) run_sort_out(&runner->run);
}
