// workers.h - workers as the server knows them, and what their names belong to. Part of cluster.h.
#pragma once

#include "server/cluster/cluster.h"

// ---- worker.c: who runs commands ---------------------------------------------------------------

// What a name belongs to. It is durable.
struct hub_who {
    char key[40];            // "": the server's own socket
    uint64_t folder, place;
    bool is_loaded, is_known;
};

struct hub_worker {
    rota_worker_id id;
    struct hub_who who;
    char from[72];             // of its last connection
    rota_time since;           // when its process first came; 0: before this server
    rota_time contested;       // ticks: another one came with its folder; 0: none
    rota_time probed;          // ticks: it was asked whether it lives
    char *name, *address;
    char *user;                // its commands run as this one; null: not said since the start
    struct hub_peer *peer;     // null: it is away
    uint64_t connection, boot;
    bool went_on;              // its processes are those of the connection before
    uint64_t beat;             // the newest that has come
    rota_time heard;           // ticks
    rota_time joined, given;   // ticks: of its last JOIN; of the last RUN that it was given
    struct hub_pulse pulse;
    bool silent;               // the core was told so
    struct map tokens;         // tokens.h: by task, a hash
    bool drains, leaves;       // pause.h: somebody wants it to end; it was told to
    struct hub_told *told;     // replicas.h
    uint32_t results;          // it named so many that were new, since the core knows it
};

struct hub_worker *hub_worker_get(struct hub *hub, rota_worker_id id);  // null: never heard of
struct hub_worker *hub_worker_meet(struct hub *hub, rota_worker_id id, const char *name);
// False: it was turned away.
bool hub_worker_greet(struct hub *hub, struct hub_peer *peer, const struct wire_greet *greet);
bool hub_join(struct hub *hub, struct hub_peer *peer, const struct wire_join *join);
bool hub_beat(struct hub *hub, struct hub_peer *peer, const struct wire_beat *beat);
void hub_worker_away(struct hub *hub, struct hub_worker *worker);
void hub_workers_look(struct hub *hub);  // in a turn: who has not been heard for too long
