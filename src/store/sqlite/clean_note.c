// clean_note.c - a note about the files at closing; if they are unchanged, opening skips checks.
//
// Checking a database and making its name durable take a third of the time of a short run, and both
// were done for the files that the note describes. The note is in the lock file. A process that
// writes to a file changes its times, and a new file has another inode.
#include "store/sqlite/sqlite.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_AT = 21, VERSION_SIZE = 16, FILE_SIZE = 128, PATH_SIZE = 4096 };
enum { NOTE_SIZE = VERSION_SIZE + 2 * FILE_SIZE };

static int file_describe(const struct sqlite_store *store, const char *suffix, char *text,
                         size_t size)
{
    char name[PATH_SIZE];
    struct stat file;
    snprintf(name, sizeof name, "%s%s", store->path, suffix);
    if (stat(name, &file) < 0) return snprintf(text, size, "none");
    return snprintf(text, size, "%llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)file.st_ino,
                    (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
                    (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
}

static int files_describe(const struct sqlite_store *store, char *text)
{
    int length = snprintf(text, VERSION_SIZE, "%d ", SCHEMA_VERSION);
    length += file_describe(store, "", text + length, FILE_SIZE);
    text[length++] = ' ';
    length += file_describe(store, "-wal", text + length, FILE_SIZE);
    return length;
}

void clean_note_write(const struct sqlite_store *store)
{
    char text[NOTE_SIZE + 2];
    int length = files_describe(store, text);
    text[length++] = '\n';
    ssize_t written = pwrite(store->lock_file, text, (size_t)length, NOTE_AT);
    (void)written;  // if this fails, the next process checks the files
}

int64_t clean_bytes(const struct sqlite_store *store)
{
    char note[NOTE_SIZE + 2] = "";
    long long bytes;
    ssize_t got = pread(store->lock_file, note, sizeof note - 1, NOTE_AT);
    return got > 0 && sscanf(note, "%*d %*u %lld", &bytes) == 1 ? bytes : 0;
}

bool clean_note_is_valid(const struct sqlite_store *store)
{
    char found[NOTE_SIZE + 2], note[NOTE_SIZE + 2];
    ssize_t got = pread(store->lock_file, note, sizeof note, NOTE_AT);
    int length = got > 0 ? files_describe(store, found) : 0;
    return length && length < got && memcmp(found, note, (size_t)length) == 0
           && note[length] == '\n';
}
