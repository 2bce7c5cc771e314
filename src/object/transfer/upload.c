// upload.c - contents uploaded by a client: written as they arrive, hashed, and only then named.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

// For the audit log. Contents alone are reported with the next bind, or when the connection ends.
void upload_report(struct peer *peer, const char *reason)
{
    struct data_upload *upload = &peer->upload;
    bool is_bound = upload->object.high || upload->object.low;
    upload->reason = reason;
    if (peer->server->on_upload && (is_bound || upload->contents || *reason))
        peer->server->on_upload(peer->server->context, upload);
    *upload = (struct data_upload){.who = upload->who};
}

const char no_room[] = "no space left on the server";

void put_deny(struct peer *peer, enum wire_code code, const char *reason)
{
    upload_report(peer, reason);
    peer_deny(peer, code, reason);
}

void put_init(struct put *put)
{
    *put = (struct put){.arrival = {.fd = -1}};
}

void put_drop(struct cache *cache, struct put *put)
{
    cache_arrival_drop(cache, &put->arrival);
    os_hash_close(put->sum);
    put_init(put);
}

// ---- Offers ---------------------------------------------------------------------------------

static void want(struct peer *peer, wire_text entry, uint64_t offset)
{
    struct wire_message message = {.kind = WIRE_WANT_MESSAGE};
    message.want.entry = entry;
    message.want.offset = offset;
    wire_put(&peer->link->out, &message);
}

void on_offer(struct peer *peer, const struct wire_offer *offer, int64_t now)
{
    struct wire_message offered = {.kind = WIRE_OFFERED_MESSAGE};
    peer->state = PEER_KNOWN;
    for (uint32_t i = 0; i < offer->entries.count; i++) {
        struct cache_entry entry;
        if (!cache_entry_read(offer->entries.items[i].bytes, &entry)) {
            put_deny(peer, WIRE_REFUSED_REQUEST, "invalid content description");
            return;
        }
        if (cache_reuse(peer->server->cache, &entry)) continue;
        const struct put *part = part_find(&peer->server->parts, peer->owner,
                                           &entry);
        want(peer, offer->entries.items[i], part ? part->written : 0);
        offered.offered.wanted++;
    }
    wire_put(&peer->link->out, &offered);
    pace_begin(&peer->pace, now);   // hashing existing files may have taken a while
}

// ---- Receiving ------------------------------------------------------------------------------

static void deny_cache(struct peer *peer, const struct cache_error *error, int reason)
{
    bool is_full = reason == ENOSPC || reason == EDQUOT;
    const char *text = is_full ? no_room : error->text;
    put_drop(peer->server->cache, &peer->put);
    put_deny(peer, is_full ? WIRE_REFUSED_FULL : WIRE_REFUSED_STATE, text);
}

static void put_whole(struct peer *peer)
{
    struct put *put = &peer->put;
    struct cache *cache = peer->server->cache;
    struct cache_error error = {0};
    struct cache_entry entry = put->entry;
    uint8_t hash[CACHE_HASH];
    char text[CACHE_ENTRY_TEXT];
    os_hash_end(put->sum, hash);
    if (memcmp(hash, put->entry.hash, CACHE_HASH) != 0) {
        // The wrong bytes may be those of the previous connection: the client starts again.
        enum wire_code code = put->is_resumed ? WIRE_REFUSED_NOT_FOUND : WIRE_REFUSED_CONFLICT;
        peer->upload.entry = put->entry;
        put_drop(cache, put);
        put_deny(peer, code, "the bytes do not match their hash");
        return;
    }
    errno = 0;
    if (!cache_arrival_add(cache, &put->arrival, &entry, CACHE_UNSYNCED, &error)) {
        deny_cache(peer, &error, errno);
        return;
    }
    put_drop(cache, put);
    peer->upload.contents++;
    peer->upload.bytes += entry.bytes;
    cache_entry_write(&entry, text);
    struct wire_message stored = {.kind = WIRE_STORED_MESSAGE};
    stored.stored.entry = wire_text_of(text);
    wire_put(&peer->link->out, &stored);
}

static bool put_begin(struct peer *peer, const struct cache_entry *entry)
{
    struct put *put = &peer->put;
    struct cache_error error = {0};
    errno = 0;
    put->entry = *entry;
    bool fine = cache_arrival_open(peer->server->cache, &put->arrival, &error);
    if (fine) put->sum = cache_hash_open(peer->server->cache, &error);
    if (fine && put->sum) return true;
    deny_cache(peer, &error, errno);
    return false;
}

// From the beginning, or from where an earlier upload of this content by this owner broke off.
void on_put_piece(struct peer *peer, const struct wire_piece *piece, int64_t now)
{
    struct parts *parts = &peer->server->parts;
    struct cache_entry entry;
    bool fine = cache_entry_read(piece->entry.bytes, &entry);
    uint64_t size = fine && entry.kind == CACHE_FILE ? entry.bytes : DATA_LIST_BYTES_MAX;
    fine = fine && piece->offset <= size && piece->bytes <= size - piece->offset
           && (entry.kind == CACHE_DIRECTORY || piece->bytes == size - piece->offset);
    struct put *part = fine ? part_find(parts, peer->owner, &entry) : NULL;
    if (!fine || (piece->offset && (!part || part->written != piece->offset))) {
        put_deny(peer, WIRE_REFUSED_REQUEST, "the piece was not requested");
        return;
    }
    if (!disk_can_hold(peer->server->cache, piece->offset + piece->bytes)) {
        put_deny(peer, WIRE_REFUSED_FULL, no_room);
        return;
    }
    if (piece->offset) {
        peer->put = *part;
        peer->put.is_resumed = true;
        part_remove(parts, part);
    } else if (!put_begin(peer, &entry)) {
        return;
    }
    peer->state = PEER_KNOWN;
    peer->put.left = piece->bytes;
    pace_begin(&peer->pace, now);
    if (!piece->bytes) put_whole(peer);
}

static bool put_write(struct peer *peer, const char *bytes, uint32_t count)
{
    struct put *put = &peer->put;
    for (;;) {
        errno = ENOSPC;
        if (disk_has_room(peer->server->cache, count)
            && os_write_at(put->arrival.fd, bytes, count, put->written))
            return true;
        int reason = errno;
        bool is_full = reason == ENOSPC || reason == EDQUOT;
        if (is_full && disk_make_room(peer)) continue;
        errno = reason;
        return false;
    }
}

bool put_continue(struct peer *peer)
{
    struct put *put = &peer->put;
    const char *bytes;
    uint32_t count = wire_take_raw(&peer->link->in, put->left, &bytes);
    if (count == 0) return true;
    if (!put_write(peer, bytes, count)) {
        int reason = errno;
        struct cache_error error = {.fault = CACHE_BROKEN};
        memcpy(error.text, "the disk of the server failed", 29);
        deny_cache(peer, &error, reason);
        return true;
    }
    os_hash_add(put->sum, bytes, count);
    put->written += count;
    put->left -= count;
    peer->pace.bytes += count;
    if (!put->left) put_whole(peer);
    return false;
}

// ---- Names ------------------------------------------------------------------------------------

// Contents of outputs are reported by the worker that ran the task: no client can define them.
static const char *bind_fault(rota_object_id object, const struct cache_entry *entry)
{
    rota_object_id name = cache_entry_object(entry);
    if (wire_is_named(object))
        return SAME_ID(object, name) ? NULL : "the object id belongs to another content";
    return wire_is_upload(object) ? NULL : "the object is an output of a task, not an upload";
}

// Reading the list of a large tree takes a second, so the result of a check is used for some time.
static bool tree_is_known(const struct data_server *server, const struct cache_entry *entry,
                          int64_t now)
{
    const struct trees *trees = &server->trees;
    for (uint32_t i = 0; i < trees->count; i++)
        if (cache_entry_is(&trees->items[i].entry, entry)
            && trees->items[i].entry.bytes == entry->bytes
            && trees->items[i].losses == server->cache->losses && now < trees->items[i].until)
            return true;
    return false;
}

// The oldest one is replaced.
static void tree_note(struct data_server *server, const struct cache_entry *entry, int64_t now)
{
    struct trees *trees = &server->trees;
    if (entry->kind != CACHE_DIRECTORY) return;
    if (trees->count == TREES_MAX)
        memmove(&trees->items[0], &trees->items[1], --trees->count * sizeof trees->items[0]);
    trees->items[trees->count].entry = *entry;
    trees->items[trees->count].losses = server->cache->losses;
    trees->items[trees->count++].until = now + TREE_TICKS;
}

static bool bind_content(struct data_server *server, rota_object_id object,
                         const struct cache_entry *entry, int64_t now, struct cache_error *error)
{
    if (tree_is_known(server, entry, now))
        return cache_bind_known(server->cache, object, entry, error);
    bool fine = cache_bind_synced(server->cache, object, entry, error);
    if (fine) tree_note(server, entry, now);
    return fine;
}

static bool is_another(struct cache *cache, rota_object_id object, const struct cache_entry *entry)
{
    struct cache_entry there;
    return cache_is_bound(cache, object, &there) && !cache_entry_is(&there, entry)
           && cache_has(cache, &there);
}

// The content of an object never changes: a client that names another one is wrong, or malicious.
void on_bind(struct peer *peer, const struct wire_bind *bind, int64_t now)
{
    struct data_server *server = peer->server;
    struct cache_entry entry;
    struct cache_error error = {0};
    struct wire_message bound = {.kind = WIRE_BOUND_MESSAGE};
    peer->upload.object = bind->object;
    if (!cache_entry_read(bind->entry.bytes, &entry)) {
        put_deny(peer, WIRE_REFUSED_REQUEST, "invalid content description");
        return;
    }
    peer->upload.entry = entry;
    const char *fault = bind_fault(bind->object, &entry);
    if (fault) {
        put_deny(peer, WIRE_REFUSED_REQUEST, fault);
        return;
    }
    if (is_another(server->cache, bind->object, &entry)) {
        put_deny(peer, WIRE_REFUSED_CONFLICT, "the object has another content");
        return;
    }
    if (!bind_content(server, bind->object, &entry, now, &error)) {
        bool is_lost = error.fault == CACHE_LOST;
        put_deny(peer, is_lost ? WIRE_REFUSED_NOT_FOUND : WIRE_REFUSED_STATE,
                 is_lost ? "the content is not in the object store" : error.text);
        return;
    }
    peer->pace.bytes += DATA_STALL_BYTES;
    if (server->on_bound) server->on_bound(server->context, bind->object, &entry);
    upload_report(peer, "");
    bound.bound.object = bind->object;
    wire_put(&peer->link->out, &bound);
}
