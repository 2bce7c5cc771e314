// state_names.c - names of states and texts of errors.
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
        "out of memory",
        "a configured limit would be exceeded",
        "the graph has a cycle or an invalid edge",
        "no such job, task, worker, lane or object",
        "not possible in the present state",
        "the report is about an attempt that is no longer current",
        "invalid event",
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
