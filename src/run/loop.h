// loop.h - the process of `rota run`: its loop, output, control socket and notes.
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
    const char *only;       // task names, separated by commas
    enum worker_contain contain;
};

// ---- progress.c: output during a run -------------------------------------------------------

struct progress {
    const struct run_options *options;
    const struct run *run;
    const char *folder;      // of the logs
    rota_time began, drawn;
    uint32_t shown;  // finished tasks that were printed
    bool terminal, colour;
    bool is_drawn;           // the last line of the terminal is the status line
    uint32_t *failed;        // tasks whose last attempt failed
    uint32_t failed_count, failed_capacity;
    const char *server;      // options of commands that reach the server of the job, and a blank;
                             // null: it runs here
    void (*log)(void *context, rota_task_id task, uint32_t attempt);  // null: read the folder
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
    char *path, *folder, *hidden;  // of the job file, absolute; hidden: its ".rota" folder
    char *watched;               // the state of the user's files when the run began
    uint64_t digest;

    pid_t worker;
    int socket, signals, settled;
    int control;                 // socket; -1: not open yet; -2: could not be opened
    int64_t listen_at;           // ticks
    struct wire_in in;
    struct wire_out out;
    bool all_held;               // the worker's objects are known: by HELLO, or it has none
    uint32_t cores, memory_mib;
    char host[256];

    int64_t clock;               // the core's time minus the ticks
    uint64_t turn, synced;       // the last turn that was written; that a sync was requested for
    int64_t sync_at;             // ticks
    int64_t check_at;            // ticks: when to check that the database files still exist
    int64_t turn_at;             // ticks
    bool input;                  // messages wait for the next turn
    bool quitting;               // the worker was told to end
    bool worker_is_gone;
    uint32_t interrupts;
    bool is_done;                // no task is left
    int fault;                   // exit status of the failure that ended the run; 0: no failure
};

// The time of the core. It follows the ticks, so setting the clock during a run has no effect.
static inline rota_time runner_now(const struct runner *runner)
{
    return runner->clock + os_ticks();
}

// Runs until all tasks are finished, no task can start, or the user interrupts the run.
void runner_loop(struct runner *runner);
// Waits for the worker's HELLO. False: it ended or the user interrupted; `fault` is set.
bool runner_meet(struct runner *runner);
bool runner_turn_end(struct runner *runner);  // the same, after server_begin()
bool runner_perform(struct runner *runner);   // sends and writes the decisions; false: failed
void runner_quit(struct runner *runner, rota_time grace);

// ---- control.c ----------------------------------------------------------------------------

void control_open(struct runner *runner);
void control_answer(struct runner *runner);  // handles one command

// ---- first_turn.c ------------------------------------------------------------------------------

int runner_begin(struct runner *runner);  // the first turn; 0, or the exit status
int runner_look(struct runner *runner);   // only prints which tasks would run

// ---- done_note.c -------------------------------------------------------------------------------

char *runner_path(const struct runner *runner, const char *name);  // in .rota; the caller frees it
bool runner_has_nothing_to_do(const struct runner *runner);
void runner_note_done(const struct runner *runner);  // at the end, after the database is closed
