// server.h - the server of a simulated cluster (server.c).
#pragma once

#include "server/cluster/cluster.h"
#include "turn/turn.h"
#include "sim/cluster/base.h"

struct sim;

struct daemon {
    bool up;
    struct server server;
    struct cluster cluster;
    struct store *store;
    int64_t wall;        // difference of its clock from simulated time
    bool turn_is_due;    // it is in the event queue
    uint32_t mark;       // of this life
    uint32_t wake;       // of the newest DUE_WAKE
    uint32_t *inputs;    // connections that have input for it
    uint32_t input_count, input_capacity;
    uint64_t digest;     // of the core when it crashed, if nothing was lost; 0: unknown
    struct daemon_files files;
    struct server_watch watch;
};

void sim_daemon_start(struct sim *sim);
void sim_daemon_stop(struct sim *sim);  // like kill -9
void sim_daemon_turn(struct sim *sim);
void sim_daemon_settle(struct sim *sim, uint32_t turn);
void sim_daemon_feed(struct sim *sim);  // clients that follow may get more
void sim_daemon_input(struct sim *sim, uint32_t link);
void sim_daemon_due(struct sim *sim, int64_t at);  // schedules a turn
