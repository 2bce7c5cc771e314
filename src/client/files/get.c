// get.c - objects for the user: fetched beside where they shall be, checked, and put there.
#include "client/files/client.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ask(struct client *client, enum wire_data_verb verb, rota_object_id object,
                uint64_t *low)
{
    struct wire_message message = {.kind = WIRE_DATA_MESSAGE};
    client_request_id(&message.data.high, &message.data.low);
    message.data.verb = verb;
    message.data.object = object;
    *low = message.data.low;
    wire_put(&client->link->out, &message);
}

// The answer to a request; other news is not for us.
static bool answer(struct client *client, uint64_t low, enum wire_kind wanted,
                   struct wire_message *message)
{
    if (!client_send(client)) return false;
    while (client_next(client, message, 0)) {
        if (message->kind == WIRE_REFUSE_MESSAGE && message->refuse.low == low) {
            client->code = (enum wire_code)message->refuse.code;
            return client_fail(client, message->refuse.reason.bytes);
        }
        if (message->kind == wanted) return true;
    }
    return false;
}

bool client_data_change(struct client *client, enum wire_data_verb verb, rota_object_id object)
{
    struct wire_message message;
    uint64_t low;
    ask(client, verb, object, &low);
    return answer(client, low, WIRE_DONE_MESSAGE, &message);
}

// ---- Fetching ---------------------------------------------------------------------------------

struct getting {
    struct client *client;
    struct cache cache;
    struct data_fetcher *fetcher;
    char folder[4096];
    struct data_done done;
};

// On the same disk as the file will be, so that it need not be copied twice.
static bool getting_open(struct getting *getting, const struct client_place *place,
                         const char *path)
{
    struct cache_error error = {0};
    const char *slash = strrchr(path, '/');
    snprintf(getting->folder, sizeof getting->folder, "%.*s/.rota-get-XXXXXX",
             (int)(slash - path), path);
    if (!os_parents_make(path) || !mkdtemp(getting->folder)) {
        char reason[300];
        snprintf(reason, sizeof reason, "%.200s: %s", path, strerror(errno));
        getting->folder[0] = 0;
        return client_fail(getting->client, reason);
    }
    if (!cache_open(&getting->cache, getting->folder, INT64_MAX, &error))
        return client_fail(getting->client, error.text);
    getting->fetcher = data_fetcher_open(&getting->cache, NULL);
    return (getting->fetcher && data_fetcher_home(getting->fetcher, place->address, place->key))
           || client_fail(getting->client, "no memory");
}

static void getting_close(struct getting *getting)
{
    data_fetcher_close(getting->fetcher);
    if (getting->cache.path) cache_close(&getting->cache);
    if (getting->folder[0]) os_tree_remove(getting->folder);
}

static bool fetch(struct getting *getting, const struct wire_fetch *fetch)
{
    struct data_fetcher *fetcher = getting->fetcher;
    if (!data_fetcher_fetch(fetcher, fetch, os_ticks()))
        return client_fail(getting->client, "no memory");
    while (!data_fetcher_next_done(fetcher, &getting->done)) {
        struct os_watch watch = {.file = data_fetcher_file(fetcher)};
        os_wait(&watch, 1, data_fetcher_due(fetcher));
        data_fetcher_work(fetcher, os_ticks());
    }
    return getting->done.fault == DATA_FINE
           || client_fail(getting->client, getting->done.reason);
}

static bool get(struct getting *getting, rota_object_id object, enum wire_data_verb verb)
{
    struct wire_message message;
    uint64_t low;
    ask(getting->client, verb, object, &low);
    do {
        if (!answer(getting->client, low, WIRE_FETCH_MESSAGE, &message)) return false;
    } while (message.fetch.object.high != object.high || message.fetch.object.low != object.low);
    return fetch(getting, &message.fetch);
}

bool client_get(struct client *client, const struct client_place *place, rota_object_id object,
                const char *path)
{
    struct getting getting = {.client = client};
    struct cache_error error = {0};
    client->code = 0;
    bool fine = getting_open(&getting, place, path);
    if (fine && !(fine = get(&getting, object, WIRE_DATA_READ)) && getting.done.reason[0])
        fine = get(&getting, object, WIRE_DATA_THROUGH);
    if (fine && !cache_deliver(&getting.cache, &getting.done.entry, path, &error))
        fine = client_fail(client, error.text);
    getting_close(&getting);
    return fine;
}
