// put.c - uploads files and directories to the object store of a server.
//
// OFFER names contents, 1000 at a time; the server asks for those it lacks with WANT. Each goes as
// a PIECE and is confirmed by STORED; BIND then gives each object its content. A lost connection is
// opened again, and the server names the offset from which to resume. A busy server does not read
// from a connection before its turn, so only the first answer has a time limit.
#include "client/files/files.h"
#include "net/link/link.h"
#include "net/wire/wire.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OFFER = 1000, PIECE = 256 << 10, PAUSE_MIN = 200000, PAUSE_MAX = 2000000 };
// The time to wait in all for a server that is busy or gone, and when to tell the user.
enum { PATIENCE = 60 * 1000000, QUIET = 3 * 1000000 };

struct upload {
    struct rota_client *client;
    const struct client_put *puts;
    uint32_t count;
    struct client_sent *sent;
    bool is_final;     // a retry would fail, too
    bool is_served;    // the server has answered on this connection
    int64_t began;     // when the connection was opened
    int64_t waited;    // for the first answers on earlier connections
    const char *name;  // of the command; null once the user knows that it waits
    // The content that is being sent, its first offset, and whether the server has more of it than
    // at the start of the previous connection.
    char part[CACHE_ENTRY_TEXT];
    uint64_t part_from;
    bool is_further;
};

// Walks over the parts of all contents.
struct walk {
    uint32_t put, at;
};

static bool walk_next(const struct upload *upload, struct walk *walk, struct cache_part *part)
{
    while (walk->put < upload->count) {
        if (cache_survey_part(upload->puts[walk->put].survey, &walk->at, part)) return true;
        *walk = (struct walk){walk->put + 1, 0};
    }
    return false;
}

static enum rota_client_code fail(struct upload *upload, const char *what, const char *why)
{
    upload->is_final = true;
    return client_say(upload->client, ROTA_CLIENT_FILE, "%.180s: %.200s", what, why);
}

static enum rota_client_code unexpected(struct upload *upload)
{
    return client_say(upload->client, ROTA_CLIENT_GONE, "the server sent an unexpected message");
}

// ---- Waiting ----------------------------------------------------------------------------------

static int64_t waited_so_far(const struct upload *upload)
{
    return upload->waited + (upload->is_served ? 0 : os_ticks() - upload->began);
}

static void wait_tell(struct upload *upload, const char *reason)
{
    if (upload->name)
        fprintf(stderr, "rota %s: %s; trying again for %d s\n", upload->name, reason,
                PATIENCE / 1000000);
    upload->name = NULL;
}

// The server reads nothing from a connection that waits until others are served.
static enum rota_client_code first_answer(struct upload *upload, struct wire_message *message)
{
    static const char busy[] = "busy: the object store serves others";
    struct rota_client *client = upload->client;
    for (int64_t waited; (waited = waited_so_far(upload)) < PATIENCE;) {
        int64_t until = os_ticks() + (waited < QUIET ? QUIET : PATIENCE) - waited;
        enum rota_client_code code = client_next(client, message, until);
        if (!code) {
            upload->waited = waited_so_far(upload);
            upload->is_served = true;
        }
        if (code != ROTA_CLIENT_TIMED_OUT) return code;
        wait_tell(upload, busy);
    }
    client->refusal = WIRE_REFUSED_BUSY;
    return client_say(client, ROTA_CLIENT_FULL, "%s", busy);
}

// Sends, and takes the next message; a refusal is an error.
static enum rota_client_code next(struct upload *upload, struct wire_message *message)
{
    struct rota_client *client = upload->client;
    enum rota_client_code code = client_send(client, ROTA_NEVER);
    if (!code)
        code = upload->is_served ? client_next(client, message, ROTA_NEVER)
                                  : first_answer(upload, message);
    if (code) return code;
    code = client_refusal(client, (struct request_id){0}, message);
    if (code)
        upload->is_final = client->refusal != WIRE_REFUSED_NOT_FOUND
                            && client->refusal != WIRE_REFUSED_BUSY;
    return code;
}

// ---- One content ------------------------------------------------------------------------------

// Reads without waiting. While a file is sent, the server answers only to refuse the rest of it;
// an answer after the last byte may also say that the content is stored.
static enum rota_client_code refusal_look(struct upload *upload)
{
    const struct wire_in *in = &upload->client->link->in;
    struct wire_message message;
    link_work(upload->client->link);
    return in->length == in->taken ? ROTA_CLIENT_OK : next(upload, &message);
}

static enum rota_client_code bytes_send(struct upload *upload, int fd, const char *text,
                                        uint64_t offset, uint64_t end)
{
    struct rota_client *client = upload->client;
    enum rota_client_code code = ROTA_CLIENT_OK;
    while (!code && offset < end) {
        size_t count = end - offset < PIECE ? (size_t)(end - offset) : PIECE;
        char *room = wire_out_room(&client->link->out, (uint32_t)count);
        if (!room) return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory");
        ssize_t got = (ssize_t)count;
        if (text)
            memcpy(room, text + offset, count);
        else
            got = pread(fd, room, count, (off_t)offset);
        if (got <= 0) return fail(upload, "a file", got ? strerror(errno) : "became shorter");
        client->link->out.length -= (uint32_t)(count - (size_t)got);
        code = client_send(client, ROTA_NEVER);
        if (code) break;
        offset += (uint64_t)got;
        upload->sent->bytes += (uint64_t)got;
        if (offset < end) code = refusal_look(upload);
    }
    return code;
}

static void part_note(struct upload *upload, const char *text, uint64_t offset)
{
    if (strcmp(text, upload->part) != 0 || offset > upload->part_from) upload->is_further = true;
    snprintf(upload->part, sizeof upload->part, "%s", text);
    upload->part_from = offset;
}

static enum rota_client_code part_send(struct upload *upload, const struct cache_survey *survey,
                                       const struct cache_part *part, uint64_t offset)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    char text[CACHE_ENTRY_TEXT];
    if (offset > part->bytes) return unexpected(upload);
    int fd = part->path ? cache_survey_open(survey, part) : -1;
    if (part->path && fd < 0) return fail(upload, part->path, strerror(errno));
    cache_entry_write(&part->entry, text);
    part_note(upload, text, offset);
    message.piece.entry = wire_text_of(text);
    message.piece.offset = offset;
    message.piece.bytes = part->bytes - offset;
    wire_put(&upload->client->link->out, &message);
    enum rota_client_code code
        = bytes_send(upload, fd, part->path ? NULL : survey->list, offset, part->bytes);
    if (!code) code = next(upload, &message);
    if (fd >= 0) close(fd);
    if (code && upload->client->refusal == WIRE_REFUSED_CONFLICT)
        return fail(upload, part->path ? part->path : survey->folder, "changes while it is sent");
    if (code) return code;
    if (message.kind != WIRE_STORED_MESSAGE) return unexpected(upload);
    upload->sent->files++;
    return ROTA_CLIENT_OK;
}

// ---- Contents that the server lacks -----------------------------------------------------------

// The parts that the server wants of one OFFER, in the order of the walk.
struct wanted {
    char entry[OFFER][CACHE_ENTRY_TEXT];
    uint64_t offset[OFFER];
    uint32_t count;
};

static enum rota_client_code offer(struct upload *upload, struct walk *from,
                                   struct wanted *wanted, bool *is_last)
{
    static const uint32_t most = OFFER;
    struct wire_message message = {.kind = WIRE_OFFER_MESSAGE};
    struct cache_part part;
    wire_text *items = os_allocate(most, sizeof *items);
    char(*texts)[CACHE_ENTRY_TEXT] = os_allocate(most, sizeof *texts);
    uint32_t count = 0;
    while (count < most && walk_next(upload, from, &part)) {
        cache_entry_write(&part.entry, texts[count]);
        items[count] = wire_text_of(texts[count]);
        count++;
    }
    *is_last = count < most;
    message.offer.entries = (wire_texts){items, count};
    wire_put(&upload->client->link->out, &message);
    free(items);
    free(texts);
    wanted->count = 0;
    enum rota_client_code code;
    while (!(code = next(upload, &message)) && message.kind == WIRE_WANT_MESSAGE
           && wanted->count < most) {
        snprintf(wanted->entry[wanted->count], CACHE_ENTRY_TEXT, "%s", message.want.entry.bytes);
        wanted->offset[wanted->count++] = message.want.offset;
    }
    return code || message.kind == WIRE_OFFERED_MESSAGE ? code : unexpected(upload);
}

// Both lists are in the order of the walk, so one pass finds the wanted parts. A content that
// occurs twice is wanted twice, and sent once.
static enum rota_client_code wanted_send(struct upload *upload, struct walk walk,
                                         const struct wanted *wanted)
{
    struct cache_part part;
    char text[CACHE_ENTRY_TEXT];
    for (uint32_t i = 0; i < wanted->count;) {
        if (!walk_next(upload, &walk, &part)) break;
        cache_entry_write(&part.entry, text);
        if (strcmp(text, wanted->entry[i]) != 0) continue;
        bool is_sent = false;
        for (uint32_t k = 0; k < i && !is_sent; k++) is_sent = !strcmp(text, wanted->entry[k]);
        const struct cache_survey *survey = upload->puts[walk.put].survey;
        enum rota_client_code code = ROTA_CLIENT_OK;
        if (!is_sent) code = part_send(upload, survey, &part, wanted->offset[i]);
        if (code) return code;
        i++;
    }
    return ROTA_CLIENT_OK;
}

static enum rota_client_code contents_send(struct upload *upload)
{
    struct wanted *wanted = os_allocate(1, sizeof *wanted);
    struct walk walk = {0, 0};
    enum rota_client_code code = ROTA_CLIENT_OK;
    for (bool is_last = false; !code && !is_last;) {
        struct walk from = walk;
        code = offer(upload, &walk, wanted, &is_last);
        if (!code) code = wanted_send(upload, from, wanted);
    }
    free(wanted);
    return code;
}

// ---- Binding ----------------------------------------------------------------------------------

static enum rota_client_code bind(struct upload *upload, rota_object_id object,
                                  const struct cache_entry *entry)
{
    struct wire_message message = {.kind = WIRE_BIND_MESSAGE};
    char text[CACHE_ENTRY_TEXT];
    cache_entry_write(entry, text);
    message.bind.object = object;
    message.bind.entry = wire_text_of(text);
    wire_put(&upload->client->link->out, &message);
    enum rota_client_code code = next(upload, &message);
    return code || message.kind == WIRE_BOUND_MESSAGE ? code : unexpected(upload);
}

static enum rota_client_code names_give(struct upload *upload)
{
    enum rota_client_code code = ROTA_CLIENT_OK;
    for (uint32_t i = 0; i < upload->count && !code; i++)
        code = bind(upload, upload->puts[i].object, &upload->puts[i].survey->entry);
    return code;
}

static enum rota_client_code upload_open(struct upload *upload, const struct client_place *place)
{
    upload->is_served = false;
    upload->began = os_ticks();
    return client_reach(upload->client, place->address, place->key, WIRE_PEER, "rota",
                        client_until(CLIENT_OPEN_PATIENCE));
}

static enum rota_client_code put_once(struct upload *upload, const struct client_place *place)
{
    enum rota_client_code code = upload_open(upload, place);
    if (!code) code = contents_send(upload);
    if (!code) code = names_give(upload);
    client_leave(upload->client);
    return code;
}

// The time that it waits for a server counts from the end of the last connection that stored
// something, because a large file may take any time. It gives up on a server that cuts each
// connection before that.
enum rota_client_code client_put_all(struct rota_client *client, const struct client_place *place,
                                     const struct client_put *puts, uint32_t count,
                                     struct client_sent *sent)
{
    struct upload upload = {.client = client, .puts = puts, .count = count, .sent = sent,
                              .name = place->name};
    *sent = (struct client_sent){0};
    int64_t pause = PAUSE_MIN;
    enum rota_client_code code;
    while ((code = put_once(&upload, place))) {
        upload.waited = waited_so_far(&upload) + pause;
        if (upload.is_further) pause = PAUSE_MIN, upload.waited = 0;
        upload.is_further = false;
        if (upload.is_final || client->is_final || upload.waited > PATIENCE) break;
        if (client->refusal == WIRE_REFUSED_BUSY || upload.waited > QUIET)
            wait_tell(&upload, client->reason);
        os_sleep_until(os_now() + pause);
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    }
    return code;
}

enum rota_client_code client_bind(struct rota_client *client, const struct client_place *place,
                                  const struct cache_entry *entry)
{
    struct upload upload = {.client = client, .name = place->name};
    enum rota_client_code code = upload_open(&upload, place);
    if (!code) code = bind(&upload, cache_entry_object(entry), entry);
    client_leave(client);
    return code;
}
