// peers.h - a server with a store in memory, and peers played by the test.
#pragma once

#include "server/cluster/cluster.h"

struct played {
    struct cluster_peer *peer;
    struct wire_out out;
    struct wire_in in;  // messages of the server that may be sent
};

struct peers {
    struct store *store;
    struct server server;
    struct cluster cluster;
    rota_time now;
    rota_time wall;  // offset of the wall clock
    bool is_begun;
};

extern rota_time peers_lease;    // the lease told to workers by servers opened from now on
extern bool peers_restored;      // their database is a backup
extern bool peers_plan;          // they plan ahead
extern uint32_t peers_jobs_max;  // of servers opened from now on; 0: the default
void peers_open(struct peers *peers, struct store *store);
void peers_open_at(struct peers *peers, struct store *store, rota_time now);
void peers_close(struct peers *peers);
void played_open(struct peers *peers, struct played *played, uint32_t roles);
void played_close(struct peers *peers, struct played *played);
void played_forget(struct played *played);  // the server is already closed
// In the present turn, which begins with it.
bool played_says(struct peers *peers, struct played *played, const struct wire_message *message);
uint64_t peers_write(struct peers *peers);  // the turn is written, not durable
void peers_turn(struct peers *peers);       // and durable
extern rota_object_id peers_key;  // the content key of tasks that are submitted; 0: none
// Sends SUBMIT with `count` tasks (8 at most) that run the command, and the other fields of
// `submit`.
bool played_submits(struct peers *peers, struct played *played, const struct wire_submit *submit,
                    const char *command, uint32_t tasks, uint32_t retries);
// Returns the next message of the server, or WIRE_NONE if the server sent nothing.
enum wire_kind played_hears(struct played *played, struct wire_message *message);
// Skips others. False: it does not arrive.
bool played_hears_kind(struct played *played, enum wire_kind kind, struct wire_message *message);

struct wire_message greet_of(enum wire_role role, const char *name, uint64_t connection);
struct wire_message join_of(uint32_t cores, struct wire_attempt *attempts, uint32_t count);
