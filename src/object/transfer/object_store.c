// object_store.c - the store of a server of rota: what clients bring, in a thread of its own.
//
// The server hands over connections that want to get or put something, and says what may be fetched
// and what is needed by nobody. So no byte of an object ever keeps it from deciding.
#define _GNU_SOURCE
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HELD_AT_ONCE = 1000, REPORT_EVERY = 60 * 1000000 };

struct depot {
    struct cache cache;
    struct data_server *server;
    struct data_fetcher *fetcher;
    struct link *link;   // to the server
    struct link_keys *keys;  // that count, and the fetcher uses one of
    _Atomic(struct link_keys *) next_keys;  // that are to count; null: there are none
    int adopting[2];     // a pipe of struct data_adoption; one without a link only wakes
    _Atomic uint32_t given;  // through it: so many are not adopted yet,
    _Atomic uint32_t held;   // and so many are served or wait
    int64_t report_at;       // ticks: when to say again who has too many connections
    pthread_t thread;
    bool is_open, has_thread;
};

// ---- What the server hears --------------------------------------------------------------------

static void held_put(struct depot *depot, struct wire_file *files, uint32_t count)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){files, count};
    if (count) wire_put(&depot->link->out, &message);
}

static struct wire_file file_of(rota_object_id object, const struct cache_entry *entry)
{
    return (struct wire_file){
        .kind = entry->kind == CACHE_DIRECTORY ? WIRE_DIRECTORY : WIRE_FILE,
        .object = object,
        .bytes = entry->bytes,
        .content = cache_entry_content(entry),
        .name = wire_text_of(NULL),
        .path = wire_text_of(NULL),
    };
}

// Returns when the server can read all of it: the client may name what it bound the next moment.
static void server_wait(struct depot *depot)
{
    struct os_watch watch = {.file = depot->link->file, .write = true};
    while (link_flush(depot->link) && depot->link->wants_write)
        os_wait(&watch, 1, INT64_MAX);
}

static void on_bound(void *context, rota_object_id object, const struct cache_entry *entry)
{
    struct depot *depot = context;
    struct wire_file file = file_of(object, entry);
    held_put(depot, &file, 1);
    server_wait(depot);
}

static void on_brought(void *context, const struct data_brought *brought)
{
    struct depot *depot = context;
    char entry[CACHE_ENTRY_TEXT] = "";
    struct wire_message message = {.kind = WIRE_BROUGHT_MESSAGE};
    if (brought->entry.kind) cache_entry_write(&brought->entry, entry);
    message.brought = (struct wire_brought){.who = wire_text_of(brought->who),
                                            .contents = brought->contents,
                                            .bytes = brought->bytes,
                                            .object = brought->object,
                                            .entry = wire_text_of(entry),
                                            .reason = wire_text_of(brought->reason)};
    wire_put(&depot->link->out, &message);
}

struct listing {
    struct depot *depot;
    struct wire_file files[HELD_AT_ONCE];
    uint32_t count;
};

static bool object_list(void *context, rota_object_id object, const struct cache_entry *entry)
{
    struct listing *listing = context;
    listing->files[listing->count++] = file_of(object, entry);
    if (listing->count < HELD_AT_ONCE) return true;
    held_put(listing->depot, listing->files, listing->count);
    listing->count = 0;
    return true;
}

// Ends with HELD_ALL: until then the server does not know what is here.
static bool objects_list(struct depot *depot)
{
    struct wire_message all = {.kind = WIRE_HELD_ALL_MESSAGE};
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) return false;
    listing->depot = depot;
    bool fine = cache_each(&depot->cache, object_list, listing);
    held_put(depot, listing->files, listing->count);
    wire_put(&depot->link->out, &all);
    free(listing);
    return fine && !depot->link->out.failed;
}

static void missed_put(struct depot *depot, rota_object_id object, const char *reason)
{
    struct wire_message message = {.kind = WIRE_MISSED_MESSAGE};
    message.missed.object = object;
    message.missed.reason = wire_text_of(reason);
    wire_put(&depot->link->out, &message);
}

// Lies come first: what is missed because of them is asked for again.
static void fetched_tell(struct depot *depot)
{
    struct data_done done;
    data_fetcher_tell_lies(depot->fetcher, &depot->link->out);
    while (data_fetcher_next_done(depot->fetcher, &done)) {
        struct wire_file file = file_of(done.object, &done.entry);
        if (done.fault == DATA_FINE)
            held_put(depot, &file, 1);
        else
            missed_put(depot, done.object, done.reason);
    }
}

// ---- What it is told --------------------------------------------------------------------------

static void drop(struct depot *depot, const wire_files *objects)
{
    for (uint32_t i = 0; i < objects->count; i++) {
        data_fetcher_forget(depot->fetcher, objects->items[i].object);
        cache_unbind_one(&depot->cache, objects->items[i].object, &objects->items[i].content);
    }
}

static void order_take(struct depot *depot, const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_SERVE_MESSAGE: data_server_serve(depot->server, &message->serve, os_ticks()); return;
    case WIRE_DROP_MESSAGE: drop(depot, &message->drop.objects); return;
    case WIRE_FETCH_MESSAGE:
        if (!data_fetcher_fetch(depot->fetcher, &message->fetch, os_ticks()))
            missed_put(depot, message->fetch.object, "too much is on its way already");
        return;
    default: return;
    }
}

// False: the server has gone.
static bool orders_take(struct depot *depot)
{
    struct wire_message message;
    bool is_open = link_work(depot->link);
    while (wire_take(&depot->link->in, &message) == WIRE_GOT) order_take(depot, &message);
    return is_open;
}

static void keys_free(struct link_keys *keys)
{
    if (keys) link_keys_release(keys);
    free(keys);
}

static const struct link_key *peer_key(const struct link_keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->items[i].role == WIRE_PEER) return &keys->items[i];
    return NULL;
}

// From here on nothing points into the keys before.
static void keys_use(struct depot *depot, struct link_keys *keys)
{
    uint32_t count = data_server_revoke(depot->server, keys, os_ticks());
    if (count)
        fprintf(stderr, "rota server: %u transfers with the object store end with their keys\n",
                count);
    data_fetcher_rekey(depot->fetcher, peer_key(keys));
    keys_free(depot->keys);
    depot->keys = keys;
}

// New keys are looked for before the pipe is emptied: so they also judge each connection that was
// handed over before them.
static void adopt_all(struct depot *depot)
{
    struct link_keys *keys = atomic_exchange(&depot->next_keys, NULL);
    struct data_adoption adoption;
    while (read(depot->adopting[0], &adoption, sizeof adoption) == (ssize_t)sizeof adoption) {
        if (!adoption.link) continue;
        depot->given--;
        data_server_adopt(depot->server, &adoption, os_ticks());
    }
    if (keys) keys_use(depot, keys);
}

static struct link_keys *keys_copy(const struct link_keys *keys)
{
    struct link_keys *copy = calloc(1, sizeof *copy);
    if (copy && link_keys_copy(copy, keys)) return copy;
    free(copy);
    return NULL;
}

// A pipe that is full wakes the thread as well.
bool depot_rekey(struct depot *depot, const struct link_keys *keys)
{
    struct data_adoption wake = {0};
    struct link_keys *copy = keys_copy(keys);
    if (!copy) return false;
    keys_free(atomic_exchange(&depot->next_keys, copy));
    while (write(depot->adopting[1], &wake, sizeof wake) < 0 && errno == EINTR) continue;
    return true;
}

void depot_adopt(struct depot *depot, const struct data_adoption *adoption)
{
    depot->given++;
    ssize_t put = write(depot->adopting[1], adoption, sizeof *adoption);
    if (put == (ssize_t)sizeof *adoption) return;
    depot->given--;
    data_adoption_drop(adoption);  // thousands wait already
}

uint32_t depot_connections(struct depot *depot)
{
    return depot->given + depot->held;
}

static void crowder_report(struct depot *depot, int64_t now)
{
    const char *key = now < depot->report_at ? NULL : data_server_crowder(depot->server);
    if (!key) return;
    fprintf(stderr, "rota server: %s%s has all of its transfers with the object store; more wait, "
            "and some are closed\n", key[0] ? "key " : "a user of this machine", key);
    depot->report_at = now + REPORT_EVERY;
}

// ---- The thread -------------------------------------------------------------------------------

static int64_t due_of(const struct depot *depot)
{
    int64_t one = data_server_due(depot->server), other = data_fetcher_due(depot->fetcher);
    return one < other ? one : other;
}

// Tickets before those who show them.
static void *depot_run(void *context)
{
    struct depot *depot = context;
    bool is_open = link_flush(depot->link);
    while (is_open) {
        struct os_watch watches[] = {
            {.file = depot->link->file, .write = depot->link->wants_write},
            {.file = depot->adopting[0]},
            {.file = data_server_file(depot->server)},
            {.file = data_fetcher_file(depot->fetcher)},
        };
        os_wait(watches, 4, due_of(depot));
        is_open = orders_take(depot);
        adopt_all(depot);
        data_server_work(depot->server, os_ticks());
        crowder_report(depot, os_ticks());
        depot->held = data_server_connections(depot->server);
        data_fetcher_work(depot->fetcher, os_ticks());
        fetched_tell(depot);
        if (is_open && !link_flush(depot->link)) is_open = false;
    }
    return NULL;
}

// ---- Beginning and end ------------------------------------------------------------------------

static bool fail(struct link_error *error, const char *folder, const char *reason)
{
    snprintf(error->text, sizeof error->text, "%.200s: %.190s", folder, reason);
    return false;
}

// It may be there already, made or restored by somebody with other habits.
static bool folder_open(const char *folder, struct link_error *error)
{
    struct stat status;
    if (!os_directory_make(folder) || stat(folder, &status) != 0)
        return fail(error, folder, strerror(errno));
    if (!(status.st_mode & (S_IRWXG | S_IRWXO)) || chmod(folder, S_IRWXU) == 0) return true;
    return fail(error, folder, "others may use this folder, and this user cannot change that; run"
                               " 'chmod 700' on it as its owner");
}

static bool parts_open(struct depot *depot, const char *folder, uint64_t bytes_max,
                       const struct link_keys *keys, struct link_error *error)
{
    struct cache_error fault = {0};
    depot->keys = keys_copy(keys);
    if (!depot->keys) return fail(error, folder, "no memory for the keys");
    if (!folder_open(folder, error)) return false;
    depot->is_open = cache_open(&depot->cache, folder, bytes_max, &fault);
    if (!depot->is_open) return fail(error, folder, fault.text);
    depot->server = data_server_open(&depot->cache, NULL, NULL, error);
    depot->fetcher = data_fetcher_open(&depot->cache, peer_key(depot->keys));
    if (!depot->server || !depot->fetcher) return fail(error, folder, "no memory for the store");
    data_server_on_bound(depot->server, on_bound, depot);
    data_server_on_brought(depot->server, on_brought);
    return true;
}

static bool thread_start(struct depot *depot, int *mine, struct link_error *error)
{
    int pair[2];
    bool fine = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0
                && pipe2(depot->adopting, O_CLOEXEC | O_NONBLOCK) == 0;
    if (!fine) return fail(error, depot->cache.path, strerror(errno));
    *mine = pair[0];
    depot->link = link_over(pair[1]);
    if (!depot->link || !objects_list(depot)) return fail(error, depot->cache.path, "no memory");
    depot->has_thread = pthread_create(&depot->thread, NULL, depot_run, depot) == 0;
    return depot->has_thread || fail(error, depot->cache.path, "no thread can be started");
}

struct depot *depot_open(const char *folder, uint64_t bytes_max, const struct link_keys *keys,
                         int *socket, struct link_error *error)
{
    struct depot *depot = calloc(1, sizeof *depot);
    *socket = -1;
    if (!depot) return fail(error, folder, "no memory"), NULL;
    depot->adopting[0] = depot->adopting[1] = -1;
    if (parts_open(depot, folder, bytes_max, keys, error) && thread_start(depot, socket, error))
        return depot;
    if (*socket >= 0) close(*socket);
    *socket = -1;
    depot_close(depot);
    return NULL;
}

bool depot_has_ended(struct depot *depot)
{
    if (depot && depot->has_thread && pthread_tryjoin_np(depot->thread, NULL) == 0)
        depot->has_thread = false;
    return !depot || !depot->has_thread;
}

void depot_close(struct depot *depot)
{
    struct data_adoption adoption;
    if (!depot) return;
    if (depot->has_thread) pthread_join(depot->thread, NULL);
    while (depot->adopting[0] >= 0
           && read(depot->adopting[0], &adoption, sizeof adoption) == (ssize_t)sizeof adoption)
        data_adoption_drop(&adoption);
    for (int i = 0; i < 2; i++)
        if (depot->adopting[i] >= 0) close(depot->adopting[i]);
    data_server_close(depot->server);  // tells over the link what its guests have brought
    link_close(depot->link);
    data_fetcher_close(depot->fetcher);
    keys_free(depot->keys);
    keys_free(depot->next_keys);
    if (depot->is_open) cache_close(&depot->cache);
    free(depot);
}
