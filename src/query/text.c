// text.c - formats results, times and sizes.
#include "query/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000 };

const char *query_end_text(const struct query_attempt *attempt, char out[QUERY_TEXT])
{
    if (attempt->is_carried) return "done before";
    if (!attempt->ended) return "running";
    struct store_attempt_end end
        = {attempt->end, attempt->code, attempt->flags, attempt->reason, attempt->status};
    store_attempt_text(&end, out, QUERY_TEXT);
    return out;
}

const char *query_time_text(rota_time time, char out[QUERY_TEXT])
{
    int64_t seconds = time / SECOND;
    if (time < 0)
        snprintf(out, QUERY_TEXT, "-");
    else if (time < SECOND)
        snprintf(out, QUERY_TEXT, "%" PRId64 " ms", time / 1000);
    else if (seconds < 60)
        snprintf(out, QUERY_TEXT, "%" PRId64 ".%02" PRId64 " s", seconds, time % SECOND / 10000);
    else if (seconds < 3600)
        snprintf(out, QUERY_TEXT, "%" PRId64 " m %02" PRId64 " s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        snprintf(out, QUERY_TEXT, "%" PRId64 " h %02" PRId64 " m", seconds / 3600,
                 seconds / 60 % 60);
    else
        snprintf(out, QUERY_TEXT, "%" PRId64 " d %02" PRId64 " h", seconds / 86400,
                 seconds / 3600 % 24);
    return out;
}

const char *query_bytes_text(uint64_t bytes, char out[QUERY_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t tenths = bytes;
    int unit = -1;
    if (bytes < 1024) {
        snprintf(out, QUERY_TEXT, "%" PRIu64 " B", bytes);
        return out;
    }
    for (; tenths >= 1024 && unit < 5; unit++) {
        bytes = tenths;
        tenths /= 1024;
    }
    snprintf(out, QUERY_TEXT, "%" PRIu64 ".%" PRIu64 " %s", tenths, bytes % 1024 * 10 / 1024,
             units[unit]);
    return out;
}

// After a final failure the core has the highest number of tries instead of theirs.
uint32_t query_tries(const struct query *query, const struct query_task *task, bool *is_same)
{
    uint32_t tries = task->tries < task->count ? task->tries : task->count;
    char last[QUERY_TEXT], other[QUERY_TEXT];
    *is_same = true;
    for (uint32_t i = 1; i < tries; i++) {
        const struct query_attempt *end = &query->attempts[task->first + task->count - 1];
        *is_same &= strcmp(query_end_text(end, last), query_end_text(end - i, other)) == 0;
    }
    return tries;
}
