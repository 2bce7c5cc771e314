// inputs.c - what a command needs comes from other workers before it starts; they fetch from here.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(rota_object_id object)
{
    return hash_mix(object.high, object.low);
}

// ---- Beginning and end -------------------------------------------------------------------------

// The server sends others here for it, and would take another copy for one too many.
static void on_gone(void *context, rota_object_id object)
{
    show_lost(context, object);
}

static bool carry_listen(struct agent *agent)
{
    struct carry *carry = &agent->carry;
    const struct agent_options *options = agent->options;
    struct link_error error = {"no memory to listen"};
    if (options->service->file_count) {
        carry->server = data_server_open_over(&carry->cache, options->service->files[0],
                                              options->peer_keys, &error);
    } else if (options->address) {
        if (link_address_is_local(options->address)) os_parents_make(options->address);
        carry->server
            = data_server_open(&carry->cache, options->address, options->peer_keys, &error);
    } else {
        return true;
    }
    if (!carry->server) agent_say(agent, "%s", error.text);
    if (carry->server) data_server_on_gone(carry->server, on_gone, agent);
    return carry->server;
}

bool carry_open(struct agent *agent)
{
    struct carry *carry = &agent->carry;
    const struct agent_options *options = agent->options;
    struct cache_error fault;
    char path[4096];
    snprintf(path, sizeof path, "%s/cache", options->folder);
    uint64_t most = options->worker.cache_max ? options->worker.cache_max : WORKER_CACHE_MAX;
    carry->memory.resize = memory_resize_heap;
    carry->is_open = os_directory_make(path) && cache_open(&carry->cache, path, most, &fault);
    if (!carry->is_open) return agent_say(agent, "%s: cannot be used as a cache", path), false;
    const struct link_key *key = options->peer_keys ? options->peer_keys->items : NULL;
    carry->fetcher = data_fetcher_open(&carry->cache, key);
    if (!carry->fetcher) return agent_say(agent, "no memory to fetch objects"), false;
    return carry_listen(agent);
}

// A socket that was handed over may listen at all addresses: then only we are told which is ours.
const char *carry_address(const struct agent *agent)
{
    const struct agent_options *options = agent->options;
    if (options->service->file_count && options->address) return options->address;
    return agent->carry.server ? data_server_address(agent->carry.server) : "";
}

void carry_close(struct agent *agent)
{
    struct carry *carry = &agent->carry;
    while (carry->lacking) waiting_remove(&carry->lacking);
    data_server_close(carry->server);
    data_fetcher_close(carry->fetcher);
    if (carry->is_open) cache_close(&carry->cache);
    map_release(&carry->memory, &carry->fetching);
    *carry = (struct carry){0};
}

// ---- What is lacking ---------------------------------------------------------------------------

static bool is_there(struct carry *carry, rota_object_id object)
{
    struct cache_entry entry;
    return cache_find(&carry->cache, object, &entry);
}

static bool needs_object(const struct wire_file *input)
{
    return input->kind != WIRE_SOURCE && input->kind != WIRE_STREAM;
}

enum carry_state { CARRY_READY, CARRY_LACKS, CARRY_NEVER };

static enum carry_state inputs_look(struct carry *carry, const wire_files *inputs)
{
    enum carry_state state = CARRY_READY;
    for (uint32_t i = 0; i < inputs->count; i++) {
        rota_object_id object = inputs->items[i].object;
        if (!needs_object(&inputs->items[i]) || is_there(carry, object)) continue;
        if (!map_find(&carry->fetching, hash_of(object))) return CARRY_NEVER;
        state = CARRY_LACKS;
    }
    return state;
}

// The server believes that they are here: it has to know better before it hears of the attempt.
static void lost_tell(struct agent *agent, const wire_files *inputs)
{
    struct carry *carry = &agent->carry;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct wire_file *input = &inputs->items[i];
        bool is_away = needs_object(input) && !is_there(carry, input->object)
                       && !map_find(&carry->fetching, hash_of(input->object));
        if (is_away) show_lost(agent, input->object);
    }
}

// Not the task's fault: the server makes the object again, or finds another worker.
static void never(struct agent *agent, struct attempt *attempt)
{
    const struct carry *carry = &agent->carry;
    char text[400];
    snprintf(text, sizeof text, "an input could not be fetched%s%s", carry->reason[0] ? ": " : "",
             carry->reason);
    report_refused(agent, attempt, WIRE_BAD_INPUT, carry->error ? carry->error : ENODATA, text);
}

// The folder of the client's job file need not be on this machine.
static void place_find(struct wire_run *run)
{
    if (!(run->flags & WIRE_RUN_ANYWHERE) || os_file_is_there(run->cwd.bytes)) return;
    run->cwd = wire_text_of("");
    run->flags |= WIRE_RUN_PRIVATE;
}

void carry_give(struct agent *agent, const struct wire_message *given)
{
    struct wire_message message = *given;
    struct attempt *attempt
        = attempts_find(&agent->decide.attempts, message.run.task, message.run.attempt);
    place_find(&message.run);
    alias_forget(agent, &message.run.outputs);
    if (!flows_given(agent, &message.run))
        return report_refused(agent, attempt, WIRE_STOPPED, ENOLINK,
                              "the stream it reads is no longer here");
    switch (inputs_look(&agent->carry, &message.run.inputs)) {
    case CARRY_READY: wire_put(&agent->worker->out, &message); return;
    case CARRY_NEVER:
        lost_tell(agent, &message.run.inputs);
        never(agent, attempt);
        return;
    case CARRY_LACKS:
        if (!waiting_add(&agent->carry.lacking, &message)) never(agent, attempt);
    }
}

// True: it was waiting for its inputs, and no longer is.
bool carry_take_back(struct agent *agent, const struct attempt *attempt)
{
    struct waiting **at = waiting_find(&agent->carry.lacking, attempt);
    if (!*at) return false;
    waiting_remove(at);
    return true;
}

void carry_refuse(struct agent *agent, int error, const char *reason)
{
    struct waiting **first = &agent->carry.lacking;
    while (*first) {
        struct attempt *attempt
            = attempts_find(&agent->decide.attempts, (*first)->task, (*first)->attempt);
        waiting_remove(first);
        report_refused(agent, attempt, WIRE_NOT_STARTED, error, reason);
    }
}

// Something has come, or never will: who waits for nothing else may start.
static void lacking_look(struct agent *agent)
{
    struct waiting **at = &agent->carry.lacking;
    while (*at) {
        struct wire_message message;
        struct wire_in copy = (*at)->frame;  // taken from only when it is time
        struct attempt *attempt
            = attempts_find(&agent->decide.attempts, (*at)->task, (*at)->attempt);
        enum wire_result result = wire_take(&copy, &message);
        (*at)->frame.arena = copy.arena;
        (*at)->frame.arena_capacity = copy.arena_capacity;
        enum carry_state state
            = result == WIRE_GOT ? inputs_look(&agent->carry, &message.run.inputs) : CARRY_NEVER;
        if (state == CARRY_LACKS) {
            at = &(*at)->next;
            continue;
        }
        if (state == CARRY_READY && agent->worker)
            wire_put(&agent->worker->out, &message);
        else
            never(agent, attempt);
        waiting_remove(at);
    }
}

// ---- Fetching ----------------------------------------------------------------------------------

static void missed_put(struct agent *agent, rota_object_id object, const char *reason)
{
    struct wire_message message = {.kind = WIRE_MISSED_MESSAGE};
    message.missed.object = object;
    message.missed.reason = wire_text_of(reason);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

// The server audits it, and does not send others there. Without a server they wait for the next
// connection.
void carry_lies_tell(struct agent *agent)
{
    if (agent->is_welcome) data_fetcher_tell_lies(agent->carry.fetcher, &agent->server->out);
}

// A copy of an older content of it is of no use: the fetcher forgets that.
void carry_fetch(struct agent *agent, const struct wire_fetch *fetch)
{
    struct carry *carry = &agent->carry;
    struct cache_entry entry;
    if (show_has(agent, fetch->object, &entry) && cache_entry_has(&entry, &fetch->content))
        return show_held(agent, fetch->object, &entry);
    bool begun = map_reserve(&carry->memory, &carry->fetching, 1)
                 && data_fetcher_fetch(carry->fetcher, fetch, os_ticks());
    if (begun)
        map_put(&carry->fetching, hash_of(fetch->object), 1);
    else
        missed_put(agent, fetch->object, "too much is on its way already");
}

void carry_serve(struct agent *agent, const struct wire_serve *serve)
{
    if (agent->carry.server) data_server_serve(agent->carry.server, serve, os_ticks());
}

// An older content of it goes: what is on its way, or was made here since, stays.
static bool is_newer(struct agent *agent, const struct wire_file *file)
{
    struct cache_entry entry;
    bool is_there = show_has(agent, file->object, &entry);
    return file->content.kind && !(is_there && cache_entry_has(&entry, &file->content));
}

void carry_drop(struct agent *agent, const wire_files *objects)
{
    for (uint32_t i = 0; i < objects->count; i++) {
        struct wire_file file = objects->items[i];
        if (is_newer(agent, &file)) continue;
        objects_remove(&agent->objects, &(wire_files){&file, 1});
        if (file.content.kind) continue;
        data_fetcher_forget(agent->carry.fetcher, file.object);
        map_remove(&agent->carry.fetching, hash_of(file.object));
        flows_forget(agent, file.object);
    }
}

// ---- In the loop -------------------------------------------------------------------------------

int64_t carry_due(const struct agent *agent)
{
    int64_t due = data_fetcher_due(agent->carry.fetcher);
    int64_t other = agent->carry.server ? data_server_due(agent->carry.server) : INT64_MAX;
    return other < due ? other : due;
}

// When there is no room here the sources are not to blame: what nobody needs goes.
static void failed(struct agent *agent, const struct data_done *done)
{
    struct carry *carry = &agent->carry;
    snprintf(carry->reason, sizeof carry->reason, "%s", done->reason);
    carry->error = done->fault == DATA_FULL ? ENOSPC : ENODATA;
    if (done->fault == DATA_MISSED) missed_put(agent, done->object, done->reason);
    if (done->fault == DATA_FULL) cache_evict_all(&carry->cache);
    if (done->fault != DATA_MISSED) agent_say(agent, "%s", done->reason);
}

void carry_work(struct agent *agent, int64_t ticks)
{
    struct carry *carry = &agent->carry;
    struct data_done done;
    bool news = false;
    if (carry->server) data_server_work(carry->server, ticks);
    data_fetcher_work(carry->fetcher, ticks);
    carry_lies_tell(agent);
    while (data_fetcher_next_done(carry->fetcher, &done)) {
        map_remove(&carry->fetching, hash_of(done.object));
        news = true;
        if (done.fault == DATA_FINE) show_held(agent, done.object, &done.entry);
        if (done.fault != DATA_FINE) failed(agent, &done);
    }
    if (news) lacking_look(agent);
}
