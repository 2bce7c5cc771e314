// simulation.c - the loop: one event after the other, until everything has finished or a judge
// finds an error.
#include "sim/cluster/internal.h"

#include <stdarg.h>

enum { EVENTS_MAX = 3000000, WORKER_CORES = 4 };
#define CALM ((int64_t)3000 * 1000000)  // to finish everything without faults
#define STILL ((int64_t)200 * 1000000)  // the longest time without an event

#define SIM_NAME(name, text) text,
const char *const sim_sight_names[SIGHTS] = {SIM_SIGHTS(SIM_NAME)};
#undef SIM_NAME

void *sim_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) abort();
    return memory;
}

void sim_reserve(void *items, uint32_t *capacity, uint32_t count, size_t size)
{
    if (!memory_reserve_raw(&memory_heap, items, capacity, (uint64_t)count + 1, size)) abort();
}

void sim_note(struct sim *sim, uint64_t fact)
{
    sim->result->digest = hash_mix(sim->result->digest, fact);
}

void sim_say(struct sim *sim, const char *format, ...)
{
    va_list arguments;
    if (!sim->trace) return;
    va_start(arguments, format);
    fprintf(sim->trace, "%10.6f ", (double)sim->now / 1e6);
    vfprintf(sim->trace, format, arguments);
    fputc('\n', sim->trace);
    va_end(arguments);
}

// Frames inside of messages are not text.
void sim_dump(const struct wire_message *message, char text[DUMP_SIZE])
{
    wire_dump(message, text, DUMP_SIZE);
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = '.';
}

static void event_happens(struct sim *sim, const struct due *due)
{
    bool same_life = sim->daemon.up && due->mark == sim->daemon.mark;
    bool same_worker = due->kind >= DUE_WORKER && due->kind <= DUE_PARTED
                     && due->mark == sim->nodes[due->who].mark;
    bool hangs = (due->kind == DUE_WORKER || due->kind == DUE_SPOOL) && same_worker
                 && sim->now < sim->nodes[due->who].stalled_until;
    bool is_timer = due->kind == DUE_WORKER && same_worker;
    if (is_timer && due->at != sim->nodes[due->who].timer_at) return;  // an earlier one was set
    if (hangs) {
        int64_t until = sim->nodes[due->who].stalled_until;
        if (is_timer) sim->nodes[due->who].timer_at = until;
        event_queue_add(&sim->queue, until, (enum due_kind)due->kind, due->who, due->mark);
        return;
    }
    switch ((enum due_kind)due->kind) {
    case DUE_TURN:
        if (same_life) sim_daemon_turn(sim);
        break;
    case DUE_SETTLE:
        if (same_life) sim_daemon_settle(sim, due->who);
        break;
    case DUE_FEED:
        if (same_life) sim_daemon_feed(sim);
        break;
    case DUE_WAKE:
        if (due->mark == sim->daemon.wake) sim_daemon_due(sim, sim->now);
        break;
    case DUE_SERVER_KILL:
        if (same_life) sim_daemon_stop(sim);
        break;
    case DUE_SERVER_UP: sim_daemon_start(sim); break;
    case DUE_TO_SERVER: sim_link_deliver(sim, due->who, SERVER_SIDE); break;
    case DUE_TO_FAR: sim_link_deliver(sim, due->who, FAR_SIDE); break;
    case DUE_WORKER:
        if (same_worker) sim_node_work(sim, due->who);
        break;
    case DUE_WORKER_UP: sim_node_start(sim, due->who); break;
    case DUE_PROCESS: sim_node_process(sim, due->who, due->mark); break;
    case DUE_SPOOL:
        if (same_worker) sim_node_spool(sim, due->who);
        break;
    case DUE_FENCE:
        if (same_worker) sim_node_fence(sim, due->who);
        break;
    case DUE_EVICTED:
        if (same_worker) sim_node_crash(sim, due->who, false);
        break;
    case DUE_PARTED:
        if (same_worker) sim_node_part(sim, due->who);
        break;
    case DUE_MEND: sim->cut[0][due->who] = sim->cut[1][due->who] = false; break;
    case DUE_CLIENT: sim_client_work(sim, due->who); break;
    case DUE_FAULT: faults_change(sim); break;
    case DUE_HANDLER:
        if (due->mark == sim->handlers[due->who].mark) sim_handler_work(sim, due->who);
        break;
    case DUE_TRANSFER: sim_cache_transfer(sim, due->who, due->mark); break;
    }
}

static void sim_begin(struct sim *sim)
{
    setting_draw(sim);
    const struct setting *setting = &sim->setting;
    sim->nodes = sim_allocate(setting->nodes, sizeof *sim->nodes);
    sim->clients = sim_allocate(setting->clients, sizeof *sim->clients);
    sim->handlers = sim_allocate(setting->handlers, sizeof *sim->handlers);
    sim->sides = sim_allocate(setting->nodes + 1, 1);
    memset(sim->sides, SIDE_BOTH, setting->nodes + 1);
    for (int i = 0; i < 2; i++) sim->cut[i] = sim_allocate(setting->nodes, sizeof **sim->cut);
    sim->daemon.store = disk_open(sim);
    sim_daemon_start(sim);
    for (uint32_t i = 0; i < setting->nodes; i++) {
        struct node *node = &sim->nodes[i];
        snprintf(node->name, sizeof node->name, "worker-%u", i + 1);
        snprintf(node->address, sizeof node->address, "worker-%u", i + 1);
        node->cores = 2 + choose(sim, OF_SETTING, WORKER_CORES);
        node->rate = (int64_t)choose(sim, OF_SETTING, 20001) - 10000;
        if (i < setting->nodes - setting->duplicates)
            sim_node_start(sim, i);
        else
            duplicate_make(sim, i);
    }
    for (uint32_t i = 0; i < setting->clients; i++) {
        sim->clients[i].link = NOBODY;
        sim->clients[i].submissions = setting->submissions;
        event_queue_add(&sim->queue, choose_time(sim, OF_CLIENTS, 100000), DUE_CLIENT, i, 0);
    }
    for (uint32_t i = 0; i < setting->handlers; i++) {
        sim->handlers[i] = (struct handler){.link = NOBODY, .high = HANDLER_HIGH + i};
        event_queue_add(&sim->queue, choose_time(sim, OF_HANDLERS, 100000), DUE_HANDLER, i, 0);
    }
    event_queue_add(&sim->queue, setting->tick, DUE_FAULT, 0, 0);
}

static void sim_end(struct sim *sim)
{
    if (sim->daemon.up) {
        cluster_close(&sim->daemon.cluster);
        server_close(&sim->daemon.server);
    }
    store_close(sim->daemon.store);
    free(sim->daemon.inputs);
    for (uint32_t i = 0; i < sim->setting.nodes; i++) sim_node_release(&sim->nodes[i]);
    for (uint32_t i = 0; i < sim->setting.clients; i++) sim_client_release(&sim->clients[i]);
    for (uint32_t i = 0; i < sim->link_count; i++) sim_link_release(sim->links[i]);
    for (uint32_t i = 0; i < sim->job_count; i++) {
        free(sim->jobs[i]->tasks);
        free(sim->jobs[i]);
    }
    free(sim->nodes), free(sim->clients), free(sim->handlers);
    free(sim->cut[0]), free(sim->cut[1]), free(sim->sides);
    free(sim->links), free(sim->jobs), free(sim->queue.items);
    map_release(&memory_heap, &sim->jobs_by_number);
    core_record_release(&sim->known);
}

void sim_run(const struct sim_options *options, struct sim_result *result)
{
    struct sim sim = {.result = result, .trace = options->trace, .play = options->play};
    struct due due;
    bool over = false;
    *result = (struct sim_result){0};
    tape_open(&sim.tape, options);
    sim_begin(&sim);
    while (!over && !*result->wrong && event_queue_next(&sim.queue, &due)) {
        if (due.at > sim.now) sim.now = due.at;  // a delayed event happens at once
        sim_note(&sim, hash_mix((uint64_t)due.at, due.kind));
        event_happens(&sim, &due);
        bool late = ++result->events > EVENTS_MAX || sim.now > sim.setting.fault_time + CALM
                    || sim.now > sim.moved + STILL;
        if (options->events_max && result->events > options->events_max)
            wrong(&sim, "the limit of events is reached");
        over = late || (due.kind == DUE_CLIENT && judge_is_over(&sim));
    }
    if (!*result->wrong) judge_close(&sim);
    result->time = sim.now;
    result->tape = sim.tape.made;
    result->tape_length = sim.tape.length;
    sim_end(&sim);
}
