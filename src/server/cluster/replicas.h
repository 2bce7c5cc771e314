// replicas.h - reports of workers about copies of objects.
#pragma once

#include "server/cluster/cluster.h"

void cluster_told_begin(struct cluster_worker *worker);  // it joins, and will list its objects
void cluster_told_end(struct cluster_worker *worker);
// A report about copies goes to one of the three functions below. False: it names too many at once.
typedef void cluster_copies_fn(struct cluster *cluster, struct cluster_peer *peer,
                               const wire_files *files);
bool cluster_copies_told(struct cluster *cluster, struct cluster_peer *peer,
                         const wire_files *files, cluster_copies_fn *take);
void cluster_held(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files);
void cluster_held_all(struct cluster *cluster, struct cluster_peer *peer);
bool cluster_is_held(const struct cluster *cluster, rota_object_id object, rota_worker_id worker);
// The worker has a result for a content key, and should report it when it joins again.
void cluster_known_put(struct cluster *cluster, struct cluster_peer *peer, rota_object_id key,
                   const wire_files *outputs);
void cluster_lost(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files);
void cluster_streamed(struct cluster *cluster, struct cluster_peer *peer, const wire_files *files);

// An object that could not be fetched although a copy was recorded; a table with this many slots,
// by hash.
struct cluster_unverified {
    rota_object_id object;
    uint32_t missed;
};
enum { CLUSTER_UNVERIFIED_MAX = 256, CLUSTER_MISSED_MAX = 3, CLUSTER_REMADE_MAX = 3 };

// ---- object_hashes.c: recorded content, and false content -----------------------------------

// Fills in the content that the producer, or the client that uploaded it, reported.
void cluster_content_fill(struct cluster *cluster, struct wire_fetch *fetch);
// A reported copy has other content than the recorded one.
bool cluster_is_false(const struct cluster *cluster, const struct wire_file *file);
// The worker sent false bytes, and is not asked for that content again.
bool cluster_is_bad_source(const struct cluster *cluster, rota_object_id object,
                           rota_worker_id worker);
// An attempt of the worker has made these objects: its copies are new, even if the content is the
// same.
void cluster_bad_sources_forget(struct cluster *cluster, rota_worker_id worker,
                                const wire_files *made);
// True: the connection stays open.
bool cluster_forged(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_forged *forged);
