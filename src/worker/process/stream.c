// stream.c - FIFOs between two commands that run at the same time.
//
// The first of the two commands creates the FIFO, and the worker holds both of its ends, so that
// neither command has to wait for the other to open it. When the producer has succeeded and the
// consumer has it open, the worker closes its ends, and the consumer sees the end of file. The
// consumer of a producer that did not succeed never sees an end: it is told to stop. When the
// consumer ends first, further data is discarded.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/stream_tee.h"
#include "worker/process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_EVERY = 10000 };

struct stream {
    struct stream *next;
    rota_object_id object;
    struct attempt *producer, *consumer;  // while they exist
    bool produced, consumed;          // it existed, and has ended
    bool is_failed;                   // the producer did not succeed
    int held;                         // -1: closed
    char path[];
};

void stream_path(char *out, size_t size, const char *folder, rota_object_id object)
{
    snprintf(out, size, "%s/work/streams/%016" PRIx64 "%016" PRIx64, folder, object.high,
             object.low);
}

static struct stream *stream_open(struct worker *worker, rota_object_id object)
{
    char path[PATH_MAX];
    stream_path(path, sizeof path, worker->folder, object);
    unlink(path);
    if (!os_parents_make(path) || mkfifo(path, 0600) != 0 || !user_give(worker, path))
        return NULL;
    int held = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct stream *stream = held >= 0 ? calloc(1, sizeof *stream + strlen(path) + 1) : NULL;
    if (!stream) {
        if (held >= 0) close(held);
        return NULL;
    }
    stream->object = object;
    stream->held = held;
    memcpy(stream->path, path, strlen(path) + 1);
    stream->next = worker->streams;
    return worker->streams = stream;
}

static struct stream *stream_get(struct worker *worker, rota_object_id object)
{
    for (struct stream *stream = worker->streams; stream; stream = stream->next)
        if (SAME_ID(stream->object, object)) return stream;
    return stream_open(worker, object);
}

static void let_go(struct stream *stream)
{
    if (stream->held >= 0) close(stream->held);
    stream->held = -1;
}

static void stream_close(struct worker *worker, struct stream *stream)
{
    struct stream **at = &worker->streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    let_go(stream);
    unlink(stream->path);
    free(stream);
}

// A stream that was read, or was cut off, cannot be read again; nor one that an older attempt uses,
// which is about to end.
static bool is_used_up(const struct stream *stream, bool as_producer)
{
    return as_producer ? stream->produced || stream->producer
                       : stream->consumed || stream->consumer;
}

// Commands that still use it continue with it, and a reader must not see an end.
static void stream_set_aside(struct worker *worker, struct stream *stream)
{
    stream->is_failed = true;
    stream->produced |= !stream->producer;
    stream->consumed |= !stream->consumer;
    if (stream->produced && stream->consumed) return stream_close(worker, stream);
    unlink(stream->path);
    stream->path[0] = 0;
    stream->object = (rota_object_id){0};
}

static bool join_all(struct worker *worker, struct attempt *attempt, const wire_files *files,
                     bool as_producer, char *reason)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        if (file->kind != WIRE_STREAM) continue;
        struct stream *stream = stream_get(worker, file->object);
        if (stream && is_used_up(stream, as_producer)) {
            stream_set_aside(worker, stream);
            stream = stream_open(worker, file->object);
        }
        if (!stream) {
            snprintf(reason, WORKER_REASON_MAX, "cannot create a stream for %s: %s",
                     file->name.bytes, strerror(errno));
            return false;
        }
        if (as_producer)
            stream->producer = attempt;
        else
            stream->consumer = attempt;
    }
    return true;
}

bool streams_join(struct worker *worker, struct attempt *attempt, char *reason)
{
    if (!join_all(worker, attempt, &attempt->command.run.outputs, true, reason)
        || !join_all(worker, attempt, &attempt->command.run.inputs, false, reason))
        return false;
    if (stream_tees_join(worker, attempt)) return true;
    snprintf(reason, WORKER_REASON_MAX, "cannot create a stream for several readers: %s",
             strerror(errno));
    return false;
}

// The producer may not have opened it yet, and would wait for a reader forever.
static void consumer_left(struct stream *stream)
{
    stream->consumer = NULL;
    stream->consumed = true;
    let_go(stream);
    if (stream->produced || unlink(stream->path) != 0) return;
    int linked = symlink("/dev/null", stream->path);
    (void)linked;  // without it a later open finds no file, which ends the command, too
}

void streams_leave(struct worker *worker, struct attempt *attempt)
{
    stream_tees_leave(worker, attempt);
    for (struct stream *stream = worker->streams, *next; stream; stream = next) {
        next = stream->next;
        if (stream->producer == attempt) {
            stream->producer = NULL;
            stream->produced = true;
            stream->is_failed |= attempt->end != WIRE_EXITED || attempt->status != 0;
        }
        if (stream->consumer == attempt) consumer_left(stream);
        if (stream->produced && stream->consumed) stream_close(worker, stream);
    }
}

// A local reader has read all; or a local writer has no reader any more.
void streams_drop(struct worker *worker, const wire_files *objects)
{
    for (uint32_t i = 0; i < objects->count; i++)
        for (struct stream *stream = worker->streams, *next; stream; stream = next) {
            next = stream->next;
            if (!SAME_ID(stream->object, objects->items[i].object)) continue;
            if (stream->consumer)
                stream->produced = true;
            else if (!stream->consumed)
                consumer_left(stream);
            if (stream->produced && stream->consumed) stream_close(worker, stream);
        }
}

int64_t streams_look(struct worker *worker, int64_t now)
{
    int64_t due = INT64_MAX;
    for (struct stream *stream = worker->streams; stream; stream = stream->next) {
        bool ends = stream->produced && !stream->is_failed;
        if (!ends || !stream->consumer || stream->held < 0) continue;
        if (tree_has_open(worker, stream->consumer, stream->path))
            let_go(stream);
        else
            due = now + LOOK_EVERY;
    }
    return due;
}

void streams_release(struct worker *worker)
{
    stream_tees_leave(worker, NULL);
    while (worker->streams) stream_close(worker, worker->streams);
}
