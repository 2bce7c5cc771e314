// log_write.c - writes output to a log: compressed, of limited length, and flushed soon.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 1, WINDOW = 17, PACKED = 128 << 10 };

static int file_make(const char *path)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    int file = open(path, flags, 0666);
    if (file < 0 && errno == ENOENT && os_parents_make(path)) file = open(path, flags, 0666);
    return file;
}

struct log_writer *log_writer_open(void)
{
    struct log_writer *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    log->compressor = ZSTD_createCCtx();
    log->raw = malloc(LOG_RAW);
    log->packed = malloc(PACKED);
    if (!log->compressor || !log->raw || !log->packed) return log_writer_close(log), NULL;
    ZSTD_CCtx_setParameter(log->compressor, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(log->compressor, ZSTD_c_windowLog, WINDOW);
    return log;
}

void log_writer_begin(struct log_writer *log, const char *path, uint64_t max)
{
    ZSTD_CCtx_reset(log->compressor, ZSTD_reset_session_only);
    log->path = path;
    log->broken = false;
    log->file = -1;
    log->last = '\n';
    log->kept = log->came = 0;
    log->max = max;
    log->used = 0;
    log->due = INT64_MAX;
}

static bool write_all(int file, const char *bytes, size_t count)
{
    while (count) {
        ssize_t wrote = write(file, bytes, count);
        if (wrote < 0 && errno != EINTR) return false;
        if (wrote < 0) continue;
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return true;
}

// Compresses and writes the waiting data. On a full disk the command loses only its log.
static void push(struct log_writer *log, ZSTD_EndDirective how)
{
    log->due = INT64_MAX;
    if (log->broken) {
        log->used = 0;
        return;
    }
    if (log->file < 0) log->file = file_make(log->path);
    if (log->file < 0) log->broken = true;
    ZSTD_inBuffer in = {log->raw, log->used, 0};
    for (size_t left = 1; left && !log->broken;) {
        ZSTD_outBuffer out = {log->packed, PACKED, 0};
        left = ZSTD_compressStream2(log->compressor, &out, &in, how);
        if (ZSTD_isError(left) || !write_all(log->file, log->packed, out.pos)) log->broken = true;
        if (how == ZSTD_e_continue && in.pos == in.size) break;
    }
    log->used = 0;
}

char *log_writer_room(struct log_writer *log, size_t *size)
{
    uint64_t left = log->broken ? 0 : log->max - log->kept;
    if (!left) return NULL;
    if (log->used == LOG_RAW) push(log, ZSTD_e_continue);
    *size = LOG_RAW - log->used;
    if (*size > left) *size = (size_t)left;
    return log->raw + log->used;
}

void log_writer_came(struct log_writer *log, size_t count, int64_t now)
{
    if (!count) return;
    if (log->due == INT64_MAX) log->due = now + LOG_FLUSH_AFTER;
    log->used += (uint32_t)count;
    log->kept += count;
    log->came += count;
    log->last = log->raw[log->used - 1];
}

void log_writer_first(struct log_writer *log, const char *bytes, size_t count, int64_t now)
{
    size_t size = 0;
    char *room = log_writer_room(log, &size);
    size_t kept = room && count > size ? size : room ? count : 0;
    if (kept) memcpy(room, bytes, kept);
    log_writer_came(log, kept, now);
    log_writer_cut(log, count - kept);
}

void log_writer_cut(struct log_writer *log, uint64_t count)
{
    log->came += count;
}

void log_writer_flush(struct log_writer *log)
{
    push(log, ZSTD_e_flush);
}

static void add_last_line(struct log_writer *log)
{
    if (LOG_RAW - log->used < 100) push(log, ZSTD_e_continue);
    log->used += (uint32_t)snprintf(log->raw + log->used, LOG_RAW - log->used,
                                    "%s[rota: %" PRIu64 " more bytes were cut]\n",
                                    log->last == '\n' ? "" : "\n", log->came - log->kept);
}

bool log_writer_end(struct log_writer *log)
{
    if (!log->came) return true;
    if (log->came > log->kept) add_last_line(log);
    push(log, ZSTD_e_end);
    if (log->file >= 0 && close(log->file) != 0) log->broken = true;
    log->file = -1;
    return !log->broken && log->came == log->kept;
}

void log_writer_close(struct log_writer *log)
{
    if (!log) return;
    ZSTD_freeCCtx(log->compressor);
    free(log->raw);
    free(log->packed);
    free(log);
}
