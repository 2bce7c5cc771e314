// end_text.c - how a task of a server ended, as all commands show it.
#include "cli/show/end_text.h"
#include "store/store.h"

const char *end_text(enum rota_outcome outcome, int32_t status, const char *reason,
                     char out[END_TEXT])
{
    struct store_attempt_end end = store_status_read(status);
    if (outcome == ROTA_OUTCOME_ABORTED) end.end = "stopped";
    if (outcome == ROTA_OUTCOME_LOST) end.end = "";
    end.otherwise = *reason ? "" : "lost";
    end.reason = reason;
    store_attempt_text(&end, out, END_TEXT);
    return out;
}
