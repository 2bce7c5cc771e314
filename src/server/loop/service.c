// service.c - `rota server` under a supervisor: status reports, inherited sockets, and SIGHUP.
//
// With systemd the server gets its listening sockets as inherited files, reports READY, a status
// line and STOPPING through the notify socket, and sends a watchdog message from the event loop: a
// loop that hangs sends none, and the supervisor restarts the server. Without a supervisor all of
// this does nothing. SIGHUP reads the file of keys again and reopens the audit log. Keys that
// cannot be read leave the old ones in force; connections with removed keys are closed.
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
    uint32_t workers = 0, links = serve_connections(serve);
    for (uint32_t i = 0; i < serve->cluster.worker_count; i++)
        workers += serve->cluster.workers[i]->peer != NULL;
    snprintf(status, sizeof status, "%u worker%s, %u connection%s, %u refused", workers,
             workers == 1 ? "" : "s", links, links == 1 ? "" : "s", serve->turned_away);
    if (strcmp(status, serve->status) == 0) return;
    memcpy(serve->status, status, sizeof status);
    os_service_tell(&serve->service, "STATUS=%s", status);
}

// Called from the loop: a loop that hangs sends nothing, and the supervisor ends the server.
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

// Connections to the object store belong to its thread, which has its own keys.
static void revoked_end(struct serve *serve)
{
    uint32_t before = serve->revoked;
    serve_peers_revoke(serve);
    cluster_claims_revoke(&serve->cluster);
    if (serve->revoked > before)
        fprintf(stderr, "rota server: %u connection%s\n", serve->revoked - before,
                serve->revoked - before == 1 ? " closed: its key was removed"
                                             : "s closed: their keys were removed");
    if (serve->object_store && !object_store_rekey(serve->object_store, &serve->keys))
        cluster_no_memory();
}

// A file of keys that cannot be read leaves the old ones in force.
static void keys_again(struct serve *serve)
{
    struct link_keys keys;
    struct link_error error;
    os_service_tell(&serve->service, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)os_ticks());
    if (!serve->options.keys) {
        fprintf(stderr, "rota server: no keys to read again: the server has no --keys\n");
    } else if (link_keys_read(&keys, serve->options.keys, &error)) {
        link_keys_release(&serve->keys);
        serve->keys = keys;
        for (uint32_t i = 0; i < serve->listener_count; i++)
            if (!link_listener_renew(&serve->listeners[i], &serve->keys, &error))
                fprintf(stderr, "rota server: %s\n", error.text);
        revoked_end(serve);
        fprintf(stderr, "rota server: %u keys read again\n", keys.count);
    } else {
        fprintf(stderr, "rota server: the old keys stay in force: %s\n", error.text);
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
