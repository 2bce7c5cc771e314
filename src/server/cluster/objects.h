// objects.h - objects of a cluster: moves between workers, the server's object store, and reads of
// clients.
#pragma once

#include "server/cluster/cluster.h"

// ---- object_moves.c: objects move between workers -------------------------------------------

void cluster_fetch_put(struct cluster *cluster, const struct rota_action *action);
void cluster_flow_put(struct cluster *cluster, const struct rota_action *action);
void cluster_missed(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_missed *missed);
enum { CLUSTER_SOURCES = 8 };
struct cluster_ticket {
    char text[33];
    uint64_t client;  // the client whose share of tickets it uses; 0: a worker's
};
bool cluster_ticket_make(const struct cluster *cluster,
                         struct cluster_ticket *out);  // false: no randomness
// Workers other than `reader` (null: none) that have it, starting at `first`; they are told the
// ticket.
uint32_t cluster_sources(struct cluster *cluster, rota_object_id object,
                         const struct cluster_worker *reader, rota_worker_id first,
                         const struct cluster_ticket *ticket,
                         wire_text addresses[CLUSTER_SOURCES + 1]);

// ---- stored_objects.c: the server's own store -------------------------------------------------

// The upload of a job is known by its id, and an object named by its content too, which stays until
// it is released. All others are copies on their way to a client.
struct cluster_stored {
    rota_object_id object;
    uint64_t bytes;
    struct rota_content content;
    rota_time seen;  // ticks: when it was bound, or last read
};

// In a turn: the connection to the object store, on which it reports its objects.
void cluster_object_store_set(struct cluster *cluster, struct cluster_peer *peer);
struct cluster_stored *cluster_stored_find(struct cluster *cluster,
                                           rota_object_id object);  // null: not there
bool cluster_object_store_take(struct cluster *cluster, const struct wire_message *message);
// In a turn: removes objects that are not needed, from time to time.
void cluster_object_store_sweep(struct cluster *cluster);
void cluster_object_store_drop(struct cluster *cluster, rota_object_id object);
void cluster_object_store_close(struct cluster *cluster);

// ---- object_reads.c: requests of clients for objects ----------------------------------------

enum { CLUSTER_READS_MAX = 1024 };

void cluster_data(struct cluster *cluster, struct cluster_peer *peer, const struct wire_data *data);
void cluster_read_put(struct cluster *cluster, const struct rota_action *action);
// The object store has it, or (with a reason) will not get it.
void cluster_readers_tell(struct cluster *cluster, rota_object_id object, const char *reason);
void cluster_readers_forged(struct cluster *cluster, rota_object_id object);  // to the object store
void cluster_readers_forget(struct cluster *cluster,
                            const struct cluster_peer *peer);  // disconnected; null: all
