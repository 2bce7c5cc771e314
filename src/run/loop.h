// loop.h - `rota run`: what its parts share.
#pragma once

#include "os/os.h"
#include "os/print.h"
#include "run/run.h"
#include "turn/session/session.h"
#include "worker/process/worker.h"

struct run_options {
    const char *path;       // of the job file
    uint32_t jobs;          // number of tasks to run in parallel; 0: the number of cores
    bool keep_going, dry, fresh, json, quiet, verbose;
    const char *only;       // names, with commas between
    enum worker_contain contain;
};

// ---- progress.c: what a run shows ----------------------------------------------------------

struct progress {
    const struct run_options *options;
    const struct run *run;
    const char *folder;      // with the logs
    rota_time began, drawn;
    uint32_t shown;  // finished tasks that were printed
    bool terminal, colour;
    bool is_drawn;           // a status line stands at the end
    uint32_t *failed;        // tasks whose last attempt failed
    uint32_t failed_count, failed_capacity;
    const char *server;      // that has the job; null: it runs here
    void (*log)(void *context, rota_task_id task, uint32_t attempt);  // null: from the folder
    void *log_context;
};

void progress_open(struct progress *progress, const struct run_options *options,
                   const struct run *run, const char *folder);
void progress_release(struct progress *progress);
void progress_started(struct progress *progress, uint32_t task);  // --json only
void progress_ended(struct progress *progress, const struct run_end *end);
void progress_draw(struct progress *progress, rota_time now);
void progress_clear(struct progress *progress);
void progress_say(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- summary.c -------------------------------------------------------------------------------

void summary_print(struct progress *progress, rota_time now, int status);

// ---- loop.c -------------------------------------------------------------------------------

struct runner {
    struct run_options options;
    struct session session;
    struct jobfile file;
    struct run run;
    struct progress progress;
    struct run_held held;
    char *path, *folder, *hidden;  // of the file, absolute; ".rota" in it
    char *watched;               // what the files looked like when it began
    uint64_t digest;

    pid_t worker;
    int socket, signals, settled;
    int control;                 // -1: not yet; -2: never
    int64_t listen_at;           // ticks
    struct wire_in in;
    struct wire_out out;
    bool all_held;               // what the worker has is known: HELLO says so, or nothing is there
    uint32_t cores, memory_mib;
    char host[256];

    int64_t clock;               // the time of the core beyond the ticks
    uint64_t turn, synced;       // the last that was written; that the disk was asked for
    int64_t sync_at;             // ticks
    int64_t check_at;            // ticks: when to look whether the files are still there
    int64_t turn_at;             // ticks
    bool input;                  // messages wait for the next turn
    bool quitting;               // the worker was told to end
    bool worker_is_gone;
    uint32_t interrupts;
    bool is_done;                // nothing is left to do
    int fault;                   // exit status of what stopped it; 0: nothing
};

// The time of the core. A clock that is set while it runs is no business of a run.
static inline rota_time runner_now(const struct runner *runner)
{
    return runner->clock + os_ticks();
}

// Runs until all tasks are finished, nothing more can be done, or the user wants it to end.
void runner_loop(struct runner *runner);
// Waits for the worker's first words. False: it has none, and the fault is set.
bool runner_meet(struct runner *runner);
bool runner_turn(struct runner *runner);  // what has come, as one turn; false: the fault is set
bool runner_turn_end(struct runner *runner);  // the same, after server_begin()
bool runner_perform(struct runner *runner);   // what was decided; false: the store says why not
void runner_quit(struct runner *runner, rota_time grace);

// ---- control.c ----------------------------------------------------------------------------

void control_open(struct runner *runner);
void control_answer(struct runner *runner);  // somebody asks

// ---- first_turn.c ------------------------------------------------------------------------------

int runner_begin(struct runner *runner);  // the first turn; 0, or the exit status
int runner_look(struct runner *runner);   // only says what would run

// ---- done_note.c -------------------------------------------------------------------------------

char *runner_path(const struct runner *runner, const char *name);  // in .rota, to be freed
bool runner_has_nothing_to_do(const struct runner *runner);
void runner_note_done(const struct runner *runner);  // at the end, when the database is closed
