// work.h - `rota worker`, as its parts share it.
#pragma once

#include "cli/cli.h"
#include "link/link.h"
#include "os/os.h"

enum { WORK_HOSTS_MAX = 64, WORK_FAR_WORDS = 32, WORK_PEER_KEYS = 64 };

// Workers elsewhere: on which hosts, and with which words and keys.
struct work_ssh {
    const char *hosts[WORK_HOSTS_MAX];
    uint32_t host_count;
    const char *program;  // what rota is called there
    char *words[WORK_FAR_WORDS];
    uint32_t word_count;
    const struct link_key *keys[WORK_PEER_KEYS + 1];
    uint32_t key_count;
};

// Starts all, and waits until they have ended. Returns the exit status.
int work_ssh(const struct work_ssh *ssh);

// ---- work_keys.c: keys of the standard input ---------------------------------------------------

// Up to an empty line. What comes behind it is left there.
bool work_keys_read(struct link_keys *keys, struct link_error *error);
