// damage_text.c - says that a page does not match its checksum.
#include "store/sqlite/sqlite.h"

#define DAMAGE                                                                                     \
    "%s%s: page %u does not match its checksum: another program wrote to this database, or the"    \
    " disk damaged it (to keep what that program wrote, run: sqlite3 '%s' VACUUM; otherwise %s)"

bool damage_say(const struct pages *pages, const char *path, bool is_run, struct store_error *error)
{
    struct page_damage damage = pages->damage;
    if (!damage.page) return false;
    store_fail(error, STORE_REFUSED, DAMAGE, path, damage.is_in_log ? "-wal" : "", damage.page,
               path,
               is_run ? "move it away to run all tasks again"
                      : "restore a backup and start with rota server --restored");
    return true;
}

bool damage_fail(struct sqlite_store *store)
{
    struct store_error *error = &store->store.error;
    bool is_run = store->options.is_run;
    if (error->fault || !damage_say(&store->batch.pages, store->path, is_run, error)) return false;
    if (store->has_committed) error->fault = STORE_BROKEN;
    return true;
}
