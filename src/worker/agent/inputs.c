// inputs.c - fetches inputs of commands from other workers before they start, and serves objects.
//
// The server sends FETCH with the sources and tickets of an object, then RUN for a command that
// reads it, and SERVE with a ticket to each source. A RUN whose inputs are missing waits in
// run_orders.c until all have arrived or one cannot be fetched; then it starts, or is reported as
// not started. The worker sends HELD for an arrived object, MISSED for one that no source has, LOST
// for one that was expected here and is not, FORGED for a source that sent other content.
//
// The fetcher and the listener for other workers have threads of their own (object/transfer); this
// file talks with them through queues, from the loop of the agent. A source may be gone, slow or
// send false bytes: the fetcher compares the hash and tries the next source. A full disk is not the
// fault of a source: unneeded objects are removed first.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// ---- Opening and closing --------------------------------------------------------------------

// The server sends other workers here for it, and might drop another copy as surplus.
static void on_gone(void *context, rota_object_id object)
{
    holdings_lost(context, object);
}

static bool inputs_listen(struct agent *agent)
{
    struct inputs *inputs = &agent->inputs;
    const struct agent_options *options = agent->options;
    struct link_error error = {"out of memory for the listener"};
    if (options->service->file_count) {
        inputs->server = data_server_open_over(&inputs->cache, options->service->files[0],
                                               options->peer_keys, &error);
    } else if (options->address) {
        if (link_address_is_local(options->address)) os_parents_make(options->address);
        inputs->server
            = data_server_open(&inputs->cache, options->address, options->peer_keys, &error);
    } else {
        return true;
    }
    if (!inputs->server) {
        agent_say(agent, "%s", error.text);
        agent->status = 2;
    }
    if (inputs->server) data_server_on_gone(inputs->server, on_gone, agent);
    return inputs->server;
}

bool inputs_open(struct agent *agent)
{
    struct inputs *inputs = &agent->inputs;
    const struct agent_options *options = agent->options;
    struct cache_error fault;
    char path[4096];
    snprintf(path, sizeof path, "%s/cache", options->folder);
    uint64_t most = options->worker.cache_max ? options->worker.cache_max : WORKER_CACHE_MAX;
    inputs->memory = memory_heap;
    inputs->is_open = os_directory_make(path) && cache_open(&inputs->cache, path, most, &fault);
    if (!inputs->is_open) return agent_say(agent, "%s: cannot be used as a cache", path), false;
    const struct link_key *key = options->peer_keys ? options->peer_keys->items : NULL;
    inputs->fetcher = data_fetcher_open(&inputs->cache, key);
    if (!inputs->fetcher) return agent_say(agent, "out of memory to fetch objects"), false;
    return inputs_listen(agent);
}

// An inherited socket may listen at all addresses: then only the worker knows its own address.
const char *inputs_address(const struct agent *agent)
{
    const struct agent_options *options = agent->options;
    if (options->service->file_count && options->address) return options->address;
    return agent->inputs.server ? data_server_address(agent->inputs.server) : "";
}

void inputs_close(struct agent *agent)
{
    struct inputs *inputs = &agent->inputs;
    data_server_close(inputs->server);
    data_fetcher_close(inputs->fetcher);
    if (inputs->is_open) cache_close(&inputs->cache);
    map_release(&inputs->memory, &inputs->fetching);
    *inputs = (struct inputs){0};
}

// ---- The host of run_orders.c ---------------------------------------------------------------

static bool host_accepts(void *context, const struct wire_run *run)
{
    shared_results_forget(context, &run->outputs);
    return streams_given(context, run);
}

// A copy with other content than the server has recorded is not the input.
static bool host_has_object(void *context, const struct wire_file *input)
{
    struct agent *agent = context;
    struct cache_entry entry;
    return cache_find_input(&agent->inputs.cache, input, &entry);
}

static bool host_is_fetching(void *context, rota_object_id object)
{
    const struct agent *agent = context;
    return map_find(&agent->inputs.fetching, ID_HASH(object));
}

static void host_object_lost(void *context, const struct wire_run *run, rota_object_id object)
{
    (void)run;
    holdings_lost(context, object);
}

// The folder of the client's job file need not exist on this machine.
static void place_find(struct wire_run *run)
{
    if (!(run->flags & WIRE_RUN_ANYWHERE) || os_file_is_there(run->cwd.bytes)) return;
    run->cwd = wire_text_of("");
    run->flags |= WIRE_RUN_PRIVATE;
}

static bool host_start(void *context, const struct wire_message *given)
{
    const struct agent *agent = context;
    struct wire_message message = *given;
    if (!agent->worker) return false;
    place_find(&message.run);
    wire_put(&agent->worker->out, &message);
    return true;
}

static void host_stop(void *context, const struct attempt *attempt, int64_t grace)
{
    const struct agent *agent = context;
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    message.stop.task = attempt->task;
    message.stop.attempt = attempt->number;
    message.stop.grace = grace;
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

// Not a failure of the task: the server has the object made again, or uses another worker.
static void host_report_input(void *context, struct attempt *attempt)
{
    const struct agent *agent = context;
    const struct inputs *inputs = &agent->inputs;
    char text[400];
    snprintf(text, sizeof text, "cannot fetch an input%s%s", inputs->reason[0] ? ": " : "",
             inputs->reason);
    report_refused(context, attempt, WIRE_BAD_INPUT, inputs->error ? inputs->error : ENODATA, text);
}

const struct run_host inputs_host = {
    .accepts = host_accepts,
    .has_object = host_has_object,
    .is_fetching = host_is_fetching,
    .object_lost = host_object_lost,
    .start = host_start,
    .stop = host_stop,
    .report = report_refused,
    .report_input = host_report_input,
};

// ---- Fetching ----------------------------------------------------------------------------------

static void missed_put(struct agent *agent, rota_object_id object, const char *reason)
{
    struct wire_message message = {.kind = WIRE_MISSED_MESSAGE};
    message.missed.object = object;
    message.missed.reason = wire_text_of(reason);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

// The server logs it, and sends no other workers there. Without a server the reports wait for the
// next connection.
void inputs_report_false(struct agent *agent)
{
    if (agent->is_welcome) data_fetcher_report_false(agent->inputs.fetcher, &agent->server->out);
}

// A copy of an older content of the object is useless: the fetcher drops it.
void inputs_fetch(struct agent *agent, const struct wire_fetch *fetch)
{
    struct inputs *inputs = &agent->inputs;
    struct cache_entry entry;
    if (holdings_has(agent, fetch->object, &entry) && cache_entry_has(&entry, &fetch->content))
        return holdings_held(agent, fetch->object, &entry);
    bool begun = map_reserve(&inputs->memory, &inputs->fetching, 1)
                 && data_fetcher_fetch(inputs->fetcher, fetch, os_ticks());
    if (begun)
        map_put(&inputs->fetching, ID_HASH(fetch->object), 1);
    else
        missed_put(agent, fetch->object, "too many transfers are running");
}

void inputs_serve(struct agent *agent, const struct wire_serve *serve)
{
    if (agent->inputs.server) data_server_serve(agent->inputs.server, serve, os_ticks());
}

// An older content of it is dropped; a copy that is being fetched, or was made here since, stays.
static bool is_newer(struct agent *agent, const struct wire_file *file)
{
    struct cache_entry entry;
    bool is_there = holdings_has(agent, file->object, &entry);
    return file->content.kind && !(is_there && cache_entry_has(&entry, &file->content));
}

void inputs_drop(struct agent *agent, const wire_files *objects)
{
    for (uint32_t i = 0; i < objects->count; i++) {
        struct wire_file file = objects->items[i];
        if (is_newer(agent, &file)) continue;
        inventory_remove(&agent->inventory, &(wire_files){&file, 1});
        if (file.content.kind) continue;
        data_fetcher_forget(agent->inputs.fetcher, file.object);
        map_remove(&agent->inputs.fetching, ID_HASH(file.object));
        streams_forget(agent, file.object);
    }
}

// ---- Event loop -----------------------------------------------------------------------------

int64_t inputs_due(const struct agent *agent)
{
    int64_t due = data_fetcher_due(agent->inputs.fetcher);
    int64_t other = agent->inputs.server ? data_server_due(agent->inputs.server) : INT64_MAX;
    return other < due ? other : due;
}

// If there is no space here the sources are not to blame: objects that are not needed are removed.
static void failed(struct agent *agent, const struct data_done *done)
{
    struct inputs *inputs = &agent->inputs;
    snprintf(inputs->reason, sizeof inputs->reason, "%s", done->reason);
    inputs->error = done->fault == DATA_FULL ? ENOSPC : ENODATA;
    if (done->fault == DATA_MISSED) missed_put(agent, done->object, done->reason);
    if (done->fault == DATA_FULL) cache_evict_all(&inputs->cache);
    if (done->fault != DATA_MISSED) agent_say(agent, "%s", done->reason);
}

void inputs_work(struct agent *agent, int64_t ticks)
{
    struct inputs *inputs = &agent->inputs;
    struct data_done done;
    bool news = false;
    if (inputs->server) data_server_work(inputs->server, ticks);
    data_fetcher_work(inputs->fetcher, ticks);
    inputs_report_false(agent);
    while (data_fetcher_next_done(inputs->fetcher, &done)) {
        map_remove(&inputs->fetching, ID_HASH(done.object));
        news = true;
        if (done.fault == DATA_FINE) holdings_held(agent, done.object, &done.entry);
        if (done.fault != DATA_FINE) failed(agent, &done);
    }
    if (news) run_orders_inputs(&agent->orders);
}
