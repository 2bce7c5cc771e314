// service.c - `rota server` under a supervisor: what it is told, sockets it hands over, HUP.
#include "server/loop/loop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_EVERY = 1000000 };

void serve_say_ready(struct serve *serve)
{
    os_service_tell(&serve->service, "READY=1\nSTATUS=listening at %s",
                    serve->listeners[0].address);
}

static void status_say(struct serve *serve)
{
    char status[sizeof serve->status];
    uint32_t workers = 0;
    for (uint32_t i = 0; i < serve->hub.worker_count; i++)
        workers += serve->hub.workers[i]->peer != NULL;
    snprintf(status, sizeof status, "%u workers, %u connections, %u turned away", workers,
             serve_connections(serve), serve->turned_away);
    if (strcmp(status, serve->status) == 0) return;
    memcpy(serve->status, status, sizeof status);
    os_service_tell(&serve->service, "STATUS=%s", status);
}

// Called in the loop: one that stands still says nothing, and the supervisor ends it.
int64_t serve_beat(struct serve *serve, int64_t ticks)
{
    int64_t every = serve->service.watchdog / 2;
    if (!*serve->service.notify) return INT64_MAX;
    if (ticks >= serve->status_at) {
        status_say(serve);
        serve->status_at = ticks + STATUS_EVERY;
    }
    if (every && ticks >= serve->beat_at) {
        os_service_tell(&serve->service, "WATCHDOG=1");
        serve->beat_at = ticks + every;
    }
    return every && serve->beat_at < serve->status_at ? serve->beat_at : serve->status_at;
}

// Connections to the object store are its thread's, which has keys of its own.
static void revoked_end(struct serve *serve)
{
    uint32_t before = serve->revoked;
    serve_peers_revoke(serve);
    hub_claims_revoke(&serve->hub);
    if (serve->revoked > before)
        fprintf(stderr, "rota server: %u connection%s\n", serve->revoked - before,
                serve->revoked - before == 1 ? " ends with its key" : "s end with their keys");
    if (serve->depot && !depot_rekey(serve->depot, &serve->keys)) hub_no_memory();
}

// A file of keys that cannot be read leaves the old ones in force.
static void keys_again(struct serve *serve)
{
    struct link_keys keys;
    struct link_error error;
    os_service_tell(&serve->service, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)os_ticks());
    if (!serve->options.keys) {
        fprintf(stderr, "rota server: there are no keys to read again\n");
    } else if (link_keys_read(&keys, serve->options.keys, &error)) {
        link_keys_release(&serve->keys);
        serve->keys = keys;
        for (uint32_t i = 0; i < serve->listener_count; i++)
            if (!link_listener_renew(&serve->listeners[i], &serve->keys, &error))
                fprintf(stderr, "rota server: %s\n", error.text);
        revoked_end(serve);
        fprintf(stderr, "rota server: %u keys are read again\n", keys.count);
    } else {
        fprintf(stderr, "rota server: the old keys stay: %s\n", error.text);
    }
    os_service_tell(&serve->service, "READY=1");
}

void serve_signals(struct serve *serve)
{
    for (int number; (number = os_signal_next(serve->signals));) {
        if (number == SIGHUP) {
            serve_audit_again(serve);
            keys_again(serve);
        } else {
            serve->ending++;
        }
    }
}
