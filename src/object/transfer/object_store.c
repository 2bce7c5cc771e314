// object_store.c - the object store of a server: files uploaded by clients, in a thread of its own.
//
// The server hands over connections that fetch or upload, and tells the thread what may be fetched
// and which objects are no longer needed. So transfers never delay the decisions of the server.
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

struct object_store {
    struct cache cache;
    struct data_server *server;
    struct data_fetcher *fetcher;
    struct link *link;   // to the server
    struct link_keys *keys;                 // in force; the fetcher uses one of them
    _Atomic(struct link_keys *) next_keys;  // to be used next; null: none
    int adopting[2];  // a pipe of struct data_adoption; one without a link only wakes the thread
    _Atomic uint32_t given;  // connections in the pipe,
    _Atomic uint32_t held;   // and connections that are served or wait
    int64_t report_at;       // ticks: when to report again which key has too many connections
    pthread_t thread;
    bool is_open, has_thread;
};

// ---- Messages to the server -----------------------------------------------------------------

static void held_put(struct object_store *object_store, struct wire_file *files, uint32_t count)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){files, count};
    if (count) wire_put(&object_store->link->out, &message);
}

// Returns when the server can read all of it: the client may name the bound object at once.
static void server_wait(struct object_store *object_store)
{
    struct os_watch watch = {.file = object_store->link->file, .write = true};
    while (link_flush(object_store->link) && object_store->link->wants_write)
        os_wait(&watch, 1, INT64_MAX);
}

static void on_bound(void *context, rota_object_id object, const struct cache_entry *entry)
{
    struct object_store *object_store = context;
    struct wire_file file = cache_entry_file(object, entry);
    held_put(object_store, &file, 1);
    server_wait(object_store);
}

static void on_upload(void *context, const struct data_upload *upload)
{
    struct object_store *object_store = context;
    char entry[CACHE_ENTRY_TEXT] = "";
    struct wire_message message = {.kind = WIRE_BROUGHT_MESSAGE};
    if (upload->entry.kind) cache_entry_write(&upload->entry, entry);
    message.brought = (struct wire_brought){.who = wire_text_of(upload->who),
                                            .contents = upload->contents,
                                            .bytes = upload->bytes,
                                            .object = upload->object,
                                            .entry = wire_text_of(entry),
                                            .reason = wire_text_of(upload->reason)};
    wire_put(&object_store->link->out, &message);
}

struct listing {
    struct object_store *object_store;
    struct wire_file files[HELD_AT_ONCE];
    uint32_t count;
};

static bool object_list(void *context, rota_object_id object, const struct cache_entry *entry)
{
    struct listing *listing = context;
    listing->files[listing->count++] = cache_entry_file(object, entry);
    if (listing->count < HELD_AT_ONCE) return true;
    held_put(listing->object_store, listing->files, listing->count);
    listing->count = 0;
    return true;
}

// Ends with HELD_ALL: until then the server does not know the objects here.
static bool objects_list(struct object_store *object_store)
{
    struct wire_message all = {.kind = WIRE_HELD_ALL_MESSAGE};
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) return false;
    listing->object_store = object_store;
    bool fine = cache_each(&object_store->cache, object_list, listing);
    held_put(object_store, listing->files, listing->count);
    wire_put(&object_store->link->out, &all);
    free(listing);
    return fine && !object_store->link->out.failed;
}

static void missed_put(struct object_store *object_store, rota_object_id object, const char *reason)
{
    struct wire_message message = {.kind = WIRE_MISSED_MESSAGE};
    message.missed.object = object;
    message.missed.reason = wire_text_of(reason);
    wire_put(&object_store->link->out, &message);
}

// Reports of false content come first: objects that are missing because of them are fetched again.
static void fetched_tell(struct object_store *object_store)
{
    struct data_done done;
    data_fetcher_report_false(object_store->fetcher, &object_store->link->out);
    while (data_fetcher_next_done(object_store->fetcher, &done)) {
        struct wire_file file = cache_entry_file(done.object, &done.entry);
        if (done.fault == DATA_FINE)
            held_put(object_store, &file, 1);
        else
            missed_put(object_store, done.object, done.reason);
    }
}

// ---- Messages of the server -----------------------------------------------------------------

static void drop(struct object_store *object_store, const wire_files *objects)
{
    for (uint32_t i = 0; i < objects->count; i++) {
        data_fetcher_forget(object_store->fetcher, objects->items[i].object);
        cache_unbind_one(&object_store->cache, objects->items[i].object,
                         &objects->items[i].content);
    }
}

static void order_take(struct object_store *object_store, const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_SERVE_MESSAGE:
        data_server_serve(object_store->server, &message->serve, os_ticks());
        return;
    case WIRE_DROP_MESSAGE: drop(object_store, &message->drop.objects); return;
    case WIRE_FETCH_MESSAGE:
        if (!data_fetcher_fetch(object_store->fetcher, &message->fetch, os_ticks()))
            missed_put(object_store, message->fetch.object, "too many transfers are running");
        return;
    default: return;
    }
}

// False: the server has closed the connection.
static bool orders_take(struct object_store *object_store)
{
    struct wire_message message;
    bool is_open = link_work(object_store->link);
    while (wire_take(&object_store->link->in, &message) == WIRE_GOT)
        order_take(object_store, &message);
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

// From here on nothing refers to the previous keys.
static void keys_use(struct object_store *object_store, struct link_keys *keys)
{
    uint32_t count = data_server_revoke(object_store->server, keys, os_ticks());
    if (count)
        fprintf(stderr,
                "rota server: %u transfers with the object store closed: their keys were removed\n",
                count);
    data_fetcher_rekey(object_store->fetcher, peer_key(keys));
    keys_free(object_store->keys);
    object_store->keys = keys;
}

// New keys are applied before the pipe is emptied: so they also apply to each connection that was
// handed over before them.
static void adopt_all(struct object_store *object_store)
{
    struct link_keys *keys = atomic_exchange(&object_store->next_keys, NULL);
    struct data_adoption adoption;
    while (read(object_store->adopting[0], &adoption, sizeof adoption)
           == (ssize_t)sizeof adoption) {
        if (!adoption.link) continue;
        object_store->given--;
        data_server_adopt(object_store->server, &adoption, os_ticks());
    }
    if (keys) keys_use(object_store, keys);
}

static struct link_keys *keys_copy(const struct link_keys *keys)
{
    struct link_keys *copy = calloc(1, sizeof *copy);
    if (copy && link_keys_copy(copy, keys)) return copy;
    free(copy);
    return NULL;
}

// A full pipe wakes the thread as well.
bool object_store_rekey(struct object_store *object_store, const struct link_keys *keys)
{
    struct data_adoption wake = {0};
    struct link_keys *copy = keys_copy(keys);
    if (!copy) return false;
    keys_free(atomic_exchange(&object_store->next_keys, copy));
    while (write(object_store->adopting[1], &wake, sizeof wake) < 0 && errno == EINTR) continue;
    return true;
}

void object_store_adopt(struct object_store *object_store, const struct data_adoption *adoption)
{
    object_store->given++;
    ssize_t put = write(object_store->adopting[1], adoption, sizeof *adoption);
    if (put == (ssize_t)sizeof *adoption) return;
    object_store->given--;
    data_adoption_drop(adoption);  // thousands already wait
}

uint32_t object_store_connections(struct object_store *object_store)
{
    return object_store->given + object_store->held;
}

static void crowded_report(struct object_store *object_store, int64_t now)
{
    const char *key
        = now < object_store->report_at ? NULL : data_server_crowded_by(object_store->server);
    if (!key) return;
    fprintf(stderr, "rota server: %s%s has all of its transfers with the object store; more wait, "
            "and some are closed\n", key[0] ? "key " : "a user of this machine", key);
    object_store->report_at = now + REPORT_EVERY;
}

// ---- The thread -------------------------------------------------------------------------------

static int64_t due_of(const struct object_store *object_store)
{
    int64_t one = data_server_due(object_store->server),
            other = data_fetcher_due(object_store->fetcher);
    return one < other ? one : other;
}

// Orders come first, so that a ticket is known before a client shows it.
static void *object_store_run(void *context)
{
    struct object_store *object_store = context;
    bool is_open = link_flush(object_store->link);
    while (is_open) {
        struct os_watch watches[] = {
            {.file = object_store->link->file, .write = object_store->link->wants_write},
            {.file = object_store->adopting[0]},
            {.file = data_server_file(object_store->server)},
            {.file = data_fetcher_file(object_store->fetcher)},
        };
        os_wait(watches, 4, due_of(object_store));
        is_open = orders_take(object_store);
        adopt_all(object_store);
        data_server_work(object_store->server, os_ticks());
        crowded_report(object_store, os_ticks());
        object_store->held = data_server_connections(object_store->server);
        data_fetcher_work(object_store->fetcher, os_ticks());
        fetched_tell(object_store);
        if (is_open && !link_flush(object_store->link)) is_open = false;
    }
    return NULL;
}

// ---- Opening and closing --------------------------------------------------------------------

static bool fail(struct link_error *error, const char *folder, const char *reason)
{
    snprintf(error->text, sizeof error->text, "%.200s: %.190s", folder, reason);
    return false;
}

// The folder may exist already, with other permissions.
static bool folder_open(const char *folder, struct link_error *error)
{
    struct stat status;
    if (!os_directory_make(folder) || stat(folder, &status) != 0)
        return fail(error, folder, strerror(errno));
    if (!(status.st_mode & (S_IRWXG | S_IRWXO)) || chmod(folder, S_IRWXU) == 0) return true;
    return fail(error, folder,
                "other users can access this folder, and this user cannot change that; run"
                " 'chmod 700' on it as its owner");
}

static bool parts_open(struct object_store *object_store, const char *folder, uint64_t bytes_max,
                       const struct link_keys *keys, struct link_error *error)
{
    struct cache_error fault = {0};
    object_store->keys = keys_copy(keys);
    if (!object_store->keys) return fail(error, folder, "out of memory for the keys");
    if (!folder_open(folder, error)) return false;
    object_store->is_open = cache_open(&object_store->cache, folder, bytes_max, &fault);
    if (!object_store->is_open) return fail(error, folder, fault.text);
    object_store->server = data_server_open(&object_store->cache, NULL, NULL, error);
    object_store->fetcher = data_fetcher_open(&object_store->cache, peer_key(object_store->keys));
    if (!object_store->server || !object_store->fetcher)
        return fail(error, folder, "out of memory for the store");
    data_server_on_bound(object_store->server, on_bound, object_store);
    data_server_on_upload(object_store->server, on_upload);
    return true;
}

static bool thread_start(struct object_store *object_store, int *mine, struct link_error *error)
{
    int pair[2];
    bool fine = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0
                && pipe2(object_store->adopting, O_CLOEXEC | O_NONBLOCK) == 0;
    if (!fine) return fail(error, object_store->cache.path, strerror(errno));
    *mine = pair[0];
    object_store->link = link_over(pair[1]);
    if (!object_store->link || !objects_list(object_store))
        return fail(error, object_store->cache.path, "out of memory");
    object_store->has_thread
        = pthread_create(&object_store->thread, NULL, object_store_run, object_store) == 0;
    return object_store->has_thread
           || fail(error, object_store->cache.path, "cannot start a thread");
}

struct object_store *object_store_open(const char *folder, uint64_t bytes_max,
                                       const struct link_keys *keys, int *socket,
                                       struct link_error *error)
{
    struct object_store *object_store = calloc(1, sizeof *object_store);
    *socket = -1;
    if (!object_store) return fail(error, folder, "out of memory"), NULL;
    object_store->adopting[0] = object_store->adopting[1] = -1;
    if (parts_open(object_store, folder, bytes_max, keys, error)
        && thread_start(object_store, socket, error))
        return object_store;
    if (*socket >= 0) close(*socket);
    *socket = -1;
    object_store_close(object_store);
    return NULL;
}

bool object_store_has_ended(struct object_store *object_store)
{
    if (object_store && object_store->has_thread
        && pthread_tryjoin_np(object_store->thread, NULL) == 0)
        object_store->has_thread = false;
    return !object_store || !object_store->has_thread;
}

void object_store_close(struct object_store *object_store)
{
    struct data_adoption adoption;
    if (!object_store) return;
    if (object_store->has_thread) pthread_join(object_store->thread, NULL);
    while (object_store->adopting[0] >= 0
           && read(object_store->adopting[0], &adoption, sizeof adoption)
                  == (ssize_t)sizeof adoption)
        data_adoption_drop(&adoption);
    for (int i = 0; i < 2; i++)
        if (object_store->adopting[i] >= 0) close(object_store->adopting[i]);
    data_server_close(object_store->server);  // reports over the link what its peers have uploaded
    link_close(object_store->link);
    data_fetcher_close(object_store->fetcher);
    keys_free(object_store->keys);
    keys_free(object_store->next_keys);
    if (object_store->is_open) cache_close(&object_store->cache);
    free(object_store);
}
