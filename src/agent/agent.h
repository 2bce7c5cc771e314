// agent.h - `rota worker`: stands between a server far away and the process that runs commands.
//
// The process of worker.h runs, contains and collects; it knows one server, which never goes away.
// The agent is that server for it. Towards the real one it keeps the rules of model/README.md: it
// counts its lease from the sending of a heartbeat, ends what holds something exclusive when the
// lease is over, starts nothing that came too late, keeps reports on disk until they are recorded,
// and says on each new connection all that it was given. If the agent dies, all its commands do.
#pragma once

#include "link/link.h"
#include "worker/worker.h"

struct agent_options {
    const char *const *servers;  // addresses, tried in turn
    uint32_t server_count;
    const struct link_key *key;  // null: the servers are Unix sockets
    const char *folder;          // the worker's, and the spool
    const char *name, *machine;
    const char *address;         // where others may fetch objects; null: nowhere
    struct worker_options worker;
};

// Runs until TERM, or until a server says QUIT. Returns the exit status.
int agent_main(const struct agent_options *options);
