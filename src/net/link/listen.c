// listen.c - accepts connections.
//
// A Unix socket accepts users by their uid, which the kernel reports (SO_PEERCRED). A TCP port
// accepts only peers that authenticate by TLS; until then a link is "opening". A listener has
// LINK_OPENING_MAX of those, so that strangers cost little memory: a flood can delay others, but
// not lock them out. The listener owns its socket, the path of a Unix socket that it created, and
// the links that are opening; the caller owns a link that link_accept() has returned.
#define _GNU_SOURCE
#include "net/link/tls.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { BACKLOG = 128 };

// ---- Links that are opening ---------------------------------------------------------------

static void door_enter(struct door *door, struct link *link)
{
    link->door = door;
    link->older = door->newest;
    *(door->newest ? &door->newest->newer : &door->oldest) = link;
    door->newest = link;
    door->count++;
}

void door_leave(struct link *link)
{
    struct door *door = link->door;
    if (!door) return;
    *(link->older ? &link->older->newer : &door->oldest) = link->newer;
    *(link->newer ? &link->newer->older : &door->newest) = link->older;
    link->older = link->newer = NULL;
    link->door = NULL;
    door->count--;
}

// The owner polls the file: after a shutdown it is readable at once. If it were closed, another
// file could have its number by the time the owner looks.
static void opening_drop(struct link *link)
{
    shutdown(link->file, SHUT_RDWR);
    link_end(link, "dropped before it authenticated, to make room for others");
}

static uint32_t opening_from(const struct door *door, uint64_t from)
{
    uint32_t count = 0;
    for (const struct link *link = door->oldest; link; link = link->newer)
        count += link->from == from;
    return count;
}

// The address with most links, if that is more than its share; else 0.
static uint64_t greediest(const struct door *door)
{
    uint32_t most = LINK_OPENING_ADDRESS;
    uint64_t from = 0;
    for (const struct link *link = door->oldest; link; link = link->newer) {
        uint32_t count = opening_from(door, link->from);
        if (count > most) from = link->from;
        if (count > most) most = count;
    }
    return from;
}

static bool is_candidate(const struct link *link, uint64_t from, bool silent)
{
    return (!from || link->from == from) && (!silent || !link->tls->came);
}

// Drops a random link of the address with most of them, so that a flood does not decide which peers
// get in; a link that has sent nothing goes first. Many machines with one address (NAT) may have
// all places while no other address needs them.
static void room_make(struct door *door)
{
    uint64_t from = greediest(door);
    uint32_t count[2] = {0, 0}, lot = 0;
    for (const struct link *link = door->oldest; link; link = link->newer)
        for (int silent = 0; silent < 2; silent++)
            count[silent] += is_candidate(link, from, silent);
    bool silent = count[true];
    os_random(&lot, sizeof lot);
    lot %= count[silent];
    for (struct link *link = door->oldest; link; link = link->newer)
        if (is_candidate(link, from, silent) && !lot--) {
            opening_drop(link);
            return;
        }
}

static bool bind_fail(struct link_error *error, const char *address, int reason)
{
    const char *hint = reason == EADDRINUSE ? " (is another rota server running?)" : "";
    return link_fail(error, "cannot bind %s: %s%s", address, strerror(reason), hint);
}

// ---- A Unix socket ------------------------------------------------------------------------

bool peer_is_trusted(int file)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

// The roles of the process at the other end; 0: it may not connect.
static uint32_t peer_roles(const struct link_listener *listener, int file)
{
    const struct link_users *users = listener->users;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return 0;
    for (uint32_t i = 0; users && i < users->count; i++)
        if (users->items[i].uid == peer.uid) return users->items[i].roles;
    return peer.uid == geteuid() || peer.uid == 0 ? LINK_LOCAL_ROLES : 0;
}

static struct link *user_let_in(const struct link_listener *listener, int file)
{
    uint32_t roles = peer_roles(listener, file);
    struct link *link = roles ? link_over(file) : NULL;
    if (link) link->roles = roles;
    return link;
}

// A socket without a listener was left by a process that was killed.
static bool path_clear(const char *path, const struct sockaddr_un *name, struct link_error *error)
{
    struct stat status;
    if (lstat(path, &status)) return true;  // bind() says what else may be wrong
    if (!S_ISSOCK(status.st_mode))
        return link_fail(error, "cannot bind %s: the file exists and is not a socket", path);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return bind_fail(error, path, errno);
    bool is_left = connect(file, (const struct sockaddr *)name, sizeof *name)
                   && errno == ECONNREFUSED;
    close(file);
    if (!is_left) return bind_fail(error, path, EADDRINUSE);
    return unlink(path) == 0 || errno == ENOENT || bind_fail(error, path, errno);
}

static bool path_bind(struct link_listener *listener, const char *path, struct link_error *error)
{
    struct sockaddr_un name;
    address_of_path(path, &name);
    if (!path_clear(path, &name, error)) return false;
    listener->file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // The path gets the mode of the socket, so there is no moment at which others may connect.
    if (listener->file < 0 || fchmod(listener->file, 0600)
        || bind(listener->file, (struct sockaddr *)&name, sizeof name)
        || listen(listener->file, BACKLOG) || lstat(path, &listener->door->path))
        return bind_fail(error, path, errno);
    return true;
}

// Locks the folder: of two processes that replace the same stale socket, one would listen at a path
// that no longer exists.
static bool path_listen(struct link_listener *listener, const char *path, struct link_error *error)
{
    char folder[sizeof(struct sockaddr_un)];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path) + 1, path);
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) return bind_fail(error, path, errno);
    while (flock(lock, LOCK_EX) && errno == EINTR) continue;
    bool fine = path_bind(listener, path, error);
    close(lock);
    return fine;
}

// Another process may listen there by now, at an inode with our number: then the time differs.
static void path_remove(const struct link_listener *listener)
{
    const struct stat *ours = &listener->door->path;
    struct stat now;
    if (!ours->st_ino || lstat(listener->address, &now)) return;
    if (now.st_ino == ours->st_ino && now.st_dev == ours->st_dev
        && now.st_mtim.tv_sec == ours->st_mtim.tv_sec
        && now.st_mtim.tv_nsec == ours->st_mtim.tv_nsec)
        unlink(listener->address);
}

// ---- A host and a port ----------------------------------------------------------------------

static int port_bind(const struct addrinfo *at)
{
    int one = 1, file = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (at->ai_family == AF_INET6)
        setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, BACKLOG) == 0) return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

static void address_say(struct link_listener *listener)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    char host[256], port[8];
    if (getsockname(listener->file, (struct sockaddr *)&name, &size)
        || getnameinfo((struct sockaddr *)&name, size, host, sizeof host, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    snprintf(listener->address, sizeof listener->address,
             name.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool tls_begin(struct link_listener *listener, struct link_error *error)
{
    if (!listener->keys || !listener->keys->count)
        return link_fail(error, "%s: keys are needed to listen, except at a Unix socket",
                         listener->address);
    listener->door->context = tls_context_open(TLS_LISTENS, listener->keys->items, error);
    return listener->door->context;
}

static bool host_listen(struct link_listener *listener, const struct address *address,
                        struct link_error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const char *text = listener->address;
    if (!tls_begin(listener, error)) return false;
    int wrong = getaddrinfo(address->host, address->port, &hints, &found);
    if (wrong) return link_fail(error, "cannot bind %s: %s", text, gai_strerror(wrong));
    for (struct addrinfo *at = found; at && listener->file < 0; at = at->ai_next)
        listener->file = port_bind(at);
    int reason = errno;
    freeaddrinfo(found);
    if (listener->file < 0) return bind_fail(error, text, reason);
    address_say(listener);
    return true;
}

// ---- Listening ----------------------------------------------------------------------------

static bool door_make(struct link_listener *listener, const char *text, struct link_error *error)
{
    listener->door = calloc(1, sizeof *listener->door);
    if (!listener->door) return link_fail(error, "%s: out of memory", text);
    listener->door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    snprintf(listener->address, sizeof listener->address, "%s", text);
    return true;
}

bool link_listen(struct link_listener *listener, const char *text, const struct link_keys *keys,
                 struct link_error *error)
{
    struct address address;
    *listener = (struct link_listener){.file = -1, .keys = keys};
    if (!address_read(&address, text, error)) return false;
    listener->local = address.local;
    if (!door_make(listener, text, error)) return false;
    bool fine = address.local ? path_listen(listener, text, error)
                              : host_listen(listener, &address, error);
    if (!fine) link_listener_close(listener);
    return fine;
}

static int option_of(int file, int option)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(file, SOL_SOCKET, option, &value, &size) ? 0 : value;
}

// The supervisor owns the path and its mode. The uid of every peer is checked in any case.
bool link_listen_over(struct link_listener *listener, int file, const struct link_keys *keys,
                      struct link_error *error)
{
    struct sockaddr_un name = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof name - 1;
    *listener = (struct link_listener){.file = -1, .keys = keys};
    int domain = option_of(file, SO_DOMAIN);
    bool listens = option_of(file, SO_ACCEPTCONN) && option_of(file, SO_TYPE) == SOCK_STREAM;
    if (!listens || (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6))
        return link_fail(error,
                         "file %d, inherited from the supervisor, is not a listening stream socket",
                         file);
    listener->local = domain == AF_UNIX;
    if (listener->local) getsockname(file, (struct sockaddr *)&name, &size);
    if (!door_make(listener, listener->local ? name.sun_path : "", error)) return false;
    file_prepare(file);
    listener->file = file;
    if (!listener->local) address_say(listener);
    if (listener->local || tls_begin(listener, error)) return true;
    link_listener_close(listener);
    return false;
}

bool link_listener_renew(struct link_listener *listener, const struct link_keys *keys,
                         struct link_error *error)
{
    if (!listener->local) {
        struct tls_context *context = tls_context_open(TLS_LISTENS, keys->items, error);
        if (!context) return false;
        tls_context_close(listener->door->context);  // links that use it keep a reference
        listener->door->context = context;
    }
    listener->keys = keys;
    return true;
}

void link_listener_close(struct link_listener *listener)
{
    struct door *door = listener->door;
    if (!door) return;
    while (door->oldest) opening_drop(door->oldest);
    path_remove(listener);
    if (door->reserve >= 0) close(door->reserve);
    if (listener->file >= 0) close(listener->file);
    tls_context_close(door->context);
    free(door);
    listener->door = NULL;
    listener->file = -1;
}

// ---- Accepting ----------------------------------------------------------------------------

// Without a free file descriptor, a waiting peer would keep the listener readable and its owner
// busy: closes the reserved one for as long as it takes to reject the peer.
static void turn_away(const struct link_listener *listener)
{
    struct door *door = listener->door;
    if (door->reserve >= 0) close(door->reserve);
    int file = accept4(listener->file, NULL, NULL, SOCK_CLOEXEC);
    if (file >= 0) close(file);
    door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Without the port; for IPv6 only the network, because one machine has many addresses there.
static uint64_t address_hash(int file)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof name;
    uint64_t network = 0;
    if (getpeername(file, (struct sockaddr *)&name, &size)) return 1;
    if (name.ss_family == AF_INET)
        memcpy(&network, &((struct sockaddr_in *)&name)->sin_addr, sizeof(struct in_addr));
    else if (name.ss_family == AF_INET6)
        memcpy(&network, &((struct sockaddr_in6 *)&name)->sin6_addr, sizeof network);
    return hash_mix(name.ss_family, network) | 1;
}

static struct link *let_in(struct link_listener *listener, int file)
{
    if (listener->local) return user_let_in(listener, file);
    struct door *door = listener->door;
    struct link *link = link_new(file);
    if (!link) return NULL;
    file_prepare(file);
    if (!tls_accept(link, door->context)) {
        free(link);
        return NULL;
    }
    link->from = address_hash(file);
    if (door->count == LINK_OPENING_MAX) room_make(door);
    door_enter(door, link);
    return link;
}

struct link *link_accept(struct link_listener *listener)
{
    listener->door->keys = listener->keys;
    for (int i = 0; i < BACKLOG; i++) {
        int file = accept4(listener->file, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (file < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (file < 0) {
            if (errno == EMFILE || errno == ENFILE) turn_away(listener);
            return NULL;
        }
        struct link *link = let_in(listener, file);
        if (link) return link;
        close(file);
    }
    return NULL;
}
