// agent.h - `rota worker`: stands between a server far away and the process that runs commands.
//
// The process of worker.h runs, contains and collects; it knows one server, which never goes away.
// The agent is that server for it. Towards the real one it keeps the rules of model/README.md: it
// counts its lease from the sending of a heartbeat, ends what holds something exclusive when the
// lease is over, starts nothing that came too late, keeps reports on disk until they are recorded,
// and says on each new connection all that it was given. If the agent dies, all its commands do.
//
// What it refuses is FINISHED with WIRE_NOT_STARTED and a status that says why: ESTALE (too late
// for its lease), ECANCELED (the worker drains), ENOMEM. No process was there. A command that ended
// because the worker did, or its lease, is WIRE_STOPPED although no STOP came.
//
// One LOG is answered by one LOGGED of at most 64 KiB; without bytes and not whole: none so far.
#pragma once

#include "net/link/link.h"
#include "os/os.h"
#include "worker/process/worker.h"

#define AGENT_ALONE_MAX ((int64_t)3600 * 1000000)

struct agent_options {
    const char *const *servers;  // addresses, tried in turn; all of one database
    uint32_t server_count;
    const struct link_key *key;  // null: the servers are Unix sockets
    const char *folder;          // the worker's, and the spool; made if it is not there
    const char *name, *machine;
    const char *user;            // the name of the user that commands run as
    const char *address;         // where others may fetch objects; null: nowhere
    const struct link_keys *peer_keys;  // of the role peer, for that; null: Unix sockets only
    const struct os_service *service;   // who supervises; the first of its files: for `address`
    int leash;                   // a file; when it ends, so does the worker; -1: none
    int64_t alone_max;           // so long commands go on without a server; 0: AGENT_ALONE_MAX
    struct worker_options worker;
};

// Runs until TERM, or until a server says QUIT. Returns the exit status: 0, 2 when a server refuses
// its name or all refuse its key, or 70 when the disk or the process that runs commands failed.
int agent_main(const struct agent_options *options);
