// logs.c - output of commands, one piece for each request.
#include "worker/agent/internal.h"

#include <limits.h>

static bool is_at(const struct log_place *place, const struct wire_log *log)
{
    return place->reader && SAME_TASK(place->task, log->task) && place->attempt == log->attempt
           && place->offset == log->offset;
}

static void place_close(struct log_place *place)
{
    log_close(place->reader);
    *place = (struct log_place){0};
}

static struct log_place *place_oldest(struct logs *logs)
{
    struct log_place *oldest = &logs->places[0];
    for (int i = 1; i < LOGS_OPEN; i++)
        if (logs->places[i].used < oldest->used) oldest = &logs->places[i];
    place_close(oldest);
    return oldest;
}

// Reads up to the requested position. False: there is no log, or it is shorter.
static bool place_open(struct logs *logs, struct log_place *place, const struct wire_log *log)
{
    char path[PATH_MAX];
    log_path(path, sizeof path, logs->folder, log->task, log->attempt);
    *place = (struct log_place){.reader = log_open(path), .task = log->task};
    place->attempt = log->attempt;
    while (place->reader && place->offset < log->offset) {
        uint64_t left = log->offset - place->offset;
        ssize_t count = log_next(place->reader, logs->piece, left < LOGS_PIECE ? left : LOGS_PIECE);
        if (count <= 0) break;
        place->offset += (uint64_t)count;
    }
    if (place->reader && place->offset == log->offset) return true;
    place_close(place);
    return false;
}

static struct log_place *place_find(struct logs *logs, const struct wire_log *log)
{
    for (int i = 0; i < LOGS_OPEN; i++)
        if (is_at(&logs->places[i], log)) return &logs->places[i];
    struct log_place *place = place_oldest(logs);
    return place_open(logs, place, log) ? place : NULL;
}

// A log that was cut off by a crash has no end mark; if the command prints nothing more, it ends
// there.
void logs_answer(struct logs *logs, const struct wire_log *log, bool is_over, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_LOGGED_MESSAGE};
    struct wire_logged *it = &message.logged;
    struct log_place *place = place_find(logs, log);
    ssize_t count = place ? log_next(place->reader, logs->piece, LOGS_PIECE) : 0;
    it->request = log->request;
    it->task = log->task;
    it->attempt = log->attempt;
    it->offset = log->offset;
    it->bytes = (wire_text){logs->piece, count > 0 ? (uint32_t)count : 0};
    it->whole = (place && log_is_whole(place->reader)) || (is_over && count <= 0);
    wire_put(out, &message);
    if (!place) return;
    place->offset += it->bytes.length;
    place->used = ++logs->clock;
    if (it->whole || count < 0) place_close(place);
}

void logs_release(struct logs *logs)
{
    for (int i = 0; i < LOGS_OPEN; i++) place_close(&logs->places[i]);
}
