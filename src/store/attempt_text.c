// attempt_text.c - the end of an attempt as readable text.
#define _GNU_SOURCE
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static void end_write(const struct store_attempt_end *end, char *out, size_t size)
{
    static const struct {
        const char *end, *text;
    } plain[] = {{"timeout", "timed out"}, {"memory", "out of memory"},
                 {"stopped", "stopped"},   {"not_started", ""},
                 {"output", ""},           {"input", ""}};
    const char *text = end->otherwise;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(end->end, plain[i].end) == 0) text = plain[i].text;
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
    end_write(end, out, size);
    size_t length = strlen(out);
    if (end->reason && *end->reason)
        snprintf(out + length, size - length, "%s%s", length ? ": " : "", end->reason);
}
