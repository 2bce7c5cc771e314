// upload.h - uploads from clients: active ones, and interrupted ones that can resume.
#pragma once

#include "object/transfer/transfer.h"

struct put {
    struct cache_entry entry;
    struct cache_arrival arrival;  // fd -1: none
    struct os_hash *sum;
    uint64_t written, left;
    bool is_resumed;               // it begins with bytes of another connection
    struct data_owner owner;       // of one whose peer disconnected,
    int64_t since;                 // at this time
};

enum { PARTS_MAX = 16, PART_LEAST = 1 << 20 };
enum { PART_TICKS = 600 * 1000000 };

// Parts of contents whose connection broke wait here for another connection of the same owner.
struct parts {
    // the last entry is for one more, until another one is dropped
    struct put items[PARTS_MAX + 1];
    uint32_t count;
};

// Trees whose files were all present a moment ago, the newest last. They are not read again.
enum { TREES_MAX = 64, TREE_TICKS = 60 * 1000000 };
struct trees {
    struct {
        struct cache_entry entry;
        uint64_t losses;  // of the cache at that time
        int64_t until;
    } items[TREES_MAX];
    uint32_t count;
};

struct peer;
void put_init(struct put *put);
void put_drop(struct cache *cache, struct put *put);
void put_deny(struct peer *peer, enum wire_code code, const char *reason);
extern const char no_room[];
void on_offer(struct peer *peer, const struct wire_offer *offer, int64_t now);
void on_put_piece(struct peer *peer, const struct wire_piece *piece, int64_t now);
bool put_continue(struct peer *peer);    // true: all that has arrived was processed
void upload_report(struct peer *peer, const char *reason);    // "": it was not refused
void on_bind(struct peer *peer, const struct wire_bind *bind, int64_t now);

// ---- unfinished_uploads.c: incomplete uploads -----------------------------------------------

void put_leave(struct peer *peer, int64_t now);    // its peer disconnects
struct put *part_find(struct parts *parts, struct data_owner owner,
                      const struct cache_entry *entry);
void part_remove(struct parts *parts, struct put *part);
void parts_release(struct cache *cache, struct parts *parts);
// Whether the bytes fit on the disk now, and whether they fit at all.
bool disk_has_room(const struct cache *cache, uint64_t bytes);
bool disk_can_hold(const struct cache *cache, uint64_t bytes);
// Drops something to make room for the data of this peer. False: nothing can be dropped.
bool disk_make_room(struct peer *peer);
