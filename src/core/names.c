// names.c - the words of the core as text.
#include "core/core.h"

const char *rota_error_name(enum rota_error error)
{
    static const char *const names[ROTA_ERRORS] = {
        "ok", "no_memory", "too_many", "bad_graph", "not_found", "not_now", "stale", "bad_event"};
    return error < ROTA_ERRORS ? names[error] : "unknown";
}

const char *rota_error_text(enum rota_error error)
{
    static const char *const texts[ROTA_ERRORS] = {
        "done",
        "there is not enough memory",
        "a limit of the configuration would be passed",
        "the graph has a cycle, or an edge that cannot be there",
        "there is no such thing",
        "it exists, but this cannot happen to it now",
        "the report is about an attempt that is no longer current",
        "the event makes no sense",
    };
    return error < ROTA_ERRORS ? texts[error] : "unknown error";
}

const char *rota_task_state_name(enum rota_task_state state)
{
    static const char *const names[ROTA_TASK_STATES] = {
        "NONE",    "IDLE",   "STAGED",   "QUEUED",  "WAITING",   "BLOCKED", "READY",   "HELD",
        "OFFERED", "SHARED", "ASSIGNED", "RUNNING", "SUCCEEDED", "FAILED",  "ABORTED", "FROZEN",
    };
    return state < ROTA_TASK_STATES ? names[state] : "UNKNOWN";
}

const char *rota_hold_text(enum rota_hold hold)
{
    static const char *const texts[ROTA_HOLDS] = {
        [ROTA_HOLD_NONE] = "runs, or is over",
        [ROTA_HOLD_IDLE] = "is not staged",
        [ROTA_HOLD_FROZEN] = "is frozen",
        [ROTA_HOLD_PREREQUISITE] = "waits for a prerequisite",
        [ROTA_HOLD_FAILURE] = "is blocked by a failure",
        [ROTA_HOLD_BLOCKED] = "needs a task that is blocked",
        [ROTA_HOLD_CONDITION] = "waits for its condition",
        [ROTA_HOLD_LOST_INPUT] = "waits for a lost input to be made again",
        [ROTA_HOLD_ORDER] = "is behind another task in its lane",
        [ROTA_HOLD_START] = "waits until the task before it in its strict lane has started",
        [ROTA_HOLD_GROUP] = "waits for its group",
        [ROTA_HOLD_ACCESS] = "waits until its lane changes between readers and writers",
        [ROTA_HOLD_SHARED] = "shares the execution of another task",
        [ROTA_HOLD_HANDLER] = "waits for a handler to claim it",
        [ROTA_HOLD_NO_WORKER] = "waits for a first worker",
        [ROTA_HOLD_MACHINE] = "names a machine that is unknown",
        [ROTA_HOLD_TOO_BIG] = "is too big for every worker",
        [ROTA_HOLD_ROOM] = "waits for room on a worker",
        [ROTA_HOLD_CACHED] = "waits for a worker that has its result",
        [ROTA_HOLD_INPUTS] = "waits for a worker that has an input",
        [ROTA_HOLD_PICK] = "waits for a worker to ask for it",
        [ROTA_HOLD_PLAN] = "waits for the next plan",
        [ROTA_HOLD_START_REPORT] = "is assigned and has not started",
        [ROTA_HOLD_SILENT] = "is on a worker that is silent",
        [ROTA_HOLD_STOPPING] = "was told to stop",
    };
    return hold < ROTA_HOLDS && texts[hold] ? texts[hold] : "unknown";
}
