// spool_read.c - decodes a file of reports, and finds where it is damaged.
#include "worker/agent/spool.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 16 };
static const char magics[][MAGIC] = {"rota spool 1\n", "rota spool 2\n"};
_Static_assert(sizeof magics / MAGIC == WIRE_VERSION, "one for each version of frames");

// CRC-32C, bit by bit: reports are short, and a disk is slower than this.
uint32_t spool_checksum(const char *bytes, size_t count)
{
    uint32_t sum = ~0u;
    for (size_t i = 0; i < count; i++) {
        sum ^= (uint8_t)bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (0x82f63b78u & -(sum & 1));
    }
    return ~sum;
}

static void head_write(char head[SPOOL_HEAD], uint64_t server, uint32_t version)
{
    memset(head, 0, SPOOL_HEAD);
    memcpy(head, magics[version - 1], MAGIC);
    memcpy(head + MAGIC, &server, sizeof server);
    uint32_t sum = spool_checksum(head, SPOOL_HEAD - sizeof sum);
    memcpy(head + SPOOL_HEAD - sizeof sum, &sum, sizeof sum);
}

void spool_head_write(char head[SPOOL_HEAD], uint64_t server)
{
    head_write(head, server, WIRE_VERSION);
}

static bool head_read(struct spool *spool, const char *bytes, size_t size)
{
    char expected[SPOOL_HEAD];
    if (size < SPOOL_HEAD) return false;
    memcpy(&spool->server, bytes + MAGIC, sizeof spool->server);
    for (spool->version = 1; spool->version <= WIRE_VERSION; spool->version++) {
        head_write(expected, spool->server, spool->version);
        if (memcmp(expected, bytes, SPOOL_HEAD) == 0) return true;
    }
    spool->server = 0;
    return false;
}

// Returns the length of the first piece with its head, or 0 if no piece is left.
static size_t piece_length(const char *bytes, size_t size)
{
    uint32_t length, sum;
    if (size < SPOOL_PIECE_HEAD) return 0;
    memcpy(&length, bytes, sizeof length);
    memcpy(&sum, bytes + sizeof length, sizeof sum);
    if (!length || length > size - SPOOL_PIECE_HEAD) return 0;
    if (spool_checksum(bytes + SPOOL_PIECE_HEAD, length) != sum) return 0;
    return SPOOL_PIECE_HEAD + (size_t)length;
}

static bool is_about(const struct report *report, rota_task_id task, uint32_t attempt)
{
    return SAME_TASK(report->task, task) && report->attempt == attempt;
}

static struct report *report_find(const struct spool *spool, rota_task_id task, uint32_t attempt)
{
    struct report *report = spool->first;  // they are recorded nearly in order
    while (report && !is_about(report, task, attempt)) report = report->next;
    return report;
}

static bool frame_take(struct spool *spool, const struct wire_message *message)
{
    if (message->kind == WIRE_FINISHED_MESSAGE) return spool_list_add(spool, &message->finished);
    if (message->kind != WIRE_RECORDED_MESSAGE) return false;
    const struct wire_recorded *it = &message->recorded;
    struct report *report = report_find(spool, it->task, it->attempt);
    if (report) spool_list_remove(spool, report);
    return report;
}

static bool piece_take(struct spool *spool, const char *bytes, size_t size)
{
    struct wire_in in = {.version = spool->version};
    struct wire_message message;
    enum wire_result result = WIRE_NO_MEMORY;
    char *room = wire_in_room(&in, (uint32_t)size);
    if (room) {
        memcpy(room, bytes, size);
        wire_in_came(&in, (uint32_t)size);
        while ((result = wire_take(&in, &message)) == WIRE_GOT)
            if (!frame_take(spool, &message)) break;
    }
    bool is_fine = result == WIRE_MORE && in.taken == in.length;
    wire_in_release(&in);
    return is_fine;
}

static bool has_piece(const char *bytes, size_t size)
{
    for (size_t at = 0; at + SPOOL_PIECE_HEAD < size; at++)
        if (piece_length(bytes + at, size - at)) return true;
    return false;
}

// A piece is written only when all before it are synced. So damage with complete pieces after it
// was synced once, and is corruption; at the end it may be the rest of the last piece before a
// crash, whose reports were never sent.
bool spool_parse(struct spool *spool, const char *bytes, size_t size, size_t *whole)
{
    *whole = 0;
    if (head_read(spool, bytes, size)) *whole = SPOOL_HEAD;
    for (size_t length; *whole && (length = piece_length(bytes + *whole, size - *whole));) {
        const char *piece = bytes + *whole + SPOOL_PIECE_HEAD;
        if (!piece_take(spool, piece, length - SPOOL_PIECE_HEAD)) return false;
        *whole += length;
    }
    return !has_piece(bytes + *whole, size - *whole);
}
