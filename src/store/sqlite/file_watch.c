// file_watch.c - notices that a database file was deleted, replaced or overwritten; saves records.
//
// SQLite has the lost files still open, so this process can read all its records. It copies them to
// FILE-saved with SQLite's backup, or to FILE-replaced, which no later run reads, if another run
// has made a new database. It reads nothing from a file that another program has written to: then
// the records can be saved only if all of them are in memory or in the other file. It never writes
// to a file that it does not own.
#define _GNU_SOURCE
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 4096, SUFFIX_SIZE = 8, COPIES = 100 };
#define NO_INODE UINT64_MAX  // of a file that was replaced before it was noted

static const char suffixes[FILE_KINDS][SUFFIX_SIZE] = {"", "-wal", "-shm", "-lock"};

static struct file_identity identity_from(int result, const struct stat *status)
{
    if (result < 0) return (struct file_identity){0};
    return (struct file_identity){.device = status->st_dev, .inode = status->st_ino};
}

// Stats the file that is at this path now. This is done before each turn, so without printf.
static int file_look(const struct sqlite_store *store, enum file_kind kind, struct stat *status)
{
    char name[NAME_SIZE + SUFFIX_SIZE];
    size_t length = strnlen(store->path, NAME_SIZE);
    memcpy(name, store->path, length);
    memcpy(name + length, suffixes[kind], SUFFIX_SIZE);
    *status = (struct stat){0};
    return stat(name, status);
}

static struct file_identity identity_of(const struct sqlite_store *store, enum file_kind kind)
{
    struct stat status;
    return identity_from(file_look(store, kind, &status), &status);
}

static struct file_state state_from(const struct stat *status)
{
    return (struct file_state){status->st_size,
                               status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec};
}

static bool is_same_file(struct file_identity one, struct file_identity other)
{
    return one.inode == other.inode && one.device == other.device;
}

static bool is_used(const struct sqlite_store *store, enum file_kind kind)
{
    const struct pages *pages = &store->batch.pages;
    return kind == FILE_DATABASE || (kind == FILE_LOG && pages->log)
           || (kind == FILE_INDEX && pages->index[0]);
}

// SQLite opens a file by its path, too. If another program replaces the file between the two, none
// of our descriptors is the one at the path, and the next check has to find that.
static void open_files_note(struct sqlite_store *store)
{
    int open[FILE_KINDS];
    bool is_known = open_files_find(store->files, open);
    for (int i = 0; i < FILE_KINDS; i++) {
        struct file_identity *file = &store->files[i];
        bool is_new = file->inode && !file->place;
        if (is_new && open[i] >= 0) file->place = open_file_place(open[i]);
        if (is_new && open[i] < 0 && is_known && is_used(store, (enum file_kind)i))
            file->inode = NO_INODE;
    }
}

void files_note(struct sqlite_store *store)
{
    struct stat status;
    if (!store->files[FILE_LOCK].inode)
        store->files[FILE_LOCK] = identity_from(fstat(store->lock_file, &status), &status);
    for (int i = 0; i < FILE_KINDS; i++)
        if (!store->files[i].inode) store->files[i] = identity_of(store, (enum file_kind)i);
    // The log is the last file that SQLite opens. A short run would notice the time this takes, and
    // only the user who runs it can close its folder.
    if (store->batch.pages.log && !store->options.is_run) open_files_note(store);
    if (file_look(store, FILE_DATABASE, &status) < 0) return;
    struct file_state database = state_from(&status);
    database_note(store, &database);
}

// An inode number is not reused while the file is open.
static bool is_noted(const struct sqlite_store *store, enum file_kind kind,
                     struct file_identity now)
{
    struct file_identity then = store->files[kind];
    return !then.inode || is_same_file(now, then);
}

static bool is_ours(const struct sqlite_store *store, enum file_kind kind)
{
    return is_noted(store, kind, identity_of(store, kind));
}

// The folder of the file, or a folder above, may not be entered: the path says nothing.
static bool is_unreachable(int result)
{
    return result < 0 && errno != ENOENT && errno != ENOTDIR;
}

static void unreachable_say(struct sqlite_store *store)
{
    if (store->unreachable_is_told) return;
    store->unreachable_is_told = true;
    fprintf(stderr, "rota: %s cannot be reached (%s): records still go to the open file; give this"
            " user the permissions of its folder back\n", store->path, strerror(errno));
}

// Stats the file at this path, or our open file if the path cannot be reached.
static int file_look_open(const struct sqlite_store *store, enum file_kind kind,
                          struct stat *status)
{
    int open[FILE_KINDS], result = file_look(store, kind, status);
    if (!is_unreachable(result)) return result;
    open_files_find(store->files, open);
    return fstat(open[kind], status);
}

// A file that cannot be reached is not lost: it is open, so all records still go there, and the
// next check may find it again; unless it has another place or was deleted.
static bool is_open_lost(const struct sqlite_store *store, enum file_kind kind)
{
    int open[FILE_KINDS];
    struct stat status;
    open_files_find(store->files, open);
    if (!store->files[kind].place || open[kind] < 0 || fstat(open[kind], &status) < 0) return false;
    return !status.st_nlink || open_file_place(open[kind]) != store->files[kind].place;
}

static const char *how_lost(const struct sqlite_store *store, enum file_kind kind)
{
    struct stat status;
    int result = file_look(store, kind, &status);
    if (!is_unreachable(result)) return result < 0 ? "deleted" : "replaced";
    return file_look_open(store, kind, &status) == 0 && status.st_nlink ? "moved" : "deleted";
}

static bool is_gone(struct sqlite_store *store, enum file_kind kind)
{
    struct stat status;
    int result = file_look(store, kind, &status);
    if (!is_unreachable(result)) {
        store->unreachable_is_told &= kind != FILE_DATABASE;
        return !is_noted(store, kind, identity_from(result, &status));
    }
    unreachable_say(store);
    return is_open_lost(store, kind);
}

// ---- Saving ----------------------------------------------------------------------------------

// The folder may have been deleted with its files.
static void folder_make(const struct sqlite_store *store)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s", store->path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(name, 0700);  // creating the file reports the error
        *slash = '/';
    }
}

// Users may remove the folder of a run and start another one, whose database is as good as ours. A
// server must not continue with another database, so there it is a loss.
static bool is_superseded(const struct sqlite_store *store)
{
    return store->options.is_run && identity_of(store, FILE_DATABASE).inode
           && !is_ours(store, FILE_DATABASE);
}

// Makes an empty file that no other process has.
static bool copy_make(const char *path, const char *suffix, char name[NAME_SIZE])
{
    for (int i = 1; i < COPIES; i++) {
        if (i == 1)
            snprintf(name, NAME_SIZE, "%s-%s", path, suffix);
        else
            snprintf(name, NAME_SIZE, "%s-%s-%d", path, suffix, i);
        int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0) return close(file) == 0;
        if (errno != EEXIST) return false;
    }
    return false;
}

// If this process may not enter the folder of the database, the copy is made in /var/tmp.
static bool saved_name(const struct sqlite_store *store, char name[NAME_SIZE])
{
    char elsewhere[NAME_SIZE];
    const char *suffix = is_superseded(store) ? "replaced" : "saved";
    folder_make(store);
    if (copy_make(store->path, suffix, name)) return true;
    const char *slash = strrchr(store->path, '/');
    snprintf(elsewhere, sizeof elsewhere, "/var/tmp/%s", slash ? slash + 1 : store->path);
    return errno == EACCES && copy_make(elsewhere, suffix, name);
}

static int verdict_take(void *sound, int count, char **values, char **names)
{
    (void)names;
    *(bool *)sound = count && values[0] && strcmp(values[0], "ok") == 0;
    return 0;
}

// Another process may have written to the database meanwhile, so the copy is checked.
static bool copy_fill(struct sqlite_store *store, const char *name)
{
    sqlite3 *copy = NULL;
    bool sound = false;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(name, &copy, flags, store->options.vfs);
    sqlite3_backup *backup
        = result ? NULL : sqlite3_backup_init(copy, "main", store->db, "main");
    if (backup) sqlite3_backup_step(backup, -1);
    result = backup ? sqlite3_backup_finish(backup) : SQLITE_ERROR;
    if (!result) sqlite3_exec(copy, "PRAGMA quick_check(1)", verdict_take, &sound, NULL);
    return sqlite3_close(copy) == SQLITE_OK && sound;
}

static bool save(struct sqlite_store *store, char name[NAME_SIZE])
{
    statements_finalize(store);
    if (!saved_name(store, name)) return false;
    if (copy_fill(store, name)) return true;
    unlink(name);
    return false;
}

// Otherwise SQLite would apply our log to any database that it finds next to it.
static void log_put_aside(const struct sqlite_store *store, bool is_saved)
{
    char name[NAME_SIZE], aside[NAME_SIZE];
    bool is_bad = store->batch.pages.database_is_bad;
    if ((is_ours(store, FILE_DATABASE) && !is_bad) || !is_ours(store, FILE_LOG)) return;
    snprintf(name, sizeof name, "%s-wal", store->path);
    snprintf(aside, sizeof aside, "%s-wal-old", store->path);
    if (is_saved)
        unlink(name);
    else
        rename(name, aside);
}

// The next server must not continue without the lost records.
static bool lost_note(const struct sqlite_store *store)
{
    static const char text[] = "records of this database were lost\n";
    char name[NAME_SIZE];
    folder_make(store);
    snprintf(name, sizeof name, "%s-lost", store->path);
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return false;
    ssize_t written = write(file, text, sizeof text - 1);
    (void)written;  // if the disk is full, the error message must do
    fsync(file);
    close(file);
    return true;
}

// Usually its folder was moved. The lock file is open, so the kernel knows its new path.
static bool is_moved(const struct sqlite_store *store, char out[NAME_SIZE])
{
    char name[64];
    static const size_t suffix = sizeof "-lock" - 1;
    snprintf(name, sizeof name, "/proc/self/fd/%d", store->lock_file);
    ssize_t length = readlink(name, out, NAME_SIZE - 1);
    if (length < (ssize_t)suffix) return false;
    out[length] = 0;
    if (strcmp(out + length - suffix, "-lock") != 0) return false;
    out[(size_t)length - suffix] = 0;
    struct sqlite_store there = *store;
    there.path = out;
    for (int i = 0; i < FILE_KINDS; i++)
        if (!is_ours(&there, (enum file_kind)i)) return false;
    return true;
}

// ---- Detection -------------------------------------------------------------------------------

// No copy of the records could be saved. `rota run` has no backups: it repeats tasks without a
// record.
static void unsaved_say(struct sqlite_store *store, const char *suffix, const char *how)
{
    const char *path = store->path;
    struct store_error *error = &store->store.error;
    bool noted = lost_note(store);
    if (!noted) lost_note_write(store->lock_file);
    if (store->options.is_run) {
        store_fail(error, STORE_BROKEN,
                   "%s%s was %s while it was in use, and its records could not be saved: stop the"
                   " program that did this%s%s%s, and run again; tasks whose end is not recorded"
                   " run again",
                   path, suffix, how, noted ? ", remove " : "", noted ? path : "",
                   noted ? "-lost" : "");
    } else {
        store_fail(error, STORE_BROKEN,
                   "%s%s was %s while it was in use, and its records could not be saved; records"
                   " since the last backup may be lost: restore one, remove %s-lost, and start with"
                   " --restored",
                   path, suffix, how, path);
    }
}

static void lost_say(struct sqlite_store *store, enum file_kind kind, const char *how)
{
    char saved[NAME_SIZE];
    const char *path = store->path;
    struct store_error *error = &store->store.error;
    bool is_overwritten
        = store->batch.pages.database_is_bad || store->batch.pages.log_is_bad;
    if (kind == FILE_LOCK) {
        store_fail(error, STORE_BROKEN,
                   "%s-lock was %s while it was in use, so another process may use the database;"
                   " no record is lost: make sure that no other server runs, and start again",
                   path, how);
        return;
    }
    if (kind == FILE_INDEX && store->batch.pages.index_is_bad) {
        store_fail(error, STORE_BROKEN, "%s" INDEX_LOST, path);
        return;
    }
    if (!is_overwritten && is_moved(store, saved)) {
        store_fail(error, STORE_BROKEN,
                   "%s was moved to %s while it was in use; all records are there: start with that"
                   " path, or move it back",
                   path, saved);
        return;
    }
    bool is_saved = save(store, saved);
    if (is_saved && strncmp(saved, path, strlen(path)) != 0) lost_note_write(store->lock_file);
    log_put_aside(store, is_saved);
    if (is_superseded(store)) {
        store_fail(error, STORE_BROKEN,
                   "%s was replaced while it was in use, as by 'rm -r .rota' and another run; %s%s:"
                   " the next run continues with the new database",
                   path, is_saved ? "all that was recorded is saved in "
                                  : "a copy of its records could not be saved",
                   is_saved ? saved : "");
    } else if (is_saved) {
        store_fail(error, STORE_BROKEN,
                   "%s%s was %s while it was in use; all records are saved in %s: stop the program"
                   " that did this, remove %s, -wal and -shm, rename the saved file, start again",
                   path, suffixes[kind], how, saved, path);
    } else {
        unsaved_say(store, suffixes[kind], how);
    }
}

// All files exist. FILE_KINDS: none was overwritten.
static enum file_kind overwritten_find(struct sqlite_store *store)
{
    struct stat database, index;
    struct pages *pages = &store->batch.pages;
    if (!pages->index[0] || file_look_open(store, FILE_INDEX, &index) < 0) return FILE_KINDS;
    pages->index_is_bad
        = index.st_size < store->index_size || index.st_size < INDEX_REGION_SIZE;
    if (pages->index_is_bad) return FILE_INDEX;
    store->index_size = index.st_size;
    pages->log_is_bad = log_is_overwritten(store);
    if (pages->log_is_bad) return FILE_LOG;
    if (file_look_open(store, FILE_DATABASE, &database) < 0) return FILE_KINDS;
    struct file_state state = state_from(&database);
    pages->database_is_bad = database_is_overwritten(store, &state);
    return pages->database_is_bad ? FILE_DATABASE : FILE_KINDS;
}

bool files_are_ours(struct sqlite_store *store)
{
    if (store->is_lost) return false;
    const char *how = "overwritten";
    enum file_kind kind = FILE_DATABASE;
    while (kind < FILE_KINDS && !is_gone(store, kind)) kind++;
    if (kind == FILE_KINDS)
        kind = overwritten_find(store);
    else
        how = how_lost(store, kind);
    if (kind == FILE_KINDS) return true;
    store->is_lost = true;
    lost_say(store, kind, how);
    return false;
}

bool files_check(struct sqlite_store *store)
{
    return !store->store.error.fault && files_are_ours(store) && !damage_fail(store);
}
