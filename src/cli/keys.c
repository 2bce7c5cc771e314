// keys.c - `rota keys`: makes, adds, lists and revokes keys. Secrets are written to files only.
#define _GNU_SOURCE
#include "cli/cli.h"
#include "net/link/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[]
    = "    rota keys make keys                      server.keys, and a file for each role\n"
      "    rota keys list keys/server.keys          who may come in\n"
      "    rota keys add worker keys/server.keys far.key\n"
      "                                             one more worker's key, in both files\n"
      "    rota keys revoke ID keys/server.keys     that key is no longer taken\n\n"
      "usage: rota keys make FOLDER\n"
      "       rota keys add ROLE FILE...\n"
      "       rota keys list [--json] FILE\n"
      "       rota keys revoke ID FILE...\n\n"
      "    ROLE      client, worker, admin or peer\n"
      "    FOLDER    is made, for its owner only; nothing in it is overwritten\n\n"
      "A server has the keys of all who may come in, and everybody else one of his role, in a\n"
      "file. Files of keys are their owner's alone, in a folder where only he may write. The exit\n"
      "status is 2 when something is refused.\n";

enum { ROLES = 4 };
static const enum wire_role roles[ROLES] = {WIRE_CLIENT, WIRE_WORKER, WIRE_ADMIN, WIRE_PEER};

static int refused(const struct link_error *error)
{
    fprintf(stderr, "rota keys: %s\n", error->text);
    return 2;
}

static int no_randomness(void)
{
    fputs("rota keys: the system has no random numbers to give\n", stderr);
    return 1;
}

// ---- make ---------------------------------------------------------------------------------

enum { PATH_LONGEST = 4096, FILES = ROLES + 1 };

// The files of the roles in their order, and last that of the server.
static bool path_write(char path[PATH_LONGEST], const char *folder, int number)
{
    const char *name = number < ROLES ? link_role_name(roles[number]) : "server";
    const char *end = number < ROLES ? "key" : "keys";
    return snprintf(path, PATH_LONGEST, "%s/%s.%s", folder, name, end) < PATH_LONGEST;
}

static const char *folder_wrong(const char *folder)
{
    struct stat status;
    char path[PATH_LONGEST];
    if (mkdir(folder, 0700) && errno != EEXIST) return strerror(errno);
    if (lstat(folder, &status)) return strerror(errno);
    if (!S_ISDIR(status.st_mode)) return "it is there already, and is no folder";
    if (status.st_uid != geteuid()) return "it belongs to somebody else";
    if (status.st_mode & (S_IRWXG | S_IRWXO)) return "others may look into it; chmod 700 it";
    for (int i = 0; i < FILES; i++) {
        if (!path_write(path, folder, i)) return strerror(ENAMETOOLONG);
        if (lstat(path, &status) == 0) return "there are keys in it already";
    }
    return NULL;
}

static bool all_write(const struct link_keys *keys, const char *folder, struct link_error *error)
{
    char path[PATH_LONGEST];
    for (int i = 0; i < FILES; i++) {
        const struct link_keys one = {&keys->items[i % ROLES], 1};
        path_write(path, folder, i);
        if (link_keys_write(i < ROLES ? &one : keys, path, LINK_WRITE_NEW, error)) continue;
        while (i-- > 0) {  // half of them would be of no use
            path_write(path, folder, i);
            unlink(path);
        }
        return false;
    }
    return true;
}

static int keys_make(int count, char **words)
{
    if (count != 1) return -1;
    struct link_key items[ROLES];
    struct link_error error;
    char path[PATH_LONGEST];
    const char *folder = words[0], *wrong = folder_wrong(folder);
    if (wrong) {
        fprintf(stderr, "rota keys: %s: %s\n", folder, wrong);
        return 2;
    }
    for (int i = 0; i < ROLES; i++)
        if (!link_key_make(&items[i], roles[i])) return no_randomness();
    bool fine = all_write(&(struct link_keys){items, ROLES}, folder, &error);
    explicit_bzero(items, sizeof items);
    if (!fine) return refused(&error);
    for (int i = 0; i < FILES; i++) {
        path_write(path, folder, i);
        printf("%s\n", path);
    }
    return 0;
}

// ---- add, revoke --------------------------------------------------------------------------

static uint32_t key_find(const struct link_keys *keys, const char *id)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].id, id) == 0) return i;
    return keys->count;
}

static bool key_add(struct link_keys *keys, const struct link_key *key)
{
    if (key_find(keys, key->id) < keys->count) return true;  // the same file twice
    if (keys->count == LINK_KEYS_MAX) return false;
    keys->items[keys->count++] = *key;
    return true;
}

static int file_add(const char *path, const struct link_key *key)
{
    struct link_error error;
    struct link_keys keys;
    struct link_key copy = *key;
    struct stat status;
    bool fine;
    int lock = link_keys_lock(path, &error);
    if (lock < 0) return refused(&error);
    if (lstat(path, &status) && errno == ENOENT) {
        fine = link_keys_write(&(struct link_keys){&copy, 1}, path, LINK_WRITE_NEW, &error);
    } else if ((fine = link_keys_read(&keys, path, &error))) {
        fine = key_add(&keys, key);
        if (!fine) snprintf(error.text, sizeof error.text, "%.200s: it has no room", path);
        fine = fine && link_keys_write(&keys, path, LINK_WRITE_OVER, &error);
        link_keys_release(&keys);
    }
    explicit_bzero(&copy, sizeof copy);
    close(lock);
    return fine ? 0 : refused(&error);
}

// A key that got into some of the files only would be a riddle: all are looked at first.
static int files_check(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        struct link_error error;
        struct link_keys keys;
        struct stat status;
        if (lstat(paths[i], &status) && errno == ENOENT) continue;
        if (!link_keys_read(&keys, paths[i], &error)) return refused(&error);
        link_keys_release(&keys);
    }
    return 0;
}

static int keys_add(int count, char **words)
{
    struct link_key key;
    enum wire_role role;
    if (count < 2) return -1;
    if (!link_role_read(words[0], &role)) {
        fprintf(stderr, "rota keys: a role is client, worker, admin or peer\n");
        return 2;
    }
    int status = files_check(count - 1, words + 1);
    if (status) return status;
    if (!link_key_make(&key, role)) return no_randomness();
    for (int i = 1; !status && i < count; i++) status = file_add(words[i], &key);
    if (!status) printf("%s %s\n", words[0], key.id);
    explicit_bzero(&key, sizeof key);
    return status;
}

static int file_revoke(const char *path, const char *id)
{
    struct link_error error;
    struct link_keys keys;
    int lock = link_keys_lock(path, &error);
    if (lock < 0) return refused(&error);
    bool fine = link_keys_read(&keys, path, &error);
    if (fine) {
        uint32_t at = key_find(&keys, id);
        fine = at < keys.count && keys.count > 1;
        if (!fine)
            snprintf(error.text, sizeof error.text, "%.200s: %s", path,
                     at == keys.count ? "it has no key of this id"
                                      : "it has no other key; remove the file");
        else
            keys.items[at] = keys.items[--keys.count];
        fine = fine && link_keys_write(&keys, path, LINK_WRITE_OVER, &error);
        link_keys_release(&keys);
    }
    close(lock);
    return fine ? 0 : refused(&error);
}

static int keys_revoke(int count, char **words)
{
    if (count < 2) return -1;
    int status = 0;
    for (int i = 1; !status && i < count; i++) status = file_revoke(words[i], words[0]);
    return status;
}

// ---- list ---------------------------------------------------------------------------------

static int keys_list(int count, char **words)
{
    struct link_error error;
    struct link_keys keys;
    const char *path = NULL;
    bool json = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--json") == 0)
            json = true;
        else if (!path && words[i][0] != '-')
            path = words[i];
        else
            return -1;
    }
    if (!path) return -1;
    if (!link_keys_read(&keys, path, &error)) return refused(&error);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct link_key *key = &keys.items[i];
        const char *role = key->role ? link_role_name(key->role) : "server";  // a certificate
        printf(json ? "{\"role\":\"%s\",\"id\":\"%s\"}\n" : "%-6s %s\n", role, key->id);
    }
    link_keys_release(&keys);
    return 0;
}

// ---- The command --------------------------------------------------------------------------

int command_keys(int count, char **words)
{
    static const struct {
        const char *name;
        command_fn *run;
    } verbs[] = {{"make", keys_make}, {"add", keys_add}, {"list", keys_list},
                 {"revoke", keys_revoke}};
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") != 0) continue;
        fputs(usage, stdout);
        return 0;
    }
    int status = -1;  // what was said makes no sense
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (count > 0 && strcmp(words[0], verbs[i].name) == 0)
            status = verbs[i].run(count - 1, words + 1);
    if (status < 0) fputs(usage, stderr);
    return status < 0 ? 2 : status;
}
