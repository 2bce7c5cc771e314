// fault_vfs.c - a vfs with faults for SQLite: remembers writes until they are synced.
#define _GNU_SOURCE
#include "fault_vfs.h"

#include <sqlite3.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES_MAX = 65536, SECTOR = 512, LOG_HEADER = 32 };

// A write that may still be lost, and what was there before it.
struct write {
    char path[160];
    sqlite3_int64 place, size_before;
    int size, old_size;
    unsigned char *fresh, *old;
};

struct shim {
    sqlite3_file base;
    char path[160];
    bool header_is_unsynced;  // of a log that had frames before
    sqlite3_file *real;       // follows this struct
};

struct fault fault;
bool fault_header_is_late;
static struct write writes[WRITES_MAX];
static uint32_t write_count;
static sqlite3_vfs shim_vfs;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;  // a sync may run beside a write
static sqlite3_io_methods shim_methods;

// ---- Faults -----------------------------------------------------------------------------

// The error of this operation; SQLITE_OK: it is carried out.
static int fault_next(int error)
{
    fault.count++;
    bool now = fault.count == fault.at, since = fault.at && fault.count >= fault.at;
    fault.happened |= since && fault.kind != FAULT_NONE;
    if (fault.kind == FAULT_ERROR && now) return error;
    if (fault.kind == FAULT_NO_POWER && since) return error;
    bool full = fault.kind == FAULT_FULL && since && error == SQLITE_IOERR_WRITE;
    return full && access(fault.ballast, F_OK) == 0 ? SQLITE_FULL : SQLITE_OK;
}

static bool has_power(void)
{
    return fault.kind != FAULT_NO_POWER || !fault.happened;
}

static void write_free(struct write *write)
{
    free(write->fresh);
    free(write->old);
}

static void writes_forget(const char *path)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < write_count; i++) {
        if (path && strcmp(writes[i].path, path) != 0)
            writes[kept++] = writes[i];
        else
            write_free(&writes[i]);
    }
    write_count = kept;
}

void fault_begin(struct fault like)
{
    writes_forget(NULL);
    fault = like;
    fault_header_is_late = false;
}

static void write_remember(struct shim *shim, const void *data, int size, sqlite3_int64 place)
{
    if (write_count == WRITES_MAX) abort();
    struct write *write = &writes[write_count++];
    *write = (struct write){.place = place, .size = size};
    memcpy(write->path, shim->path, sizeof write->path);
    write->fresh = malloc((size_t)size);
    write->old = calloc(1, (size_t)size);
    if (!write->fresh || !write->old) abort();
    memcpy(write->fresh, data, (size_t)size);
    shim->real->pMethods->xFileSize(shim->real, &write->size_before);
    shim->real->pMethods->xRead(shim->real, write->old, size, place);
    sqlite3_int64 there = write->size_before - place;
    write->old_size = there < 0 ? 0 : there < size ? (int)there : size;
}

static void header_look(struct shim *shim, int size, sqlite3_int64 place)
{
    size_t length = strlen(shim->path);
    sqlite3_int64 before = 0;
    if (length < 4 || strcmp(shim->path + length - 4, "-wal") != 0) return;
    fault_header_is_late |= shim->header_is_unsynced;
    shim->real->pMethods->xFileSize(shim->real, &before);
    shim->header_is_unsynced |= place == 0 && size == LOG_HEADER && before > LOG_HEADER;
}

static uint32_t chance(uint32_t bound)
{
    // seed of the caller: of fault_test.c, which has test/seed.h
    fault.seed = fault.seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(fault.seed >> 33) % bound;
}

static void piece_write(const char *path, const unsigned char *data, int size, sqlite3_int64 place)
{
    int file = open(path, O_RDWR);
    if (file < 0) return;
    if (size && pwrite(file, data, (size_t)size, place) != size) abort();
    close(file);
}

// All is undone from the last to the first; then what reached the disk is done again.
void fault_power_returns(void)
{
    for (uint32_t i = write_count; i-- > 0 && fault.loss != LOSS_NONE;) {
        const struct write *write = &writes[i];
        piece_write(write->path, write->old, write->old_size, write->place);
        if (truncate(write->path, write->size_before)) continue;
    }
    for (uint32_t i = 0; i < write_count && fault.loss == LOSS_SOME; i++) {
        const struct write *write = &writes[i];
        uint32_t fate = chance(4);
        if (fate == 0) continue;
        if (fate > 1) piece_write(write->path, write->fresh, write->size, write->place);
        for (int at = 0; at < write->size && fate == 1; at += SECTOR) {
            if (chance(2)) continue;  // of a torn write, any sectors
            int size = write->size - at < SECTOR ? write->size - at : SECTOR;
            piece_write(write->path, write->fresh + at, size, write->place + at);
        }
    }
    fault_begin((struct fault){0});
}

// ---- A file ----------------------------------------------------------------------------------

static int shim_close(sqlite3_file *file)
{
    struct shim *shim = (struct shim *)file;
    return shim->real->pMethods->xClose(shim->real);
}

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 place)
{
    struct shim *shim = (struct shim *)file;
    return shim->real->pMethods->xRead(shim->real, data, size, place);
}

static int shim_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 place)
{
    struct shim *shim = (struct shim *)file;
    pthread_mutex_lock(&one_at_a_time);
    int error = fault_next(SQLITE_IOERR_WRITE);
    if (!error) header_look(shim, size, place);
    if (!error && fault.kind == FAULT_NO_POWER) write_remember(shim, data, size, place);
    if (!error) error = shim->real->pMethods->xWrite(shim->real, data, size, place);
    pthread_mutex_unlock(&one_at_a_time);
    return error;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct shim *shim = (struct shim *)file;
    int error = fault_next(SQLITE_IOERR_TRUNCATE);
    return error ? error : shim->real->pMethods->xTruncate(shim->real, size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    struct shim *shim = (struct shim *)file;
    pthread_mutex_lock(&one_at_a_time);
    int error = fault_next(SQLITE_IOERR_FSYNC);
    if (!error) writes_forget(shim->path);
    if (!error) shim->header_is_unsynced = false;
    if (!error) error = shim->real->pMethods->xSync(shim->real, flags);
    pthread_mutex_unlock(&one_at_a_time);
    return error;
}

#define PASS(name, arguments, call)                                                                \
    static int shim_##name arguments                                                               \
    {                                                                                              \
        struct shim *shim = (struct shim *)file;                                                   \
        return shim->real->pMethods->call;                                                         \
    }
PASS(size, (sqlite3_file * file, sqlite3_int64 *size), xFileSize(shim->real, size))
PASS(lock, (sqlite3_file * file, int lock), xLock(shim->real, lock))
PASS(unlock, (sqlite3_file * file, int lock), xUnlock(shim->real, lock))
PASS(reserved, (sqlite3_file * file, int *out), xCheckReservedLock(shim->real, out))
PASS(control, (sqlite3_file * file, int what, void *value), xFileControl(shim->real, what, value))
PASS(sector, (sqlite3_file * file), xSectorSize(shim->real))
PASS(shm_map, (sqlite3_file * file, int page, int size, int extend, void volatile **out),
     xShmMap(shim->real, page, size, extend, out))
PASS(shm_lock, (sqlite3_file * file, int first, int count, int flags),
     xShmLock(shim->real, first, count, flags))
PASS(shm_unmap, (sqlite3_file * file, int drop), xShmUnmap(shim->real, drop))

// A disk that promises nothing about writes that are not synced, and little about others.
static int shim_traits(sqlite3_file *file)
{
    (void)file;
    return fault.harms ? 0 : SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static void shim_barrier(sqlite3_file *file)
{
    struct shim *shim = (struct shim *)file;
    shim->real->pMethods->xShmBarrier(shim->real);
}

// ---- The file system --------------------------------------------------------------------------

static sqlite3_vfs *below(void)
{
    return shim_vfs.pAppData;
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    struct shim *shim = (struct shim *)file;
    shim->base.pMethods = NULL;
    shim->real = (sqlite3_file *)(shim + 1);
    shim->header_is_unsynced = false;
    snprintf(shim->path, sizeof shim->path, "%s", name ? name : "");
    int result = below()->xOpen(below(), name, shim->real, flags, out);
    if (result == SQLITE_OK) shim->base.pMethods = &shim_methods;
    return result;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    if (!has_power()) return SQLITE_IOERR_DELETE;
    writes_forget(name);
    return below()->xDelete(below(), name, sync);
}

const char *fault_vfs_register(void)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    shim_methods = (sqlite3_io_methods){.iVersion = 2,
                                        .xClose = shim_close,
                                        .xRead = shim_read,
                                        .xWrite = shim_write,
                                        .xTruncate = shim_truncate,
                                        .xSync = shim_sync,
                                        .xFileSize = shim_size,
                                        .xLock = shim_lock,
                                        .xUnlock = shim_unlock,
                                        .xCheckReservedLock = shim_reserved,
                                        .xFileControl = shim_control,
                                        .xSectorSize = shim_sector,
                                        .xDeviceCharacteristics = shim_traits,
                                        .xShmMap = shim_shm_map,
                                        .xShmLock = shim_shm_lock,
                                        .xShmBarrier = shim_barrier,
                                        .xShmUnmap = shim_shm_unmap};
    shim_vfs = *real;
    shim_vfs.zName = "fault";
    shim_vfs.pAppData = real;
    shim_vfs.szOsFile = real->szOsFile + (int)sizeof(struct shim);
    shim_vfs.xOpen = shim_open;
    shim_vfs.xDelete = shim_delete;
    shim_vfs.pNext = NULL;
    if (sqlite3_vfs_register(&shim_vfs, 0)) abort();
    return shim_vfs.zName;
}
