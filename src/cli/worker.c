// worker.c - `rota worker`: runs tasks for a server on this machine.
#define _GNU_SOURCE
#include "worker/agent/agent.h"
#include "cli/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORK_SERVER, WORK_NAME, WORK_MEMORY, WORK_MACHINE, WORK_ALONE, WORK_SSH, WORK_REMOTE,
       WORK_ENV };
enum { SERVERS_MAX = 16, ENV_MAX = 64, NAME_MAX_BYTES = 64 };

struct work {
    struct agent_options options;
    const char *servers[SERVERS_MAX];
    const char *env[ENV_MAX + 2];
    const char *user_name;  // null: commands run as the worker
    struct work_user user;
    char own_user[WORK_USER_NAME];
    const char *key_path, *peer_path;
    char *made[SERVERS_MAX + 1];  // addresses that were made absolute
    uint32_t made_count;
    char address[PATH_MAX];
    char host[NAME_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1], folder[PATH_MAX];
    struct link_keys keys, peer_keys;
    struct os_service service;
    struct work_ssh ssh;
    bool from_stdin;
};

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "rota worker: %s: '%s'\nsee 'rota worker --help'\n", what, value);
    return 2;
}

// ---- Values ----------------------------------------------------------------------------------

// A number and an optional letter: "8G".
struct unit {
    char letter;
    uint64_t factor;
};

static bool amount_read(const char *text, const struct unit *units, uint64_t *amount)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || !number || *text < '0' || *text > '9') return false;
    while (units->letter && units->letter != *end) units++;
    if (!units->letter || (*end && end[1])) return false;
    *amount = number * units->factor;
    return *amount / units->factor == number && *amount <= INT64_MAX;
}

static bool memory_read(const char *text, uint32_t *mib)
{
    static const struct unit units[]
        = {{'M', 1 << 20}, {'G', 1 << 30}, {'T', (uint64_t)1 << 40}, {0, 0}};
    uint64_t bytes;
    if (!amount_read(text, units, &bytes) || bytes >> 20 > UINT32_MAX) return false;
    *mib = (uint32_t)(bytes >> 20);
    return true;
}

static bool time_amount_read(const char *text, int64_t *time)
{
    static const struct unit units[]
        = {{'s', 1000000}, {'m', 60000000}, {'h', 3600000000}, {'d', 86400000000}, {0, 0}};
    uint64_t amount;
    if (!amount_read(text, units, &amount) || amount > (uint64_t)365 * 86400000000) return false;
    *time = (int64_t)amount;
    return true;
}

// The name becomes part of a path, and other users read it.
static bool name_is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    size_t length = strlen(name);
    return length && length <= NAME_MAX_BYTES && strspn(name, letters) == length && *name != '.'
           && *name != '-';
}

// Null: too many, or no memory.
static const char *address_keep(struct work *work, const char *address)
{
    if (!address_is_relative(address)) return address;
    if (work->made_count == sizeof work->made / sizeof *work->made) return NULL;
    return work->made[work->made_count++] = path_absolute(address);
}

static bool servers_read(struct work *work, char *text)
{
    uint32_t count = 0;
    for (char *at = text; at; count++) {
        char *comma = strchr(at, ',');
        if (comma) *comma = 0;
        if (count == SERVERS_MAX || !(work->servers[count] = address_keep(work, at))) return false;
        if (!link_address_is_local(work->servers[count]) && !strchr(at, ':')) return false;
        at = comma ? comma + 1 : NULL;
    }
    work->options.servers = work->servers;
    work->options.server_count = count;
    return true;
}

// A host becomes a word of a command: it is not an option of ssh, and has no meaning for a shell.
static bool hosts_read(struct work *work, char *text)
{
    for (char *at = text; at;) {
        char *comma = strchr(at, ',');
        if (comma) *comma = 0;
        bool fine = *at && *at != '-' && !strpbrk(at, " \t\n\"'`$&;|<>()\\");
        if (!fine || work->ssh.host_count == WORK_HOSTS_MAX) return false;
        work->ssh.hosts[work->ssh.host_count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

// Options that a worker started over ssh does not get: keys go through its standard input.
static bool stays_here(const char *name)
{
    static const char *const names[] = {"key", "peer-key", "ssh", "remote", "key-from-stdin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

// Copies the words for workers that are started over ssh. False: too many, or no memory.
static bool words_copy(struct work_ssh *ssh, const struct command *command, int count,
                       char **words)
{
    struct option_walk walk
        = {.command = command, .count = count, .words = words, .is_quiet = true};
    while (option_next(&walk) == WALK_OPTION) {
        if (walk.row == &option_help || stays_here(walk.row->name)) continue;
        if (ssh->word_count + 2 > WORK_FAR_WORDS) return false;
        char **word = &ssh->words[ssh->word_count];
        if (asprintf(word, "--%s", walk.row->name) < 0) return false;
        ssh->word_count++;
        if (walk.value && !(ssh->words[ssh->word_count++] = strdup(walk.value))) return false;
    }
    return true;
}

// NAME, NAME=VALUE or START*.
static bool env_take(struct work *work, const char *text)
{
    struct worker_options *worker = &work->options.worker;
    size_t length = strcspn(text, "=*");
    if (!length || (text[length] == '*' && text[length + 1])) return false;
    if (worker->env_count == ENV_MAX || worker_sets(text)) return false;
    work->env[worker->env_count++] = text;
    return true;
}

static bool option_take(void *values, uint32_t number, const char *value)
{
    struct work *work = values;
    struct agent_options *options = &work->options;
    switch (number) {
    case WORK_SERVER: return servers_read(work, (char *)(uintptr_t)value);
    case WORK_NAME: return name_is_plain(options->name = value);
    case WORK_MEMORY: return memory_read(value, &options->worker.memory_mib);
    case WORK_MACHINE: return name_is_plain(options->machine = value);
    case WORK_ALONE: return time_amount_read(value, &options->alone_max);
    case WORK_SSH: return hosts_read(work, (char *)(uintptr_t)value);
    case WORK_REMOTE: return *(work->ssh.program = value) && *value != '-';
    default: return env_take(work, value);
    }
}

// ---- Defaults -------------------------------------------------------------------------

static int names_fill(struct work *work)
{
    struct agent_options *options = &work->options;
    if (!options->name || !options->machine) {
        gethostname(work->host, sizeof work->host - 1);
        if (!name_is_plain(work->host))
            return wrong("the host name is not a valid name; use --name and --machine",
                         work->host);
    }
    work_name_make(work->host, work->name, sizeof work->name);
    if (!options->name) options->name = work->name;
    if (!options->machine) options->machine = work->host;
    struct os_share share;
    os_share_read(&share);
    if (!options->worker.cores) options->worker.cores = share.processors;
    if (!options->worker.memory_mib) options->worker.memory_mib = share.memory_mib;
    return -1;
}

// Commands and other workers have other working folders than this process, so the path is absolute.
static int folder_open(struct work *work)
{
    char path[PATH_MAX];
    const char *folder = work->options.folder;
    if (!agent_folder_make(folder) || !realpath(folder, path))
        return fprintf(stderr, "rota worker: %s: %s\n", folder, strerror(errno)), 70;
    memcpy(work->folder, path, sizeof path);
    work->options.folder = work->folder;
    return -1;
}

static int folder_fill(struct work *work)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const char *name = work->options.name;
    int length = 0;
    if (work->options.folder) return -1;
    if (state && *state == '/')
        length = snprintf(work->folder, sizeof work->folder, "%s/rota/%s", state, name);
    else if (home && *home == '/')
        length = snprintf(work->folder, sizeof work->folder, "%s/.local/state/rota/%s", home, name);
    if (length <= 0 || (size_t)length >= sizeof work->folder)
        return wrong("HOME is not set; use --folder", home ? home : "");
    work->options.folder = work->folder;
    return -1;
}

static int key_read(struct work *work)
{
    struct link_error error;
    if (work->from_stdin) {
        if (!work_keys_read(&work->keys, &error))
            return fprintf(stderr, "rota worker: %s\n", error.text), 2;
        work->key_path = "standard input";
        work->options.leash = STDIN_FILENO;
    }
    for (uint32_t i = 0; i < work->options.server_count && !work->key_path; i++)
        if (!link_address_is_local(work->servers[i]))
            return wrong("a key is needed to connect, except to a Unix socket: use --key FILE",
                         work->servers[i]);
    if (!work->key_path) return -1;
    if (!work->from_stdin && !link_keys_read(&work->keys, work->key_path, &error))
        return fprintf(stderr, "rota worker: %s\n", error.text), 2;
    for (uint32_t i = 0; i < work->keys.count && !work->options.key; i++)
        if (work->keys.items[i].role == WIRE_WORKER) work->options.key = &work->keys.items[i];
    if (!work->options.key)
        return wrong("the file has no worker's key; use worker.key of rota keys make",
                     work->key_path);
    return -1;
}

// Takes the peer keys from the keys of the standard input.
static void peers_choose(struct work *work)
{
    struct link_keys *peers = &work->peer_keys;
    peers->items = calloc(LINK_KEYS_MAX, sizeof *peers->items);
    for (uint32_t i = 0; peers->items && i < work->keys.count; i++)
        if (work->keys.items[i].role == WIRE_PEER)
            peers->items[peers->count++] = work->keys.items[i];
    if (peers->count) work->options.peer_keys = peers;
}

static int peers_read(struct work *work)
{
    struct agent_options *options = &work->options;
    struct link_error error;
    if (work->from_stdin) {
        peers_choose(work);
    } else if (work->peer_path) {
        if (!link_keys_read(&work->peer_keys, work->peer_path, &error))
            return fprintf(stderr, "rota worker: %s\n", error.text), 2;
        options->peer_keys = &work->peer_keys;
    }
    return -1;
}

// On one machine, other workers find the socket by its path, which must be short. The socket has a
// folder of its own, because a listener locks its folder, and the worker has locked its own.
static int address_fill(struct work *work)
{
    enum { SOCKET_PATH_MAX = 100 };
    struct agent_options *options = &work->options;
    bool local = true;
    for (uint32_t i = 0; i < options->server_count; i++)
        local &= link_address_is_local(work->servers[i]);
    if (options->address && !(options->address = address_keep(work, options->address)))
        return wrong("out of memory", options->folder);
    bool is_open = options->address && !link_address_is_local(options->address);
    if (is_open && !options->peer_keys)
        return wrong("keys are needed to listen, except at a Unix socket: use --peer-key FILE",
                     options->address);
    if (options->address || work->service.file_count) return -1;
    if (!local) {
        fprintf(stderr, "rota worker %s: without --listen and --peer-key, tasks on other workers"
                " and clients cannot get the files that its tasks make\n", options->name);
        return -1;
    }
    int length = snprintf(work->address, sizeof work->address, "%s/data/sock", options->folder);
    if (length >= SOCKET_PATH_MAX)
        return wrong("the path of the data socket is too long; use a shorter --folder, or --listen",
                     work->address);
    options->address = work->address;
    return -1;
}

// ---- Over ssh ---------------------------------------------------------------------------------

static const char *ssh_fault(const struct work *work)
{
    if (work->from_stdin) return "options --ssh and --key-from-stdin exclude each other";
    if (work->options.name && work->ssh.host_count > 1)
        return "workers on several hosts cannot share a name";
    for (uint32_t i = 0; i < work->options.server_count; i++)
        if (link_address_is_local(work->servers[i]))
            return "other hosts cannot reach a Unix socket; use HOST:PORT";
    return NULL;
}

static int elsewhere(struct work *work)
{
    struct work_ssh *ssh = &work->ssh;
    struct link_error error;
    const char *fault = ssh_fault(work);
    if (fault) return wrong(fault, ssh->hosts[0]);
    if (!ssh->program) ssh->program = "rota";
    int status = key_read(work);
    if (status >= 0) return status;
    if (work->options.key->pem)
        return wrong("--ssh needs a key, not a certificate", work->key_path);
    ssh->keys[ssh->key_count++] = work->options.key;
    if (work->peer_path && !link_keys_read(&work->peer_keys, work->peer_path, &error))
        return fprintf(stderr, "rota worker: %s\n", error.text), 2;
    for (uint32_t i = 0; i < work->peer_keys.count && i < WORK_PEER_KEYS; i++)
        ssh->keys[ssh->key_count++] = &work->peer_keys.items[i];
    return work_ssh(ssh);
}

// Does nothing if --env sets the variable.
static void env_add_default(struct work *work, const char *item)
{
    struct worker_options *worker = &work->options.worker;
    size_t length = strcspn(item, "=") + 1;
    for (uint32_t i = 0; i < worker->env_count; i++)
        if (strncmp(work->env[i], item, length) == 0) return;
    work->env[worker->env_count++] = item;
}

static int user_fill(struct work *work)
{
    work_user_own(work->own_user);
    work->options.user = work->own_user;
    if (!work->user_name) return -1;
    const char *fault = work_user_find(&work->user, work->user_name);
    if (fault) return wrong(fault, work->user_name);
    work->options.worker.user = &work->user.user;
    work->options.user = work->user.user.name;
    env_add_default(work, work->user.home_item);
    env_add_default(work, work->user.user_item);
    return -1;
}

static int here(struct work *work)
{
    int status = user_fill(work);
    if (status < 0) status = names_fill(work);
    if (status < 0) status = folder_fill(work);
    if (status < 0) status = key_read(work);
    if (status < 0) status = peers_read(work);
    if (status < 0) status = folder_open(work);
    if (status < 0) status = address_fill(work);
    if (status < 0 && !work_environment_hide(&work->options.worker))
        status = (fprintf(stderr, "rota worker: %s\n", strerror(errno)), 70);
    return status < 0 ? agent_main(&work->options) : status;
}

static int worker(const struct command *command, int count, char **words)
{
    struct work work = {.options.leash = -1,
                        .options.worker = {.cleans_environment = true, .separates_commands = true}};
    struct arguments arguments;
    work.options.worker.env = work.env;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);  // whole lines: several workers may have one log
    os_service_read(&work.service);
    work.options.service = &work.service;
    int status = -1;
    if (!words_copy(&work.ssh, command, count, words))
        status = command_wrong(command, "too many options");
    if (status < 0) status = options_read(command, &work, option_take, &arguments, count, words);
    if (status < 0 && !work.options.server_count)
        status = command_wrong(command, "missing option --server");
    if (status < 0) status = work.ssh.host_count ? elsewhere(&work) : here(&work);
    link_keys_release(&work.keys);
    link_keys_release(&work.peer_keys);
    for (uint32_t i = 0; i < work.ssh.word_count; i++) free(work.ssh.words[i]);
    for (uint32_t i = 0; i < work.made_count; i++) free(work.made[i]);
    return status;
}

// ---- The table ---------------------------------------------------------------------------------

#define AT(field) offsetof(struct work, field)

static const struct option_row rows[] = {
    {0, "server", "ADDRESS,...", "the servers, tried in turn: Unix sockets (absolute paths) or "
     "HOST:PORT", OPTION_OTHER, .at = WORK_SERVER, .needs = "up to 16 addresses such as "
     "/run/rota/server.sock or host:7450"},
    {0, "key", "FILE", "a file with a worker's key; only its owner may read it", OPTION_PATH,
     .at = AT(key_path)},
    {0, "name", "NAME", "the unique name of this worker", OPTION_OTHER, .at = WORK_NAME,
     .preset = "the host name, and the number of a batch job", .needs = "up to 64 letters, digits, "
     "'.', '_' and '-'"},
    {0, "folder", "DIR", "the folder for logs, files and reports", OPTION_PATH,
     .at = AT(options.folder), .preset = "$XDG_STATE_HOME/rota/NAME or ~/.local/state/rota/NAME"},
    {'j', "jobs", "N", "number of cores to use", OPTION_NUMBER, .at = AT(options.worker.cores),
     .least = 1, .most = 100000, .preset = "the number of cores"},
    {0, "memory", "SIZE", "memory to use, such as 8G", OPTION_OTHER, .at = WORK_MEMORY,
     .preset = "the memory of this machine", .needs = "a size such as 500M or 8G"},
    {0, "machine", "NAME", "the name of this machine, for tasks that need a certain one",
     OPTION_OTHER, .at = WORK_MACHINE, .preset = "the host name",
     .needs = "up to 64 letters, digits, '.', '_' and '-'"},
    {0, "listen", "ADDRESS", "where other workers fetch the outputs of this one", OPTION_PATH,
     .at = AT(options.address), .preset = "FOLDER/data/sock if all servers are Unix sockets",
     .needs = NEEDS_ADDRESS},
    {0, "peer-key", "FILE", "a file with the peer keys of all workers", OPTION_PATH,
     .at = AT(peer_path)},
    {0, "alone", "TIME", "how long tasks continue without a server, such as 30m; tasks with "
     "exclusive access end with their lease", OPTION_OTHER, .at = WORK_ALONE, .preset = "1h",
     .needs = "a time such as 30m or 2h"},
    {0, "user", "NAME", "run commands as this user; the worker must be root", OPTION_PATH,
     .at = AT(user_name), .needs = "the name of a user"},
    {0, "env", "NAME", "pass this variable to commands: NAME, NAME=VALUE or START*; can be "
     "repeated", OPTION_OTHER, .at = WORK_ENV, .preset = "PATH HOME USER LANG LC_* TZ TMPDIR",
     .needs = "NAME, NAME=VALUE or START*, up to 64 times, and no variable that rota sets, such as "
     "ROTA_TOKEN"},
    {0, "contain", "best|tree", "how to kill every process of a task: with a process namespace "
     "where the system allows one, or always as a tree of processes", OPTION_CHOICE,
     .at = AT(options.worker.contain), .preset = "best"},
    {0, "ssh", "HOST,...", "start a worker on each of these hosts over ssh ($ROTA_SSH) with these "
     "options; all of them end together", OPTION_OTHER, .at = WORK_SSH,
     .needs = "up to 64 host names"},
    {0, "remote", "PATH", "the path of rota on those hosts", OPTION_OTHER, .at = WORK_REMOTE,
     .preset = "rota", .needs = "a path"},
    {0, "key-from-stdin", "", "read the keys from the standard input up to an empty line, and end "
     "when the input ends", OPTION_FLAG, .at = AT(from_stdin)},
    OPTION_ROWS_END};

const struct command worker_command = {
    .name = "worker",
    .summary = "run tasks for a server on this machine",
    .group = GROUP_CLUSTER,
    .is_everyday = true,
    .argument = {.kind = ARGUMENT_VERB},
    .run = worker,
    .options = rows,
    .verbs = "drain forget",
    .usage = "--server ADDRESS[,ADDRESS...] [OPTION...]\n",
    .text = "After SIGTERM, the worker starts nothing more and ends when its tasks have ended; a "
            "second SIGTERM gives them 5 seconds, a third one kills them.\n"
            "'rota worker drain' and 'rota worker forget' are commands of their own.\n",
    .examples
    = "rota worker --server /run/rota/server.sock\tserve a server on this machine\n"
      "rota worker --server a:7450,b:7450 --key worker.key\tserve one of two servers\n"
      "rota worker --server /run/rota/server.sock -j 4 --memory 8G\tuse a part of the machine\n",
    .exits = "0\tthe worker was told to end\n2\tan option is wrong, or the name is in use\n"
             "4\tssh cannot reach a host\n70\tthe disk or a process failed\n",
};
