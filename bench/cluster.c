// cluster.c - tasks that do nothing, through a real server: submitted, given to workers of this
// process, reported, recorded.
//
//     cluster ADDRESS TASKS WORKERS CREDIT SHAPE QUEUED [KEYS]
//
// SHAPE is independent, or chain: each task needs the one before; or outputs: each task makes a
// file that is kept, and its report has a hash; or unhashed: the report has none, so the task fails
// unless lacks_hash() of the server is changed. QUEUED tasks more are submitted and not waited for.
// KEYS is a folder with client.key and worker.key, for an address that is not a Unix socket. Prints
// tasks a second from the first RUN until all TASKS are recorded; of a chain p50= and p99=,
// microseconds from the report that makes a task ready to its RUN at a worker; and if SERVER in the
// environment is the number of the server's process, for each task in that time cpu=, microseconds
// of processor time, and bytes=, what it had written to its disk.
#include "bench.h"

#include "client/connection/connection.h"
#include "os/os.h"

#include <stdio.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 4096, PIECE = 4096, BEAT_EVERY = 1000000 };

struct cluster {
    struct rota_client client, workers[WORKERS_MAX];
    uint32_t count, tasks, queued, credit, job;
    bool chain, outputs, unhashed;
    uint64_t low;  // of the request id, and of the ids of outputs
    struct link_keys client_keys, worker_keys;
    double began, cpu, bytes;  // cpu and bytes: the server's, when it began
    uint32_t recorded;
    double reported, *waits;  // of a chain: when the last report was sent; seconds to the next RUN
    uint32_t wait_count;
};

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

// ---- The server's process ---------------------------------------------------------------------

// The second word of a line that begins with `name`, or the first number.
static double file_number(const char *path, const char *name)
{
    char line[256];
    double number = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) number = strtod(line + strlen(name), NULL);
    if (file) fclose(file);
    return number;
}

static double server_cpu(const char *process)
{
    char path[300];
    double nanoseconds = 0;
    snprintf(path, sizeof path, "/proc/%.20s/task", process);
    DIR *threads = opendir(path);
    if (!threads) return 0;
    for (struct dirent *thread; (thread = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%.20s/task/%s/schedstat", process, thread->d_name);
        if (thread->d_name[0] != '.') nanoseconds += file_number(path, "");
    }
    closedir(threads);
    return nanoseconds / 1e9;
}

static double server_bytes(const char *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/io", process);
    return file_number(path, "write_bytes:");
}

// ---- The job ------------------------------------------------------------------------------------

static void submit(struct cluster *cluster)
{
    static struct wire_spec specs[PIECE];
    static struct wire_edge edges[PIECE];
    static struct wire_make makes[PIECE];
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE};
    struct wire_out frame = {0};
    wire_text argv = wire_text_of("/bin/true"), command = wire_text_of("true"), body;
    uint64_t low = cluster->low = (uint64_t)os_now();
    run.run.name = run.run.cwd = run.run.stdin_path = wire_text_of("");
    run.run.argv = (wire_texts){&argv, 1};
    wire_put(&frame, &run);
    body = (wire_text){frame.bytes, frame.length};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    struct wire_submit *piece = &message.submit;
    uint32_t all = cluster->tasks + cluster->queued;
    for (uint32_t at = 0; at < all; at += PIECE) {
        uint32_t left = all - at;
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
            edges[i] = (struct wire_edge){at + i, at + i + 1};
            makes[i] = (struct wire_make){
                .task = at + i + 1, .flags = ROTA_OBJECT_KEEP, .object = {low, at + i + 1}};
        }
        if (cluster->outputs) piece->outputs = (wire_makes){makes, piece->tasks.count};
        // The first task of all needs none.
        if (cluster->chain) piece->edges = (wire_edges){edges + !at, piece->tasks.count - !at};
        wire_put(&cluster->client.link->out, &message);
        if (client_send(&cluster->client, ROTA_NEVER)) stop(cluster->client.reason);
    }
    wire_out_release(&frame);
    struct request_id request = {1, low};
    if (client_accepted(&cluster->client, request, ROTA_NEVER, &cluster->job))
        stop(cluster->client.reason);
}

// ---- Workers ------------------------------------------------------------------------------------

static void worker_open(struct cluster *cluster, uint32_t at, const char *address)
{
    char name[32];
    struct rota_client *worker = &cluster->workers[at];
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    snprintf(name, sizeof name, "bench-%u", at);
    if (client_reach(worker, address, cluster->worker_keys.items, WIRE_WORKER, name, ROTA_NEVER))
        stop(worker->reason);
    message.join.cores = cluster->credit;
    message.join.memory_mib = 1u << 20;
    message.join.machine = message.join.address = message.join.limits = wire_text_of("");
    wire_put(&worker->link->out, &message);
    if (client_send(worker, ROTA_NEVER)) stop(worker->reason);
}

static void message_take(struct cluster *cluster, struct rota_client *peer,
                         const struct wire_message *message)
{
    struct wire_message answer = {.kind = WIRE_FINISHED_MESSAGE};
    const char *process = getenv("SERVER");
    cluster->recorded += message->kind == WIRE_RECORDED_MESSAGE;
    if (message->kind == WIRE_REFUSE_MESSAGE) stop(message->refuse.reason.bytes);
    if (message->kind != WIRE_RUN_MESSAGE) return;
    if (cluster->chain && cluster->reported && cluster->wait_count < cluster->tasks)
        cluster->waits[cluster->wait_count++] = seconds_now() - cluster->reported;
    if (!cluster->began) {
        cluster->cpu = process ? server_cpu(process) : 0;
        cluster->bytes = process ? server_bytes(process) : 0;
        cluster->began = seconds_now();
    }
    answer.finished.task = message->run.task;
    answer.finished.attempt = message->run.attempt;
    answer.finished.token = message->run.token;
    answer.finished.end = WIRE_EXITED;
    answer.finished.reason = wire_text_of("");
    struct wire_file output = {.kind = WIRE_FILE,
                               .object = {cluster->low, message->run.task.task},
                               .bytes = 100,
                               .name = wire_text_of("out"),
                               .path = wire_text_of("")};
    if (!cluster->unhashed) {
        output.content.kind = 'f';
        memcpy(output.content.hash, &message->run.task.task, sizeof message->run.task.task);
    }
    if (cluster->outputs) answer.finished.outputs = (wire_files){&output, 1};
    wire_put(&peer->link->out, &answer);
}

static void peer_work(struct cluster *cluster, struct rota_client *peer)
{
    struct wire_message message;
    if (!link_work(peer->link)) stop(peer->link->reason);
    while (wire_take(&peer->link->in, &message) == WIRE_GOT) message_take(cluster, peer, &message);
    if (!peer->link->out.length) return;
    if (cluster->chain) cluster->reported = seconds_now();
    if (!link_flush(peer->link)) stop(peer->link->reason);
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

static int wait_compare(const void *one, const void *other)
{
    const double *a = one, *b = other;
    return *a < *b ? -1 : *a > *b;
}

static void result_print(struct cluster *cluster)
{
    double seconds = seconds_now() - cluster->began;
    const char *process = getenv("SERVER");
    uint32_t count = cluster->wait_count;
    printf("%.1f", cluster->recorded / seconds);
    if (process) {
        double cpu = server_cpu(process) - cluster->cpu;
        double bytes = server_bytes(process) - cluster->bytes;
        printf(" cpu=%.3f bytes=%.1f", cpu * 1e6 / cluster->recorded, bytes / cluster->recorded);
    }
    if (count) {
        qsort(cluster->waits, count, sizeof *cluster->waits, wait_compare);
        printf(" p50=%.1f p99=%.1f", cluster->waits[count / 2] * 1e6,
               cluster->waits[(uint64_t)count * 99 / 100] * 1e6);
    }
    putchar('\n');
}

static void all_work(struct cluster *cluster, int loop)
{
    struct os_ready ready[256];
    int64_t beat = os_ticks();
    while (cluster->recorded < cluster->tasks) {
        uint32_t found = os_loop_wait(loop, ready, 256, os_ticks() + BEAT_EVERY);
        for (uint32_t i = 0; i < found; i++) peer_work(cluster, ready[i].owner);
        if (os_ticks() - beat < BEAT_EVERY) continue;
        beat = os_ticks();
        beats_put(cluster);
    }
}

int main(int count, char **words)
{
    static struct cluster cluster;
    if (count != 7 && count != 8)
        stop("usage: cluster ADDRESS TASKS WORKERS CREDIT SHAPE QUEUED [KEYS]");
    if (count == 8) keys_read(&cluster, words[7]);
    cluster.tasks = number_parse(words[2]);
    cluster.count = number_parse(words[3]);
    cluster.credit = number_parse(words[4]);
    cluster.chain = strcmp(words[5], "chain") == 0;
    cluster.unhashed = strcmp(words[5], "unhashed") == 0;
    cluster.outputs = strcmp(words[5], "outputs") == 0 || cluster.unhashed;
    cluster.queued = (uint32_t)strtoul(words[6], NULL, 10);
    cluster.waits = allocate(cluster.tasks, sizeof *cluster.waits);
    if (cluster.count > WORKERS_MAX) stop("too many workers");
    int loop = os_loop_open();
    if (client_reach(&cluster.client, words[1], cluster.client_keys.items, WIRE_CLIENT, "bench",
                     ROTA_NEVER))
        stop(cluster.client.reason);
    submit(&cluster);
    os_loop_add(loop, cluster.client.link->file, &cluster.client);
    for (uint32_t i = 0; i < cluster.count; i++) {
        worker_open(&cluster, i, words[1]);
        os_loop_add(loop, cluster.workers[i].link->file, &cluster.workers[i]);
        peer_work(&cluster, &cluster.workers[i]);
    }
    all_work(&cluster, loop);
    result_print(&cluster);
    return 0;
}
