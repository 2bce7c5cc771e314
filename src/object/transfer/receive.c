// receive.c - writes received bytes to files, hashes them, and only then gives them a name.
#define _GNU_SOURCE
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Files of a tree up to this size are hashed as they arrive; waking a thread would take longer.
enum { SMALL = 64 << 10, PIECE = 256 << 10 };  // and this much is taken at once
enum { AHEAD = 64, AGAIN_MAX = 8 };            // files that are requested ahead; restarts

static bool is_tree(const struct transfer *transfer)
{
    return transfer->entry.kind == CACHE_DIRECTORY;
}

static uint64_t size_of(const struct transfer *transfer, const struct cache_entry *entry)
{
    return entry->kind == CACHE_DIRECTORY ? transfer->list_bytes : entry->bytes;
}

static const struct cache_entry *next_of(const struct transfer *transfer)
{
    return &transfer->wanted.items[transfer->received];
}

static struct hasher *hasher_of(const struct transfer *transfer)
{
    return transfer->fetcher->hasher;
}

// ---- Discarding -----------------------------------------------------------------------------

void receive_drop(struct transfer *transfer)
{
    hasher_drop(hasher_of(transfer), transfer->job);
    os_hash_close(transfer->sum);
    cache_arrival_drop(transfer->fetcher->cache, &transfer->arrival);
    if (transfer->found.fd >= 0) close(transfer->found.fd);
    transfer->found.fd = -1;
    transfer->job = NULL;
    transfer->sum = NULL;
    transfer->written = 0;
    transfer->is_mixed = transfer->is_full = false;
}

void receive_forget(struct transfer *transfer)
{
    receive_drop(transfer);
    if (transfer->list.fd >= 0) close(transfer->list.fd);
    transfer->list.fd = -1;
    cache_files_release(&transfer->wanted);
    transfer->received = transfer->asked = 0;
    transfer->is_known = false;
}

static void end_cache(struct transfer *transfer, const struct cache_error *error, int reason)
{
    transfer_end_system(transfer, reason, error->text);
}

// Sources that disagree, or fail in turn, must not keep the transfer running forever.
static bool again_is_enough(struct transfer *transfer)
{
    if (++transfer->again < AGAIN_MAX) return false;
    transfer_end(transfer, DATA_MISSED, "it had to be restarted too often");
    return true;
}

// ---- Requesting files -----------------------------------------------------------------------

static void want(struct transfer *transfer, const struct cache_entry *entry, uint64_t offset)
{
    char text[CACHE_ENTRY_TEXT];
    struct wire_message message = {.kind = WIRE_WANT_MESSAGE};
    cache_entry_write(entry, text);
    message.want.entry = wire_text_of(text);
    message.want.offset = offset;
    wire_put(&transfer->link->out, &message);
}

static void wants_send(struct transfer *transfer)
{
    const struct cache_files *wanted = &transfer->wanted;
    while (transfer->asked < wanted->count && transfer->asked < transfer->received + AHEAD) {
        bool is_next = transfer->asked == transfer->received;
        want(transfer, &wanted->items[transfer->asked++], is_next ? transfer->written : 0);
    }
}

// ---- The end ------------------------------------------------------------------------------

// Contents that existed at the check may have been evicted or removed since.
static void object_bind(struct transfer *transfer, int64_t now)
{
    struct cache_error error = {0};
    errno = 0;
    if (cache_bind(transfer->fetcher->cache, transfer->object, &transfer->entry, &error)) {
        transfer->done.entry = transfer->entry;
        transfer_end(transfer, DATA_FINE, "");
    } else if (error.fault == CACHE_LOST) {
        if (again_is_enough(transfer)) return;
        receive_forget(transfer);
        transfer->due = now;
        transfer_part(transfer);
        transfer_move(transfer, TRANSFER_WAITING);
    } else if (error.fault == CACHE_REFUSED) {
        transfer_end(transfer, DATA_MISSED, error.text);
    } else {
        end_cache(transfer, &error, errno);
    }
}

// A tree has many files: the entire file system is synced at once.
static void tree_sync(struct transfer *transfer)
{
    struct data_fetcher *fetcher = transfer->fetcher;
    transfer_part(transfer);
    transfer->job = hasher_begin(NULL, fetcher->cache->folder, 0, HASHER_SYNC_WHOLE);
    if (!transfer->job) {
        transfer_end(transfer, DATA_BROKEN, "out of memory");
        return;
    }
    transfer_move(transfer, TRANSFER_SYNCING);
    hasher_more(fetcher->hasher, transfer->job, 0);
}

// ---- Trees ----------------------------------------------------------------------------------

static void wanted_keep_missing(struct transfer *transfer)
{
    struct cache_files *wanted = &transfer->wanted;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < wanted->count; i++)
        if (!cache_has(transfer->fetcher->cache, &wanted->items[i]))
            wanted->items[kept++] = wanted->items[i];
    wanted->count = kept;
}

// The list is held first: then its existing files are not evicted.
static void list_follow(struct transfer *transfer, int64_t now)
{
    struct cache *cache = transfer->fetcher->cache;
    struct cache_error error = {0};
    cache_files_release(&transfer->wanted);
    transfer->received = transfer->asked = 0;
    bool fine = cache_read(cache, &transfer->entry, &transfer->list)
                && cache_files_load(cache, &transfer->entry, &transfer->wanted, &error);
    if (!fine && error.fault == CACHE_BROKEN) {
        end_cache(transfer, &error, errno);
        return;
    }
    if (!fine) {
        receive_forget(transfer);
        transfer_bad_source(transfer, now,
                            error.text[0] ? error.text : "its list was removed again");
        return;
    }
    wanted_keep_missing(transfer);
    if (transfer->wanted.count == 0) {
        tree_sync(transfer);
        return;
    }
    wants_send(transfer);
    transfer_move(transfer, TRANSFER_RECEIVING);
}

// ---- The description of the object ----------------------------------------------------------

static bool wanted_one(struct transfer *transfer)
{
    transfer->wanted.items = calloc(1, sizeof *transfer->wanted.items);
    if (!transfer->wanted.items) return false;
    transfer->wanted.items[0] = transfer->entry;
    transfer->wanted.count = 1;
    return true;
}

// An existing file may have been modified since it was stored: it is hashed, too.
static bool found_check(struct transfer *transfer)
{
    struct data_fetcher *fetcher = transfer->fetcher;
    struct cache_reading *found = &transfer->found;
    if (!cache_read(fetcher->cache, &transfer->entry, found)) return false;
    if (found->bytes == size_of(transfer, &transfer->entry))
        transfer->job = hasher_begin(fetcher->cache, found->fd, found->bytes, HASHER_SYNC_FILE);
    if (!transfer->job) {
        close(found->fd);
        found->fd = -1;
        return false;
    }
    transfer_move(transfer, TRANSFER_CHECKING);
    hasher_more(fetcher->hasher, transfer->job, found->bytes);
    return true;
}

static void found_checked(struct transfer *transfer, bool is_right, int64_t now)
{
    struct cache *cache = transfer->fetcher->cache;
    bool is_good = is_right && cache_vouch(cache, &transfer->entry, &transfer->found);
    if (!is_right) cache_throw(cache, &transfer->entry, &transfer->found);
    receive_drop(transfer);
    if (is_good && is_tree(transfer)) {
        list_follow(transfer, now);
    } else if (is_good) {
        object_bind(transfer, now);
    } else {
        wants_send(transfer);
        transfer_move(transfer, TRANSFER_RECEIVING);
    }
}

static const char *content_fault(const struct transfer *transfer,
                                 const struct wire_content *content, struct cache_entry *entry)
{
    if (!cache_entry_read(content->entry.bytes, entry)) return "invalid content description";
    if (entry->bytes > INT64_MAX || content->list_bytes > DATA_LIST_BYTES_MAX)
        return "its size is above the limit";
    if (!cache_entry_has(entry, &transfer->content))
        return "the content differs from the one its producer reported";
    if (transfer->bytes && entry->bytes != transfer->bytes) return "it has a wrong number of bytes";
    return NULL;
}

void receive_content(struct transfer *transfer, const struct wire_content *content, int64_t now)
{
    struct cache_entry entry;
    const char *fault = content_fault(transfer, content, &entry);
    if (fault) {
        transfer_bad_source(transfer, now, fault);
        return;
    }
    bool is_same = transfer->is_known && cache_entry_is(&entry, &transfer->entry)
                   && entry.bytes == transfer->entry.bytes
                   && content->list_bytes == transfer->list_bytes;
    bool is_another = transfer->arrival.fd >= 0 && transfer->arrival_source != transfer->source;
    bool starts_again = is_same ? is_another && transfer->distrusts_mixed : transfer->is_known;
    if (starts_again && again_is_enough(transfer)) return;
    if (starts_again) receive_drop(transfer);
    if (!is_same) {
        receive_forget(transfer);
        transfer->entry = entry;
        transfer->list_bytes = content->list_bytes;
        transfer->is_known = true;
        if (!wanted_one(transfer)) {
            transfer_end(transfer, DATA_BROKEN, "out of memory");
            return;
        }
        if (found_check(transfer)) return;
    }
    wants_send(transfer);
    transfer_move(transfer, TRANSFER_RECEIVING);
}

// ---- Receiving files ------------------------------------------------------------------------

static bool arrival_begin(struct transfer *transfer)
{
    struct data_fetcher *fetcher = transfer->fetcher;
    struct cache_error error = {0};
    uint64_t size = size_of(transfer, next_of(transfer));
    bool is_inline = is_tree(transfer) && size <= SMALL;
    errno = 0;
    bool fine = cache_arrival_open(fetcher->cache, &transfer->arrival, &error);
    if (!fine) {
        end_cache(transfer, &error, errno);
        return false;
    }
    if (is_inline)
        transfer->sum = cache_hash_open(fetcher->cache, NULL);
    else
        transfer->job
            = hasher_begin_arrival(fetcher->cache, transfer->arrival.fd, size,
                                   is_tree(transfer) ? HASHER_NO_SYNC : HASHER_SYNC_FILE);
    if (!transfer->sum && !transfer->job) transfer_end(transfer, DATA_BROKEN, "out of memory");
    return transfer->sum || transfer->job;
}

static void arrival_whole(struct transfer *transfer, int64_t now)
{
    uint8_t hash[CACHE_HASH];
    transfer_move(transfer, TRANSFER_CHECKING);
    if (transfer->job) return;  // the thread reports when it is done
    os_hash_end(transfer->sum, hash);
    receive_checked(transfer, hash, now);
}

void receive_piece(struct transfer *transfer, const struct wire_piece *piece, int64_t now)
{
    struct cache_entry entry;
    bool fine = transfer->received < transfer->asked && cache_entry_read(piece->entry.bytes, &entry)
                && cache_entry_is(&entry, next_of(transfer)) && piece->offset == transfer->written;
    uint64_t size = fine ? size_of(transfer, next_of(transfer)) : 0;
    if (!fine || piece->bytes != size - transfer->written) {
        transfer_bad_source(transfer, now, "it sent a piece that was not requested");
        return;
    }
    if (transfer->arrival.fd < 0 && !arrival_begin(transfer)) return;
    if (transfer->written && transfer->arrival_source != transfer->source)
        transfer->is_mixed = true;
    transfer->arrival_source = transfer->source;
    transfer->piece = piece->bytes;
    if (transfer->job) hasher_more(hasher_of(transfer), transfer->job, transfer->written);
    if (transfer->piece == 0) arrival_whole(transfer, now);
}

uint32_t receive_room(struct transfer *transfer, char **room)
{
    uint32_t most = PIECE;
    *room = NULL;
    if (transfer->job) *room = hasher_room(hasher_of(transfer), transfer->job, &most);
    transfer->is_full = most == 0;
    if (most > PIECE) most = PIECE;
    return transfer->piece < most ? (uint32_t)transfer->piece : most;
}

void receive_bytes(struct transfer *transfer, const char *bytes, uint32_t count, int64_t now)
{
    assert(count <= transfer->piece);
    if (!os_write_at(transfer->arrival.fd, bytes, count, transfer->written)) {
        int reason = errno;
        transfer_end_system(transfer, reason, strerror(reason));
        return;
    }
    transfer->written += count;
    transfer->piece -= count;
    transfer->progress += count;
    transfer->pace.bytes += count;
    if (transfer->sum) os_hash_add(transfer->sum, bytes, count);
    if (transfer->job) hasher_more(hasher_of(transfer), transfer->job, transfer->written);
    if (transfer->piece == 0) arrival_whole(transfer, now);
}

// If a file has bytes of several sources it is unknown which one was wrong.
static void hash_differs(struct transfer *transfer, int64_t now)
{
    if (!transfer->is_mixed) {
        transfer_bad_source(transfer, now, "the bytes it sent do not match their hash");
        return;
    }
    receive_drop(transfer);
    transfer->distrusts_mixed = true;
    transfer->progress = 0;
    transfer_broken(transfer, now, "its bytes do not match those of another source");
}

static void file_name(struct transfer *transfer, int64_t now)
{
    struct cache *cache = transfer->fetcher->cache;
    struct cache_error error = {0};
    struct cache_entry entry = *next_of(transfer);
    hasher_drop(hasher_of(transfer), transfer->job);  // its descriptor can write, see cache_content
    transfer->job = NULL;
    errno = 0;
    if (!cache_arrival_add(cache, &transfer->arrival, &entry, CACHE_SYNCED, &error)) {
        end_cache(transfer, &error, errno);
        return;
    }
    receive_drop(transfer);
    transfer->received++;
    transfer->progress += DATA_STALL_BYTES;
    transfer->pace.bytes += DATA_STALL_BYTES;
    if (!is_tree(transfer)) {
        object_bind(transfer, now);
    } else if (entry.kind == CACHE_DIRECTORY) {
        list_follow(transfer, now);
    } else if (transfer->received == transfer->wanted.count) {
        tree_sync(transfer);
    } else {
        wants_send(transfer);
        transfer_move(transfer, TRANSFER_RECEIVING);
    }
}

void receive_checked(struct transfer *transfer, const uint8_t hash[CACHE_HASH], int64_t now)
{
    if (transfer->state == TRANSFER_SYNCING) {
        object_bind(transfer, now);
        return;
    }
    bool is_right = memcmp(hash, next_of(transfer)->hash, CACHE_HASH) == 0;
    if (transfer->found.fd >= 0)
        found_checked(transfer, is_right, now);
    else if (is_right)
        file_name(transfer, now);
    else
        hash_differs(transfer, now);
}

// ---- Directly from a socket to the hashing thread and into a file -----------------------------

static bool is_simple(const struct transfer *transfer)
{
    const struct link *link = transfer->link;
    return transfer->piece && transfer->job && !link->tls && link->state == LINK_OPEN
           && link->in.taken == link->in.length && link->out.length == 0;
}

bool receive_direct(struct transfer *transfer, int64_t now)
{
    for (uint64_t turn = DATA_TURN; turn;) {
        if (!is_simple(transfer)) return turn < DATA_TURN;
        char *bytes;
        uint32_t room = receive_room(transfer, &bytes);
        if (room == 0) return true;
        ssize_t got = recv(transfer->link->file, bytes, room < turn ? room : turn, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        // if it is the end, the link reports it the next time
        if (got <= 0) return turn < DATA_TURN;
        turn -= (uint64_t)got;
        receive_bytes(transfer, bytes, (uint32_t)got, now);
        if (!transfer->link) return true;
    }
    return true;
}
