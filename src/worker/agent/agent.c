// agent.c - the loop of `rota worker`: reads messages, handles timers, syncs reports, sends
// messages.
#define _GNU_SOURCE
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    // how long to wait for reports to be recorded at the end, if a server is connected
    RECORD_WITHIN = 2000000,
    DELIVER_WITHIN = 10000000,  // and after the first TERM, also if none is connected
    FREE_WITHIN = 5000000,      // how long the processes of a killed worker may remain
    FOLDER_TAKEN = 2,           // exit status: another worker uses the folder
    FREE_PAUSE = 50000,
    CLOSE_WITHIN = 1000000  // how long the server may take to close, after all was sent
};

// ---- Starting -------------------------------------------------------------------------------

// A new number whenever all processes of this worker are gone: the process that runs commands dies
// with the agent, and the next one waits for that.
static uint64_t boot_make(void)
{
    size_t size = 0;
    uint64_t boot = 0;
    char *text = os_file_read("/proc/sys/kernel/random/boot_id", 100, &size);
    if (getrandom(&boot, sizeof boot, 0) != sizeof boot) boot = (uint64_t)os_now();
    for (size_t i = 0; text && i < size; i++) boot = hash_mix(boot, (uint8_t)text[i]);
    free(text);
    return boot ? boot : 1;
}

// An existing folder may let other users write into it, and so deceive the worker.
static bool folder_close(const char *folder)
{
    struct stat status;
    const mode_t loose = S_IWGRP | S_IRWXO;
    if (stat(folder, &status) != 0) return false;
    return !(status.st_mode & loose) || chmod(folder, status.st_mode & 07777 & ~loose) == 0;
}

bool agent_folder_make(const char *folder)
{
    mode_t before = umask(0077);  // commands have the umask of our caller
    bool there = (os_parents_make(folder) && mkdir(folder, 0700) == 0) || os_directory_make(folder);
    umask(before);
    return there && folder_close(folder);
}

// The processes of a worker that was just killed hold its lock until they are gone, too.
static bool spool_take(struct agent *agent)
{
    struct spool *spool = &agent->spool;
    int64_t until = os_ticks() + FREE_WITHIN;
    bool is_told = false;
    while (!spool_open(spool, agent->options->folder)) {
        bool waits = spool->is_taken && os_ticks() < until;
        if (waits && !is_told)
            agent_say(agent, "%s; waiting %d s for it to end", spool->error, FREE_WITHIN / 1000000);
        is_told = true;
        if (!waits && spool->is_taken) agent->status = FOLDER_TAKEN;
        if (!waits) return agent_say(agent, "%s", spool->error), false;
        spool_close(spool);
        os_sleep_until(os_now() + FREE_PAUSE);
    }
    return true;
}

static bool spool_begin(struct agent *agent)
{
    struct spool *spool = &agent->spool;
    struct attempts *attempts = &agent->decide.attempts;
    if (!spool_take(agent)) return false;
    if (spool->dropped)
        agent_say(agent, "the last report in %s/spool is incomplete, and is dropped",
                  agent->options->folder);
    for (struct report *report = spool->first; report; report = report->next) {
        struct attempt attempt = {.task = report->task,
                                  .number = report->attempt,
                                  .token = report->token,
                                  .state = ATTEMPT_SPOOLED,
                                  .report = report};
        if (!attempts_reserve(attempts)) return agent_say(agent, "out of memory"), false;
        attempts_add(attempts, &attempt);
    }
    return true;
}

static void previous_say(void *agent, const char *text)
{
    agent_say(agent, "%s", text);
}

// The server gives the tasks of an earlier process out again as soon as this one has connected.
static bool previous_await(struct agent *agent)
{
    if (worker_previous_await(agent->options->folder, agent->signals, previous_say, agent))
        return true;
    agent_say(agent, "ends because of a signal");
    agent->status = 0;
    return false;
}

static bool worker_begin(struct agent *agent)
{
    int socket = -1;
    struct worker_options options = agent->options->worker;
    options.folder = agent->options->folder;
    options.name = agent->options->name;
    options.tells_drained = true;
    if (fence_open(&agent->fence)) {
        options.fence = agent->fence.timer;
        agent->pid = worker_fork(&options, &socket);
        if (agent->pid > 0) agent->worker = link_over(socket);
        bool is_noted = agent->worker && worker_note(options.folder, agent->pid);
        if (is_noted && fence_watch(&agent->fence, agent->pid)) return true;
    }
    agent_say(agent, "cannot start the process that runs commands: %s", strerror(errno));
    return false;
}

// Ctrl-Z would stop the agent but not its commands, which would then lose their lease.
static void terminal_stops_ignore(void)
{
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
}

static bool agent_begin(struct agent *agent)
{
    int64_t alone = agent->options->alone_max;
    decide_init(&agent->decide, os_boottime(), alone ? alone : AGENT_ALONE_MAX);
    agent->orders = (struct run_orders){
        .host = &inputs_host, .context = agent, .decide = &agent->decide};
    agent->boot = agent->seed = boot_make();
    agent->logs.folder = agent->options->folder;
    agent->sync_at = agent->kill_at = agent->leave_at = INT64_MAX;
    agent->signals = os_signals_open();
    terminal_stops_ignore();
    if (geteuid() == 0 && !agent->options->worker.user)
        agent_say(agent, "commands run as root; --user NAME runs them as another user");
    return spool_begin(agent) && identity_open(agent) && previous_await(agent)
           && worker_begin(agent) && inputs_open(agent) && streams_open(agent);
}

// ---- Signals and the end -----------------------------------------------------------------------

// The first signal lets commands finish, the second asks them to end, the third kills them.
static void on_interrupt(struct agent *agent, uint32_t times)
{
    uint32_t commands = agent->decide.attempts.alive;
    if (agent->leave_at != INT64_MAX) agent->leave_at = 0;  // all have ended: reports are kept
    if (times == 1 && !agent->is_ending) {
        if (commands)
            agent_say(agent,
                      "starts no more commands, and ends after %u running command%s "
                      "(signal again to stop %s)",
                      commands, commands == 1 ? "" : "s", commands == 1 ? "it" : "them");
        agent_leave(agent);
    } else if (times <= 2) {
        agent_say(agent, "ending: commands have 5 s (signal again to kill them)");
        agent_quit(agent, WIRE_GRACE);
    } else {
        agent_say(agent, "kills all commands");
        agent_quit(agent, 0);
    }
}

static void on_signals(struct agent *agent)
{
    for (int number; (number = os_signal_next(agent->signals));) {
        if (number == SIGHUP) continue;  // there is no configuration to read again
        on_interrupt(agent, ++agent->interrupts);
    }
}

// The process that holds the other end of the leash is gone, or closed it: in either case no
// process supervises this worker any more.
static void on_leash(struct agent *agent)
{
    char bytes[256];
    ssize_t count = read(agent->options->leash, bytes, sizeof bytes);
    if (count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN))) return;
    agent_say(agent, "ends because its parent process ended");
    agent_quit(agent, WIRE_GRACE);
}

static void leave_look(struct agent *agent)
{
    bool is_idle = !agent->decide.attempts.alive;
    if (agent->is_leaving && !agent->is_ending && is_idle) agent_quit(agent, WIRE_GRACE);
}

// When no process is left, reports get a moment to be recorded. The others wait for the next start.
static void end_look(struct agent *agent, int64_t now)
{
    if (!agent->is_ending) return;
    if (agent->worker) {
        if (now >= agent->kill_at) kill(agent->pid, SIGKILL);
        return;
    }
    bool is_patient = agent->is_leaving && agent->interrupts == 1;
    if (agent->leave_at == INT64_MAX)
        agent->leave_at = now + (is_patient ? DELIVER_WITHIN : RECORD_WITHIN);
    if (agent->spool.unsafe && now < agent->leave_at) return;
    bool is_hopeless = (!agent->server && !is_patient) || now >= agent->leave_at;
    if (agent->spool.count && !is_hopeless) return;
    if (agent->spool.count)
        agent_say(agent, "%u report%s kept for the next start", agent->spool.count,
                  agent->spool.count == 1 ? " is" : "s are");
    if (agent->spool.unsafe)
        agent_say(agent, "%u of them %s not fit on the disk and %s lost",
                  agent->spool.unsafe, agent->spool.unsafe == 1 ? "does" : "do",
                  agent->spool.unsafe == 1 ? "is" : "are");
    agent->status = agent->spool.unsafe ? 70 : 0;
}

// ---- The loop ----------------------------------------------------------------------------------

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wake_at(const struct agent *agent)
{
    int64_t due = earlier(decide_due(&agent->decide), server_due(agent));
    due = earlier(due, service_due(agent));
    if (agent->spool.pending.length) due = earlier(due, agent->sync_at);
    if (agent->is_ending) due = earlier(due, agent->worker ? agent->kill_at : agent->leave_at);
    int64_t moves = earlier(inputs_due(agent), streams_due(agent));
    if (due == INT64_MAX) return moves;
    return earlier(moves, os_ticks() + (due - os_boottime()));
}

static void input_await(struct agent *agent)
{
    struct link *server = agent->server, *worker = agent->worker;
    struct os_watch watches[] = {
        {.file = worker ? worker->file : -1, .write = worker && worker->wants_write},
        {.file = server ? server->file : -1, .write = server && server->wants_write},
        {.file = agent->signals},
        {.file = data_fetcher_file(agent->inputs.fetcher)},
        {.file = agent->inputs.server ? data_server_file(agent->inputs.server) : -1},
        {.file = agent->is_ending ? -1 : agent->options->leash},
        {.file = agent->streams.loop},
    };
    os_wait(watches, sizeof watches / sizeof *watches, wake_at(agent));
    if (watches[2].can_read) on_signals(agent);
    if (watches[5].can_read) on_leash(agent);
    if (worker && (watches[0].can_read || watches[0].can_write)) reports_take(agent);
    if (server && (watches[1].can_read || watches[1].can_write)) orders_take(agent);
    bool carries = watches[3].can_read || watches[4].can_read;
    if (carries || os_ticks() >= inputs_due(agent)) inputs_work(agent, os_ticks());
    bool streams = carries || watches[6].can_read || agent->streams.out;
    if (streams || os_ticks() >= streams_due(agent)) streams_work(agent, os_ticks());
}

// Decisions reach the commands before the loop waits for a disk, and no exclusive command starts
// without a fence that watches its end. If the agent was stopped since the decision, or the machine
// slept, that end may have passed, and a RUN must not be sent.
static void turn(struct agent *agent)
{
    input_await(agent);
    int64_t now = os_boottime();
    service_beat(agent, now);
    server_timers(agent, now);
    run_orders_expire(&agent->orders, now);
    leave_look(agent);
    if (agent->worker)
        fence_set(&agent->fence, decide_fence_due(&agent->decide),
                  decide_fence_last(&agent->decide));
    else
        fence_set(&agent->fence, INT64_MAX, INT64_MAX);
    fence_obey(&agent->fence);
    if (agent->worker) link_flush(agent->worker);
    if (agent->status < 0) reports_sync(agent, now);
    reports_send(agent);
    if (agent->server && !link_flush(agent->server)) server_drop(agent, agent->server->reason);
    end_look(agent, now);
}

// Closing a socket that has unread bytes resets the connection, and the server might never read
// that this worker leaves. So the worker only stops writing, and waits until the server has closed.
static void server_leave(struct link *server)
{
    char bytes[4096];
    if (!server || server->state != LINK_OPEN || !link_flush(server)) return;
    int64_t until = os_ticks() + CLOSE_WITHIN;
    struct os_watch watch = {.file = server->file};
    shutdown(server->file, SHUT_WR);
    while (os_ticks() < until && os_wait(&watch, 1, until)) {
        ssize_t count = recv(server->file, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return;
    }
}

// The fence stays until no command is left: the process that runs them may be stopped.
static void agent_end(struct agent *agent)
{
    server_leave(agent->server);
    link_close(agent->server);
    // it waits for another worker to end
    if (agent->pid > 0 && !agent->has_hello) kill(agent->pid, SIGKILL);
    link_close(agent->worker);
    if (agent->pid > 0) waitpid(agent->pid, NULL, 0);
    if (agent->pid > 0) worker_children_end();
    fence_set(&agent->fence, INT64_MAX, INT64_MAX);
    run_orders_release(&agent->orders);
    streams_close(agent);
    if (agent->inputs.fetcher || agent->inputs.is_open) inputs_close(agent);
    logs_release(&agent->logs);
    inventory_release(&agent->inventory);
    shared_results_release(agent);
    spool_close(&agent->spool);
    decide_release(&agent->decide);
    if (agent->signals >= 0) close(agent->signals);
}

int agent_main(const struct agent_options *options)
{
    struct agent agent = {.options = options,
                          .status = -1,
                          .signals = -1,
                          .streams = {.loop = -1},
                          .spool = {.folder = -1, .lock = -1, .file = -1},
                          .fence = {.due = INT64_MAX}};
    if (agent_begin(&agent))
        // No server may be connected: commands of an earlier server may run without one.
        os_service_tell(options->service, "READY=1\nSTATUS=connecting to a server");
    else if (agent.status < 0)
        agent.status = 70;
    while (agent.status < 0) turn(&agent);
    agent_end(&agent);
    return agent.status;
}
