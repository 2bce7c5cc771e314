// run_orders.h - what a worker does with RUN and STOP: it starts a command, holds it, lets it wait
// for its inputs, or reports that it does not run.
//
// There are no sockets, clocks and files here: the caller provides them as the functions of struct
// run_host. The callers are the agent (orders.c, inputs.c) and the cluster simulator (its
// worker_messages.c), so that a mistake in these rules is found by a seed of the simulator.
#pragma once

#include "worker/agent/decide.h"

struct waiting {  // a RUN that waits
    struct waiting *next;
    rota_task_id task;
    uint32_t attempt;
    struct wire_in frame;
};

struct run_host {
    // A RUN may start. False: a stream it reads is neither here nor announced from another worker.
    bool (*accepts)(void *context, const struct wire_run *run);
    bool (*has_object)(void *context, const struct wire_file *input);  // with the right content
    bool (*is_fetching)(void *context, rota_object_id object);
    // An input is neither here nor being fetched: the server must be told.
    void (*object_lost)(void *context, const struct wire_run *run, rota_object_id object);
    bool (*start)(void *context, const struct wire_message *run);  // false: it cannot
    void (*stop)(void *context, const struct attempt *attempt, int64_t grace);
    void (*report)(void *context, struct attempt *attempt, enum wire_end end, int error,
                   const char *reason);
    void (*report_input)(void *context, struct attempt *attempt);  // an input cannot be fetched
};

// Every HELD attempt of `decide` is in the list `held`.
struct run_orders {
    const struct run_host *host;
    void *context;
    struct decide *decide;
    struct waiting *held;     // until an older attempt of the task has ended
    struct waiting *lacking;  // until all inputs have arrived
};

// A RUN has arrived. False: it is invalid, or there is no memory: the connection must end.
bool run_orders_take(struct run_orders *orders, const struct wire_message *message, int64_t now);
// Ends an attempt that is alive.
void run_orders_stop(struct run_orders *orders, struct attempt *attempt, int64_t grace);
// The same by its number, if it is alive.
void run_orders_end(struct run_orders *orders, rota_task_id task, uint32_t number, int64_t grace);
// Ends all attempts that must not continue without a server, and fences those of the lease.
void run_orders_expire(struct run_orders *orders, int64_t now);
// An attempt of the task has ended: a newer one may start.
void run_orders_ended(struct run_orders *orders, rota_task_id task, int64_t now);
// An input has arrived, or never will: commands that wait for nothing else may start.
void run_orders_inputs(struct run_orders *orders);
// Refuses all commands that wait for inputs.
void run_orders_refuse(struct run_orders *orders, int error, const char *reason);
void run_orders_release(struct run_orders *orders);
