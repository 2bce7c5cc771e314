// zone.c - parses TZif files (RFC 9636) and computes local time.
#include "job/calendar/internal.h"

#include <stdlib.h>
#include <string.h>

struct change {
    int64_t at;
    int32_t offset;  // from then on
};

struct zone {
    struct zone_rule rule;  // after the last change
    bool has_rule;
    int32_t first_offset;  // before the first change
    uint32_t count;
    struct change changes[];  // in order of time
};

// The header of a data block, and where its parts are.
struct block {
    uint32_t utc_count, standard_count, leap_count, change_count, kind_count, letter_count;
    const uint8_t *times, *kinds_of_changes, *kinds;
};

enum {
    HEAD_SIZE = 44,
    KIND_SIZE = 6,  // a local time type: offset, is it summer time, index of its name
    CHANGES_MAX = 2000,
    OFFSET_MIN = -25 * HOUR_SECONDS + 1,
    OFFSET_MAX = 26 * HOUR_SECONDS - 1,
    OFFSET_BEYOND = 27 * HOUR_SECONDS,  // no clock is ever this far from UTC
};
#define CHANGE_FIRST (-((int64_t)1 << 59))

// ---- Reading the file ------------------------------------------------------

static uint32_t read_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int32_t read_i32(const uint8_t *bytes)
{
    return (int32_t)read_u32(bytes);
}

static int64_t read_i64(const uint8_t *bytes)
{
    return (int64_t)((uint64_t)read_u32(bytes) << 32 | read_u32(bytes + 4));
}

static bool head_read(const uint8_t *bytes, size_t size, struct block *block)
{
    if (size < HEAD_SIZE || memcmp(bytes, "TZif", 4) != 0) return false;
    block->utc_count = read_u32(bytes + 20);
    block->standard_count = read_u32(bytes + 24);
    block->leap_count = read_u32(bytes + 28);
    block->change_count = read_u32(bytes + 32);
    block->kind_count = read_u32(bytes + 36);
    block->letter_count = read_u32(bytes + 40);
    return true;
}

// Including the header. The counts have 32 bits each, so the sum cannot overflow.
static uint64_t block_size(const struct block *block, uint32_t time_size)
{
    return HEAD_SIZE + (uint64_t)block->change_count * (time_size + 1)
           + (uint64_t)block->kind_count * KIND_SIZE + block->letter_count
           + (uint64_t)block->leap_count * (time_size + 4) + block->standard_count
           + block->utc_count;
}

static const char *block_fault(const struct block *block)
{
    if (block->leap_count) return "it uses leap seconds, which rota does not support";
    if (block->change_count > CHANGES_MAX) return "it has more than 2000 changes";
    if (block->kind_count < 1 || block->kind_count > 256 || block->letter_count < 1)
        return "it has no local time types or more than 256";
    if ((block->utc_count && block->utc_count != block->kind_count)
        || (block->standard_count && block->standard_count != block->kind_count))
        return "its header counts contradict each other";
    return NULL;
}

static const char *kinds_fault(const struct block *block)
{
    for (uint32_t i = 0; i < block->kind_count; i++) {
        const uint8_t *kind = block->kinds + (size_t)i * KIND_SIZE;
        if (read_i32(kind) < OFFSET_MIN || read_i32(kind) > OFFSET_MAX || kind[4] > 1
            || kind[5] >= block->letter_count)
            return "a local time type is invalid";
    }
    return NULL;
}

// Finds the second data block, which has 64-bit times, and the end of it.
static const char *file_split(const uint8_t *bytes, size_t size, struct block *block,
                              const uint8_t **rest)
{
    if (!head_read(bytes, size, block)) return "it is not a TZif file";
    if (bytes[4] < '2') return "it has version 1, without 64-bit times";
    uint64_t first = block_size(block, 4);
    if (first > size || !head_read(bytes + first, size - first, block))
        return "it is truncated in its first block";
    if (block_size(block, 8) > size - first) return "it is truncated in its second block";
    const char *fault = block_fault(block);
    if (fault) return fault;
    block->times = bytes + first + HEAD_SIZE;
    block->kinds_of_changes = block->times + (size_t)block->change_count * 8;
    block->kinds = block->kinds_of_changes + block->change_count;
    *rest = bytes + first + block_size(block, 8);
    return kinds_fault(block);
}

static const char *changes_read(struct zone *zone, const struct block *block)
{
    for (uint32_t i = 0; i < block->change_count; i++) {
        uint8_t kind = block->kinds_of_changes[i];
        if (kind >= block->kind_count) return "a change has an invalid local time type";
        struct change change = {read_i64(block->times + (size_t)i * 8),
                                read_i32(block->kinds + (size_t)kind * KIND_SIZE)};
        if (change.at < CHANGE_FIRST || change.at > -CHANGE_FIRST)
            return "a change is too far from 1970";
        if (i && change.at <= zone->changes[i - 1].at) return "its changes are not in order";
        zone->changes[i] = change;
    }
    zone->count = block->change_count;
    return NULL;
}

// Reads the footer: a newline, the rule or nothing, a newline.
static const char *rule_read(struct zone *zone, const uint8_t *at, const uint8_t *end)
{
    if (at == end || *at != '\n') return "its footer is missing";
    const char *text = (const char *)at + 1;
    const char *newline = memchr(text, '\n', (size_t)(end - at) - 1);
    if (!newline) return "its footer is truncated";
    if (newline == text) return NULL;
    zone->has_rule = true;
    bool good = zone_rule_parse(text, (size_t)(newline - text), &zone->rule);
    return good ? NULL : "the rule in its footer is invalid";
}

struct zone *zone_parse(const void *bytes, size_t size, const char **reason)
{
    struct block block;
    const uint8_t *rest = NULL;
    *reason = file_split(bytes, size, &block, &rest);
    if (*reason) return NULL;
    struct zone *zone = calloc(1, sizeof *zone + block.change_count * sizeof *zone->changes);
    *reason = "out of memory";
    if (!zone) return NULL;
    zone->first_offset = read_i32(block.kinds);
    *reason = changes_read(zone, &block);
    if (!*reason) *reason = rule_read(zone, rest, (const uint8_t *)bytes + size);
    if (!*reason) return zone;
    zone_close(zone);
    return NULL;
}

void zone_close(struct zone *zone)
{
    free(zone);
}

// ---- The clock -------------------------------------------------------------

// The number of changes up to and including that second.
static uint32_t changes_until(const struct zone *zone, int64_t second)
{
    uint32_t low = 0, high = zone->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at <= second)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t second)
{
    struct zone_span span = {-ZONE_FAR, ZONE_FAR, 0};
    if (!zone) return span;
    uint32_t past = changes_until(zone, second);
    if (past == zone->count && zone->has_rule)
        span = zone_rule_span(&zone->rule, second);
    else
        span.offset = past ? zone->changes[past - 1].offset : zone->first_offset;
    if (past && span.from < zone->changes[past - 1].at) span.from = zone->changes[past - 1].at;
    if (past < zone->count) span.to = zone->changes[past].at;
    return span;
}

int64_t zone_highest(const struct zone *zone, int64_t second)
{
    int64_t highest = INT64_MIN;
    struct zone_span span = zone_span_at(zone, second - 2 * OFFSET_BEYOND);
    for (;; span = zone_span_at(zone, span.to)) {
        int64_t last = span.to <= second ? span.to - 1 : second;
        if (last + span.offset > highest) highest = last + span.offset;
        if (last == second) return highest;
    }
}

int64_t zone_reach(const struct zone *zone, int64_t local)
{
    struct zone_span span = zone_span_at(zone, local - OFFSET_BEYOND);
    for (;; span = zone_span_at(zone, span.to)) {
        int64_t at = local - span.offset;
        if (at < span.from) at = span.from;
        if (at < span.to) return at;
    }
}

// ---- Names -----------------------------------------------------------------

static bool is_name_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-' || c == '+';
}

// Words of letters, digits, '_', '-' and '+' between single slashes, so that no path leads upwards.
bool zone_name_is_safe(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > 255) return false;
    for (size_t i = 0; i < length; i++) {
        bool slash = name[i] == '/' && i && name[i - 1] != '/' && i + 1 < length;
        if (!slash && !is_name_letter(name[i])) return false;
    }
    return true;
}
