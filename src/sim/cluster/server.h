// server.h - the server of a simulated cluster (seat.c).
#pragma once

#include "server/cluster/cluster.h"
#include "turn/turn.h"
#include "sim/cluster/base.h"

struct world;

struct seat {
    bool up;
    struct server server;
    struct hub hub;
    struct store *store;
    int64_t wall;        // what its clock shows beyond the time of the world
    bool turn_is_due;    // noted in the agenda
    uint32_t mark;       // of this life
    uint32_t wake;       // of the newest DUE_WAKE
    uint32_t *inputs;    // cables that have something for it
    uint32_t input_count, input_capacity;
    uint64_t digest;     // of the core when it crashed, if nothing was lost; 0: not known
    struct seat_files files;
    struct server_watch watch;
};

void seat_start(struct world *world);
void seat_stop(struct world *world);  // as kill -9 does
void seat_turn(struct world *world);
void seat_settle(struct world *world, uint32_t turn);
void seat_feed(struct world *world);  // who follows may hear more
void seat_input(struct world *world, uint32_t cable);
void seat_due(struct world *world, int64_t at);  // a turn
