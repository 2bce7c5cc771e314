// keys.c - keys as text: parses, writes and makes them.
#define _GNU_SOURCE
#include "net/link/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const struct {
    enum wire_role role;
    const char *name;
} roles[] = {{WIRE_CLIENT, "client"}, {WIRE_WORKER, "worker"}, {WIRE_ADMIN, "admin"},
             {WIRE_PEER, "peer"}};
enum { ROLES = sizeof roles / sizeof *roles };

const char *link_role_name(enum wire_role role)
{
    for (int i = 0; i < ROLES; i++)
        if (roles[i].role == role) return roles[i].name;
    return "nobody";
}

bool link_role_read(const char *word, enum wire_role *role)
{
    for (int i = 0; i < ROLES; i++) {
        if (strcmp(word, roles[i].name) != 0) continue;
        *role = roles[i].role;
        return true;
    }
    return false;
}

// ---- One ----------------------------------------------------------------------------------

static bool random_fill(void *bytes, size_t count)
{
    return getrandom(bytes, count, 0) == (ssize_t)count;  // up to 256 bytes are never cut
}

bool link_key_make(struct link_key *key, enum wire_role role)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    enum { LETTERS = 10 };
    uint8_t number[LETTERS];
    *key = (struct link_key){.role = role};
    if (!random_fill(key->secret, sizeof key->secret) || !random_fill(number, sizeof number))
        return false;
    for (int i = 0; i < LETTERS; i++) key->id[i] = letters[number[i] % 32];
    return true;
}

void link_key_write(const struct link_key *key, char out[LINK_LINE_MAX])
{
    const char *role = link_role_name(key->role);
    int length = snprintf(out, LINK_LINE_MAX, "rota-key %s %s ", role, key->id);
    for (int i = 0; i < LINK_SECRET; i++)
        length += snprintf(out + length, (size_t)(LINK_LINE_MAX - length), "%02x", key->secret[i]);
    snprintf(out + length, (size_t)(LINK_LINE_MAX - length), "\n");
}

// ---- Reading ------------------------------------------------------------------------------

struct line {
    const char *at, *end;
};

// The next word: one blank separates two words, and nothing follows the last.
static bool word_next(struct line *line, char *word, size_t size)
{
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    size_t length = (size_t)((blank ? blank : line->end) - line->at);
    if (length == 0 || length >= size || memchr(line->at, 0, length)) return false;
    memcpy(word, line->at, length);
    word[length] = 0;
    line->at += length + (blank ? 1 : 0);
    return !blank || line->at < line->end;
}

static bool id_is_plain(const char *id)
{
    for (; *id; id++) {
        bool is_letter = (*id >= 'a' && *id <= 'z') || (*id >= 'A' && *id <= 'Z');
        if (!is_letter && (*id < '0' || *id > '9')) return false;
    }
    return true;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static bool secret_read(struct line *line, uint8_t secret[LINK_SECRET])
{
    if (line->end - line->at != 2 * LINK_SECRET) return false;
    for (int i = 0; i < LINK_SECRET; i++) {
        int high = digit_value(line->at[2 * i]), low = digit_value(line->at[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        secret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

// Returns the mistake of a line, or null. It never quotes the line, which may contain the secret.
static const char *key_read(struct link_key *key, struct line line)
{
    char word[16];
    *key = (struct link_key){0};
    if (!word_next(&line, word, sizeof word) || strcmp(word, "rota-key") != 0)
        return "a line is \"rota-key ROLE ID SECRET\"";
    if (!word_next(&line, word, sizeof word) || !link_role_read(word, &key->role))
        return "the role is client, worker, admin or peer";
    if (!word_next(&line, key->id, sizeof key->id) || !id_is_plain(key->id))
        return "an id has 1 to 32 letters and digits";
    if (!secret_read(&line, key->secret)) return "a secret has 64 hexadecimal digits";
    return NULL;
}

static bool id_is_known(const struct link_keys *keys, const char *id)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].id, id) == 0) return true;
    return false;
}

static const char *keys_add(struct link_keys *keys, struct line line)
{
    struct link_key key;
    const char *wrong = key_read(&key, line);
    if (!wrong && keys->count == LINK_KEYS_MAX) wrong = "too many keys: 1024 are allowed";
    if (!wrong && id_is_known(keys, key.id)) wrong = "another key has this id";
    if (!wrong) keys->items[keys->count++] = key;
    explicit_bzero(&key, sizeof key);
    return wrong;
}

bool link_keys_parse(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error)
{
    *keys = (struct link_keys){.items = calloc(LINK_KEYS_MAX, sizeof *keys->items)};
    const char *end = text + size, *wrong = keys->items ? NULL : "out of memory";
    unsigned number = 0;
    while (!wrong && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        wrong = keys_add(keys, (struct line){text, stop ? stop : end});
        text = stop ? stop + 1 : end;
        number++;
    }
    if (!wrong && keys->count) return true;
    link_keys_release(keys);
    if (!wrong) return link_fail(error, "%.200s: no key found", path);
    return link_fail(error, "%.200s:%u: %s", path, number, wrong);
}

bool link_keys_copy(struct link_keys *copy, const struct link_keys *keys)
{
    *copy = (struct link_keys){.items = calloc(LINK_KEYS_MAX, sizeof *copy->items)};
    bool fine = copy->items != NULL;
    for (uint32_t i = 0; fine && i < keys->count; i++) {
        struct link_key *key = &copy->items[copy->count++];
        *key = keys->items[i];
        if (!key->pem) continue;
        key->pem = strdup(key->pem);
        fine = key->pem != NULL;
    }
    if (!fine) link_keys_release(copy);
    return fine;
}

void link_keys_release(struct link_keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        char *pem = keys->items[i].pem;
        if (pem) explicit_bzero(pem, strlen(pem));
        free(pem);
    }
    if (keys->items) explicit_bzero(keys->items, LINK_KEYS_MAX * sizeof *keys->items);
    free(keys->items);
    *keys = (struct link_keys){0};
}
