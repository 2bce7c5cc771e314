// tickets.h - tickets: for which object each is valid, and until when.
#pragma once

#include "object/transfer/transfer.h"
#include "base/base.h"

enum { TICKET_OF_ALL, TICKET_OF_SHARE, TICKET_LISTS };
struct ticket_link {
    uint32_t older, newer;  // places; 0: none
};

struct ticket {
    rota_object_id object;
    int64_t until;
    uint32_t share;                          // 0: of workers, else of a client
    struct ticket_link link[TICKET_LISTS];
    char text[DATA_TICKET_BYTES];  // padded with zeros
};

struct ticket_list {
    uint32_t oldest, newest, count;
};

struct tickets {
    struct ticket *items;  // index 0 is unused
    uint32_t used, free;   // places that were ever used; the first free one, or 0
    struct map by_hash;    // of text and object
    struct ticket_list all, *shares;
};

bool tickets_init(struct tickets *tickets);  // false: out of memory
void tickets_release(struct tickets *tickets);
bool tickets_add(struct tickets *tickets, const struct wire_serve *serve, int64_t now);
bool tickets_allow(const struct tickets *tickets, rota_object_id object, wire_text text,
                   int64_t now);
