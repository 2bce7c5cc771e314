// internal.h - declarations that the files of this folder share.
#pragma once

#include "net/link/link.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

// Writes the error, and returns false.
bool link_fail(struct link_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- address.c --------------------------------------------------------------------------

struct address {
    bool local;
    char host[256];  // or the path
    char port[6];
};
bool address_read(struct address *address, const char *text, struct link_error *error);
bool address_of_path(const char *path, struct sockaddr_un *address);  // false: too long

// ---- listen.c ---------------------------------------------------------------------------

// The state of a listener besides its socket. Links that are opening are in a list, oldest first.
struct door {
    const struct link_keys *keys;
    struct tls_context *context;  // null: a Unix socket
    struct link *oldest, *newest;
    uint32_t count;
    int reserve;  // a file to close when the process has no free ones
    struct stat path;  // of a Unix socket that this listener created; all 0: none
};
void door_leave(struct link *link);  // the link is open now, or closed
// Whether the other side of a Unix socket is this user, or root.
bool peer_is_trusted(int file);

// ---- link.c -----------------------------------------------------------------------------

struct link *link_new(int file);
// Closes the link with this reason, unless it is closed already. Returns false.
bool link_end(struct link *link, const char *reason);
void link_opened(struct link *link);
void file_prepare(int file);  // sets the options of a socket for messages

// ---- tls.c: encryption and authentication -------------------------------------------------------

bool tls_accept(struct link *link, struct tls_context *context);  // false: no memory
// A certificate must match `host`.
bool tls_connect(struct link *link, const struct link_key *key, const char *host,
                 struct link_error *error);
void tls_close(struct link *link);
// Continues the handshake without waiting. False: the link is closed.
bool tls_open_on(struct link *link);
// Reads from the socket once, and adds the decrypted bytes to `in`. The result is that of recv(),
// PIPE_AGAIN or PIPE_OVER.
ssize_t tls_read(struct link *link);
bool tls_flush(struct link *link);  // false: the link is closed
bool tls_has_more(const struct link *link);  // bytes wait to be written

// ---- connect_host.c: connects to a host by name -------------------------------------------------

bool search_begin(struct link *link, const struct address *address, struct link_error *error);
// False: the link is closed. `search` becomes null once it is connected.
bool search_on(struct link *link);
void search_close(struct link *link);
