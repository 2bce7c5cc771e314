// files_result.c - results of commands: looks up a known result, and stores new ones.
#define _GNU_SOURCE
#include "object/cache/cache.h"
#include "worker/process/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool count_bytes(void *context, const char *bytes, size_t count)
{
    (void)bytes;
    *(uint64_t *)context += count;
    return true;
}

// The log of the first execution is the log of this attempt, too.
static bool log_take(struct files *files, struct attempt *attempt, const struct cache_entry *log)
{
    if (log->kind == CACHE_NONE) return true;
    return cache_deliver(files->cache, log, attempt->command.log, NULL)
           && log_read(attempt->command.log, count_bytes, &attempt->log_bytes);
}

// False: a part of it is damaged or cannot be copied to its place. Then the command runs, and
// reports the cause.
static bool result_take(struct files *files, struct attempt *attempt, struct cache_output *made)
{
    const wire_files *outputs = &attempt->command.run.outputs;
    struct cache_entry log;
    for (uint32_t i = 0; i < outputs->count; i++) made[i].name = outputs->items[i].name;
    if (!cache_result_find(files->cache, attempt->key.hash, made, outputs->count, &log))
        return false;
    for (uint32_t i = 0; i < outputs->count; i++) {
        attempt->command.made[i] = outputs->items[i];
        attempt->command.made[i].bytes = made[i].entry.bytes;
        attempt->command.made[i].content = cache_entry_content(&made[i].entry);
    }
    attempt->was_cached = true;
    bool fine
        = log_take(files, attempt, &log) && files_hand_over(files, attempt, made) == FILES_READY;
    attempt->was_cached = false;
    if (!fine) attempt->log_bytes = 0;
    if (!fine) attempt->reason[0] = 0;
    return fine;
}

// A failed task may be retried, automatically or by a person; then its command does run.
static bool takes_failures(const struct attempt *attempt)
{
    return attempt->command.run.flags & WIRE_RUN_CACHE_FAILURE && attempt->command.run.attempt <= 1;
}

static bool failure_take(struct files *files, struct attempt *attempt)
{
    struct cache_entry log;
    int32_t status;
    if (!takes_failures(attempt)
        || !cache_failure_find(files->cache, attempt->key.hash, &status, &log))
        return false;
    bool fine = log_take(files, attempt, &log);
    if (fine)
        attempt->status = status;
    else
        attempt->log_bytes = 0;
    return fine;
}

enum files_result files_look_up(struct files *files, struct attempt *attempt)
{
    enum files_result result = files_key_make(files, attempt, &attempt->key);
    attempt->status = 0;
    if (result != FILES_READY || !attempt->key.is_known) return result;
    if (failure_take(files, attempt)) return FILES_CACHED;
    struct cache_output *made = calloc(attempt->command.run.outputs.count + 1, sizeof *made);
    if (made && result_take(files, attempt, made)) result = FILES_CACHED;
    free(made);
    return result;
}

// ---- Storing results ------------------------------------------------------------------------

// Sources may have changed while the command ran; then it is unknown what it has read. A result
// without its log is incomplete.
static bool is_worth_keeping(struct files *files, struct attempt *attempt, const char **log)
{
    struct files_key now = {.is_known = false};
    *log = attempt->log_bytes && access(attempt->command.log, R_OK) == 0 ? attempt->command.log
                                                                         : NULL;
    bool is_same = files_key_make(files, attempt, &now) == FILES_READY && now.is_known
                   && memcmp(now.hash, attempt->key.hash, sizeof now.hash) == 0;
    files->lost_count = 0;
    return is_same && (!attempt->log_bytes || *log);
}

// A result that cannot be stored is made again the next time.
void files_result_put(struct files *files, struct attempt *attempt, const struct cache_output *made)
{
    const char *log;
    if (!is_worth_keeping(files, attempt, &log)) return;
    cache_result_put(files->cache, attempt->key.hash, made, attempt->command.run.outputs.count, log,
                     NULL);
}

void files_failure_put(struct files *files, struct attempt *attempt)
{
    const char *log;
    bool is_kept = attempt->command.run.flags & WIRE_RUN_CACHE_FAILURE && attempt->key.is_known
                   && wire_is_result(attempt->end, attempt->status);
    if (!is_kept || !is_worth_keeping(files, attempt, &log)) return;
    cache_failure_put(files->cache, attempt->key.hash, attempt->status, log, NULL);
}
