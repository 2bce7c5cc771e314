// put.c - contents for the store of a server: what is not there is sent, then objects are named.
#include "client/files/client.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OFFER = 1000, PIECE = 256 << 10, PAUSE_MIN = 200000, PAUSE_MAX = 2000000 };
// How long it waits in all for a server that is busy or gone, and when the user hears of it.
enum { PATIENCE = 60 * 1000000, QUIET = 3 * 1000000 };

struct putting {
    struct client *client;
    const struct client_put *puts;
    uint32_t count;
    struct client_sent *sent;
    bool is_final;     // trying again is of no use
    bool is_served;    // the server has answered on this connection
    int64_t began;     // when it was opened
    int64_t waited;    // for the first answers on the connections before
    const char *name;  // of the command, if the user has not heard that it waits
    // The content that is sent, where that began, and whether the server has more than when the
    // connection before began.
    char part[CACHE_ENTRY_TEXT];
    uint64_t part_from;
    bool is_further;
};

// The parts of all that is put, one after the other.
struct walk {
    uint32_t put, at;
};

static bool walk_next(const struct putting *putting, struct walk *walk, struct cache_part *part)
{
    while (walk->put < putting->count) {
        if (cache_survey_part(putting->puts[walk->put].survey, &walk->at, part)) return true;
        *walk = (struct walk){walk->put + 1, 0};
    }
    return false;
}

static bool fail(struct putting *putting, const char *what, const char *why)
{
    snprintf(putting->client->error, sizeof putting->client->error, "%.180s: %.200s", what, why);
    putting->is_final = true;
    return false;
}

// ---- Waiting ----------------------------------------------------------------------------------

static int64_t waited_so_far(const struct putting *putting)
{
    return putting->waited + (putting->is_served ? 0 : os_ticks() - putting->began);
}

static void wait_tell(struct putting *putting, const char *reason)
{
    if (putting->name)
        fprintf(stderr, "rota %s: %s; trying again for %d s\n", putting->name, reason,
                PATIENCE / 1000000);
    putting->name = NULL;
}

// The server reads nothing of a connection that has to wait until others are served.
static bool first_answer(struct putting *putting, struct wire_message *message)
{
    static const char busy[] = "busy: the object store serves others";
    struct client *client = putting->client;
    for (int64_t waited; (waited = waited_so_far(putting)) < PATIENCE;) {
        int64_t until = os_ticks() + (waited < QUIET ? QUIET : PATIENCE) - waited;
        if (client_next(client, message, until - os_ticks())) {
            putting->waited = waited_so_far(putting);
            return putting->is_served = true;
        }
        if (os_ticks() < until) return false;
        wait_tell(putting, busy);
    }
    client->code = WIRE_REFUSED_BUSY;
    return client_fail(client, busy);
}

// The next message; a refusal is the end of it.
static bool next(struct putting *putting, struct wire_message *message)
{
    struct client *client = putting->client;
    bool is_there = putting->is_served ? client_next(client, message, 0)
                                       : first_answer(putting, message);
    if (!is_there) return false;
    if (message->kind != WIRE_REFUSE_MESSAGE) return true;
    client->code = (enum wire_code)message->refuse.code;
    client_fail(client, message->refuse.reason.bytes);
    bool again = client->code == WIRE_REFUSED_NOT_FOUND || client->code == WIRE_REFUSED_BUSY;
    putting->is_final = !again;
    return false;
}

// ---- A content --------------------------------------------------------------------------------

// Whether the server has said something instead of waiting for the rest: it is a refusal. When all
// is sent, what it says may be that it has it.
static bool is_refused(struct putting *putting)
{
    struct client *client = putting->client;
    struct wire_message message;
    link_work(client->link);
    if (client->link->in.length == client->link->in.taken) return false;
    return !next(putting, &message);
}

static bool bytes_send(struct putting *putting, int fd, const char *text, uint64_t offset,
                       uint64_t end)
{
    struct client *client = putting->client;
    while (offset < end) {
        size_t count = end - offset < PIECE ? (size_t)(end - offset) : PIECE;
        char *room = wire_out_room(&client->link->out, (uint32_t)count);
        if (!room) return client_fail(client, "no memory");
        ssize_t got = (ssize_t)count;
        if (text)
            memcpy(room, text + offset, count);
        else
            got = pread(fd, room, count, (off_t)offset);
        if (got <= 0) return fail(putting, "a file", got ? strerror(errno) : "has become shorter");
        client->link->out.length -= (uint32_t)(count - (size_t)got);
        if (!client_send(client)) return false;
        offset += (uint64_t)got;
        putting->sent->bytes += (uint64_t)got;
        if (offset < end && is_refused(putting)) return false;
    }
    return true;
}

static void part_note(struct putting *putting, const char *text, uint64_t offset)
{
    if (strcmp(text, putting->part) != 0 || offset > putting->part_from) putting->is_further = true;
    snprintf(putting->part, sizeof putting->part, "%s", text);
    putting->part_from = offset;
}

static bool part_send(struct putting *putting, const struct cache_survey *survey,
                      const struct cache_part *part, uint64_t offset)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    char text[CACHE_ENTRY_TEXT];
    if (offset > part->bytes)
        return client_fail(putting->client, "the server wants what is not there");
    int fd = part->path ? cache_survey_open(survey, part) : -1;
    if (part->path && fd < 0) return fail(putting, part->path, strerror(errno));
    cache_entry_write(&part->entry, text);
    part_note(putting, text, offset);
    message.piece.entry = wire_text_of(text);
    message.piece.offset = offset;
    message.piece.bytes = part->bytes - offset;
    wire_put(&putting->client->link->out, &message);
    bool fine = bytes_send(putting, fd, part->path ? NULL : survey->list, offset, part->bytes)
                && client_send(putting->client) && next(putting, &message);
    if (fd >= 0) close(fd);
    if (!fine && putting->client->code == WIRE_REFUSED_CONFLICT)
        return fail(putting, part->path ? part->path : survey->folder, "changes while it is sent");
    if (fine && message.kind != WIRE_STORED_MESSAGE)
        return client_fail(putting->client, "the server says what it was not asked for");
    putting->sent->files += fine;
    return fine;
}

// ---- What is not there ------------------------------------------------------------------------

// Of the parts from `from` on, as many as are asked for at a time; those that are wanted, in order.
struct wanted {
    char entry[OFFER][CACHE_ENTRY_TEXT];
    uint64_t offset[OFFER];
    uint32_t count;
};

static bool offer(struct putting *putting, struct walk *from, struct wanted *wanted, bool *is_last)
{
    static const uint32_t most = OFFER;
    struct wire_message message = {.kind = WIRE_OFFER_MESSAGE};
    struct cache_part part;
    wire_text *items = run_allocate(most, sizeof *items);
    char(*texts)[CACHE_ENTRY_TEXT] = run_allocate(most, sizeof *texts);
    uint32_t count = 0;
    while (count < most && walk_next(putting, from, &part)) {
        cache_entry_write(&part.entry, texts[count]);
        items[count] = wire_text_of(texts[count]);
        count++;
    }
    *is_last = count < most;
    message.offer.entries = (wire_texts){items, count};
    wire_put(&putting->client->link->out, &message);
    free(items);
    free(texts);
    wanted->count = 0;
    bool fine = client_send(putting->client);
    while (fine && (fine = next(putting, &message)) && message.kind == WIRE_WANT_MESSAGE
           && wanted->count < most) {
        snprintf(wanted->entry[wanted->count], CACHE_ENTRY_TEXT, "%s", message.want.entry.bytes);
        wanted->offset[wanted->count++] = message.want.offset;
    }
    if (!fine) return false;
    return message.kind == WIRE_OFFERED_MESSAGE
           || client_fail(putting->client, "the server says what it was not asked for");
}

// Both go in the order of the walk, so one look ahead finds whether a part is wanted. The same
// content twice is wanted twice, and sent once.
static bool wanted_send(struct putting *putting, struct walk walk, const struct wanted *wanted)
{
    struct cache_part part;
    char text[CACHE_ENTRY_TEXT];
    for (uint32_t i = 0; i < wanted->count;) {
        if (!walk_next(putting, &walk, &part)) break;
        cache_entry_write(&part.entry, text);
        if (strcmp(text, wanted->entry[i]) != 0) continue;
        bool is_sent = false;
        for (uint32_t k = 0; k < i && !is_sent; k++) is_sent = !strcmp(text, wanted->entry[k]);
        const struct cache_survey *survey = putting->puts[walk.put].survey;
        if (!is_sent && !part_send(putting, survey, &part, wanted->offset[i])) return false;
        i++;
    }
    return true;
}

static bool contents_send(struct putting *putting)
{
    struct wanted *wanted = run_allocate(1, sizeof *wanted);
    struct walk walk = {0, 0};
    bool fine = true, is_last = false;
    while (fine && !is_last) {
        struct walk from = walk;
        fine = offer(putting, &walk, wanted, &is_last) && wanted_send(putting, from, wanted);
    }
    free(wanted);
    return fine;
}

// ---- Names ------------------------------------------------------------------------------------

static bool bind(struct putting *putting, rota_object_id object, const struct cache_entry *entry)
{
    struct wire_message message = {.kind = WIRE_BIND_MESSAGE};
    char text[CACHE_ENTRY_TEXT];
    cache_entry_write(entry, text);
    message.bind.object = object;
    message.bind.entry = wire_text_of(text);
    wire_put(&putting->client->link->out, &message);
    return client_send(putting->client) && next(putting, &message)
           && (message.kind == WIRE_BOUND_MESSAGE
               || client_fail(putting->client, "the server says what it was not asked for"));
}

static bool names_give(struct putting *putting)
{
    for (uint32_t i = 0; i < putting->count; i++)
        if (!bind(putting, putting->puts[i].object, &putting->puts[i].survey->entry)) return false;
    return true;
}

static bool put_once(struct putting *putting, const struct client_place *place)
{
    struct client *client = putting->client;
    putting->is_served = false;
    putting->began = os_ticks();
    bool fine = client_open(client, place->address, place->key, WIRE_PEER, "rota")
                && contents_send(putting) && names_give(putting);
    char reason[sizeof client->error];
    memcpy(reason, client->error, sizeof reason);
    client_close(client);
    memcpy(client->error, reason, sizeof reason);
    return fine;
}

// How long a server is waited for counts from the end of the last connection that got further: a
// large file may take any time. One that cuts each connection before it has kept something is given
// up.
bool client_put_all(struct client *client, const struct client_place *place,
                    const struct client_put *puts, uint32_t count, struct client_sent *sent)
{
    struct putting putting = {.client = client, .puts = puts, .count = count, .sent = sent,
                              .name = place->name};
    *sent = (struct client_sent){0};
    int64_t pause = PAUSE_MIN;
    while (!put_once(&putting, place)) {
        putting.waited = waited_so_far(&putting) + pause;
        if (putting.is_further) pause = PAUSE_MIN, putting.waited = 0;
        putting.is_further = false;
        if (putting.is_final || client->is_final || putting.waited > PATIENCE) return false;
        if (client->code == WIRE_REFUSED_BUSY || putting.waited > QUIET)
            wait_tell(&putting, client->error);
        os_sleep_until(os_now() + pause);
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    }
    return true;
}

bool client_bind(struct client *client, const struct client_place *place,
                 const struct cache_entry *entry)
{
    struct client_sent sent = {0};
    struct putting putting = {.client = client, .sent = &sent, .began = os_ticks(),
                              .name = place->name};
    bool fine = client_open(client, place->address, place->key, WIRE_PEER, "rota")
                && bind(&putting, cache_entry_object(entry), entry);
    link_close(client->link);
    client->link = NULL;
    return fine;
}
