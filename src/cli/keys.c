// keys.c - `rota keys`: makes, adds, lists and revokes keys. Secrets are written to files only.
#define _GNU_SOURCE
#include "cli/cli.h"
#include "net/link/link.h"
#include "os/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROLES = 4 };
static const enum wire_role roles[ROLES] = {WIRE_CLIENT, WIRE_WORKER, WIRE_ADMIN, WIRE_PEER};

static int refused(const struct link_error *error)
{
    fprintf(stderr, "rota keys: %s\n", error->text);
    return 2;
}

static int no_randomness(void)
{
    fputs("rota keys: cannot read random bytes from the system\n", stderr);
    return 1;
}

// ---- make ---------------------------------------------------------------------------------

enum { PATH_LONGEST = 4096, FILES = ROLES + 1 };

// The path of a file: those of the roles in their order, then that of the server.
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
    if (!S_ISDIR(status.st_mode)) return "it exists and is not a folder";
    if (status.st_uid != geteuid()) return "it belongs to another user";
    if (status.st_mode & (S_IRWXG | S_IRWXO)) return "other users may read it (try chmod 700)";
    for (int i = 0; i < FILES; i++) {
        if (!path_write(path, folder, i)) return strerror(ENAMETOOLONG);
        if (lstat(path, &status) == 0) return "it contains keys already";
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
        while (i-- > 0) {  // some of them alone are of no use
            path_write(path, folder, i);
            unlink(path);
        }
        return false;
    }
    return true;
}

static int keys_make(const char *folder)
{
    struct link_key items[ROLES];
    struct link_error error;
    char path[PATH_LONGEST];
    const char *wrong = folder_wrong(folder);
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
        if (!fine) snprintf(error.text, sizeof error.text, "%.200s: too many keys", path);
        fine = fine && link_keys_write(&keys, path, LINK_WRITE_OVER, &error);
        link_keys_release(&keys);
    }
    explicit_bzero(&copy, sizeof copy);
    close(lock);
    return fine ? 0 : refused(&error);
}

// Checks all files first, so that a key is added to all of them or none.
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
    if (!link_role_read(words[0], &role)) {
        fprintf(stderr, "rota keys: unknown role '%s' (client, worker, admin or peer)\n",
                words[0]);
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

// A server that gets HUP when its file is missing or has no key keeps the old keys.
static const char only_key[]
    = "this is its only key, and a server needs one: add another first (rota keys add ROLE FILE), "
      "then revoke this one; or stop every process that uses the file, and remove it";

// `missing`: the id that the file does not have; null: it has the key, and no other.
static void revoke_refuse(const char *path, const char *missing, struct link_error *error)
{
    char reason[80];
    snprintf(reason, sizeof reason, "no such key: %.60s", missing ? missing : "");
    snprintf(error->text, sizeof error->text, "%.200s: %s", path, missing ? reason : only_key);
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
            revoke_refuse(path, at < keys.count ? NULL : id, &error);
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
    int status = 0;
    for (int i = 1; !status && i < count; i++) status = file_revoke(words[i], words[0]);
    return status;
}

// ---- list ---------------------------------------------------------------------------------

static int keys_list(const char *path, bool json)
{
    struct link_error error;
    struct link_keys keys;
    if (!link_keys_read(&keys, path, &error)) return refused(&error);
    for (uint32_t i = 0; i < keys.count; i++) {
        const struct link_key *key = &keys.items[i];
        const char *role = key->role ? link_role_name(key->role) : "server";  // a certificate
        struct json line = {.out = stdout};
        if (!json) {
            printf("%-6s %s\n", role, key->id);
            continue;
        }
        json_open(&line, NULL, '{');
        json_string(&line, "role", role);
        json_string(&line, "id", key->id);
        json_line(&line);
    }
    link_keys_release(&keys);
    return 0;
}

// ---- The command --------------------------------------------------------------------------

struct keys_options {
    bool json;
};

struct verb {
    char name[8];
    uint32_t least, most;  // arguments
    char missing[24];      // the argument that is missing if there are fewer
};

// Returns -1, or the exit status.
static int arguments_check(const struct command *command, const struct verb *verb,
                           const struct arguments *arguments)
{
    uint32_t given = arguments->count - 1;
    if (given < verb->least) return command_wrong(command, "missing argument %s", verb->missing);
    if (given <= verb->most) return -1;
    return command_wrong(command, "unexpected argument '%s'", arguments->items[verb->most + 1]);
}

static int keys_run(const struct command *command, int count, char **words)
{
    static const struct verb verbs[] = {{"make", 1, 1, "FOLDER"},
                                        {"add", 2, ARGUMENTS_ANY, "ROLE or FILE"},
                                        {"list", 1, 1, "FILE"},
                                        {"revoke", 2, ARGUMENTS_ANY, "ID or FILE"}};
    struct keys_options options = {0};
    struct arguments arguments;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    size_t at = 0;
    while (at < 4 && strcmp(arguments.items[0], verbs[at].name) != 0) at++;
    char meant[VERB_MAX];
    if (at == 4 && verb_meant(command, arguments.items[0], meant))
        return command_wrong(command, "unknown verb '%s' (did you mean %s?)", arguments.items[0],
                             meant);
    if (at == 4)
        return command_wrong(command, "expected make, add, list or revoke, not '%s'",
                             arguments.items[0]);
    status = arguments_check(command, &verbs[at], &arguments);
    if (status >= 0) return status;
    int given = (int)arguments.count - 1;
    switch (at) {
    case 0: return keys_make(arguments.items[1]);
    case 1: return keys_add(given, arguments.items + 1);
    case 2: return keys_list(arguments.items[1], options.json);
    default: return keys_revoke(given, arguments.items + 1);
    }
}

static const struct option_row rows[] = {
    {0, "json", "", "list: print a JSON object for each key", OPTION_FLAG,
     .at = offsetof(struct keys_options, json)},
    OPTION_ROWS_END};

const struct command keys_command = {
    .name = "keys",
    .summary = "make, add, list and revoke the keys of a cluster",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_VERB, "make, add, list or revoke", 1, ARGUMENTS_ANY},
    .run = keys_run,
    .options = rows,
    .verbs = "make add list revoke",
    .usage = "make FOLDER\n"
             "add ROLE FILE...\n"
             "list [--json] FILE\n"
             "revoke ID FILE...\n",
    .text
    = "ROLE is client, worker, admin or peer. The server has a file with the keys of all that "
      "may connect; every client and worker has a file with a key of its role.\n"
      "Only the owner of a key file may read it, or write to its folder. FOLDER is made for "
      "its owner only, and no file in it is overwritten.\n",
    .examples = "rota keys make keys\tmake server.keys and a file for each role\n"
                "rota keys list keys/server.keys\tlist the keys that may connect\n"
                "rota keys add worker keys/server.keys far.key\tadd a worker's key to both files\n"
                "rota keys revoke ID keys/server.keys\tremove a key\n",
    .exits = "0\tdone\n1\tthe system gives no random bytes\n"
             "2\tan argument or a file is wrong\n",
};
