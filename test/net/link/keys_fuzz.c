// keys_fuzz.c - libFuzzer writes key files: any bytes are read or refused.
#include "net/link/link.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds) abort();
}

// Keys that were accepted are the same after they are written and read again.
static void key_check(const struct link_key *key)
{
    char line[LINK_LINE_MAX];
    struct link_keys keys;
    struct link_error error;
    need(*key->id && strlen(key->id) <= LINK_ID_MAX);
    link_key_write(key, line);
    need(link_keys_parse(&keys, line, strlen(line), "f", &error));
    need(keys.count == 1 && keys.items[0].role == key->role);
    need(strcmp(keys.items[0].id, key->id) == 0);
    need(memcmp(keys.items[0].secret, key->secret, LINK_SECRET) == 0);
    link_keys_release(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct link_keys keys;
    struct link_error error = {""};
    if (link_keys_parse(&keys, (const char *)data, size, "f", &error)) {
        need(keys.count > 0 && keys.count <= LINK_KEYS_MAX);
        for (uint32_t i = 0; i < keys.count; i++) key_check(&keys.items[i]);
        link_keys_release(&keys);
    } else {
        need(!keys.items && *error.text);
    }
    return 0;
}
