// tickets.c - who may have which object, and until when.
#include "data/data_parts.h"

#include <stdlib.h>
#include <string.h>

bool tickets_init(struct tickets *tickets)
{
    *tickets = (struct tickets){.items = calloc(DATA_TICKETS_MAX, sizeof *tickets->items)};
    return tickets->items;
}

void tickets_release(struct tickets *tickets)
{
    if (tickets->items) explicit_bzero(tickets->items, DATA_TICKETS_MAX * sizeof *tickets->items);
    free(tickets->items);
    *tickets = (struct tickets){0};
}

static struct ticket *place_find(struct tickets *tickets)
{
    if (tickets->count < DATA_TICKETS_MAX) return &tickets->items[tickets->count++];
    struct ticket *first = tickets->items;
    for (uint32_t i = 1; i < tickets->count; i++)
        if (tickets->items[i].until < first->until) first = &tickets->items[i];
    return first;
}

static void expired_remove(struct tickets *tickets, int64_t now)
{
    for (uint32_t i = tickets->count; i-- > 0;)
        if (tickets->items[i].until <= now) tickets->items[i] = tickets->items[--tickets->count];
}

bool tickets_add(struct tickets *tickets, const struct wire_serve *serve, int64_t now)
{
    uint32_t length = serve->ticket.length;
    if (length < DATA_TICKET_LEAST || length > DATA_TICKET_BYTES) return false;
    expired_remove(tickets, now);
    if (serve->valid <= 0) return true;
    struct ticket ticket = {.object = serve->object, .until = INT64_MAX};
    if (serve->valid < INT64_MAX - now) ticket.until = now + serve->valid;
    memcpy(ticket.text, serve->ticket.bytes, length);
    *place_find(tickets) = ticket;
    return true;
}

// All bytes are looked at, wherever they differ: the time it takes says nothing.
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
    bool allowed = false;
    if (text.length < DATA_TICKET_LEAST || text.length > DATA_TICKET_BYTES) return false;
    memcpy(shown, text.bytes, text.length);
    for (uint32_t i = 0; i < tickets->count; i++) {
        const struct ticket *ticket = &tickets->items[i];
        bool is_right = text_is(ticket->text, shown);
        allowed |= is_right && object_is(ticket->object, object) && now < ticket->until;
    }
    return allowed;
}
