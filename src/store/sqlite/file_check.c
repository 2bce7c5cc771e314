// file_check.c - checks a database file before it is opened, creates and locks it; its ballast.
#define _GNU_SOURCE
#include "store/sqlite/snapshot.h"
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PATH_LONGEST = 4000, HEADER = 100, USED_AT = 320 };

// SQLite's locks and shared memory do not work on these file systems.
static const struct {
    uint64_t magic;
    const char *name;
} networks[]
    = {{0x6969, "NFS"},      {0x517b, "SMB"},        {0xfe534d42, "SMB"},  {0xff534d42, "CIFS"},
       {0x73757245, "Coda"}, {0x5346414f, "AFS"},    {0x01021997, "9P"},   {0x65735546, "FUSE"},
       {0x00c36400, "Ceph"}, {0x0bd00bd0, "Lustre"}, {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"}};

// The name of a file system that is refused, or null.
static const char *file_check_network(uint64_t magic)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (networks[i].magic == magic) return networks[i].name;
    }
    return NULL;
}

static bool refuse(struct store_error *error, const char *path, const char *what)
{
    store_fail(error, STORE_REFUSED, "%s: %s", path, what);
    return false;
}

static bool refuse_errno(struct store_error *error, const char *path, const char *what)
{
    store_fail(error, STORE_REFUSED, "%s: %s: %s", path, what, strerror(errno));
    return false;
}

static void folder_of(const char *path, char folder[PATH_LONGEST + 16])
{
    char name[PATH_LONGEST + 16];
    snprintf(name, sizeof name, "%s", path);
    snprintf(folder, PATH_LONGEST + 16, "%s", dirname(name));
}

static uint64_t file_size(const char *path, const char *suffix)
{
    char name[PATH_LONGEST + 16];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &status) == 0 ? (uint64_t)status.st_size : 0;
}

bool file_check_path(const char *path, char out[FILE_CHECK_PATH], struct store_error *error)
{
    struct stat status;
    char *real = NULL;
    bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (is_link && !(real = realpath(path, NULL)))
        return refuse_errno(error, path, "is a broken symbolic link");
    bool fits = snprintf(out, FILE_CHECK_PATH, "%s", real ? real : path) < FILE_CHECK_PATH;
    free(real);
    return fits || refuse(error, path, "the path is too long");
}

// ---- The file ---------------------------------------------------------------------

bool file_check_file(const char *path, struct store_error *error)
{
    char folder[PATH_LONGEST + 16];
    struct stat status;
    struct statfs system;
    if (strlen(path) > PATH_LONGEST) return refuse(error, path, "the path is too long");
    // Do not open the file here: closing it again would drop the locks of another store of this
    // process.
    bool can_write = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
    bool is_new = !can_write && errno == ENOENT;  // then its folder must be writable
    if (!can_write && !is_new) return refuse_errno(error, path, "cannot be opened for writing");
    if (is_new) folder_of(path, folder);
    const char *known = is_new ? folder : path;
    if (stat(known, &status) < 0 || statfs(known, &system) < 0)
        return refuse_errno(error, path, "cannot be opened");
    if (!is_new && !S_ISREG(status.st_mode)) return refuse(error, path, "is not a regular file");
    if (!is_new && status.st_nlink > 1) {
        return refuse(error, path, "has several hard links; remove all but one");
    }
    const char *network = file_check_network((uint64_t)(uint32_t)system.f_type);
    if (!network) return true;
    store_fail(error, STORE_REFUSED, "%s: is on %s; use a local file system", path,
               network);
    return false;
}

// SQLite gives the log and the index the mode of the database, but they may exist already.
bool file_check_modes(const char *path, struct store_error *error)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-ballast"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[PATH_LONGEST + 16];
        struct stat status;
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (stat(name, &status) < 0 || !(status.st_mode & (S_IRWXG | S_IRWXO))) continue;
        if (chmod(name, status.st_mode & S_IRWXU) == 0) continue;
        store_fail(error, STORE_REFUSED,
                   "%s: other users may read or write it (mode %04o), and its mode cannot be"
                   " changed: %s; run 'chmod 600' on it as its owner",
                   name, (unsigned)(status.st_mode & 07777), strerror(errno));
        return false;
    }
    return true;
}

// A log of zeros only was never written to.
static bool log_has_begun(const char *path)
{
    char name[PATH_LONGEST + 16], first = 0;
    snprintf(name, sizeof name, "%s-wal", path);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno != ENOENT;
    ssize_t got = pread(file, &first, 1, 0);
    close(file);
    return got < 0 || first;  // an unreadable log may have been written to
}

// SQLite would take the log of a deleted or emptied database for a part of the new one, or ignore
// it.
static bool has_stale_log(const char *path, bool is_missing, int64_t had,
                           struct store_error *error)
{
    const char *how = is_missing ? "missing" : "empty";
    if (!is_missing && had > 0) {
        store_fail(error, STORE_REFUSED,
                   "%s: is empty, but it had %lld bytes when it was last used; restore the"
                   " database, or remove it and %s-lock to start with an empty one",
                   path, (long long)had, path);
    } else if (is_missing ? file_size(path, "-wal") : log_has_begun(path)) {
        store_fail(error, STORE_REFUSED,
                   "%s: is %s, but its log %s-wal exists; restore the database, or remove the log"
                   " to start with an empty database",
                   path, how, path);
    }
    return error->fault;
}

// It follows the longest note of clean_note.c. It stays when all processes are killed.
static const char used[] = "used 1\n", lost[] = "lost 1\n";

void used_note_write(int lock_file)
{
    ssize_t written = pwrite(lock_file, used, sizeof used - 1, USED_AT);
    if (written > 0) fdatasync(lock_file);  // if this fails, a lost file looks new
}

bool used_note_is_set(int lock_file)
{
    char found[sizeof used];
    ssize_t got = pread(lock_file, found, sizeof used - 1, USED_AT);
    return got == sizeof used - 1 && memcmp(found, used, sizeof used - 1) == 0;
}

// The folder cannot be entered, so there is no file beside the database that says it.
void lost_note_write(int lock_file)
{
    ssize_t written = pwrite(lock_file, lost, sizeof lost - 1, USED_AT);
    if (written > 0) fdatasync(lock_file);
}

bool file_check_lost(int lock_file, const char *path, struct store_error *error)
{
    char found[sizeof lost];
    ssize_t got = pread(lock_file, found, sizeof lost - 1, USED_AT);
    if (got != sizeof lost - 1 || memcmp(found, lost, sizeof lost - 1) != 0) return true;
    const char *slash = strrchr(path, '/');
    store_fail(error, STORE_REFUSED,
               "%s: this file or its log was lost while its folder could not be entered; if there"
               " is /var/tmp/%s-saved, it has all records: put it here; else restore a backup and"
               " start with --restored. In both cases remove the old file, -wal, -shm and -lock"
               " first",
               path, slash ? slash + 1 : path);
    return false;
}

bool file_check_used(const char *path, struct store_error *error)
{
    struct stat status;
    bool is_missing = stat(path, &status) < 0 && errno == ENOENT;
    if (file_size(path, "")) return true;
    store_fail(error, STORE_REFUSED,
               "%s: is %s, but %s-lock notes that it had records; restore a backup and start with"
               " --restored, or remove %s-lock to start with an empty database",
               path, is_missing ? "missing" : "empty", path, path);
    return false;
}

// A supervisor restarts the server at once. It must not use a database that lacks acknowledged
// records.
bool file_check_mended(const char *path, bool is_run, struct store_error *error)
{
    const char *last = is_run ? "run" : "server";
    if (file_size(path, "-saved")) {
        store_fail(error, STORE_REFUSED,
                   "%s: the last %s lost this file or its log, and saved all records in"
                   " %s-saved; move that file elsewhere to use %s without it, or, to continue with"
                   " it, remove %s, -wal and -shm and rename it",
                   path, last, path, path, path);
    } else if (file_size(path, "-lost") && is_run) {
        store_fail(error, STORE_REFUSED,
                   "%s: the last run lost this file or its log, and records with it; remove"
                   " %s-lost and run again: tasks whose end is not recorded run again",
                   path, path);
    } else if (file_size(path, "-lost")) {
        store_fail(error, STORE_REFUSED,
                   "%s: the last server lost this file or its log, and records with it; restore a"
                   " backup, remove %s-lost, and start with --restored",
                   path, path);
    }
    return !error->fault;
}

// Returns the open file. -1: errno says why.
static int image_write(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    ssize_t written = write(file, schema_image, schema_image_size);
    if (written == (ssize_t)schema_image_size) return file;
    if (written >= 0) errno = ENOSPC;
    close(file);
    return -1;
}

// Creates the file under another name and renames it, so that it is complete or missing. It becomes
// durable before the first turn, and its name together with that of its log. If power fails before
// that, a file system with ordered writes has an empty file, which is created again. If the log
// reached the disk first, a person has to confirm that nothing is lost.
bool file_check_create(const char *path, int64_t had, int *made, struct store_error *error)
{
    char name[PATH_LONGEST + 16];
    struct stat status;
    *made = -1;
    bool there = stat(path, &status) == 0;
    if (there && status.st_size > 0) return true;
    if (has_stale_log(path, !there, had, error)) return false;
    snprintf(name, sizeof name, "%s-new", path);
    *made = image_write(name);
    if (*made >= 0 && rename(name, path) == 0) return true;
    bool full = errno == ENOSPC || errno == EDQUOT;
    store_fail(error, full ? STORE_FULL : STORE_BROKEN, "%s: cannot be created: %s", path,
               strerror(errno));
    unlink(name);
    return false;
}

static uint64_t number_at(const unsigned char *bytes, int count)
{
    uint64_t number = 0;
    for (int i = 0; i < count; i++) number = number << 8 | bytes[i];
    return number;
}

bool file_check_header(const char *path, struct store_error *error)
{
    unsigned char header[HEADER];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return refuse_errno(error, path, "cannot be read");
    ssize_t got = pread(file, header, sizeof header, 0);
    close(file);
    if (got < 0) {
        store_fail(error, STORE_BROKEN, "%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (got == 0) return true;  // a new file
    if (memcmp(header, "SQLite format 3", got < 16 ? (size_t)got : 16) != 0) {
        return refuse(error, path, "is not a database");
    }
    uint64_t page = number_at(header + 16, 2), pages = number_at(header + 28, 4);
    if (page == 1) page = 65536;
    bool known = number_at(header + 24, 4) == number_at(header + 92, 4);
    bool whole = got == HEADER && file_size(path, "") >= page * pages;
    if (got == HEADER && (!known || file_size(path, "-wal"))) return true;  // the log has the rest
    return whole ? true : refuse(error, path, "is truncated: the end of the database is missing");
}

// ---- One process at a time -----------------------------------------------------------

// There are two locks. flock() keeps other processes out, but testing it means taking it, which
// would keep out a server that starts at that moment. The second lock can be tested without taking
// it.
static struct flock seen(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static void lock_show(int file)
{
    struct flock lock = seen();
    int shown = fcntl(file, F_OFD_SETLK, &lock);
    (void)shown;  // without such locks on this file system the database looks unused
}

bool store_is_held(const char *path)
{
    char name[FILE_CHECK_PATH + 16], real[FILE_CHECK_PATH];
    struct flock lock = seen();
    struct store_error error = {0};
    if (!file_check_path(path, real, &error)) return false;
    snprintf(name, sizeof name, "%s-lock", real);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool held = fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(file);
    return held;
}

int file_check_lock(const char *path, struct store_error *error)
{
    char name[PATH_LONGEST + 16], holder[32] = "";
    snprintf(name, sizeof name, "%s-lock", path);
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        refuse_errno(error, name, "cannot be opened");
        return -1;
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        lock_show(file);
        // Padded to a fixed length, so that the file need not be truncated.
        int length = snprintf(holder, sizeof holder, "%-20ld\n", (long)getpid());
        ssize_t written = pwrite(file, holder, (size_t)length, 0);
        (void)written;  // the pid is only for messages
        return file;
    }
    ssize_t got = pread(file, holder, sizeof holder - 1, 0);
    long pid = got > 0 ? strtol(holder, NULL, 10) : 0;
    close(file);
    store_fail(error, STORE_IN_USE, "%s: is in use by another rota process (pid %ld)", path, pid);
    return -1;
}

// ---- The log ------------------------------------------------------------------------------

// Fills the log with zeros in advance: then a sync has no new length or blocks to record, which
// would cost a second write. SQLite takes zeros for the end of the log. If this fails, commits are
// only slower.
void log_lengthen(const char *path, uint64_t bytes)
{
    static const char zeros[1 << 16];
    char name[PATH_LONGEST + 16];
    struct stat status;
    snprintf(name, sizeof name, "%s-wal", path);
    int file = open(name, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    uint64_t at = fstat(file, &status) == 0 ? (uint64_t)status.st_size : bytes;
    while (at < bytes) {
        size_t size = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
        if (pwrite(file, zeros, size, (off_t)at) != (ssize_t)size) break;
        at += size;
    }
    fdatasync(file);
    close(file);
}

// ---- The ballast ------------------------------------------------------------------------

bool ballast_make(const char *path, uint64_t bytes)
{
    char name[PATH_LONGEST + 16];
    if (!bytes) return true;
    snprintf(name, sizeof name, "%s-ballast", path);
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return false;
    bool made = posix_fallocate(file, 0, (off_t)bytes) == 0;
    close(file);
    if (!made) unlink(name);
    return made;
}

void ballast_drop(const char *path)
{
    char name[PATH_LONGEST + 16];
    snprintf(name, sizeof name, "%s-ballast", path);
    unlink(name);
}

uint64_t disk_free(const char *path)
{
    struct statvfs system;
    return statvfs(path, &system) == 0 ? (uint64_t)system.f_bavail * system.f_frsize : 0;
}
