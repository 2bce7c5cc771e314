// cluster.c - tasks that do nothing, through a real server: submitted, given to workers of this
// process, reported, recorded.
//
//     cluster ADDRESS TASKS WORKERS CREDIT [KEYS]
//
// KEYS is a folder with client.key and worker.key, for an address that is not a Unix socket.
// Prints tasks a second from the first RUN to the end of the job.
#include "bench.h"

#include "client/client.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 4096, PIECE = 4096, BEAT_EVERY = 1000000 };

struct cluster {
    struct client client, workers[WORKERS_MAX];
    uint32_t count, tasks, credit, job;
    struct link_keys client_keys, worker_keys;
    double began;
    bool over;
};

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

// ---- The job ------------------------------------------------------------------------------------

static void submit(struct cluster *cluster)
{
    static struct wire_spec specs[PIECE];
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE};
    struct wire_out frame = {0};
    wire_text argv = wire_text_of("/bin/true"), command = wire_text_of("true"), body;
    uint64_t low = (uint64_t)os_now();
    run.run.name = run.run.cwd = run.run.stdin_path = wire_text_of("");
    run.run.argv = (wire_texts){&argv, 1};
    wire_put(&frame, &run);
    body = (wire_text){frame.bytes, frame.length};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    struct wire_submit *piece = &message.submit;
    for (uint32_t at = 0; at < cluster->tasks; at += PIECE) {
        uint32_t left = cluster->tasks - at;
        memset(piece, 0, sizeof *piece);
        piece->high = 1;
        piece->low = low;
        piece->name = wire_text_of("bench");
        piece->flags = left > PIECE ? WIRE_SUBMIT_MORE : 0;
        piece->tasks = (wire_specs){specs, left < PIECE ? left : PIECE};
        if (!at) {
            piece->bodies = (wire_texts){&body, 1};
            piece->commands = (wire_texts){&command, 1};
        }
        for (uint32_t i = 0; i < piece->tasks.count; i++) {
            specs[i] = (struct wire_spec){.body = 1, .cores = 1};
            specs[i].name = specs[i].details = wire_text_of("");
        }
        wire_put(&cluster->client.link->out, &message);
        if (!client_send(&cluster->client)) stop(cluster->client.error);
    }
    wire_out_release(&frame);
    cluster->job = client_accepted(&cluster->client, 1, low);
    if (!cluster->job) stop(cluster->client.error);
    message = (struct wire_message){.kind = WIRE_WATCH_MESSAGE};
    message.watch.job = cluster->job;
    wire_put(&cluster->client.link->out, &message);
    if (!client_send(&cluster->client)) stop(cluster->client.error);
}

// ---- Workers ------------------------------------------------------------------------------------

static void worker_open(struct cluster *cluster, uint32_t at, const char *address)
{
    char name[32];
    struct client *worker = &cluster->workers[at];
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    snprintf(name, sizeof name, "bench-%u", at);
    if (!client_open(worker, address, cluster->worker_keys.items, WIRE_WORKER, name))
        stop(worker->error);
    message.join.cores = cluster->credit;
    message.join.memory_mib = 1u << 20;
    message.join.machine = message.join.address = message.join.limits = wire_text_of("");
    wire_put(&worker->link->out, &message);
    if (!client_send(worker)) stop(worker->error);
}

static void message_take(struct cluster *cluster, struct client *peer,
                         const struct wire_message *message)
{
    struct wire_message answer = {.kind = WIRE_FINISHED_MESSAGE};
    if (message->kind == WIRE_OVER_MESSAGE) cluster->over = true;
    if (message->kind == WIRE_REFUSE_MESSAGE) stop(message->refuse.reason.bytes);
    if (message->kind != WIRE_RUN_MESSAGE) return;
    if (!cluster->began) cluster->began = seconds_now();
    answer.finished.task = message->run.task;
    answer.finished.attempt = message->run.attempt;
    answer.finished.token = message->run.token;
    answer.finished.end = WIRE_EXITED;
    answer.finished.reason = wire_text_of("");
    wire_put(&peer->link->out, &answer);
}

static void peer_work(struct cluster *cluster, struct client *peer)
{
    struct wire_message message;
    if (!link_work(peer->link)) stop(peer->link->reason);
    while (wire_take(&peer->link->in, &message) == WIRE_GOT) message_take(cluster, peer, &message);
    if (peer->link->out.length && !link_flush(peer->link)) stop(peer->link->reason);
}

static void beats_put(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct wire_message message = {.kind = WIRE_BEAT_MESSAGE};
        message.beat.sent = (uint64_t)os_ticks();
        wire_put(&cluster->workers[i].link->out, &message);
        link_flush(cluster->workers[i].link);
    }
}

static void keys_read(struct cluster *cluster, const char *folder)
{
    struct link_error error;
    char path[4096];
    snprintf(path, sizeof path, "%s/client.key", folder);
    if (!link_keys_read(&cluster->client_keys, path, &error)) stop(error.text);
    snprintf(path, sizeof path, "%s/worker.key", folder);
    if (!link_keys_read(&cluster->worker_keys, path, &error)) stop(error.text);
}

int main(int count, char **words)
{
    static struct cluster cluster;
    struct os_ready ready[256];
    if (count != 5 && count != 6) stop("usage: cluster ADDRESS TASKS WORKERS CREDIT [KEYS]");
    if (count == 6) keys_read(&cluster, words[5]);
    cluster.tasks = number_parse(words[2]);
    cluster.count = number_parse(words[3]);
    cluster.credit = number_parse(words[4]);
    if (cluster.count > WORKERS_MAX) stop("too many workers");
    int loop = os_loop_open();
    if (!client_open(&cluster.client, words[1], cluster.client_keys.items, WIRE_CLIENT, "bench"))
        stop(cluster.client.error);
    submit(&cluster);
    os_loop_add(loop, cluster.client.link->file, &cluster.client);
    for (uint32_t i = 0; i < cluster.count; i++) {
        worker_open(&cluster, i, words[1]);
        os_loop_add(loop, cluster.workers[i].link->file, &cluster.workers[i]);
        peer_work(&cluster, &cluster.workers[i]);
    }
    int64_t beat = os_ticks();
    while (!cluster.over) {
        uint32_t found = os_loop_wait(loop, ready, 256, os_ticks() + BEAT_EVERY);
        for (uint32_t i = 0; i < found; i++) peer_work(&cluster, ready[i].owner);
        if (os_ticks() - beat < BEAT_EVERY) continue;
        beat = os_ticks();
        beats_put(&cluster);
    }
    printf("%.1f\n", cluster.tasks / (seconds_now() - cluster.began));
    return 0;
}
