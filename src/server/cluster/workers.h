// workers.h - workers as the server knows them, and the owners of their names. Part of cluster.h.
#pragma once

#include "server/cluster/cluster.h"

// ---- worker.c: workers ----------------------------------------------------------------------

// The owner of a name. It is stored.
struct cluster_identity {
    char key[40];            // "": the server's own socket
    uint64_t folder, place;
    bool is_loaded, is_known;
};

// A hash table of the tokens of a worker, by task. A token is not 0, except in a free slot.
struct cluster_tokens {
    struct cluster_token {
        rota_task_id task;
        uint64_t token;
    } * slots;
    uint32_t count, capacity;  // a power of two, or 0
    uint32_t shift;            // of a hash, to get the number of a slot
};

struct cluster_worker {
    rota_worker_id id;
    struct cluster_identity who;
    char from[72];             // of its last connection
    rota_time since;           // when its process first joined; 0: before this server process
    rota_time contested;       // ticks: when another worker joined with its folder; 0: never
    rota_time probed;          // ticks: when it was asked for a heartbeat
    char *name, *address;
    char *user;                 // the user of its commands; null: not reported since the start
    struct cluster_peer *peer;  // null: it is disconnected
    uint64_t connection, boot;
    bool is_same_process;              // its process is the same as that of the previous connection
    uint64_t beat;             // the newest that was received
    rota_time heard;           // ticks
    rota_time joined, given;   // ticks: time of its last JOIN, and of the last RUN sent
    struct cluster_pulse pulse;
    bool silent;               // the core knows that it is silent
    struct cluster_tokens tokens;  // tokens.h
    bool drains, leaves;       // pause.c: it should end; it was told to
    struct cluster_told *told;     // replicas.h
    uint32_t results;              // number of new keys it has named since the core knows it
};

struct cluster_worker *cluster_worker_get(struct cluster *cluster,
                                          rota_worker_id id);  // null: unknown
struct cluster_worker *cluster_worker_meet(struct cluster *cluster, rota_worker_id id,
                                           const char *name);
// False: it was refused.
bool cluster_worker_greet(struct cluster *cluster, struct cluster_peer *peer,
                          const struct wire_greet *greet);
bool cluster_join(struct cluster *cluster, struct cluster_peer *peer, const struct wire_join *join);
bool cluster_beat(struct cluster *cluster, struct cluster_peer *peer, const struct wire_beat *beat);
void cluster_worker_away(struct cluster *cluster, struct cluster_worker *worker);
void cluster_workers_look(
    struct cluster *cluster);  // in a turn: marks workers without heartbeats as silent

// ---- pause.c: lanes and workers that are paused, and workers that are drained ----------------

void cluster_rest(struct cluster *cluster, struct cluster_peer *peer, const struct wire_rest *rest);
// In a turn: a worker announces that it will leave.
void cluster_worker_leaves(struct cluster *cluster, struct cluster_worker *worker);
// In a turn: a draining worker without attempts is told to end, and then leaves.
void cluster_rest_look(struct cluster *cluster, struct cluster_worker *worker);
