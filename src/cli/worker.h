// worker.h - `rota worker`: what its files share.
#pragma once

#include "cli/cli.h"
#include "net/link/link.h"
#include "os/os.h"
#include "worker/process/worker.h"

enum { WORK_HOSTS_MAX = 64, WORK_FAR_WORDS = 160, WORK_PEER_KEYS = 64 };

// Workers on other hosts: the hosts, the options and the keys.
struct work_ssh {
    const char *hosts[WORK_HOSTS_MAX];
    uint32_t host_count;
    const char *program;  // the path of rota on the hosts
    char *words[WORK_FAR_WORDS];
    uint32_t word_count;
    const struct link_key *keys[WORK_PEER_KEYS + 1];
    uint32_t key_count;
};

// Starts all of them, and waits until they end. Returns the exit status.
int work_ssh(const struct work_ssh *ssh);

// ---- worker_name.c: a name for a worker that was given none ------------------------------------

// The host name, and in a batch system the number of the batch job.
void work_name_make(const char *host, char *name, size_t size);

// ---- worker_environment.c ----------------------------------------------------------------------

// Removes all variables that commands do not get. False with errno: no memory.
bool work_environment_hide(const struct worker_options *options);

// ---- worker_keys.c: keys of the standard input -------------------------------------------------

// Reads up to an empty line, and nothing after it.
bool work_keys_read(struct link_keys *keys, struct link_error *error);

// ---- worker_user.c -----------------------------------------------------------------------------

enum { WORK_USER_NAME = 64 };

struct work_user {
    struct worker_user user;
    gid_t groups[256];
    char user_item[WORK_USER_NAME + 8], home_item[4096];  // of the environment
};

// Null, or why commands cannot run as this user.
const char *work_user_find(struct work_user *user, const char *name);
// The name of the user that this process runs as: "root" for uid 0, a number if it has no name.
void work_user_own(char name[WORK_USER_NAME]);
