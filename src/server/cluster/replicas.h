// replicas.h - what workers say about copies of objects.
#pragma once

#include "server/cluster/cluster.h"

void hub_told_begin(struct hub_worker *worker);  // it joins, and will tell all it has
void hub_told_end(struct hub_worker *worker);
// What a worker says of copies goes to one of the three below. False: it names too many at once.
typedef void hub_copies_fn(struct hub *hub, struct hub_peer *peer, const wire_files *files);
bool hub_copies_told(struct hub *hub, struct hub_peer *peer, const wire_files *files,
                     hub_copies_fn *take);
void hub_held(struct hub *hub, struct hub_peer *peer, const wire_files *files);
void hub_held_all(struct hub *hub, struct hub_peer *peer);
bool hub_is_held(const struct hub *hub, rota_object_id object, rota_worker_id worker);
// It has a result for a content key, and is to say so when it joins again.
void hub_known_put(struct hub *hub, struct hub_peer *peer, rota_object_id key,
                   const wire_files *outputs);
void hub_lost(struct hub *hub, struct hub_peer *peer, const wire_files *files);
void hub_streamed(struct hub *hub, struct hub_peer *peer, const wire_files *files);

// An object that could not be fetched, though it was to be there; in so many places, by hash.
struct hub_doubt {
    rota_object_id object;
    uint32_t missed;
};
enum { HUB_DOUBTS = 256, HUB_MISSED_MAX = 3, HUB_REMADE_MAX = 3 };

// ---- object_hashes.c: what an object consists of, and who says otherwise ------------------------

// What its maker reported, or the client that brought it.
void hub_content_fill(struct hub *hub, struct wire_fetch *fetch);
// A copy that is said to be there is another content than that.
bool hub_is_false(const struct hub *hub, const struct wire_file *file);
// It sent other bytes to somebody, and is not asked for that content again.
bool hub_is_liar(const struct hub *hub, rota_object_id object, rota_worker_id worker);
// An attempt of it has made these: what it has of them is new, also if the content is the same.
void hub_liars_forget(struct hub *hub, rota_worker_id worker, const wire_files *made);
// True: the connection stays.
bool hub_forged(struct hub *hub, struct hub_peer *peer, const struct wire_forged *forged);
