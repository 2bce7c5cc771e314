// log_read.c - reads the log of a command, also while it is written.
#include "worker/process/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

struct log_reader {
    ZSTD_DCtx *context;
    int file;
    bool is_whole;
    ZSTD_inBuffer in;
    char packed[64 << 10];
};

void log_path(char *out, size_t size, const char *folder, rota_task_id task, uint32_t attempt)
{
    snprintf(out, size, "%s/log/%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".zst", folder, task.job,
             task.task, attempt);
}

struct log_reader *log_open(const char *path)
{
    struct log_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    reader->context = ZSTD_createDCtx();
    reader->in = (ZSTD_inBuffer){reader->packed, 0, 0};
    if (reader->file >= 0 && reader->context) return reader;
    int reason = errno;
    log_close(reader);
    errno = reason;
    return NULL;
}

ssize_t log_next(struct log_reader *reader, void *bytes, size_t size)
{
    ZSTD_outBuffer out = {bytes, size, 0};
    while (out.pos == 0 && !reader->is_whole) {
        size_t before = reader->in.pos;
        size_t left = ZSTD_decompressStream(reader->context, &out, &reader->in);
        if (ZSTD_isError(left)) {
            errno = EBADMSG;
            return -1;
        }
        reader->is_whole = left == 0 && (reader->in.pos > before || out.pos);
        if (out.pos || reader->is_whole || reader->in.pos < reader->in.size) continue;
        ssize_t got = read(reader->file, reader->packed, sizeof reader->packed);
        if (got <= 0) return got;
        reader->in = (ZSTD_inBuffer){reader->packed, (size_t)got, 0};
    }
    return (ssize_t)out.pos;
}

bool log_is_whole(const struct log_reader *reader)
{
    return reader->is_whole;
}

void log_close(struct log_reader *reader)
{
    if (!reader) return;
    if (reader->file >= 0) close(reader->file);
    ZSTD_freeDCtx(reader->context);
    free(reader);
}

bool log_read(const char *path, log_fn *write, void *context)
{
    struct log_reader *reader = log_open(path);
    if (!reader) return false;
    char bytes[16 << 10];
    ssize_t count;
    while ((count = log_next(reader, bytes, sizeof bytes)) > 0)
        if (!write(context, bytes, (size_t)count)) break;
    int reason = errno;
    log_close(reader);
    errno = reason;
    return count >= 0;
}
