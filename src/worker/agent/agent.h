// agent.h - `rota worker`: mediates between a remote server and the process that runs commands.
//
// The process of worker.h runs, contains and collects commands; it knows one server, which is
// always connected. The agent plays that server. Towards the real one it follows the rules of
// model/README.md: it counts its lease from the sending of a heartbeat, ends exclusive commands
// when the lease expires, starts no command that arrived too late, keeps reports on disk until they
// are recorded, and lists all its attempts on each new connection. If the agent dies, all its
// commands do.
//
// A refused command is FINISHED with WIRE_NOT_STARTED and a status that says why: ESTALE (too late
// for its lease), ECANCELED (the worker drains), ENOMEM. It had no process. A command that ended
// because the worker or its lease ended is WIRE_STOPPED although no STOP was received.
//
// One LOG is answered by one LOGGED of at most 64 KiB; empty and incomplete means: nothing so far.
#pragma once

#include "net/link/link.h"
#include "os/os.h"
#include "worker/process/worker.h"

#define AGENT_ALONE_MAX ((int64_t)3600 * 1000000)

struct agent_options {
    const char *const *servers;  // addresses, tried in turn; all of one database
    uint32_t server_count;
    const struct link_key *key;  // null: the servers are Unix sockets
    const char *folder;          // of the worker and the spool, from agent_folder_make
    const char *name, *machine;
    const char *user;            // the name of the user that commands run as
    const char *address;         // where others may fetch objects; null: not possible
    const struct link_keys *peer_keys;  // of the role peer, for that; null: Unix sockets only
    const struct os_service *service;   // the supervisor; the first of its files: for `address`
    int leash;                          // a file; when it is closed, the worker ends; -1: none
    int64_t alone_max;  // how long commands continue without a server; 0: AGENT_ALONE_MAX
    struct worker_options worker;
};

// Makes the folder if it does not exist, and closes it to other users. False: see errno.
bool agent_folder_make(const char *folder);

// Runs until TERM, or until a server sends QUIT. Returns the exit status: 0, 2 when a server
// refuses its name, all refuse its key, or it cannot listen at `address`, or 70 when the disk or
// the process that runs commands failed.
int agent_main(const struct agent_options *options);
