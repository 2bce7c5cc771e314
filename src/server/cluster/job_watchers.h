// job_watchers.h - clients that wait for jobs.
#pragma once

#include "server/cluster/cluster.h"

enum { CLUSTER_WATCHES_MAX = 64 };  // of a connection

struct cluster_watch {
    struct cluster_watch *next, *previous;  // list of the cluster
    struct cluster_watch *next_of_peer;
    struct cluster_peer *peer;
    uint32_t job;                       // 0: all
    bool is_troubled;                   // a task of the job has failed
    rota_time look_at;                  // ticks: when to check whether it can still progress
};

void cluster_watch(struct cluster *cluster, struct cluster_peer *peer,
                   const struct wire_watch *watch);
// Null: the connection has reached its limit of watches, and the client was told.
struct cluster_watch *cluster_watch_begin(struct cluster *cluster, struct cluster_peer *peer,
                                          uint32_t job);
void cluster_watches_end(struct cluster *cluster, struct cluster_peer *peer);
void cluster_watches_look(struct cluster *cluster);  // after a decision
