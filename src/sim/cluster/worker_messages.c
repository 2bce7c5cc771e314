// worker_messages.c - the server's messages to a worker: RUN and STOP by the rules of worker/agent,
// the others as in worker/agent/orders.c.
#include "sim/cluster/internal.h"

#include <errno.h>

// ---- The host of run_orders.c -------------------------------------------------------------------

static uint32_t number_of(const struct node *node)
{
    return (uint32_t)(node - node->sim->nodes);
}

static bool host_accepts(void *context, const struct wire_run *run)
{
    struct node *node = context;
    for (uint32_t i = 0; i < run->outputs.count; i++) {
        struct expected_task *maker
            = sim_expected_maker(node->sim, run->outputs.items[i].object);
        if (maker) maker->given_to |= 1u << number_of(node);
    }
    bool there = sim_streams_are_there(node, &run->inputs);
    if (!there) sim_stream_refused(node->sim, node, run);
    return there;
}

static bool host_has_object(void *context, const struct wire_file *input)
{
    return sim_cache_has(context, input->object);
}

static bool host_is_fetching(void *context, rota_object_id object)
{
    return sim_cache_is_coming(context, object);
}

static void host_object_lost(void *context, const struct wire_run *run, rota_object_id object)
{
    struct node *node = context;
    judge_lack(node->sim, node, run, object);
    sim_cache_lost(node->sim, node, object);
}

static bool host_start(void *context, const struct wire_message *message)
{
    struct node *node = context;
    process_begin(node->sim, number_of(node), &message->run);
    return true;
}

static void host_stop(void *context, const struct attempt *attempt, int64_t grace)
{
    struct node *node = context;
    struct process *process = process_find(node, attempt->task, attempt->number);
    if (process) process_stop(node->sim, node, process, grace);
}

// Reasons are for people: the simulated server gets none.
static void host_report(void *context, struct attempt *attempt, enum wire_end end, int error,
                        const char *reason)
{
    struct node *node = context;
    (void)reason;
    if (end == WIRE_NOT_STARTED) see(node->sim, SIGHT_REFUSED_RUN);
    report_add(node->sim, node, attempt, end, error);
}

static void host_report_input(void *context, struct attempt *attempt)
{
    struct node *node = context;
    see(node->sim, SIGHT_BAD_INPUT);
    report_add(node->sim, node, attempt, WIRE_BAD_INPUT,
               node->transfer_error ? node->transfer_error : ENODATA);
}

void orders_init(struct sim *sim, struct node *node)
{
    static const struct run_host host = {
        .accepts = host_accepts,
        .has_object = host_has_object,
        .is_fetching = host_is_fetching,
        .object_lost = host_object_lost,
        .start = host_start,
        .stop = host_stop,
        .report = host_report,
        .report_input = host_report_input,
    };
    node->sim = sim;
    node->orders = (struct run_orders){.host = &host, .context = node, .decide = &node->decide};
}

// ---- Messages -----------------------------------------------------------------------------------

static void on_run(struct sim *sim, struct node *node, const struct wire_message *message)
{
    const struct waiting *held = node->orders.held, *lacking = node->orders.lacking;
    if (!run_orders_take(&node->orders, message, sim_node_clock(sim, node)))
        wrong(sim, "%s was given an invalid order", node->name);
    if (node->orders.held != held) see(sim, SIGHT_HELD_RUN);
    if (node->orders.lacking != lacking) see(sim, SIGHT_LACKING);
}

static void on_recorded(struct sim *sim, struct node *node, const struct wire_recorded *told)
{
    uint32_t who = (uint32_t)(node - sim->nodes);
    struct attempts *attempts = &node->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, told->task, told->attempt);
    if (files_forged(sim, node, told)) return;
    if (told->how == WIRE_IS_STALE) see(sim, SIGHT_REPORT_STALE);
    if (told->how == WIRE_WAS_RECORDED) see(sim, SIGHT_REPORT_AGAIN);
    if (!attempt || attempt->state != ATTEMPT_SPOOLED) return;
    sim_stream_recorded(sim, who, told);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->spool_count; i++) {
        const struct wire_finished *finished = &node->spool[i].finished;
        bool same = SAME_TASK(finished->task, told->task) && finished->attempt == told->attempt;
        if (!same) node->spool[kept++] = node->spool[i];
    }
    node->spool_count = kept;
    attempts_remove(attempts, attempt);
}

// ---- Joining ------------------------------------------------------------------------------------

// A server with another database is not told what was done for the first one. Running commands
// continue.
static bool is_ours(struct sim *sim, struct node *node, uint64_t server)
{
    struct attempts *attempts = &node->decide.attempts;
    bool unsafe = node->spool_count && !node->spool[node->spool_count - 1].safe;
    if (node->server && node->server != server) {
        sim_streams_give_up(sim, (uint32_t)(node - sim->nodes));
        if (attempts->alive || unsafe) return false;
        node->spool_count = 0;
        node->epoch = 0;
        attempts_forget_spooled(attempts);
    }
    node->server = server;
    return true;
}

static bool on_welcome(struct sim *sim, struct node *node, const struct wire_welcome *welcome)
{
    if (node->welcome || !decide_welcome(&node->decide, welcome, sim_node_clock(sim, node))) {
        wrong(sim, "%s gets an invalid welcome", node->name);
        return false;
    }
    if (!is_ours(sim, node, welcome->server)) return false;
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    struct wire_attempt *items
        = sim_allocate(attempts_count(&node->decide.attempts) + 1, sizeof *items);
    struct wire_out *out = &sim->links[node->link]->out[FAR_SIDE];
    message.join.cores = node->cores;
    message.join.memory_mib = 1000;
    message.join.machine = message.join.limits = message.join.user = wire_text_of("");
    message.join.address = wire_text_of(node->address);
    message.join.epoch = node->epoch;
    message.join.opened = node->opened;
    message.join.attempts = decide_join(&node->decide, items);
    wire_put(out, &message);
    free(items);
    node->welcome = true;
    node->welcomed = node->boot;
    if (welcome->epoch > node->epoch) {
        node->epoch = welcome->epoch;
        node->opened = welcome->opened;
    }
    sim_cache_tell(sim, node);
    for (uint32_t i = 0; i < node->spool_count; i++)
        if (node->spool[i].safe) report_put(&node->spool[i], out);
    files_forge(sim, node);
    return true;
}

// Another worker has its name: it ends, and is started again later. False: it tries again.
static bool on_refuse(struct sim *sim, uint32_t who, const struct wire_refuse *refuse)
{
    bool is_named = refuse->code == WIRE_REFUSED_NAME;
    see(sim, is_named ? SIGHT_DUPLICATE_REFUSED : SIGHT_GIVEN_UP);
    if (is_named) sim_node_crash(sim, who, false);
    return is_named;
}

bool order_take(struct sim *sim, uint32_t who, const struct wire_message *message)
{
    struct node *node = &sim->nodes[who];
    struct decide *decide = &node->decide;
    switch (message->kind) {
    case WIRE_WELCOME_MESSAGE: return on_welcome(sim, node, &message->welcome);
    case WIRE_REFUSE_MESSAGE: return on_refuse(sim, who, &message->refuse);
    case WIRE_BEATEN_MESSAGE:
        decide_beaten(decide, decide->connection, message->beaten.sent, sim_node_clock(sim, node));
        node->pause = 0;
        return true;
    case WIRE_PROBE_MESSAGE: sim_node_beat(sim, node); return true;
    case WIRE_RUN_MESSAGE: on_run(sim, node, message); return true;
    case WIRE_FETCH_MESSAGE: sim_cache_fetch(sim, who, &message->fetch); return true;
    case WIRE_FLOW_MESSAGE: sim_stream_meet(sim, who, &message->flow); return true;
    case WIRE_SERVE_MESSAGE: return true;  // other workers may connect, as they always may here
    case WIRE_DROP_MESSAGE:
        for (uint32_t i = 0; i < message->drop.objects.count; i++)
            sim_cache_drop(sim, node, &message->drop.objects.items[i]),
                sim_stream_drop(sim, who, message->drop.objects.items[i].object);
        return true;
    case WIRE_SHOW_MESSAGE:
        for (uint32_t i = 0; i < message->show.objects.count; i++)
            sim_cache_show(sim, node, message->show.objects.items[i].object);
        return true;
    case WIRE_STOP_MESSAGE:
        run_orders_end(&node->orders, message->stop.task, message->stop.attempt,
                       message->stop.grace);
        files_forge_stopped(sim, node, &message->stop);
        return true;
    case WIRE_RECORDED_MESSAGE: on_recorded(sim, node, &message->recorded); return true;
    case WIRE_QUIT_MESSAGE:
        see(sim, SIGHT_DRAINED);
        sim_node_crash(sim, who, false);  // it is started again later
        return true;
    default: wrong(sim, "%s gets a message that is not for workers", node->name); return false;
    }
}
