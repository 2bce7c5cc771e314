// vfs_below.c - methods of a file that only call the file of the vfs below.
#include "store/log/vfs_below.h"

static sqlite3_file *below_of(sqlite3_file *file)
{
    return ((struct vfs_below *)file)->below;
}

int below_open(sqlite3_vfs *vfs, sqlite3_filename name, struct vfs_below *file, size_t size,
               int flags, int *out)
{
    sqlite3_file *below = file->below = (sqlite3_file *)((char *)file + size);
    below->pMethods = NULL;
    int result = vfs->xOpen(vfs, name, below, flags, out);
    if (result && below->pMethods) below->pMethods->xClose(below);
    return result;
}

int below_sync(sqlite3_file *file, int flags)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xSync(below, flags);
}

int below_size(sqlite3_file *file, sqlite3_int64 *size)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xFileSize(below, size);
}

int below_lock(sqlite3_file *file, int kind)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xLock(below, kind);
}

int below_unlock(sqlite3_file *file, int kind)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xUnlock(below, kind);
}

int below_is_reserved(sqlite3_file *file, int *answer)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xCheckReservedLock(below, answer);
}

int below_control(sqlite3_file *file, int what, void *argument)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xFileControl(below, what, argument);
}

int below_sector_size(sqlite3_file *file)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xSectorSize(below);
}

int below_characteristics(sqlite3_file *file)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xDeviceCharacteristics(below);
}

int below_index_lock(sqlite3_file *file, int offset, int count, int flags)
{
    sqlite3_file *below = below_of(file);
    return below->pMethods->xShmLock(below, offset, count, flags);
}

void below_index_barrier(sqlite3_file *file)
{
    sqlite3_file *below = below_of(file);
    below->pMethods->xShmBarrier(below);
}
