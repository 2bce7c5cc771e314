// connect.c - connects to an address: a Unix socket, or a host and port with TLS.
#define _GNU_SOURCE
#include "net/link/internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// A socket may belong to another user, who could pretend to be the server. Root may use any.
static struct link *path_over(int file, const char *path, struct link_error *error)
{
    if (geteuid() != 0 && !peer_is_trusted(file)) {
        link_fail(error, "%s: the socket belongs to another user", path);
        return NULL;
    }
    struct link *link = link_over(file);
    if (!link) link_fail(error, "%s: out of memory", path);
    return link;
}

// connect() to a Unix socket never waits: it succeeds, or the backlog is full.
static struct link *path_connect(const char *path, struct link_error *error)
{
    struct sockaddr_un name;
    struct link *link = NULL;
    address_of_path(path, &name);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file >= 0 && connect(file, (struct sockaddr *)&name, sizeof name) == 0)
        link = path_over(file, path, error);
    else
        link_fail(error, "%s: %s", path,
                  errno == ENOENT || errno == ECONNREFUSED ? "no server is listening there"
                                                           : strerror(errno));
    if (link)
        link->roles = 0;
    else if (file >= 0)
        close(file);
    return link;
}

static struct link *host_connect(const struct address *address, const char *text,
                                 const struct link_key *key, struct link_error *error)
{
    if (!key) {
        link_fail(error, "%s: a key is needed to connect, except to a Unix socket", text);
        return NULL;
    }
    struct link *link = link_new(-1);
    if (!link) {
        link_fail(error, "%s: out of memory", text);
        return NULL;
    }
    if (tls_connect(link, key, address->host, error) && search_begin(link, address, error))
        return link;
    link_close(link);
    return NULL;
}

struct link *link_connect(const char *text, const struct link_key *key, struct link_error *error)
{
    struct address address;
    if (!address_read(&address, text, error)) return NULL;
    if (address.local) return path_connect(text, error);
    return host_connect(&address, text, key, error);
}
