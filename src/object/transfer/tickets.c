// tickets.c - tickets: for which object each is valid, and until when.
//
// A ticket is found by its hash. Each client has a share of the places, and workers have their own:
// when a share is used up, its oldest ticket is dropped, and other shares are not affected.
#include "object/transfer/internal.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = DATA_TICKETS_MAX + DATA_TICKETS_CLIENTS };

bool tickets_init(struct tickets *tickets)
{
    *tickets = (struct tickets){.items = calloc(PLACES + 1, sizeof *tickets->items),
                                .shares = calloc(DATA_TICKET_SHARES, sizeof *tickets->shares)};
    return tickets->items && tickets->shares
           && map_reserve(&memory_heap, &tickets->by_hash, PLACES);
}

void tickets_release(struct tickets *tickets)
{
    if (tickets->items) explicit_bzero(tickets->items, (PLACES + 1) * sizeof *tickets->items);
    free(tickets->items);
    free(tickets->shares);
    map_release(&memory_heap, &tickets->by_hash);
    *tickets = (struct tickets){0};
}

static uint64_t hash_of(const char text[DATA_TICKET_BYTES], rota_object_id object)
{
    uint64_t hash = ID_HASH(object), word;
    for (uint32_t i = 0; i < DATA_TICKET_BYTES; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash;
}

// ---- Lists, the oldest first ------------------------------------------------------------------

static void list_add(struct tickets *tickets, struct ticket_list *list, uint32_t at, int which)
{
    struct ticket *items = tickets->items;
    items[at].link[which] = (struct ticket_link){.older = list->newest, .newer = 0};
    *(list->newest ? &items[list->newest].link[which].newer : &list->oldest) = at;
    list->newest = at;
    list->count++;
}

static void list_remove(struct tickets *tickets, struct ticket_list *list, uint32_t at, int which)
{
    struct ticket *items = tickets->items;
    struct ticket_link link = items[at].link[which];
    *(link.older ? &items[link.older].link[which].newer : &list->oldest) = link.newer;
    *(link.newer ? &items[link.newer].link[which].older : &list->newest) = link.older;
    list->count--;
}

static void ticket_remove(struct tickets *tickets, uint32_t at)
{
    struct ticket *ticket = &tickets->items[at];
    uint64_t hash = hash_of(ticket->text, ticket->object);
    if (map_find(&tickets->by_hash, hash) == at) map_remove(&tickets->by_hash, hash);
    list_remove(tickets, &tickets->all, at, TICKET_OF_ALL);
    list_remove(tickets, &tickets->shares[ticket->share], at, TICKET_OF_SHARE);
    *ticket = (struct ticket){.link[TICKET_OF_ALL].newer = tickets->free};
    tickets->free = at;
}

// ---- Room -------------------------------------------------------------------------------------

// All tickets are valid for the same time, so the oldest ones expire first.
static void expired_remove(struct tickets *tickets, int64_t now)
{
    while (tickets->all.oldest && tickets->items[tickets->all.oldest].until <= now)
        ticket_remove(tickets, tickets->all.oldest);
}

static struct ticket_list *fullest_client(struct tickets *tickets)
{
    struct ticket_list *fullest = &tickets->shares[1];
    for (uint32_t i = 2; i < DATA_TICKET_SHARES; i++)
        if (tickets->shares[i].count > fullest->count) fullest = &tickets->shares[i];
    return fullest;
}

// Share 0 is used by all workers together.
static void room_make(struct tickets *tickets, uint32_t share)
{
    const struct ticket_list *mine = &tickets->shares[share];
    uint32_t of_clients = tickets->all.count - tickets->shares[0].count;
    if (mine->count == (share ? DATA_TICKETS_CLIENT : DATA_TICKETS_MAX))
        ticket_remove(tickets, mine->oldest);
    else if (share && of_clients == DATA_TICKETS_CLIENTS)
        ticket_remove(tickets, fullest_client(tickets)->oldest);
}

static uint32_t place_take(struct tickets *tickets)
{
    uint32_t at = tickets->free;
    if (!at) return ++tickets->used;
    tickets->free = tickets->items[at].link[TICKET_OF_ALL].newer;
    return at;
}

bool tickets_add(struct tickets *tickets, const struct wire_serve *serve, int64_t now)
{
    uint32_t length = serve->ticket.length;
    if (length < DATA_TICKET_LEAST || length > DATA_TICKET_BYTES) return false;
    expired_remove(tickets, now);
    if (serve->valid <= 0) return true;
    struct ticket ticket = {.object = serve->object, .until = INT64_MAX};
    ticket.share = serve->client ? 1 + (uint32_t)(serve->client % (DATA_TICKET_SHARES - 1)) : 0;
    if (serve->valid < INT64_MAX - now) ticket.until = now + serve->valid;
    memcpy(ticket.text, serve->ticket.bytes, length);
    room_make(tickets, ticket.share);
    uint32_t at = place_take(tickets);
    assert(at <= PLACES);
    tickets->items[at] = ticket;
    list_add(tickets, &tickets->all, at, TICKET_OF_ALL);
    list_add(tickets, &tickets->shares[ticket.share], at, TICKET_OF_SHARE);
    map_put(&tickets->by_hash, hash_of(ticket.text, ticket.object), at);
    return true;
}

// ---- Lookup ---------------------------------------------------------------------------------

// All bytes are compared, even after a difference, so that the time reveals nothing.
static bool text_is(const char *one, const char *other)
{
    volatile unsigned char differs = 0;
    for (uint32_t i = 0; i < DATA_TICKET_BYTES; i++)
        differs = (unsigned char)(differs | (one[i] ^ other[i]));
    return differs == 0;
}

bool tickets_allow(const struct tickets *tickets, rota_object_id object, wire_text text,
                   int64_t now)
{
    char shown[DATA_TICKET_BYTES] = {0};
    if (text.length < DATA_TICKET_LEAST || text.length > DATA_TICKET_BYTES) return false;
    memcpy(shown, text.bytes, text.length);
    uint32_t at = map_find(&tickets->by_hash, hash_of(shown, object));
    const struct ticket *ticket = &tickets->items[at];
    return at && text_is(ticket->text, shown) && SAME_ID(ticket->object, object)
           && now < ticket->until;
}
