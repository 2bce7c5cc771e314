// put.h - contents that clients bring: what is being written, and what was left of it.
#pragma once

#include "data/data.h"

struct put {
    struct cache_entry entry;
    struct cache_arrival arrival;  // fd -1: none
    struct os_sum *sum;
    uint64_t written, left;
    int64_t since;                 // of one whose guest has gone
};

enum { PARTS_MAX = 16, PART_LEAST = 1 << 20 };
enum { PART_TICKS = 600 * 1000000 };

// What came of a content before its guest was gone waits here for another one.
struct parts {
    struct put items[PARTS_MAX];
    uint32_t count;
};

// Trees of which all files were there a moment ago, the newest last. They are not read again.
enum { TREES_MAX = 64, TREE_TICKS = 60 * 1000000 };
struct trees {
    struct {
        struct cache_entry entry;
        uint64_t losses;  // of the cache then
        int64_t until;
    } items[TREES_MAX];
    uint32_t count;
};

struct guest;
void put_init(struct put *put);
void put_leave(struct guest *guest, int64_t now);  // its guest goes
void on_offer(struct guest *guest, const struct wire_offer *offer, int64_t now);
void on_put_piece(struct guest *guest, const struct wire_piece *piece, int64_t now);
bool put_go_on(struct guest *guest);  // true: all that has come was taken
void brought_tell(struct guest *guest, const char *reason);  // "": it was not refused
void on_bind(struct guest *guest, const struct wire_bind *bind, int64_t now);
void parts_release(struct cache *cache, struct parts *parts);
