// transfer.c - an object from one process to another: as the system can, and as rota does.
//
//     transfer sendfile|one_thread|tls|raw|sent|fetch FOLDER MEBIBYTES
//     transfer raw_tls|sent_tls|fetch_tls FOLDER MEBIBYTES
//
// sendfile: one sends a file with sendfile, the other receives and writes it, and that is all.
// one_thread: the same, with SHA-256 over each piece before it is written.
// tls: OpenSSL alone, TLS 1.3 over loopback: read and SSL_write, SSL_read and write.
// raw: a data_server sends it; the other writes it into a file, without a hash.
// sent: a data_server sends it; the other throws it away.
// fetch: a data_fetcher asks for it: received, hashed, synced, named and bound.
// raw_tls, sent_tls, fetch_tls: the same over loopback with a key, as between machines.
// Prints MB a second, seconds= and peak= (bytes of memory of the one that receives).
#define _GNU_SOURCE
#include "bench.h"

#include "object/transfer/transfer.h"
#include "limit_tls.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICKET "0123456789abcdef0123456789abcdef"
enum { BUFFER = 256 << 10 };

static const rota_object_id object = {1, 1};

struct scene {
    char path[200], address[240];
    struct link_key key;
    struct link_keys keys;  // none: a Unix socket
    int folder;
    uint64_t bytes;
    struct cache there, here;
    struct cache_entry entry;
    pid_t child;
};

static void must(bool fine, const char *what)
{
    if (fine) return;
    fprintf(stderr, "transfer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void object_make(struct scene *scene)
{
    static uint64_t block[BUFFER / 8];
    uint64_t seed = 1;
    struct cache_error error = {0};
    int fd = openat(scene->folder, "object", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (uint64_t at = 0; at < scene->bytes; at += BUFFER) {
        for (size_t i = 0; i < BUFFER / 8; i++) block[i] = random_next(&seed);
        must(write(fd, block, BUFFER) == BUFFER, "write");
    }
    close(fd);
    must(cache_add(&scene->there, scene->folder, "object", CACHE_FILE, &scene->entry, &error)
             && cache_bind(&scene->there, object, &scene->entry, &error),
         error.text);
}

static void scene_open(struct scene *scene, const char *folder, const char *mebibytes)
{
    char path[240];
    struct cache_error error = {0};
    signal(SIGPIPE, SIG_IGN);
    *scene = (struct scene){.bytes = (uint64_t)number_parse(mebibytes) << 20};
    snprintf(scene->path, sizeof scene->path, "%.150s/rota-transfer-XXXXXX", folder);
    must(mkdtemp(scene->path), folder);
    scene->folder = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(scene->address, sizeof scene->address, "%s/socket", scene->path);
    snprintf(path, sizeof path, "%s/there", scene->path);
    must(cache_open(&scene->there, path, UINT64_MAX / 2, &error), error.text);
    snprintf(path, sizeof path, "%s/here", scene->path);
    must(cache_open(&scene->here, path, UINT64_MAX / 2, &error), error.text);
    object_make(scene);
}

static void scene_close(struct scene *scene)
{
    kill(scene->child, SIGKILL);
    waitpid(scene->child, NULL, 0);
    cache_close(&scene->here);
    cache_close(&scene->there);
    os_tree_remove(scene->path);
}

// ---- With system calls only -----------------------------------------------------------------

static int sender_start(struct scene *scene)
{
    int ends[2];
    struct cache_reading reading;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    must(cache_read(&scene->there, &scene->entry, &reading), "the object");
    scene->child = fork();
    if (scene->child) {
        close(ends[1]);
        return ends[0];
    }
    char go;
    close(ends[0]);
    if (read(ends[1], &go, 1) != 1) _exit(1);
    off_t at = 0;
    while ((uint64_t)at < scene->bytes)
        if (sendfile(ends[1], reading.fd, &at, scene->bytes - (uint64_t)at) <= 0) _exit(1);
    _exit(0);
}

static void sum_check(struct scene *scene, struct os_hash *sum)
{
    uint8_t hash[CACHE_HASH];
    os_hash_end(sum, hash);
    must(memcmp(hash, scene->entry.hash, CACHE_HASH) == 0, "the hash");
}

static void file_receive(struct scene *scene, int from, struct os_hash *sum)
{
    static char buffer[BUFFER];
    int fd = openat(scene->folder, "received", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    must(fd >= 0 && write(from, "g", 1) == 1, "begin");
    for (uint64_t at = 0; at < scene->bytes;) {
        ssize_t got = recv(from, buffer, sizeof buffer, 0);
        must(got > 0, "receive");
        if (sum) os_hash_add(sum, buffer, (size_t)got);
        must(pwrite(fd, buffer, (size_t)got, (off_t)at) == got, "write");
        at += (uint64_t)got;
    }
    if (sum) sum_check(scene, sum);
    close(fd);
}

static double system_run(struct scene *scene, bool hashes)
{
    int from = sender_start(scene);
    struct os_hash *sum = cache_hash_open(&scene->here, NULL);  // loads the library
    double began = seconds_now();
    file_receive(scene, from, hashes ? sum : NULL);
    double seconds = seconds_now() - began;
    os_hash_close(sum);
    close(from);
    return seconds;
}

// ---- With rota ------------------------------------------------------------------------------

static void server_start(struct scene *scene)
{
    struct link_error error = {""};
    struct wire_serve serve = {.object = object, .ticket = wire_text_of(TICKET)};
    serve.valid = 1000000000;
    const struct link_keys *keys = scene->keys.count ? &scene->keys : NULL;
    struct data_server *server = data_server_open(&scene->there, scene->address, keys, &error);
    must(server && data_server_serve(server, &serve, os_ticks()), error.text);
    snprintf(scene->address, sizeof scene->address, "%s", data_server_address(server));
    scene->child = fork();
    if (scene->child) return;
    for (;;) {
        struct os_watch watch = {.file = data_server_file(server)};
        os_wait(&watch, 1, INT64_MAX);
        data_server_work(server, os_ticks());
    }
}

static void link_wait(struct link *link)
{
    struct os_watch watch = {.file = link->file, .write = link->wants_write};
    os_wait(&watch, 1, INT64_MAX);
    must(link_work(link), "the link");
}

static void say(struct link *link, struct wire_message message)
{
    wire_put(&link->out, &message);
    link_flush(link);
}

static void all_ask(struct scene *scene, struct link *link)
{
    char text[CACHE_ENTRY_TEXT];
    struct wire_message greet = {.kind = WIRE_GREET_MESSAGE}, get = {.kind = WIRE_GET_MESSAGE},
                        want = {.kind = WIRE_WANT_MESSAGE};
    greet.greet = (struct wire_greet){WIRE_VERSION, WIRE_PEER, wire_text_of(""), 0, 0, 0, 0};
    get.get = (struct wire_get){object, wire_text_of(TICKET)};
    cache_entry_write(&scene->entry, text);
    want.want.entry = wire_text_of(text);
    say(link, greet);
    say(link, get);
    say(link, want);
}

static void bytes_take(const char *bytes, size_t count, int fd, uint64_t at)
{
    if (fd >= 0) must(pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count, "write");
}

// The header comes over the link, and with it perhaps some bytes.
static uint64_t header_take(struct link *link, int fd)
{
    struct wire_message message = {0};
    const char *bytes;
    while (message.kind != WIRE_PIECE_MESSAGE) {
        link_wait(link);
        while (message.kind != WIRE_PIECE_MESSAGE && wire_take(&link->in, &message) == WIRE_GOT)
            continue;
    }
    uint32_t got = wire_take_raw(&link->in, UINT32_MAX, &bytes);
    bytes_take(bytes, got, fd, 0);
    return got;
}

// Like a fetcher on a connection without encryption.
static void plain_take(struct scene *scene, struct link *link, int fd, uint64_t at)
{
    static char buffer[BUFFER];
    while (at < scene->bytes) {
        struct os_watch watch = {.file = link->file};
        os_wait(&watch, 1, INT64_MAX);
        ssize_t got = recv(link->file, buffer, sizeof buffer, MSG_DONTWAIT);
        must(got > 0, "receive");
        bytes_take(buffer, (size_t)got, fd, at);
        at += (uint64_t)got;
    }
}

static void deciphered_take(struct scene *scene, struct link *link, int fd, uint64_t at)
{
    while (at < scene->bytes) {
        const char *bytes;
        link_wait(link);
        uint32_t got = wire_take_raw(&link->in, UINT32_MAX, &bytes);
        bytes_take(bytes, got, fd, at);
        at += got;
    }
}

static double unhashed_run(struct scene *scene, bool is_kept)
{
    struct link_error error;
    bool tls = scene->keys.count;
    server_start(scene);
    double began = seconds_now();
    struct link *link = link_connect(scene->address, tls ? &scene->key : NULL, &error);
    int fd = -1;
    if (is_kept) fd = openat(scene->folder, "received", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    must(link && (fd >= 0 || !is_kept), error.text);
    while (link->state != LINK_OPEN) link_wait(link);
    all_ask(scene, link);
    uint64_t at = header_take(link, fd);
    (tls ? deciphered_take : plain_take)(scene, link, fd, at);
    double seconds = seconds_now() - began;
    link_close(link);
    if (is_kept) close(fd);
    return seconds;
}

static double raw_run(struct scene *scene)
{
    return unhashed_run(scene, true);
}

static double sent_run(struct scene *scene)
{
    return unhashed_run(scene, false);
}

static double fetch_run(struct scene *scene)
{
    struct data_done done;
    server_start(scene);
    wire_text address = wire_text_of(scene->address);
    struct wire_fetch fetch = {.object = object, .addresses = {&address, 1}};
    fetch.ticket = wire_text_of(TICKET);
    os_hash_close(cache_hash_open(&scene->here, NULL));
    const struct link_key *key = scene->keys.count ? &scene->key : NULL;
    struct data_fetcher *fetcher = data_fetcher_open(&scene->here, key);
    double began = seconds_now();
    must(fetcher && data_fetcher_fetch(fetcher, &fetch, os_ticks()), "fetch");
    while (!data_fetcher_next_done(fetcher, &done)) {
        struct os_watch watch = {.file = data_fetcher_file(fetcher)};
        os_wait(&watch, 1, data_fetcher_due(fetcher));
        data_fetcher_work(fetcher, os_ticks());
    }
    double seconds = seconds_now() - began;
    must(done.fault == DATA_FINE, done.reason);
    data_fetcher_close(fetcher);
    return seconds;
}

static void keyed(struct scene *scene)
{
    must(link_key_make(&scene->key, WIRE_PEER), "a key");
    scene->keys = (struct link_keys){&scene->key, 1};
    snprintf(scene->address, sizeof scene->address, "127.0.0.1:0");
}

static double raw_tls_run(struct scene *scene)
{
    keyed(scene);
    return raw_run(scene);
}

static double sent_tls_run(struct scene *scene)
{
    keyed(scene);
    return sent_run(scene);
}

static double fetch_tls_run(struct scene *scene)
{
    keyed(scene);
    return fetch_run(scene);
}

static double plain_run(struct scene *scene)
{
    return system_run(scene, false);
}

static double one_thread_run(struct scene *scene)
{
    return system_run(scene, true);
}

static double tls_run(struct scene *scene)
{
    struct cache_reading reading;
    must(cache_read(&scene->there, &scene->entry, &reading), "the object");
    int fd = openat(scene->folder, "received", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    double seconds = limit_tls(reading.fd, fd, scene->bytes, &scene->child);
    close(fd);
    return seconds;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        double (*run)(struct scene *scene);
    } ways[] = {{"sendfile", plain_run}, {"one_thread", one_thread_run}, {"tls", tls_run},
                {"raw", raw_run},        {"sent", sent_run},             {"fetch", fetch_run},
                {"raw_tls", raw_tls_run}, {"sent_tls", sent_tls_run},
                {"fetch_tls", fetch_tls_run}};
    struct scene scene;
    for (size_t i = 0; count == 4 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(words[1], ways[i].name) != 0) continue;
        scene_open(&scene, words[2], words[3]);
        double seconds = ways[i].run(&scene);
        printf("%.1f seconds=%.4f peak=%.0f\n", (double)scene.bytes / 1e6 / seconds, seconds,
               bytes_peak());
        scene_close(&scene);
        return 0;
    }
    fprintf(stderr, "transfer sendfile|one_thread|tls|raw|sent|fetch|raw_tls|sent_tls|fetch_tls"
                    " FOLDER MEBIBYTES\n");
    return 2;
}
