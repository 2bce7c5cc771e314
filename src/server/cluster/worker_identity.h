// worker_identity.h - which worker may use a name.
//
// A worker is identified by its name, the id of its folder, and the key with which the name was
// first used. The key and the folder are stored. A name is in use while its worker is connected or
// within its lease.
#pragma once

#include "server/cluster/cluster.h"

// In a turn. Null: the worker may have the name. Otherwise the reason, valid until the turn ends.
// WIRE_REFUSED_NAME: it will not get the name by waiting. WIRE_REFUSED_STATE: it may try again.
const char *cluster_identity_fault(struct cluster *cluster, struct cluster_worker *worker,
                               const struct cluster_peer *peer, const struct wire_greet *greet,
                               enum wire_code *code);
// The same for a folder whose worker is connected under another name.
const char *cluster_folder_fault(struct cluster *cluster, const struct cluster_worker *worker,
                             const struct wire_greet *greet, enum wire_code *code);
// In a turn: this worker owns the name from now on.
void cluster_identity_take(struct cluster *cluster, struct cluster_worker *worker,
                           const struct cluster_peer *peer, const struct wire_greet *greet);
// In a turn, for an admin: the name no longer belongs to a key. False: it is in use.
bool cluster_identity_forget(struct cluster *cluster, struct cluster_worker *worker);
