// copies.h - what workers say about copies of objects.
#pragma once

#include "hub/hub.h"

void hub_told_begin(struct hub_worker *worker);  // it joins, and will tell all it has
void hub_told_end(struct hub_worker *worker);
void hub_held(struct hub *hub, struct hub_peer *peer, const wire_files *files);
void hub_held_all(struct hub *hub, struct hub_peer *peer);
void hub_lost(struct hub *hub, struct hub_peer *peer, const wire_files *files);
void hub_streamed(struct hub *hub, struct hub_peer *peer, const wire_files *files);

// An object that could not be fetched, though it was to be there; in so many places, by hash.
struct hub_doubt {
    rota_object_id object;
    uint32_t missed;
};
enum { HUB_DOUBTS = 256, HUB_MISSED_MAX = 3 };
