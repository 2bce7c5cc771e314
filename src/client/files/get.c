// get.c - fetches an object, file or directory, and puts it at a path of the user.
//
// A temporary cache next to the path receives and checks the object; then it is moved into place.
// So the path has either its old or its complete new content.
#include "client/files/files.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct getting {
    struct rota_client *client;
    struct cache cache;
    struct data_fetcher *fetcher;
    char folder[4096];
    struct data_done done;
};

// On the disk of the path, so that the object need not be copied again.
static enum rota_client_code getting_open(struct getting *getting,
                                          const struct client_place *place, const char *path)
{
    struct cache_error error = {0};
    const char *slash = strrchr(path, '/');
    snprintf(getting->folder, sizeof getting->folder, "%.*s/.rota-get-XXXXXX",
             (int)(slash - path), path);
    if (!os_parents_make(path) || !mkdtemp(getting->folder)) {
        getting->folder[0] = 0;
        return client_say(getting->client, ROTA_CLIENT_FILE, "%.200s: %s", path, strerror(errno));
    }
    if (!cache_open(&getting->cache, getting->folder, INT64_MAX, &error))
        return client_say(getting->client, ROTA_CLIENT_FILE, "%s", error.text);
    getting->fetcher = data_fetcher_open(&getting->cache, NULL);
    if (getting->fetcher && data_fetcher_home(getting->fetcher, place->address, place->key))
        return ROTA_CLIENT_OK;
    return client_say(getting->client, ROTA_CLIENT_NO_MEMORY, "out of memory");
}

static void getting_close(struct getting *getting)
{
    data_fetcher_close(getting->fetcher);
    if (getting->cache.path) cache_close(&getting->cache);
    if (getting->folder[0]) os_tree_remove(getting->folder);
}

static enum rota_client_code fetch(struct getting *getting, const struct wire_fetch *fetch)
{
    struct data_fetcher *fetcher = getting->fetcher;
    if (!data_fetcher_fetch(fetcher, fetch, os_ticks()))
        return client_say(getting->client, ROTA_CLIENT_NO_MEMORY, "out of memory");
    while (!data_fetcher_next_done(fetcher, &getting->done)) {
        struct os_watch watch = {.file = data_fetcher_file(fetcher)};
        os_wait(&watch, 1, data_fetcher_due(fetcher));
        data_fetcher_work(fetcher, os_ticks());
    }
    if (getting->done.fault == DATA_FINE) return ROTA_CLIENT_OK;
    return client_say(getting->client, ROTA_CLIENT_DAMAGED, "%s", getting->done.reason);
}

static enum rota_client_code get(struct getting *getting, rota_object_id object,
                                 enum wire_data_verb verb)
{
    struct wire_message message;
    enum rota_client_code code
        = client_locate(getting->client, verb, object, ROTA_NEVER, &message);
    return code ? code : fetch(getting, &message.fetch);
}

enum rota_client_code client_get(struct rota_client *client, const struct client_place *place,
                                 rota_object_id object, const char *path)
{
    struct getting getting = {.client = client};
    struct cache_error error = {0};
    client->refusal = 0;
    enum rota_client_code code = getting_open(&getting, place, path);
    if (!code && (code = get(&getting, object, WIRE_DATA_READ)) && getting.done.reason[0])
        code = get(&getting, object, WIRE_DATA_THROUGH);
    if (!code && !cache_deliver(&getting.cache, &getting.done.entry, path, &error))
        code = client_say(client, ROTA_CLIENT_FILE, "%s", error.text);
    getting_close(&getting);
    return code;
}
