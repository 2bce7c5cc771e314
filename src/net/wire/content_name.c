// content_name.c - the names of contents in messages.
#include "net/wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void wire_hex(const uint8_t hash[WIRE_HASH], char text[WIRE_HEX + 1])
{
    for (int i = 0; i < WIRE_HASH; i++) {
        text[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    text[WIRE_HEX] = '\0';
}

int wire_hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool wire_hex_read(const char *text, uint8_t hash[WIRE_HASH])
{
    for (int i = 0; i < WIRE_HASH; i++) {
        int high = wire_hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : wire_hex_digit(text[2 * i + 1]);
        if (low < 0) return false;
        hash[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

void wire_entry_write(const struct wire_entry *entry, char text[WIRE_ENTRY_TEXT])
{
    char hex[WIRE_HEX + 1];
    wire_hex(entry->hash, hex);
    snprintf(text, WIRE_ENTRY_TEXT, "%c:%" PRIu64 ":%s", entry->letter, entry->bytes, hex);
}

bool wire_entry_read(const char *text, struct wire_entry *entry)
{
    const char *at = text + 2;
    *entry = (struct wire_entry){.letter = text[0]};
    if (!text[0] || !strchr("dfx", text[0]) || text[1] != ':') return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (entry->bytes > (UINT64_MAX - digit) / 10) return false;
        entry->bytes = entry->bytes * 10 + digit;
    }
    if (at == text + 2 || *at != ':' || strlen(at + 1) != WIRE_HEX) return false;
    return wire_hex_read(at + 1, entry->hash);
}

// The highest bit marks an id that is derived from content.
rota_object_id wire_entry_object(const struct wire_entry *entry)
{
    rota_object_id object;
    memcpy(&object.high, entry->hash, sizeof object.high);
    memcpy(&object.low, entry->hash + sizeof object.high, sizeof object.low);
    object.low = object.low << 2 | 1ull << 63;
    object.low |= entry->letter == 'd' ? 2 : entry->letter == 'x';
    return object;
}

wire_content wire_entry_content(const struct wire_entry *entry)
{
    wire_content content = {.kind = entry->letter};
    memcpy(content.hash, entry->hash, sizeof content.hash);
    return content;
}

bool wire_content_is(const wire_content *one, const wire_content *other)
{
    return one->kind == other->kind && memcmp(one->hash, other->hash, sizeof one->hash) == 0;
}

bool wire_entry_is(const struct wire_entry *entry, const wire_content *content)
{
    wire_content own = wire_entry_content(entry);
    return wire_content_is(&own, content);
}
