// listen.c - letting others in.
#define _GNU_SOURCE
#include "link/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { BACKLOG = 128 };

// ---- Who is opening -----------------------------------------------------------------------

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

// Its owner watches the file: shut down, it can be read at once. Closed, its number could already
// be another's when the owner looks.
static void oldest_drop(struct door *door)
{
    struct link *link = door->oldest;
    shutdown(link->file, SHUT_RDWR);
    link_end(link, "others wanted in, and it had not said who it is");
}

// ---- A Unix socket ------------------------------------------------------------------------

bool peer_is_trusted(int file)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

// A socket that nobody listens at was left behind by a process that was killed.
static bool path_clear(const char *path, const struct sockaddr_un *name, struct link_error *error)
{
    struct stat status;
    if (lstat(path, &status)) return true;  // bind() says what else may be wrong
    if (!S_ISSOCK(status.st_mode))
        return link_fail(error, "%s: something that is no socket is there already", path);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return link_fail(error, "%s: %s", path, strerror(errno));
    bool is_left = connect(file, (const struct sockaddr *)name, sizeof *name)
                   && errno == ECONNREFUSED;
    close(file);
    if (!is_left) return link_fail(error, "%s: somebody listens there already", path);
    if (unlink(path) && errno != ENOENT)
        return link_fail(error, "%s: %s", path, strerror(errno));
    return true;
}

static bool path_bind(struct link_listener *listener, const char *path, struct link_error *error)
{
    struct sockaddr_un name;
    address_of_path(path, &name);
    if (!path_clear(path, &name, error)) return false;
    listener->file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // The mode of a socket becomes that of its path: there is no moment at which others may.
    if (listener->file < 0 || fchmod(listener->file, 0600)
        || bind(listener->file, (struct sockaddr *)&name, sizeof name)
        || listen(listener->file, BACKLOG) || lstat(path, &listener->door->path))
        return link_fail(error, "%s: %s", path, strerror(errno));
    return true;
}

// Two processes that find the same old socket must not both take its place: one of them would
// listen where nobody ever comes. The folder is locked meanwhile.
static bool path_listen(struct link_listener *listener, const char *path, struct link_error *error)
{
    char folder[sizeof(struct sockaddr_un)];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path) + 1, path);
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) return link_fail(error, "%s: %s", folder, strerror(errno));
    while (flock(lock, LOCK_EX) && errno == EINTR) continue;
    bool fine = path_bind(listener, path, error);
    close(lock);
    return fine;
}

// Somebody else may listen there by now, and have got the number of ours: then the time differs.
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
        return link_fail(error, "%s: without keys only a Unix socket can be listened at",
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
    if (wrong) return link_fail(error, "%s: %s", text, gai_strerror(wrong));
    for (struct addrinfo *at = found; at && listener->file < 0; at = at->ai_next)
        listener->file = port_bind(at);
    int reason = errno;
    freeaddrinfo(found);
    if (listener->file < 0) return link_fail(error, "%s: %s", text, strerror(reason));
    address_say(listener);
    return true;
}

// ---- Listening ----------------------------------------------------------------------------

static bool door_make(struct link_listener *listener, const char *text, struct link_error *error)
{
    listener->door = calloc(1, sizeof *listener->door);
    if (!listener->door) return link_fail(error, "%s: no memory", text);
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

// Its path is not ours to remove, and its mode not ours to set: who connects is looked at.
bool link_listen_over(struct link_listener *listener, int file, const struct link_keys *keys,
                      struct link_error *error)
{
    struct sockaddr_un name = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof name - 1;
    *listener = (struct link_listener){.file = -1, .keys = keys};
    int domain = option_of(file, SO_DOMAIN);
    bool listens = option_of(file, SO_ACCEPTCONN) && option_of(file, SO_TYPE) == SOCK_STREAM;
    if (!listens || (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6))
        return link_fail(error, "file %d, which was handed over, is no stream socket that listens",
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
        tls_context_close(listener->door->context);  // those who came in by it have it still
        listener->door->context = context;
    }
    listener->keys = keys;
    return true;
}

void link_listener_close(struct link_listener *listener)
{
    struct door *door = listener->door;
    if (!door) return;
    while (door->oldest) oldest_drop(door);
    path_remove(listener);
    if (door->reserve >= 0) close(door->reserve);
    if (listener->file >= 0) close(listener->file);
    tls_context_close(door->context);
    free(door);
    listener->door = NULL;
    listener->file = -1;
}

// ---- Accepting ----------------------------------------------------------------------------

// Without a file to spare, whoever waits would keep the listener readable and its owner busy: the
// spare one is given up for as long as it takes to turn him away.
static void turn_away(const struct link_listener *listener)
{
    struct door *door = listener->door;
    if (door->reserve >= 0) close(door->reserve);
    int file = accept4(listener->file, NULL, NULL, SOCK_CLOEXEC);
    if (file >= 0) close(file);
    door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct link *let_in(struct link_listener *listener, int file)
{
    if (listener->local) return peer_is_trusted(file) ? link_over(file) : NULL;
    struct door *door = listener->door;
    struct link *link = link_new(file);
    if (!link) return NULL;
    file_prepare(file);
    if (!tls_accept(link, door->context)) {
        free(link);
        return NULL;
    }
    if (door->count == LINK_OPENING_MAX) oldest_drop(door);
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
