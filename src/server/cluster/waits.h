// waits.h - who waits for jobs.
#pragma once

#include "server/cluster/cluster.h"

enum { HUB_WATCHES_MAX = 64 };  // of a connection

struct hub_watch {
    struct hub_watch *next, *previous;  // of the hub
    struct hub_watch *next_of_peer;
    struct hub_peer *peer;
    uint32_t job;                       // 0: all
    bool is_troubled;                   // something in that job has failed
    rota_time look_at;                  // ticks: when to see whether it rests
};

void hub_watch(struct hub *hub, struct hub_peer *peer, const struct wire_watch *watch);
// Null: it watches as many as it may, and was told so.
struct hub_watch *hub_watch_begin(struct hub *hub, struct hub_peer *peer, uint32_t job);
void hub_watches_end(struct hub *hub, struct hub_peer *peer);
void hub_watches_look(struct hub *hub);  // behind a decision
