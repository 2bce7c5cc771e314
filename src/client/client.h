// client.h - somebody who asks a server for something, and waits for the answer.
#pragma once

#include "jobfile/jobfile.h"
#include "link/link.h"

struct client {
    struct link *link;
    struct wire_welcome welcome;
    char error[400];  // why the last call failed
    enum wire_code code;  // of a refusal; 0: it was none
};

// ---- client.c: a connection ---------------------------------------------------------------------

// Connects and says who it is. `key` may be null for the path of a socket. False: `error` says why.
bool client_open(struct client *client, const char *address, const struct link_key *key,
                 enum wire_role role, const char *name);
void client_close(struct client *client);
// Sends what was put into link->out, and waits for the next message. False: the connection is
// gone, or so many microseconds are (0: for ever).
bool client_next(struct client *client, struct wire_message *message, int64_t patience);
bool client_send(struct client *client);
bool client_fail(struct client *client, const char *reason);  // false
void client_request_id(uint64_t *high, uint64_t *low);  // one that nobody has had

// ---- submit.c: a job file as a submission ------------------------------------------------------

// In as many pieces as it takes, into link->out. `folder` is what relative paths are relative to.
// With WIRE_SUBMIT_WATCH what ends is told from then on.
void client_submit_put(struct client *client, const struct jobfile *file, const char *folder,
                       uint64_t high, uint64_t low, uint32_t flags);
// Waits for the answer. 0: refused, or the connection is gone.
uint32_t client_accepted(struct client *client, uint64_t high, uint64_t low);
