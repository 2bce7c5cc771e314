// peers.c - a server with a store in memory, and peers played by the test.
#include "peers.h"
#include "server/cluster/planning.h"
#include "server/cluster/tokens.h"

#include <stdlib.h>
#include <string.h>

rota_time peers_lease = 1000000;
bool peers_restored;
bool peers_plan;
uint32_t peers_jobs_max;

static bool random_none(void *bytes, size_t size)
{
    memset(bytes, 7, size);
    return true;
}

void peers_open_at(struct peers *peers, struct store *store, rota_time now)
{
    struct rota_config config = rota_config_default();
    struct cluster_limits limits = {.lease = peers_lease,
                                .beat = peers_lease / 5,
                                .random = random_none,
                                .restored = peers_restored};
    *peers = (struct peers){.store = store, .now = now};
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    config.lease = cluster_lease(store, &limits, 2 * peers_lease);
    if (peers_jobs_max) config.jobs_max = peers_jobs_max;
    struct live *live = peers_plan ? live_open() : NULL;  // closed by cluster_close()
    bool open = server_open_telling(&peers->server, store, &config,
                                    live ? cluster_ahead_restored : NULL, live)
                && cluster_open(&peers->cluster, &peers->server, &limits, peers->now, peers->now);
    if (!open) abort();
    cluster_ahead_begin(&peers->cluster, live);
}

void peers_open(struct peers *peers, struct store *store)
{
    peers_open_at(peers, store, 1000000);
}

void peers_close(struct peers *peers)
{
    cluster_close(&peers->cluster);
    server_close(&peers->server);
}

static void turn_begin(struct peers *peers)
{
    if (peers->is_begun) return;
    peers->now += 1000;
    cluster_begin(&peers->cluster, peers->now + peers->wall, peers->now);
    peers->is_begun = true;
}

void played_open(struct peers *peers, struct played *played, uint32_t roles)
{
    *played = (struct played){0};
    played->peer = cluster_peer_add(&peers->cluster, roles, "key", &played->out);
}

void played_close(struct peers *peers, struct played *played)
{
    turn_begin(peers);
    if (played->peer) cluster_peer_remove(&peers->cluster, played->peer);
    wire_out_release(&played->out);
    wire_in_release(&played->in);
    *played = (struct played){0};
}

void played_forget(struct played *played)
{
    wire_out_release(&played->out);
    wire_in_release(&played->in);
    *played = (struct played){0};
}

bool played_says(struct peers *peers, struct played *played, const struct wire_message *message)
{
    turn_begin(peers);
    return cluster_take(&peers->cluster, played->peer, message);
}

uint64_t peers_write(struct peers *peers)
{
    turn_begin(peers);
    uint64_t turn = cluster_write(&peers->cluster);
    if (!turn) abort();
    peers->is_begun = false;
    return turn;
}

void peers_turn(struct peers *peers)
{
    cluster_settled(&peers->cluster, peers_write(peers));
}

enum wire_kind played_hears(struct played *played, struct wire_message *message)
{
    if (played->out.length) {
        memcpy(wire_in_room(&played->in, played->out.length), played->out.bytes,
               played->out.length);
        wire_in_came(&played->in, played->out.length);
        played->out.length = 0;
    }
    return wire_take(&played->in, message) == WIRE_GOT ? message->kind : WIRE_NONE;
}

bool played_hears_kind(struct played *played, enum wire_kind kind, struct wire_message *message)
{
    enum wire_kind heard;
    while ((heard = played_hears(played, message)) != WIRE_NONE)
        if (heard == kind) return true;
    return false;
}

rota_object_id peers_key;

bool played_submits(struct peers *peers, struct played *played, const struct wire_submit *submit,
                    const char *command, uint32_t tasks, uint32_t retries)
{
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    struct wire_spec specs[8];
    struct wire_out frame = {0};
    wire_text word = wire_text_of(command), body;
    run.run.name = run.run.cwd = run.run.stdin_path = wire_text_of("");
    run.run.argv = (wire_texts){&word, 1};
    if (strcmp(command, "exclusive") == 0) run.run.flags = WIRE_RUN_EXCLUSIVE;
    wire_put(&frame, &run);
    body = (wire_text){frame.bytes, frame.length};
    for (uint32_t i = 0; i < tasks; i++) {
        specs[i] = (struct wire_spec){.body = 1, .cores = 1, .retries = retries, .key = peers_key};
        specs[i].name = specs[i].details = wire_text_of("");
    }
    message.submit.high = 1;
    message.submit.name = wire_text_of("");
    message.submit.bodies = (wire_texts){&body, 1};
    message.submit.commands = (wire_texts){&word, 1};
    message.submit.tasks = (wire_specs){specs, tasks};
    bool said = played_says(peers, played, &message);
    wire_out_release(&frame);
    return said;
}

struct wire_message greet_of(enum wire_role role, const char *name, uint64_t connection)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = role;
    message.greet.name = wire_text_of(name);
    message.greet.connection = connection;
    if (role == WIRE_WORKER) message.greet.folder = cluster_hash(name, strlen(name));
    message.greet.place = message.greet.folder;
    return message;
}

struct wire_message join_of(uint32_t cores, struct wire_attempt *attempts, uint32_t count)
{
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    message.join.cores = cores;
    message.join.memory_mib = 1000;
    message.join.machine = message.join.address = message.join.limits = message.join.user
        = wire_text_of("");
    message.join.attempts = (wire_attempts){attempts, count};
    return message;
}
