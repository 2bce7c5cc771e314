// log_vfs.c - writes the log pages of a turn with one system call.
//
// SQLite writes each page of a turn, and the 24 bytes before it, separately: two system calls per
// page. No process reads them before they are synced, so until then this file buffers them. On
// devices where a torn write can damage neighbouring bytes, SQLite pads the log after the sync, and
// nothing is buffered.
#include "store/log/log.h"
#include "store/log/frame_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCHED_MAX = 1 << 16,   // SQLite's vfs writes less than 1 << 17 bytes at a time
    LOG_SALT = 16
};

struct batched {
    struct vfs_below base;
    unsigned char *bytes;  // not written yet; with space for a frame
    int length;
    sqlite3_int64 at;  // their offset in the file
    struct batch *batch;
    struct frame_writer frame;
    bool safe;   // a torn write does not damage neighbouring bytes
    bool empty;  // never written to
    bool begins;  // a header was written and is not synced yet
};

static struct batched *of(sqlite3_file *file)
{
    return (struct batched *)file;
}

static uint32_t salt_at(const void *bytes)
{
    uint32_t salt;
    memcpy(&salt, (const char *)bytes + LOG_SALT, sizeof salt);
    return salt;
}

// SQLite writes a log from start to end. If another program has truncated it, a write would leave a
// hole of zeros before it, and all turns in the hole would be lost silently.
static int log_append(struct batched *batched, const void *from, int length, sqlite3_int64 at)
{
    sqlite3_file *below = batched->base.below;
    sqlite3_int64 size = at;
    int result = at > 0 ? below->pMethods->xFileSize(below, &size) : SQLITE_OK;
    if (!result && size < at) result = SQLITE_IOERR_WRITE;
    if (result) return result;
    if (at == 0 && length >= LOG_HEADER) batched->batch->pages.began = salt_at(from);
    batched->empty = false;
    return below->pMethods->xWrite(below, from, length, at);
}

static int gathered_write(struct batched *batched)
{
    int length = batched->length;
    batched->length = 0;   // a failed write is not repeated
    return length ? log_append(batched, batched->bytes, length, batched->at) : SQLITE_OK;
}

// ---- Syncs ---------------------------------------------------------------------------

int batch_image_sync(struct batch *batch)
{
    if (!batch->image_is_unsynced) return SQLITE_OK;
    batch->image_is_unsynced = false;
    return fdatasync(batch->image) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

int batch_sync(struct batch *batch, int flags)
{
    struct syncer *syncer = &batch->syncer;
    sqlite3_file *unsynced = batch->unsynced;
    int result = syncer_wait(syncer, syncer->asked);
    batch->unsynced = NULL;
    if (result || !unsynced) return result;
    result = batch_image_sync(batch);
    if (!result) result = unsynced->pMethods->xSync(unsynced, flags);
    batch->named |= !result;
    syncer_note(syncer, result);
    return result;
}

int batch_sync_ask(struct batch *batch)
{
    if (!batch->unsynced) return SQLITE_OK;
    if (!batch->named || !syncer_open(&batch->syncer))
        return batch_sync(batch, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    syncer_ask(&batch->syncer, batch->unsynced);
    batch->unsynced = NULL;
    return SQLITE_OK;
}

// ---- The methods of a log -----------------------------------------------------------

static int log_close(sqlite3_file *file)
{
    sqlite3_file *below = of(file)->base.below;
    int result = gathered_write(of(file));
    int synced = batch_sync(of(file)->batch, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    of(file)->batch->pages.log = NULL;
    if (!result) result = synced;
    free(of(file)->bytes);
    int closed = below->pMethods->xClose(below);
    return result ? result : closed;
}

static int log_read(sqlite3_file *file, void *to, int length, sqlite3_int64 at)
{
    struct pages *pages = &of(file)->batch->pages;
    int result = gathered_write(of(file));
    if (pages->log_is_bad) return SQLITE_IOERR_READ;
    return result ? result : log_page_read(pages, of(file)->bytes, to, length, at);
}

static int log_write(sqlite3_file *file, const void *from, int length, sqlite3_int64 at)
{
    struct batched *batched = of(file);
    bool follows = batched->length && at == batched->at + batched->length;
    batched->begins |= at == 0;
    if (!follows || length > BATCHED_MAX - batched->length) {
        int result = gathered_write(batched);
        if (result) return result;
        batched->at = at;
    }
    if (length > BATCHED_MAX) return log_append(batched, from, length, at);
    unsigned char *to = batched->bytes + batched->length;
    memcpy(to, from, (size_t)length);
    frame_sign(&batched->frame, &batched->batch->pages, to, length, at);
    batched->length += length;
    return batched->safe ? SQLITE_OK : gathered_write(batched);
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *below = of(file)->base.below;
    int result = gathered_write(of(file));
    return result ? result : below->pMethods->xTruncate(below, size);
}

// When a log starts again, SQLite writes its header and syncs it before the first frame. Otherwise
// a power failure could leave the old header, old frames and new frames after them: the next
// opening would take the old frames for a log, and copy old pages into the newer database. A log
// that was empty has no old frames.
static bool is_first_header(const struct batched *batched)
{
    return batched->empty && batched->at == 0 && batched->length == LOG_HEADER;
}

// The data is written when this returns, so readers see it; only the sync may come later.
static int log_sync(sqlite3_file *file, int flags)
{
    struct batched *batched = of(file);
    bool begins = batched->begins;
    batched->begins = false;
    if (is_first_header(batched)) return SQLITE_OK;
    int result = gathered_write(batched);
    if (result) return result;
    batched->batch->unsynced = batched->base.below;
    if (batched->batch->later && !begins) return SQLITE_OK;
    return batch_sync(batched->batch, flags);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size)
{
    int result = gathered_write(of(file));
    return result ? result : below_size(file, size);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = below_lock,
    .xUnlock = below_unlock,
    .xCheckReservedLock = below_is_reserved,
    .xFileControl = below_control,
    .xSectorSize = below_sector_size,
    .xDeviceCharacteristics = below_characteristics,
};

// ---- The vfs below ---------------------------------------------------------------------

static sqlite3_vfs *below_of(const sqlite3_vfs *vfs)
{
    return ((const struct batch *)vfs->pAppData)->below;
}

// SQLite syncs the folder with the first sync of a log that it may have created.
static int log_flags(struct batch *batch, const char *name, int flags)
{
    batch->named = batch->named && access(name, F_OK) == 0;
    return batch->named ? flags & ~SQLITE_OPEN_CREATE : flags;
}

// The vfs below opens all files but the database and its log.
static int file_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                     int *out)
{
    struct batch *batch = vfs->pAppData;
    sqlite3_vfs *below = batch->below;
    if (flags & SQLITE_OPEN_MAIN_DB)
        return pages_open(below, name, file, flags, out, &batch->pages);
    if (!(flags & SQLITE_OPEN_WAL)) return below->xOpen(below, name, file, flags, out);
    struct batched *batched = of(file);
    *batched = (struct batched){.batch = batch};
    batched->bytes = malloc(FRAME_HEADER + BATCHED_MAX);
    if (!batched->bytes) return SQLITE_NOMEM;
    flags = log_flags(batch, name, flags);
    int result = below_open(below, name, &batched->base, sizeof *batched, flags, out);
    if (result) {
        free(batched->bytes);
        return result;
    }
    sqlite3_int64 size = 1;
    file->pMethods = &log_methods;
    batch->pages.log = batched->base.below;
    batched->safe = below_characteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE;
    batched->empty = below_size(&batched->base.file, &size) == SQLITE_OK && size == 0;
    return SQLITE_OK;
}

static int file_delete(sqlite3_vfs *vfs, const char *name, int durably)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xDelete(below, name, durably);
}

static int file_access(sqlite3_vfs *vfs, const char *name, int flags, int *answer)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xAccess(below, name, flags, answer);
}

static int path_complete(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xFullPathname(below, name, size, out);
}

static int random_bytes(sqlite3_vfs *vfs, int size, char *out)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xRandomness(below, size, out);
}

static int pause_for(sqlite3_vfs *vfs, int microseconds)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xSleep(below, microseconds);
}

static int last_error(sqlite3_vfs *vfs, int size, char *out)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xGetLastError ? below->xGetLastError(below, size, out) : 0;
}

static int current_time(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xCurrentTimeInt64(below, milliseconds);
}

static int current_day(sqlite3_vfs *vfs, double *days)
{
    sqlite3_vfs *below = below_of(vfs);
    return below->xCurrentTime(below, days);
}

// SQLite looks up the vfs by its name only while it opens the file. Threads may open files at the
// same time, so each vfs has a name of its own.
int batch_open(const char *path, sqlite3 **db, int flags, const char *name, struct batch *batch)
{
    sqlite3_vfs *below = batch->below = sqlite3_vfs_find(name);
    if (!below) return SQLITE_ERROR;
    snprintf(batch->name, sizeof batch->name, "rota-%p", (void *)batch);
    batch->vfs = (sqlite3_vfs){
        .iVersion = below->iVersion < 2 ? 1 : 2,
        .szOsFile = (int)sizeof(struct batched) + below->szOsFile,
        .mxPathname = below->mxPathname,
        .zName = batch->name,
        .pAppData = batch,
        .xOpen = file_open,
        .xDelete = file_delete,
        .xAccess = file_access,
        .xFullPathname = path_complete,
        .xRandomness = random_bytes,
        .xSleep = pause_for,
        .xCurrentTime = current_day,
        .xGetLastError = last_error,
        .xCurrentTimeInt64 = current_time,
    };
    int result = sqlite3_vfs_register(&batch->vfs, 0);
    if (!result) result = sqlite3_open_v2(path, db, flags, batch->vfs.zName);
    sqlite3_vfs_unregister(&batch->vfs);
    return result;
}
