// merge.c - applies an update to a definition.
#include "job/definition/internal.h"

#include <string.h>

void definition_merge(struct definition *into, const struct definition *update)
{
    struct definition from = *update;
    for (int at = 0; at < DEFINITION_KEYS; at++) {
        enum definition_key key = (enum definition_key)at;
        bool text = definition_keys[key].kind <= KEY_NAME;
        if (!definition_has(update, key)) continue;
        into->given |= 1u << key;
        if (!text && definition_keys[key].kind == KEY_TIME)
            into->timeout = from.timeout;
        else if (!text)
            *key_number(into, key) = *key_number(&from, key);
        else if (**key_text(&from, key))
            *key_text(into, key) = *key_text(&from, key);
        else {
            *key_text(into, key) = NULL;
            into->given &= ~(1u << key);
        }
    }
    // Access has no default: giving it as empty removes it.
    if (!into->access) into->given &= ~(1u << DEFINITION_ACCESS);
}
