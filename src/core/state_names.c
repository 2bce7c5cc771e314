// state_names.c - the words of the core as text.
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
