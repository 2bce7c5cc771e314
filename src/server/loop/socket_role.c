// socket_role.c - `rota server --socket-role`: permissions of local users at a Unix socket.
//
// The kernel reports the user at the other end of a Unix socket (SO_PEERCRED), so the list names
// users and needs no keys. An entry is [USER=]ROLE[,ROLE]; without a user it applies to all. The
// list belongs to the options and does not change while the server runs. An unknown user or role is
// an error at startup; a user who is not in the list is refused.
#define _GNU_SOURCE
#include "server/loop/loop.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool role_read(const char *word, size_t length, uint32_t *roles)
{
    static const struct {
        const char *name;
        uint32_t roles;
    } known[] = {
        {"client", WIRE_CLIENT},
        {"worker", WIRE_WORKER},
        {"admin", WIRE_CLIENT | WIRE_ADMIN},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || strncmp(word, known[i].name, length) != 0) continue;
        *roles |= known[i].roles;
        return true;
    }
    return false;
}

static bool roles_read(const char *whole, const char *text, uint32_t *roles)
{
    *roles = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!role_read(text, length, roles)) {
            fprintf(stderr, "rota server: --socket-role %s: unknown role '%.*s' (client, worker or"
                    " admin)\n", whole, (int)length, text);
            return false;
        }
        if (!text[length]) return true;
        text += length + 1;
    }
}

// A name, or the number of a user without a name here.
static bool user_read(const char *text, size_t length, uint32_t *uid)
{
    char name[64], *end;
    if (!length || length >= sizeof name) return false;
    memcpy(name, text, length);
    name[length] = 0;
    const struct passwd *entry = getpwnam(name);
    if (entry) return (*uid = entry->pw_uid, true);
    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    *uid = (uint32_t)number;
    return !errno && !*end && name[0] >= '0' && name[0] <= '9' && number < UINT32_MAX;
}

bool serve_role_read(struct link_users *users, const char *text)
{
    struct link_user user = {.uid = geteuid()};
    const char *equal = strchr(text, '=');
    if (equal && !user_read(text, (size_t)(equal - text), &user.uid)) {
        fprintf(stderr, "rota server: --socket-role %s: no such user: %.*s\n", text,
                (int)(equal - text), text);
        return false;
    }
    if (!roles_read(text, equal ? equal + 1 : text, &user.roles)) return false;
    for (uint32_t i = 0; i < users->count; i++)
        if (users->items[i].uid == user.uid) return (users->items[i] = user, true);
    if (users->count == sizeof users->items / sizeof *users->items) {
        fprintf(stderr, "rota server: --socket-role %s: too many users\n", text);
        return false;
    }
    users->items[users->count++] = user;
    return true;
}

// Other users can connect only if the mode of the path allows it; they are authenticated anyway.
bool serve_role_open(const struct link_listener *listener)
{
    bool has_others = false;
    for (uint32_t i = 0; listener->users && i < listener->users->count; i++)
        has_others |= listener->users->items[i].uid != geteuid();
    return !listener->local || !has_others || chmod(listener->address, 0666) == 0;
}
