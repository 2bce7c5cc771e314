// spool.c - stores reports on disk until the server has recorded them.
#define _GNU_SOURCE
#include "worker/agent/spool.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "spool", name_new[] = "spool.new", name_lock[] = "lock";

enum { CUT_ABOVE = 64 << 10, REWRITE_ABOVE = 4 << 20, NAMES_MAX = 1000 };
#define FILE_MAX ((uint64_t)1 << 31)

static bool fail(struct spool *spool, const char *what)
{
    snprintf(spool->error, sizeof spool->error, "%s/%s: %s: %s", spool->path, name, what,
             strerror(errno));
    return false;
}

// ---- The list ------------------------------------------------------------------------------

struct report *spool_list_add(struct spool *spool, const struct wire_finished *finished)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE, .finished = *finished};
    struct wire_out out = {0};
    struct report *report = calloc(1, sizeof *report);
    wire_put(&out, &message);
    char *room = report && !out.failed ? wire_in_room(&report->frame, out.length) : NULL;
    if (!room) {
        wire_out_release(&out);
        free(report);
        return NULL;
    }
    memcpy(room, out.bytes, out.length);
    wire_in_came(&report->frame, out.length);
    wire_out_release(&out);
    report->task = finished->task;
    report->attempt = finished->attempt;
    report->token = finished->token;
    report->is_safe = true;
    report->before = spool->last;
    *(spool->last ? &spool->last->next : &spool->first) = report;
    spool->last = report;
    spool->count++;
    return report;
}

void spool_list_remove(struct spool *spool, struct report *report)
{
    *(report->before ? &report->before->next : &spool->first) = report->next;
    *(report->next ? &report->next->before : &spool->last) = report->before;
    spool->count--;
    if (!report->is_safe) spool->unsafe--;
    spool->dead += report->frame.length;
    wire_in_release(&report->frame);
    free(report);
}

const struct wire_finished *spool_message(struct report *report, struct wire_message *message)
{
    report->frame.taken = 0;
    enum wire_result result = wire_take(&report->frame, message);
    assert(result == WIRE_GOT || result == WIRE_NO_MEMORY);
    return result == WIRE_GOT ? &message->finished : NULL;
}

// ---- The file --------------------------------------------------------------------------------

// Not every file system supports it; then there is no ballast, and nothing else differs.
static void ballast_take(struct spool *spool)
{
    uint64_t wanted = spool->length + SPOOL_BALLAST;
    if (spool->reserved >= spool->length + SPOOL_BALLAST / 2) return;
    if (fallocate(spool->file, FALLOC_FL_KEEP_SIZE, 0, (off_t)wanted) == 0)
        spool->reserved = wanted;
}

// Writes after the synced part. Returns the length of the file after it; 0 with errno: it could not
// be written.
static uint64_t piece_write(const struct spool *spool, int file, const struct wire_out *frames,
                            uint64_t at)
{
    char head[SPOOL_HEAD];
    uint32_t piece[2] = {frames->length, spool_checksum(frames->bytes, frames->length)};
    spool_head_write(head, spool->server);
    if (at == 0 && !os_write_at(file, head, sizeof head, 0)) return 0;
    if (at == 0) at = sizeof head;
    if (!os_write_at(file, piece, sizeof piece, at)) return 0;
    if (!os_write_at(file, frames->bytes, frames->length, at + sizeof piece)) return 0;
    return at + sizeof piece + frames->length;
}

static void pending_clear(struct spool *spool)
{
    spool->pending.length = spool->pending.sent = 0;
}

static void all_safe(struct spool *spool)
{
    for (struct report *report = spool->last; report && spool->unsafe; report = report->before) {
        if (!report->is_safe) spool->unsafe--;
        report->is_safe = true;
    }
    pending_clear(spool);
}

static bool cut(struct spool *spool, uint64_t length)
{
    if (ftruncate(spool->file, (off_t)length) != 0) return fail(spool, "cannot be truncated");
    spool->length = spool->reserved = length;
    ballast_take(spool);
    return true;
}

static bool frames_collect(const struct spool *spool, struct wire_out *frames)
{
    struct wire_message message;
    for (struct report *report = spool->first; report; report = report->next) {
        if (!spool_message(report, &message)) return false;
        wire_put(frames, &message);
    }
    return !frames->failed;
}

// Writes all remaining reports as one piece of a new file that replaces the old one. If there is no
// space for that, the old one stays. False: it is unknown which of them is on disk.
static bool rewrite(struct spool *spool)
{
    struct wire_out frames = {0};
    uint64_t length = 0;
    int file = openat(spool->folder, name_new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0 && frames_collect(spool, &frames)) length = piece_write(spool, file, &frames, 0);
    wire_out_release(&frames);
    bool is_safe = length && fdatasync(file) == 0;
    if (!is_safe || renameat(spool->folder, name_new, spool->folder, name) != 0) {
        if (file >= 0) close(file);
        unlinkat(spool->folder, name_new, 0);
        return true;
    }
    close(spool->file);
    spool->file = file;
    spool->length = spool->reserved = length;
    spool->dead = 0;
    return fsync(spool->folder) == 0;
}

static bool is_wasteful(const struct spool *spool)
{
    return spool->length > REWRITE_ABOVE && spool->dead > spool->length / 2;
}

static enum spool_result broken(struct spool *spool, const char *what)
{
    fail(spool, what);
    return SPOOL_BROKEN;
}

// After a sync that failed the content of the disk is unknown: it is not tried again.
enum spool_result spool_sync(struct spool *spool)
{
    if (!spool->pending.length) return SPOOL_SAFE;
    if (!spool->count && spool->length > CUT_ABOVE) {
        pending_clear(spool);
        spool->dead = 0;
        return cut(spool, 0) ? SPOOL_SAFE : SPOOL_BROKEN;
    }
    if (spool->pending.failed) return errno = ENOMEM, broken(spool, "out of memory for reports");
    ballast_take(spool);
    uint64_t length = piece_write(spool, spool->file, &spool->pending, spool->length);
    if (!length && errno != ENOSPC && errno != EDQUOT)
        return broken(spool, "a report cannot be written");
    if (!length) return cut(spool, spool->length) ? SPOOL_FULL : SPOOL_BROKEN;
    if (fdatasync(spool->file) != 0) return broken(spool, "a report may not be on the disk");
    spool->length = length;
    all_safe(spool);
    if (is_wasteful(spool) && !rewrite(spool)) return broken(spool, "may not have been rewritten");
    return SPOOL_SAFE;
}

// ---- Reports ---------------------------------------------------------------------------------

struct report *spool_add(struct spool *spool, const struct wire_finished *finished)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE, .finished = *finished};
    struct report *report = spool_list_add(spool, finished);
    if (!report) return NULL;
    report->is_safe = false;
    spool->unsafe++;
    wire_put(&spool->pending, &message);
    return report;
}

void spool_remove(struct spool *spool, struct report *report)
{
    struct wire_message message = {.kind = WIRE_RECORDED_MESSAGE};
    message.recorded.task = report->task;
    message.recorded.attempt = report->attempt;
    message.recorded.how = WIRE_NOW_RECORDED;
    assert(report->is_safe);  // others were never sent
    wire_put(&spool->pending, &message);
    spool_list_remove(spool, report);
}

// ---- Moving aside ---------------------------------------------------------------------------

// Under an unused name.
static bool put_aside(struct spool *spool, const char *kind, char *aside, size_t size)
{
    for (int i = 1; i < NAMES_MAX; i++) {
        snprintf(aside, size, "%s.%s-%d", name, kind, i);
        if (renameat2(spool->folder, name, spool->folder, aside, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

static bool file_make(struct spool *spool)
{
    spool->file = openat(spool->folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spool->file < 0) return fail(spool, "cannot be opened");
    if (fsync(spool->folder) != 0) return fail(spool, "its folder cannot be synced");
    return true;
}

static void list_clear(struct spool *spool)
{
    while (spool->first) spool_list_remove(spool, spool->first);
    pending_clear(spool);
    spool->dead = 0;
}

bool spool_belongs(struct spool *spool, uint64_t server)
{
    char aside[64];
    if (spool->server == server) return true;
    if (spool->count && spool->server) {
        if (!put_aside(spool, "foreign", aside, sizeof aside))
            return fail(spool, "cannot be moved aside");
        close(spool->file);
        if (!file_make(spool)) return false;
    }
    list_clear(spool);
    spool->server = server;
    return cut(spool, 0);
}

// ---- Opening -----------------------------------------------------------------------------------

// The folder itself is locked by the process that runs commands.
static bool lock_take(struct spool *spool)
{
    spool->lock = openat(spool->folder, name_lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spool->lock < 0) return fail(spool, "cannot create its lock file");
    if (flock(spool->lock, LOCK_EX | LOCK_NB) == 0) return true;
    snprintf(spool->error, sizeof spool->error, "another rota worker is running in %s",
             spool->path);
    spool->is_taken = true;
    return false;
}

static bool damaged(struct spool *spool, size_t at)
{
    char aside[64];
    if (!put_aside(spool, "damaged", aside, sizeof aside))
        return fail(spool, "is damaged and cannot be moved aside");
    snprintf(spool->error, sizeof spool->error,
             "%s/%s is damaged at byte %zu and was moved to %s; the reports in it will not "
             "reach the server; start again to continue without them",
             spool->path, name, at, aside);
    return false;
}

static bool foreign(struct spool *spool)
{
    snprintf(spool->error, sizeof spool->error,
             "%s/%s is of another version of rota; start that version to send the reports in it, or"
             " move the file elsewhere to continue without them",
             spool->path, name);
    return false;
}

static bool file_read(struct spool *spool)
{
    struct stat about;
    size_t whole = 0;
    if (fstat(spool->file, &about) != 0) return fail(spool, "cannot be read");
    if ((uint64_t)about.st_size > FILE_MAX) return errno = EFBIG, fail(spool, "cannot be read");
    size_t size = (size_t)about.st_size, got = 0;
    char *bytes = malloc(size + 1);
    if (!bytes) return fail(spool, "cannot be read");
    for (ssize_t count; got < size; got += (size_t)count) {
        count = pread(spool->file, bytes + got, size - got, (off_t)got);
        if (count > 0) continue;
        free(bytes);
        return fail(spool, "cannot be read");
    }
    bool is_foreign = spool_is_foreign(bytes, size);
    bool is_fine = !is_foreign && spool_parse(spool, bytes, size, &whole);
    free(bytes);
    if (is_foreign) return foreign(spool);
    if (!is_fine) return damaged(spool, whole);
    spool->dropped = size - whole;
    if (!spool->count) whole = 0;
    return whole == size || cut(spool, whole);
}

bool spool_open(struct spool *spool, const char *folder)
{
    *spool = (struct spool){.folder = -1, .file = -1, .lock = -1, .path = folder};
    spool->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool->folder < 0) return fail(spool, "its folder cannot be opened");
    if (!lock_take(spool)) return false;
    unlinkat(spool->folder, name_new, 0);
    if (!file_make(spool) || !file_read(spool)) return false;
    struct stat about;
    if (fstat(spool->file, &about) != 0) return fail(spool, "cannot be read");
    spool->length = spool->reserved = (uint64_t)about.st_size;
    ballast_take(spool);
    return true;
}

void spool_close(struct spool *spool)
{
    if (spool->file >= 0 && !spool->unsafe) spool_sync(spool);
    list_clear(spool);
    wire_out_release(&spool->pending);
    if (spool->file >= 0) close(spool->file);
    if (spool->lock >= 0) close(spool->lock);
    if (spool->folder >= 0) close(spool->folder);
    *spool = (struct spool){.folder = -1, .file = -1, .lock = -1};
}
