// transfer.c - the transfer of one object: chooses sources, sends requests, and handles failures.
//
// A transfer connects to one source at a time, sends GREET and GET with the ticket, and gets
// WELCOME and CONTENT, then WANTs the missing files and gets PIECEs; receive.c writes and hashes
// them. The bytes count only if their hash is the expected one.
//
// The fetcher owns all transfers and limits how many are active; a transfer owns its connection,
// the incomplete file and its job in the hashing thread. A source can be unreachable, slow, without
// the object, or send wrong bytes: then the next source is tried, and data that was received stays.
// After all sources failed the transfer waits and tries another round, up to DATA_ROUNDS; then it
// fails, and the owner of the fetcher is told why. A full disk or lack of memory ends it at once.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- States ---------------------------------------------------------------------------------

#define TO(state) (1u << TRANSFER_##state)
static const uint32_t moves[TRANSFER_STATES] = {
    [TRANSFER_WAITING] = TO(ASKING) | TO(WAITING) | TO(OVER),
    [TRANSFER_ASKING] = TO(RECEIVING) | TO(CHECKING) | TO(SYNCING) | TO(WAITING) | TO(OVER),
    [TRANSFER_RECEIVING] = TO(RECEIVING) | TO(CHECKING) | TO(SYNCING) | TO(WAITING) | TO(OVER),
    [TRANSFER_CHECKING] = TO(RECEIVING) | TO(CHECKING) | TO(SYNCING) | TO(WAITING) | TO(OVER),
    [TRANSFER_SYNCING] = TO(WAITING) | TO(OVER),
};
#undef TO

static bool is_active(enum transfer_state state)
{
    return state != TRANSFER_WAITING && state != TRANSFER_OVER;
}

// Nothing is read while the thread is busy with it: further data stays in the socket.
static void transfer_watch(struct transfer *transfer)
{
    struct link *link = transfer->link;
    bool reads = transfer->state == TRANSFER_ASKING
                 || (transfer->state == TRANSFER_RECEIVING && !transfer->is_full);
    int loop = transfer->fetcher->loop;
    if (!link) return;
    if (transfer->is_read && !reads) os_loop_remove(loop, link->file);
    if (!transfer->is_read && reads) {
        os_loop_add(loop, link->file, transfer);
        transfer->is_watched = false;
    }
    transfer->is_read = reads;
    if (!reads || transfer->is_watched == link->wants_write) return;
    transfer->is_watched = link->wants_write;
    os_loop_write(loop, link->file, transfer, link->wants_write);
}

void transfer_move(struct transfer *transfer, enum transfer_state state)
{
    assert(moves[transfer->state] >> state & 1);
    struct data_fetcher *fetcher = transfer->fetcher;
    fetcher->active -= is_active(transfer->state);
    fetcher->active += is_active(state);
    transfer->state = state;
    transfer_watch(transfer);
}

// ---- Choosing a source ----------------------------------------------------------------------

static bool is_asked(const struct transfer *transfer, wire_text address)
{
    for (uint32_t i = 0; i < transfer->source_count; i++)
        if (strcmp(transfer->sources[i].address, address.bytes) == 0) return true;
    return false;
}

bool transfer_join(struct transfer *transfer, const struct wire_fetch *fetch)
{
    if (fetch->ticket.length > DATA_TICKET_BYTES) return false;
    memcpy(transfer->ticket, fetch->ticket.bytes, fetch->ticket.length);
    transfer->ticket[fetch->ticket.length] = '\0';
    transfer->bytes = fetch->bytes;
    transfer->content = fetch->content;
    transfer->round = 0;
    for (uint32_t i = 0; i < transfer->source_count; i++) transfer->sources[i].is_tried = false;
    for (uint32_t i = 0; i < fetch->addresses.count; i++) {
        wire_text address = fetch->addresses.items[i];
        if (transfer->source_count == DATA_ADDRESSES_MAX) break;
        if (is_asked(transfer, address)) continue;
        char *copy = strdup(address.bytes);
        if (!copy) return false;
        transfer->sources[transfer->source_count++] = (struct source){.address = copy};
    }
    return true;
}

struct transfer *transfer_open(struct data_fetcher *fetcher, const struct wire_fetch *fetch)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    *transfer = (struct transfer){.fetcher = fetcher, .object = fetch->object};
    transfer->arrival.fd = transfer->found.fd = transfer->list.fd = -1;
    if (transfer_join(transfer, fetch)) return transfer;
    transfer_close(transfer);
    return NULL;
}

void transfer_part(struct transfer *transfer)
{
    if (!transfer->link) return;
    if (transfer->is_read) os_loop_remove(transfer->fetcher->loop, transfer->link->file);
    transfer->is_read = transfer->is_watched = transfer->is_full = false;
    link_close(transfer->link);
    transfer->link = NULL;
    transfer->piece = 0;
    transfer->asked = transfer->received;
}

void transfer_close(struct transfer *transfer)
{
    if (transfer->state != TRANSFER_OVER) transfer_move(transfer, TRANSFER_OVER);
    transfer_part(transfer);
    receive_forget(transfer);
    for (uint32_t i = 0; i < transfer->source_count; i++) free(transfer->sources[i].address);
    explicit_bzero(transfer->ticket, sizeof transfer->ticket);
    free(transfer);
}

static bool source_is_free(const struct transfer *transfer, const char *address)
{
    const struct data_fetcher *fetcher = transfer->fetcher;
    uint32_t used = 0;
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        const struct transfer *other = fetcher->transfers[i];
        used += other->link && strcmp(other->sources[other->source].address, address) == 0;
    }
    return used < DATA_PER_SOURCE_MAX;
}

// The first source that is not busy. None, and `left` 0: all have been tried.
static bool source_choose(struct transfer *transfer, uint32_t *left)
{
    *left = 0;
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        const struct source *source = &transfer->sources[i];
        if (source->is_bad_source || source->is_tried) continue;
        ++*left;
        if (!source_is_free(transfer, source->address)) continue;
        transfer->source = i;
        return true;
    }
    return false;
}

// ---- Failures -------------------------------------------------------------------------------

void transfer_end(struct transfer *transfer, enum data_fault fault, const char *reason)
{
    transfer_part(transfer);
    receive_forget(transfer);
    transfer->done.object = transfer->object;
    transfer->done.fault = fault;
    if (reason && reason != transfer->done.reason)
        snprintf(transfer->done.reason, sizeof transfer->done.reason, "%s", reason);
    transfer_move(transfer, TRANSFER_OVER);
}

void transfer_end_system(struct transfer *transfer, int reason, const char *text)
{
    bool is_full = reason == ENOSPC || reason == EDQUOT;
    transfer_end(transfer, is_full ? DATA_FULL : DATA_BROKEN, text);
}

// All sources were asked: the ticket may not have reached them yet, or they are restarting.
static void round_next(struct transfer *transfer, int64_t now)
{
    static const int64_t pauses[DATA_ROUNDS] = {0, 300000, 2000000};
    bool has_source = false;
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        transfer->sources[i].is_tried = false;
        has_source |= !transfer->sources[i].is_bad_source;
    }
    if (++transfer->round < DATA_ROUNDS && has_source)
        transfer->due = now + pauses[transfer->round];
    else
        transfer_end(transfer, DATA_MISSED, transfer->done.reason);
}

static void transfer_retry(struct transfer *transfer, int64_t now, const char *reason)
{
    uint32_t left = 0;
    snprintf(transfer->done.reason, sizeof transfer->done.reason, "%.200s: %s",
             transfer->sources[transfer->source].address, reason);
    transfer_part(transfer);
    transfer->due = now;
    transfer_move(transfer, TRANSFER_WAITING);
    if (!source_choose(transfer, &left) && left == 0) round_next(transfer, now);
}

void transfer_bad_source(struct transfer *transfer, int64_t now, const char *reason)
{
    struct source *source = &transfer->sources[transfer->source];
    source->is_bad_source = true;
    forgery_note(transfer->fetcher, transfer->object, source->address, reason);
    receive_drop(transfer);
    transfer_retry(transfer, now, reason);
}

// A source that has sent something useful is asked again at once.
void transfer_broken(struct transfer *transfer, int64_t now, const char *reason)
{
    bool was_of_use = transfer->progress >= DATA_STALL_BYTES;
    transfer->sources[transfer->source].is_tried = !was_of_use;
    if (was_of_use) transfer->round = 0;
    transfer_retry(transfer, now, reason);
}

// ---- Requests -------------------------------------------------------------------------------

void data_ask(struct link *link, rota_object_id object, const char *ticket)
{
    struct wire_message greet = {.kind = WIRE_GREET_MESSAGE}, get = {.kind = WIRE_GET_MESSAGE};
    greet.greet.version = WIRE_VERSION;
    greet.greet.role = WIRE_PEER;
    greet.greet.name = wire_text_of("");
    get.get.object = object;
    get.get.ticket = wire_text_of(ticket);
    wire_put(&link->out, &greet);
    wire_put(&link->out, &get);
    link_flush(link);
}

bool transfer_start(struct transfer *transfer, int64_t now)
{
    uint32_t left;
    struct link_error error = {""};
    if (now < transfer->due || !source_choose(transfer, &left)) return false;
    const struct data_fetcher *fetcher = transfer->fetcher;
    const char *address = transfer->sources[transfer->source].address;
    bool is_home = fetcher->home && strcmp(address, DATA_HOME) == 0;
    transfer->link = is_home ? link_connect(fetcher->home, fetcher->home_key, &error)
                             : link_connect(address, fetcher->key, &error);
    transfer->progress = 0;
    pace_begin(&transfer->pace, now);
    transfer_move(transfer, TRANSFER_ASKING);
    if (!transfer->link) {
        const char *colon = strstr(error.text, ": ");  // the address precedes it
        transfer_broken(transfer, now, colon ? colon + 2 : error.text);
        return true;
    }
    data_ask(transfer->link, transfer->object, transfer->ticket);
    transfer_watch(transfer);
    return true;
}

static void on_message(struct transfer *transfer, const struct wire_message *message, int64_t now)
{
    bool is_asking = transfer->state == TRANSFER_ASKING;
    if (message->kind == WIRE_WELCOME_MESSAGE && is_asking)
        return;
    else if (message->kind == WIRE_REFUSE_MESSAGE)
        transfer_broken(transfer, now, "the source refused it");
    else if (message->kind == WIRE_CONTENT_MESSAGE && is_asking)
        receive_content(transfer, &message->content, now);
    else if (message->kind == WIRE_PIECE_MESSAGE && !is_asking)
        receive_piece(transfer, &message->piece, now);
    else
        transfer_bad_source(transfer, now, "the source sent an unexpected message");
}

// Processes all that has arrived, as long as a source is connected.
static void input_take(struct transfer *transfer, int64_t now)
{
    struct wire_message message;
    const char *bytes;
    const struct link *link = transfer->link;
    while (transfer->link == link && link && transfer->is_read) {
        struct wire_in *in = &transfer->link->in;
        if (transfer->piece) {
            char *room;
            uint32_t count = wire_take_raw(in, receive_room(transfer, &room), &bytes);
            if (count == 0) return;
            if (room) memcpy(room, bytes, count);
            receive_bytes(transfer, bytes, count, now);
            continue;
        }
        enum wire_result result = wire_take(in, &message);
        if (result == WIRE_MORE) return;
        if (result == WIRE_GOT)
            on_message(transfer, &message, now);
        else
            transfer_bad_source(transfer, now, "the source sent an invalid message");
    }
}

void transfer_work(struct transfer *transfer, int64_t now)
{
    struct link *link = transfer->link;
    if (!link || !transfer->is_read) return;
    if (receive_direct(transfer, now)) {
        transfer_watch(transfer);
        return;
    }
    bool was_opening = link->state == LINK_OPENING;
    bool is_open = link_work(link);
    if (was_opening && is_open) {  // its file may be another one by now, which is not watched
        os_loop_remove(transfer->fetcher->loop, link->file);
        transfer->is_read = false;
        transfer_watch(transfer);
    }
    input_take(transfer, now);
    if (transfer->link != link) return;
    // otherwise there is more to process
    if (!is_open && transfer->is_read && !transfer->is_full) {
        transfer_broken(transfer, now, link->reason);
        return;
    }
    if (is_open && !link_flush(link) && transfer->is_read)
        transfer_broken(transfer, now, link->reason);
    else
        transfer_watch(transfer);
}

static void listen_again(struct transfer *transfer, int64_t now)
{
    pace_begin(&transfer->pace, now);
    transfer_watch(transfer);
    input_take(transfer, now);
    transfer_watch(transfer);
}

// The thread may have made progress since it was full.
static void room_look(struct transfer *transfer, int64_t now)
{
    char *room;
    if (transfer->is_full && transfer->piece && receive_room(transfer, &room))
        listen_again(transfer, now);
}

void transfer_checked(struct transfer *transfer, int64_t now)
{
    uint8_t hash[CACHE_HASH];
    int reason;
    struct hasher *hasher = transfer->fetcher->hasher;
    room_look(transfer, now);
    if (!transfer->job || !hasher_is_done(hasher, transfer->job, hash, &reason)) return;
    if (reason) {
        transfer_end_system(transfer, reason, strerror(reason));
        return;
    }
    if (transfer->state == TRANSFER_RECEIVING) return;  // the last byte came with the next piece
    receive_checked(transfer, hash, now);
    if (transfer->link && transfer->is_read) {
        link_flush(transfer->link);
        listen_again(transfer, now);
    }
}

// ---- Time ---------------------------------------------------------------------------------

int64_t transfer_due(const struct transfer *transfer)
{
    if (transfer->state == TRANSFER_WAITING) return transfer->due;
    if (!transfer->is_read) return INT64_MAX;
    int64_t due = transfer->pace.since + DATA_STALL_TICKS;
    int64_t opening = transfer->link->opened_at + LINK_OPENING_TICKS;
    return transfer->link->state == LINK_OPENING && opening < due ? opening : due;
}

void transfer_hurry(struct transfer *transfer, int64_t now)
{
    if (!transfer->is_read) return;
    if (link_overdue(transfer->link, now))
        transfer_broken(transfer, now, transfer->link->reason);
    else if (pace_is_lost(&transfer->pace, now))
        transfer_broken(transfer, now, "the source is silent, or too slow");
}
