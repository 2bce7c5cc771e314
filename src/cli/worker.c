// worker.c - `rota worker`: this machine runs commands for a server.
#define _GNU_SOURCE
#include "worker/agent/agent.h"
#include "cli/worker.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[]
    = "usage: rota worker --server ADDRESS[,ADDRESS...] [OPTION...]\n\n"
      "    rota worker --server /run/rota/socket           a server on this machine\n"
      "    rota worker drain NAME                          that one ends when nothing runs there\n"
      "    rota worker forget NAME                         another key may use that name\n"
      "    rota worker --server a:7777,b:7777 --key FILE   servers elsewhere, tried in turn\n"
      "    rota worker --server /run/rota/socket -j 4 --memory 8G --name night\n\n"
      "    --server A,...    a Unix socket (with a / in front) or HOST:PORT\n"
      "    --key FILE        a key with the role of a worker; only its owner may read the file\n"
      "    --listen ADDRESS  where other workers fetch what was made here (FOLDER/data/sock if "
      "the\n"
      "                      servers are Unix sockets, else nowhere)\n"
      "    --peer-key FILE   keys with the role of a peer, the same on all workers\n"
      "    --name NAME       who this is; no other worker has it (the name of the host, and under\n"
      "                      Slurm, PBS, LSF and SGE the number of the job behind it)\n"
      "    --folder DIR      for logs, files and reports ($XDG_STATE_HOME/rota/NAME, or\n"
      "                      ~/.local/state/rota/NAME)\n"
      "    -j, --jobs N      so many cores (as many as it may use)\n"
      "    --memory SIZE     such as 8G (what it may use)\n"
      "    --machine M       which machine tasks may ask for (the name of the host)\n"
      "    --alone TIME      so long commands go on without a server, such as 30m (1h); those "
      "that\n"
      "                      hold something exclusive end with their lease\n"
      "    --user NAME       run commands as this user; the worker is root and stays it\n"
      "    --env NAME        commands get this variable, too: NAME, NAME=VALUE or START*; may be\n"
      "                      repeated (PATH HOME USER LANG LC_* TZ TMPDIR)\n"
      "    --contain tree    do not use a namespace for processes\n"
      "    --ssh HOST,...    start such a worker on each of these machines, over ssh ($ROTA_SSH);\n"
      "                      keys go with it, what it says comes back, and all end together\n"
      "    --remote PATH     what rota is called there (rota)\n"
      "    --key-from-stdin  the keys, up to an empty line; the worker ends with that input\n\n"
      "SIGTERM: nothing more starts, and it ends when what runs has ended; again: commands have 5 "
      "s;\n"
      "a third time: all is killed.\n"
      "Exit status: 0 it was told to end, 2 an option is wrong or its name is in use, 70 the\n"
      "disk or a process failed.\n";

enum { SERVER = 256, KEY, NAME, FOLDER, MEMORY, MACHINE, ALONE, CONTAIN, LISTEN, PEER_KEY,
       SSH, REMOTE, FROM_STDIN, ENV, USER };
enum { SERVERS_MAX = 16, ENV_MAX = 64, NAME_MAX_BYTES = 64 };

struct work {
    struct agent_options options;
    const char *servers[SERVERS_MAX];
    const char *env[ENV_MAX + 2];
    const char *user_name;  // null: commands run as the worker
    struct work_user user;
    char own_user[WORK_USER_NAME];
    const char *key_path, *peer_path;
    char address[PATH_MAX];
    char host[NAME_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1], folder[PATH_MAX];
    struct link_keys keys, peer_keys;
    struct os_service service;
    struct work_ssh ssh;
    bool from_stdin;
};

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "rota worker: %s: '%s'\n'rota worker --help' says more\n", what, value);
    return 2;
}

// ---- Values ----------------------------------------------------------------------------------

// A number with a letter behind it, which may be missing: "8G" with {"K", 1024}, ...
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

static bool cores_read(const char *text, uint32_t *cores)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || value < 1 || value > 100000) return false;
    *cores = (uint32_t)value;
    return true;
}

// It becomes part of a path, and others read it.
static bool name_is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    size_t length = strlen(name);
    return length && length <= NAME_MAX_BYTES && strspn(name, letters) == length && *name != '.'
           && *name != '-';
}

static bool servers_read(struct work *work, char *text)
{
    uint32_t count = 0;
    for (char *at = text; at; count++) {
        char *comma = strchr(at, ',');
        if (comma) *comma = 0;
        if (count == SERVERS_MAX || (!link_address_is_local(at) && !strchr(at, ':'))) return false;
        work->servers[count] = at;
        at = comma ? comma + 1 : NULL;
    }
    work->options.servers = work->servers;
    work->options.server_count = count;
    return true;
}

// It becomes a word of a command: nothing that ssh takes for an option, or a shell for more.
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

// What is said here is said there, but for what stays here.
static bool word_pass_on(struct work *work, int option, const char *name)
{
    static const int stays[] = {KEY, PEER_KEY, SSH, REMOTE, FROM_STDIN};
    struct work_ssh *ssh = &work->ssh;
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        if (option == stays[i]) return true;
    if (ssh->word_count + 2 > WORK_FAR_WORDS) return false;
    size_t size = strlen(name) + 3;
    char *word = malloc(size);
    if (!word) return false;
    snprintf(word, size, "--%s", name);
    ssh->words[ssh->word_count++] = word;
    return (ssh->words[ssh->word_count] = strdup(optarg)) && ssh->word_count++;
}

// A name, its beginning with a star, or a name with a value.
static bool env_take(struct work *work, const char *text)
{
    struct worker_options *worker = &work->options.worker;
    size_t length = strcspn(text, "=*");
    if (!length || (text[length] == '*' && text[length + 1])) return false;
    if (worker->env_count == ENV_MAX || worker_sets(text)) return false;
    work->env[worker->env_count++] = text;
    return true;
}

static bool option_take(struct work *work, int option)
{
    struct agent_options *options = &work->options;
    switch (option) {
    case SERVER: return servers_read(work, optarg);
    case KEY: return *(work->key_path = optarg) != 0;
    case PEER_KEY: return *(work->peer_path = optarg) != 0;
    case LISTEN: return *(options->address = optarg) != 0;
    case NAME: return name_is_plain(options->name = optarg);
    case FOLDER: return *(options->folder = optarg) != 0;
    case 'j': return cores_read(optarg, &options->worker.cores);
    case MEMORY: return memory_read(optarg, &options->worker.memory_mib);
    case MACHINE: return name_is_plain(options->machine = optarg);
    case ALONE: return time_amount_read(optarg, &options->alone_max);
    case SSH: return hosts_read(work, optarg);
    case REMOTE: return *(work->ssh.program = optarg) && *optarg != '-';
    case ENV: return env_take(work, optarg);
    case USER: return *(work->user_name = optarg) != 0;
    case FROM_STDIN: return work->from_stdin = true;
    case CONTAIN: options->worker.contain = WORKER_CONTAIN_TREE; return strcmp(optarg, "tree") == 0;
    default: return false;
    }
}

static const char *expected(int option)
{
    switch (option) {
    case SERVER: return "--server takes up to 16 addresses such as /run/rota/socket or host:7777";
    case NAME: return "--name takes up to 64 letters, digits, '.', '_' and '-'";
    case MACHINE: return "--machine takes up to 64 letters, digits, '.', '_' and '-'";
    case 'j': return "--jobs takes a number from 1 to 100000";
    case MEMORY: return "--memory takes a size such as 500M or 8G";
    case ALONE: return "--alone takes a time such as 30m or 2h";
    case CONTAIN: return "--contain takes the word tree";
    case ENV: return "--env takes NAME, NAME=VALUE or START*, up to 64 times, and no variable that"
                     " rota itself sets for each command, such as ROTA_TOKEN";
    case SSH: return "--ssh takes up to 64 names of hosts";
    default: return "this option takes a path";
    }
}

// The exit status; -1: go on.
static int options_read(struct work *work, int count, char **words)
{
    static const struct option longs[] = {{"server", required_argument, NULL, SERVER},
                                          {"key", required_argument, NULL, KEY},
                                          {"listen", required_argument, NULL, LISTEN},
                                          {"peer-key", required_argument, NULL, PEER_KEY},
                                          {"name", required_argument, NULL, NAME},
                                          {"folder", required_argument, NULL, FOLDER},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"memory", required_argument, NULL, MEMORY},
                                          {"machine", required_argument, NULL, MACHINE},
                                          {"alone", required_argument, NULL, ALONE},
                                          {"user", required_argument, NULL, USER},
                                          {"env", required_argument, NULL, ENV},
                                          {"contain", required_argument, NULL, CONTAIN},
                                          {"ssh", required_argument, NULL, SSH},
                                          {"remote", required_argument, NULL, REMOTE},
                                          {"key-from-stdin", no_argument, NULL, FROM_STDIN},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option, place = 0;
    optind = 1;
    while ((option = getopt_long(count + 1, words - 1, "j:h", longs, &place)) != -1) {
        if (option == 'h') return fputs(usage, stdout), 0;
        if (option == '?') return fputs("'rota worker --help' says more\n", stderr), 2;
        if (!word_pass_on(work, option, option == 'j' ? "jobs" : longs[place].name))
            return wrong("there are too many options", "");
        if (!option_take(work, option)) return wrong(expected(option), optarg);
    }
    if (optind <= count) return wrong("this is no option", words[optind - 1]);
    return -1;
}

// ---- What was not said -------------------------------------------------------------------------

static int names_fill(struct work *work)
{
    struct agent_options *options = &work->options;
    if (!options->name || !options->machine) {
        gethostname(work->host, sizeof work->host - 1);
        if (!name_is_plain(work->host))
            return wrong("the name of this host cannot be used, so --name and --machine are needed",
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
        return wrong("there is no HOME to keep things in, so --folder is needed", home ? home : "");
    work->options.folder = work->folder;
    return -1;
}

static int key_read(struct work *work)
{
    struct link_error error;
    if (work->from_stdin) {
        if (!work_keys_read(&work->keys, &error))
            return fprintf(stderr, "rota worker: %s\n", error.text), 2;
        work->key_path = "the standard input";
        work->options.leash = STDIN_FILENO;
    }
    for (uint32_t i = 0; i < work->options.server_count && !work->key_path; i++)
        if (!link_address_is_local(work->servers[i]))
            return wrong("a server that is no Unix socket needs --key FILE", work->servers[i]);
    if (!work->key_path) return -1;
    if (!work->from_stdin && !link_keys_read(&work->keys, work->key_path, &error))
        return fprintf(stderr, "rota worker: %s\n", error.text), 2;
    for (uint32_t i = 0; i < work->keys.count && !work->options.key; i++)
        if (work->keys.items[i].role == WIRE_WORKER) work->options.key = &work->keys.items[i];
    if (!work->options.key) return wrong("there is no key for a worker in it", work->key_path);
    return -1;
}

// Those of the keys that came together which are for other workers: they are put in front.
static void peers_choose(struct work *work)
{
    struct link_keys *peers = &work->peer_keys;
    peers->items = calloc(LINK_KEYS_MAX, sizeof *peers->items);
    for (uint32_t i = 0; peers->items && i < work->keys.count; i++)
        if (work->keys.items[i].role == WIRE_PEER)
            peers->items[peers->count++] = work->keys.items[i];
    if (peers->count) work->options.peer_keys = peers;
}

// On one machine others find it by its path; the path of a socket is short. Its folder is its own:
// whoever listens locks it, and the worker's is locked already.
static int address_fill(struct work *work)
{
    enum { SOCKET_PATH_MAX = 100 };
    struct agent_options *options = &work->options;
    struct link_error error;
    bool local = true;
    for (uint32_t i = 0; i < options->server_count; i++)
        local &= link_address_is_local(work->servers[i]);
    if (work->from_stdin) {
        peers_choose(work);
    } else if (work->peer_path) {
        if (!link_keys_read(&work->peer_keys, work->peer_path, &error))
            return fprintf(stderr, "rota worker: %s\n", error.text), 2;
        options->peer_keys = &work->peer_keys;
    }
    if (options->address || !local || work->service.file_count) return -1;
    char *folder = realpath(options->folder, NULL);
    const char *place = folder ? folder : options->folder;
    int length = snprintf(work->address, sizeof work->address, "%s/data/sock", place);
    free(folder);
    if (*work->address == '/' && length < SOCKET_PATH_MAX) options->address = work->address;
    return -1;
}

// ---- Elsewhere ---------------------------------------------------------------------------------

static const char *ssh_fault(const struct work *work)
{
    if (work->from_stdin) return "--ssh takes keys from files";
    if (work->options.name && work->ssh.host_count > 1)
        return "workers on several hosts cannot have one name";
    for (uint32_t i = 0; i < work->options.server_count; i++)
        if (link_address_is_local(work->servers[i]))
            return "a Unix socket cannot be reached from another machine; the server needs a port";
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
        return wrong("certificates are not sent along; --ssh needs a key", work->key_path);
    ssh->keys[ssh->key_count++] = work->options.key;
    if (work->peer_path && !link_keys_read(&work->peer_keys, work->peer_path, &error))
        return fprintf(stderr, "rota worker: %s\n", error.text), 2;
    for (uint32_t i = 0; i < work->peer_keys.count && i < WORK_PEER_KEYS; i++)
        ssh->keys[ssh->key_count++] = &work->peer_keys.items[i];
    return work_ssh(ssh);
}

// Unless --env has set it to something else.
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
    if (status < 0) status = address_fill(work);
    if (status < 0 && !work_environment_hide(&work->options.worker))
        status = (fprintf(stderr, "rota worker: %s\n", strerror(errno)), 70);
    return status < 0 ? agent_main(&work->options) : status;
}

int command_worker(int count, char **words)
{
    struct work work = {.options.leash = -1,
                        .options.worker = {.cleans_environment = true, .apart = true}};
    work.options.worker.env = work.env;
    if (count && strcmp(words[0], "drain") == 0) return worker_drain(count - 1, words + 1);
    if (count && strcmp(words[0], "forget") == 0) return worker_name_forget(count - 1, words + 1);
    os_service_read(&work.service);
    work.options.service = &work.service;
    int status = options_read(&work, count, words);
    if (status < 0 && !work.options.server_count) status = (fputs(usage, stderr), 2);
    if (status < 0) status = work.ssh.host_count ? elsewhere(&work) : here(&work);
    link_keys_release(&work.keys);
    link_keys_release(&work.peer_keys);
    for (uint32_t i = 0; i < work.ssh.word_count; i++) free(work.ssh.words[i]);
    return status;
}
