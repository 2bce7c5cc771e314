// copies.h - what workers say about copies of objects.
#pragma once

#include "hub/hub.h"

void hub_told_begin(struct hub_worker *worker);  // it joins, and will tell all it has
void hub_told_end(struct hub_worker *worker);
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
enum { HUB_DOUBTS = 256, HUB_MISSED_MAX = 3 };
