// spool_read.c - decodes a file of reports, and finds where it is damaged.
#include "worker/agent/spool.h"

#include <string.h>

enum { MAGIC = 16 };
static const char magic[MAGIC] = "rota spool 2\n";
_Static_assert(WIRE_VERSION == 2, "the version of the frames is in the head");

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

void spool_head_write(char head[SPOOL_HEAD], uint64_t server)
{
    memset(head, 0, SPOOL_HEAD);
    memcpy(head, magic, MAGIC);
    memcpy(head + MAGIC, &server, sizeof server);
    uint32_t sum = spool_checksum(head, SPOOL_HEAD - sizeof sum);
    memcpy(head + SPOOL_HEAD - sizeof sum, &sum, sizeof sum);
}

static bool head_read(struct spool *spool, const char *bytes, size_t size)
{
    char expected[SPOOL_HEAD];
    if (size < SPOOL_HEAD) return false;
    memcpy(&spool->server, bytes + MAGIC, sizeof spool->server);
    spool_head_write(expected, spool->server);
    if (memcmp(expected, bytes, SPOOL_HEAD) == 0) return true;
    spool->server = 0;
    return false;
}

bool spool_is_foreign(const char *bytes, size_t size)
{
    uint32_t sum;
    if (size < SPOOL_HEAD || memcmp(bytes, magic, MAGIC) == 0) return false;
    memcpy(&sum, bytes + SPOOL_HEAD - sizeof sum, sizeof sum);
    return sum == spool_checksum(bytes, SPOOL_HEAD - sizeof sum);
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
    struct wire_in in = {0};
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
