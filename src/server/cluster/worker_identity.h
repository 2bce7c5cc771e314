// worker_identity.h - which worker may use a name.
//
// A worker is its name, the id of its folder, and the key with which the name was first used. The
// key and the folder are durable. A name is in use while its worker is connected or within its
// lease.
#pragma once

#include "server/cluster/cluster.h"

// In a turn. Null: the worker may have the name. Else why not; the text lasts until the turn ends.
// WIRE_REFUSED_NAME: it will not get the name by waiting. WIRE_REFUSED_STATE: it may try again.
const char *hub_identity_fault(struct hub *hub, struct hub_worker *worker,
                               const struct hub_peer *peer, const struct wire_greet *greet,
                               enum wire_code *code);
// The same for a folder whose worker is connected under another name.
const char *hub_folder_fault(struct hub *hub, const struct hub_worker *worker,
                             const struct wire_greet *greet, enum wire_code *code);
// In a turn: this worker has the name from now on.
void hub_identity_take(struct hub *hub, struct hub_worker *worker, const struct hub_peer *peer,
                       const struct wire_greet *greet);
// In a turn, for an admin: the name belongs to no key. False: it is in use.
bool hub_identity_forget(struct hub *hub, struct hub_worker *worker);
