// attempt_text.c - the end of an attempt as readable text, and as one number.
#define _GNU_SOURCE
#include "store/store.h"

#include <stdio.h>
#include <string.h>

enum { KIND_STEP = 256 };  // between the numbers of two kinds of ends

// The order is that of the numbers in databases.
static const struct {
    const char *end, *text;
    const char *alone;  // the text if there is no reason; null: the same
} kinds[] = {{"exit", "", NULL},
             {"signal", "", NULL},
             {"timeout", "timed out", NULL},
             {"memory", "out of memory", NULL},
             {"not_started", "", "not started"},
             {"output", "", "an output is missing or invalid"},
             {"input", "", "an input is missing or invalid"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

// KINDS: none of them.
static uint32_t kind_find(const char *end)
{
    uint32_t kind = 0;
    while (kind < KINDS && strcmp(kinds[kind].end, end) != 0) kind++;
    return kind;
}

static void end_write(const struct store_attempt_end *end, bool is_alone, char *out, size_t size)
{
    uint32_t kind = kind_find(end->end);
    const char *text = kind < KINDS ? kinds[kind].text : end->otherwise;
    if (is_alone && kind < KINDS && kinds[kind].alone) text = kinds[kind].alone;
    if (strcmp(end->end, "stopped") == 0) text = "stopped";
    if (strcmp(end->end, "exit") == 0)
        snprintf(out, size, "exit %d", end->status);
    else if (strcmp(end->end, "signal") == 0)
        snprintf(out, size, "signal %d (%s%s)", end->status, strsignal(end->status),
                 end->flags & STORE_CORE_DUMPED ? ", core dumped" : "");
    else
        snprintf(out, size, "%s", text);
}

void store_attempt_text(const struct store_attempt_end *end, char *out, size_t size)
{
    bool has_reason = end->reason && *end->reason;
    end_write(end, !has_reason, out, size);
    size_t length = strlen(out);
    if (has_reason)
        snprintf(out + length, size - length, "%s%s", length ? ": " : "", end->reason);
}

int32_t store_status_make(const char *end, int32_t status)
{
    uint32_t kind = kind_find(end);
    bool fits = kind > 0 && kind < KINDS && status >= 0 && status < KIND_STEP;
    return fits ? (int32_t)kind * KIND_STEP + status : status;
}

struct store_attempt_end store_status_read(int32_t status)
{
    bool has_kind = status >= KIND_STEP && status < KINDS * KIND_STEP;
    if (!has_kind) return (struct store_attempt_end){.end = "exit", .status = status};
    return (struct store_attempt_end){.end = kinds[status / KIND_STEP].end,
                                      .status = status % KIND_STEP};
}
