// internal.h - what the files of this folder share.
#pragma once

#include "net/link/link.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

// False, for a return.
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

// What a listener has besides its socket. Those who are opening are in a list, the oldest first.
struct door {
    const struct link_keys *keys;
    struct tls_context *context;  // null: a Unix socket
    struct link *oldest, *newest;
    uint32_t count;
    int reserve;  // a file to give up when no more can be opened
    struct stat path;  // of a Unix socket as it was made; all 0: none was
};
void door_leave(struct link *link);  // it is open, or closed
// Whether the other side of a Unix socket is this user, or root.
bool peer_is_trusted(int file);

// ---- link.c -----------------------------------------------------------------------------

struct link *link_new(int file);
// Says why, and what is closed stays closed. False, for a return.
bool link_end(struct link *link, const char *reason);
void link_opened(struct link *link);
void file_prepare(int file);  // a socket that is about to carry messages

// ---- tls.c: links that nobody else can read or pretend to be ------------------------------------

bool tls_accept(struct link *link, struct tls_context *context);  // false: no memory
// `host` is what a certificate must be for.
bool tls_connect(struct link *link, const struct link_key *key, const char *host,
                 struct link_error *error);
void tls_close(struct link *link);
// Goes on with opening, as far as it goes without waiting. False: it is closed.
bool tls_open_on(struct link *link);
// Reads what came on the socket, once, and puts what it means into `in`. The result is as that of
// recv() on the socket, PIPE_AGAIN or PIPE_OVER.
ssize_t tls_read(struct link *link);
bool tls_flush(struct link *link);  // false: it is closed
bool tls_has_more(const struct link *link);  // bytes that wait to be written

// ---- connect_host.c: a socket that is connected to a host ---------------------------------------

bool search_begin(struct link *link, const struct address *address, struct link_error *error);
// False: it is closed. Connected: `search` is null.
bool search_on(struct link *link);
void search_close(struct link *link);
