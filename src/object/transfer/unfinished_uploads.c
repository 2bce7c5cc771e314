// unfinished_uploads.c - incomplete uploads: the space they take, and which of them are dropped
// first.
//
// The part of a content that a client has sent before its connection broke is kept for some time,
// for that client alone: another one could have sent other bytes. Of these parts, and of active
// uploads, those of the owner with the most make room.
#include "object/transfer/internal.h"

#include <string.h>
#include <sys/statvfs.h>

struct put *part_find(struct parts *parts, struct data_owner owner,
                      const struct cache_entry *entry)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (data_owner_is(parts->items[i].owner, owner)
            && cache_entry_is(&parts->items[i].entry, entry))
            return &parts->items[i];
    return NULL;
}

void part_remove(struct parts *parts, struct put *part)
{
    *part = parts->items[--parts->count];
}

static void part_drop(struct cache *cache, struct parts *parts, struct put *part)
{
    put_drop(cache, part);
    part_remove(parts, part);
}

static void parts_forget(struct cache *cache, struct parts *parts, int64_t before)
{
    for (uint32_t i = parts->count; i-- > 0;)
        if (parts->items[i].since < before) part_drop(cache, parts, &parts->items[i]);
}

void parts_release(struct cache *cache, struct parts *parts)
{
    parts_forget(cache, parts, INT64_MAX);
}

// ---- Room for parts ---------------------------------------------------------------------------

struct amount {
    uint64_t bytes;
    uint32_t count;
};

static struct amount parts_of(const struct parts *parts, const struct data_owner *owner)
{
    struct amount amount = {0};
    for (uint32_t i = 0; i < parts->count; i++) {
        if (owner && !data_owner_is(parts->items[i].owner, *owner)) continue;
        amount.bytes += parts->items[i].written;
        amount.count++;
    }
    return amount;
}

// The oldest part of the owner with the most.
static void one_drop(struct cache *cache, struct parts *parts, bool by_bytes)
{
    struct put *goes = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        struct put *part = &parts->items[i];
        struct amount amount = parts_of(parts, &part->owner);
        uint64_t has = by_bytes ? amount.bytes : amount.count;
        if (goes && (has < most || (has == most && part->since >= goes->since))) continue;
        goes = part;
        most = has;
    }
    part_drop(cache, parts, goes);
}

// Of two parts of one content the longer one stays.
static bool is_worth_it(struct peer *peer)
{
    struct parts *parts = &peer->server->parts;
    if (!peer->put.left || peer->put.written < PART_LEAST) return false;
    struct put *other = part_find(parts, peer->owner, &peer->put.entry);
    if (!other) return true;
    if (other->written >= peer->put.written) return false;
    part_drop(peer->server->cache, parts, other);
    return true;
}

void put_leave(struct peer *peer, int64_t now)
{
    struct cache *cache = peer->server->cache;
    struct parts *parts = &peer->server->parts;
    parts_forget(cache, parts, now - PART_TICKS);
    if (!is_worth_it(peer)) {
        put_drop(cache, &peer->put);
        return;
    }
    peer->put.since = now;
    peer->put.owner = peer->owner;
    parts->items[parts->count++] = peer->put;
    put_init(&peer->put);
    while (parts->count > PARTS_MAX) one_drop(cache, parts, false);
    while (parts_of(parts, NULL).bytes > cache->bytes_max) one_drop(cache, parts, true);
}

// ---- Room on the disk -------------------------------------------------------------------------

// The database is often on the same disk, so uploads leave some space to it.
bool disk_has_room(const struct cache *cache, uint64_t bytes)
{
    enum { SHARE_LEFT = 32, BYTES_LEFT = 64 << 20 };
    struct statvfs disk;
    if (fstatvfs(cache->folder, &disk) != 0) return true;
    uint64_t left = disk.f_blocks * disk.f_frsize / SHARE_LEFT;
    if (left > BYTES_LEFT) left = BYTES_LEFT;
    return disk.f_bavail * disk.f_frsize >= left + bytes;
}

bool disk_can_hold(const struct cache *cache, uint64_t bytes)
{
    struct statvfs disk;
    return fstatvfs(cache->folder, &disk) != 0 || bytes <= disk.f_blocks * disk.f_frsize;
}

static uint64_t unfinished_of(const struct data_server *server, struct data_owner owner)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < server->peer_count; i++)
        if (data_owner_is(server->peers[i]->owner, owner)) bytes += server->peers[i]->put.written;
    return bytes;
}

// The largest upload of the owner with the most, if that is more than this peer's owner has.
static struct peer *largest_other(const struct peer *peer)
{
    const struct data_server *server = peer->server;
    struct peer *largest = NULL;
    uint64_t most = unfinished_of(server, peer->owner);
    for (uint32_t i = 0; i < server->peer_count; i++) {
        struct peer *other = server->peers[i];
        uint64_t has = unfinished_of(server, other->owner);
        bool is_larger = has > most
                         || (largest && has == most && other->put.written > largest->put.written);
        if (!other->put.written || data_owner_is(other->owner, peer->owner) || !is_larger) continue;
        largest = other;
        most = has;
    }
    return largest;
}

bool disk_make_room(struct peer *peer)
{
    struct data_server *server = peer->server;
    if (server->parts.count) {
        one_drop(server->cache, &server->parts, true);
        return true;
    }
    struct peer *other = largest_other(peer);
    if (!other) return false;
    put_drop(server->cache, &other->put);
    put_deny(other, WIRE_REFUSED_FULL, no_room);
    peer_continue(other, server->worked);
    return true;
}
