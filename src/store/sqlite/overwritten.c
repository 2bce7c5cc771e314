// overwritten.c - notices that another program truncated a database file or wrote into it.
//
// `: > FILE-wal` and `cp backup FILE` keep the inode. But the index says how many frames the log
// has, and how many of them are in the database. Programs that use SQLite update the index when
// they make a checkpoint or truncate the log; other programs do not.
#include "store/log/frame_check.h"
#include "store/sqlite/sqlite.h"

#include <string.h>

enum { MAGIC = 0x377f0682 };

struct index_state {
    uint32_t frames, pages, salt[2], backfilled, attempted;
    int64_t page_size;
};

// False: there is no index yet, or another process is changing it.
static bool index_read(const struct sqlite_store *store, struct index_state *out)
{
    const volatile uint32_t *words = store->batch.pages.index[0];
    if (!words) return false;
    for (int i = 0; i < INDEX_HEADER_WORDS; i++)
        if (words[i] != words[INDEX_HEADER_WORDS + i]) return false;
    uint32_t page_size = words[WORD_PAGE_SIZE] >> 16;
    *out = (struct index_state){.frames = words[WORD_FRAMES],
                                .pages = words[WORD_PAGES],
                                .salt = {words[WORD_SALT], words[WORD_SALT + 1]},
                                .backfilled = words[WORD_BACKFILLED],
                                .attempted = words[WORD_ATTEMPTED],
                                .page_size = page_size == 1 ? 65536 : page_size};
    return true;
}

static bool index_is(const struct sqlite_store *store, const struct index_state *state)
{
    struct index_state now;
    return index_read(store, &now) && memcmp(&now, state, sizeof now) == 0;
}

// ---- The log ---------------------------------------------------------------------------

static bool log_is(sqlite3_file *log, const struct index_state *state)
{
    unsigned char header[LOG_HEADER];
    sqlite3_int64 size;
    if (log->pMethods->xFileSize(log, &size)) return true;  // a failing disk is reported elsewhere
    if (size < LOG_HEADER + state->frames * (state->page_size + FRAME_HEADER)) return false;
    if (log->pMethods->xRead(log, header, sizeof header, 0)) return true;
    return (number_at(header) & ~1u) == MAGIC
           && memcmp(header + 16, state->salt, sizeof state->salt) == 0;
}

bool log_is_overwritten(const struct sqlite_store *store)
{
    sqlite3_file *log = store->batch.pages.log;
    struct index_state state;
    if (!log || !index_read(store, &state) || !state.frames) return false;
    return !log_is(log, &state) && index_is(store, &state);
}

bool log_is_short(const struct sqlite_store *store)
{
    sqlite3_file *log = store->batch.pages.log;
    sqlite3_int64 size;
    return log && store->wal_pages && log->pMethods->xFileSize(log, &size) == SQLITE_OK
           && size < LOG_HEADER + store->wal_pages * (store->page_size + FRAME_HEADER);
}

// ---- The database ------------------------------------------------------------------------

static uint32_t salt_number(uint32_t salt)
{
    unsigned char bytes[sizeof salt];
    memcpy(bytes, &salt, sizeof salt);
    return number_at(bytes);
}

// Whether no process has made a checkpoint since: the log is the same one, or this process has
// begun the next log after all frames of the last one were in the database.
static bool is_unfolded(const struct sqlite_store *store, const struct index_state *state)
{
    const struct database_seen *seen = &store->seen;
    if (memcmp(state->salt, seen->salt, sizeof seen->salt) == 0)
        return state->backfilled == seen->backfilled;
    return seen->is_complete && state->backfilled == 0
           && store->batch.pages.began == state->salt[0]
           && salt_number(state->salt[0]) == salt_number(seen->salt[0]) + 1;
}

static void database_remember(struct sqlite_store *store, const struct index_state *state,
                              const struct file_state *file)
{
    store->seen = (struct database_seen){.file = *file,
                                         .salt = {state->salt[0], state->salt[1]},
                                         .backfilled = state->backfilled,
                                         .is_complete = state->backfilled == state->frames};
    store->page_size = state->page_size;
}

void database_note(struct sqlite_store *store, const struct file_state *file)
{
    struct index_state state;
    if (index_read(store, &state)) database_remember(store, &state, file);
}

bool database_is_overwritten(struct sqlite_store *store, const struct file_state *file)
{
    struct index_state state;
    const struct file_state *seen = &store->seen.file;
    // Not equal: another process makes a checkpoint, or died while it did.
    if (!index_read(store, &state) || state.attempted != state.backfilled) return false;
    bool is_folded = state.backfilled == state.frames;
    bool is_short = is_folded && file->size < state.pages * state.page_size;
    bool is_touched = file->size != seen->size || file->written != seen->written;
    if (seen->size && !is_short && is_touched && is_unfolded(store, &state))
        is_short = file->size < seen->size || !pages_are_unchanged(&store->batch.pages);
    else if (is_touched)
        pages_forget(&store->batch.pages);   // SQLite wrote other pages, in another process
    if (is_short && index_is(store, &state)) return true;
    if (!is_short) database_remember(store, &state, file);
    return false;
}
