// link.h - connections between rota processes: messages in and out, without blocking.
//
// A link is a stream socket that carries the frames of wire.h: a Unix socket between processes of
// one user, else TLS 1.3 with a key that both sides have, or certificates. The owner of a link
// polls its file and calls link_work() when that is readable or writable: received messages are
// then in `in`, and link_work() sends `out`.
//
// While a host name is being resolved, the file is a pipe; then it becomes a socket with the same
// number. An owner that uses epoll has to add the file again after link_work() while a link is
// OPENING.
//
// An address is "/path", a Unix socket, or "host:port" (an IPv6 host in brackets).
#pragma once

#include "net/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

// ---- keys.c: keys and roles ---------------------------------------------------------------

// A key is a line "rota-key ROLE ID SECRET": a name of enum wire_role, up to 32 letters and digits,
// 64 hexadecimal digits. A key file has one or more keys with different ids. It must belong to the
// user who reads it, be readable by no other user, and be in a folder that only its owner or root
// may write; any other file is refused.
enum { LINK_ID_MAX = 32, LINK_SECRET = 32, LINK_KEYS_MAX = 1024 };

struct link_key {
    enum wire_role role;
    char id[LINK_ID_MAX + 1];
    uint8_t secret[LINK_SECRET];
    char *pem;  // a certificate with its private key instead of the secret; null: none
};

struct link_keys {
    struct link_key *items;
    uint32_t count;
};

struct link_error {
    char text[400];  // a sentence that names the address or the file
};

// A file may have a private key and certificates instead, see certificate.c. It counts as one key;
// a server's has no role.

// Parses keys; `path` is the file name in error messages. False: there is nothing to release.
bool link_keys_parse(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error);
bool link_keys_copy(struct link_keys *copy, const struct link_keys *keys);  // false: no memory
void link_keys_release(struct link_keys *keys);  // wipes the secrets
// Makes a key with a random secret. False: the system has no random numbers.
bool link_key_make(struct link_key *key, enum wire_role role);
// The line of a key, with the newline. `out` has room for LINK_LINE_MAX bytes.
enum { LINK_LINE_MAX = 160 };
void link_key_write(const struct link_key *key, char out[LINK_LINE_MAX]);
const char *link_role_name(enum wire_role role);
bool link_role_read(const char *word, enum wire_role *role);

// ---- keys_file.c: files that only one user may read ------------------------------------------

bool link_keys_read(struct link_keys *keys, const char *path, struct link_error *error);
enum link_write { LINK_WRITE_NEW, LINK_WRITE_OVER };  // an existing file: refused; replaced
bool link_keys_write(const struct link_keys *keys, const char *path, enum link_write how,
                     struct link_error *error);
// Locks the folder of this file; close the result to unlock it. -1: it failed.
int link_keys_lock(const char *path, struct link_error *error);

// ---- address.c -------------------------------------------------------------------------------

bool link_address_is_local(const char *address);  // a Unix socket
bool link_address_check(const char *address, struct link_error *error);  // false: it is invalid

// ---- listen.c, connect.c ---------------------------------------------------------------------

// The roles of a user of this machine at a Unix socket. Of the users that are not in the list, the
// listener's own user and root have LINK_LOCAL_ROLES; others are rejected.
struct link_user {
    uint32_t uid;
    uint32_t roles;  // a set of enum wire_role
};

struct link_users {
    struct link_user items[16];
    uint32_t count;
};

struct link_listener {
    int file;  // readable: a peer waits; -1: closed
    bool local;
    const struct link_users *users;  // of a Unix socket; null: no list
    const struct link_keys *keys;  // may be replaced while listening
    char address[300];  // with the real port if port 0 was given
    struct door *door;
};

// Any address but a Unix socket needs keys. A Unix socket is created with mode 0600; a stale one is
// replaced, and one with a listener is an error.
bool link_listen(struct link_listener *listener, const char *address, const struct link_keys *keys,
                 struct link_error *error);
// Uses a socket that listens already, such as one from systemd, and owns it from then on.
bool link_listen_over(struct link_listener *listener, int file, const struct link_keys *keys,
                      struct link_error *error);
// Replaces the keys or the certificate. False: nothing has changed.
bool link_listener_renew(struct link_listener *listener, const struct link_keys *keys,
                         struct link_error *error);
void link_listener_close(struct link_listener *listener);  // its links stay

enum link_state {
    LINK_OPENING,  // the peer has not authenticated; no message was received or sent
    LINK_OPEN,
    LINK_CLOSED,   // by the other side, or after an error; see `reason`
};
enum {
    LINK_LOCAL_ROLES = WIRE_CLIENT | WIRE_WORKER | WIRE_ADMIN,  // of a local user
    LINK_READ_MAX = 1 << 20,   // bytes that link_work() receives, roughly
    LINK_OPENING_MAX = 64,     // of one listener; then the next closes a random one
    LINK_OPENING_ADDRESS = 8,  // of one address, when other addresses need the places
    LINK_OPENING_TICKS = 10 * 1000000,
    LINK_OPENING_BYTES = 4096,          // to accept from a peer that has not authenticated,
    LINK_OPENING_CERTIFICATES = 32768,  // the same if it has to present certificates
};

struct link {
    int file;  // keeps its number; link_work() may replace the pipe of a lookup by a socket
    enum link_state state;
    bool wants_write;      // poll for writable, too
    bool is_read_slowly;   // little at a time, so that its owner can stop it early
    uint32_t roles;        // a set of enum wire_role that the other side may have; 0: a server
    char id[LINK_ID_MAX + 1];  // of the common key; "": a local user
    struct wire_in in;
    struct wire_out out;
    int64_t opened_at;     // ticks
    const char *reason;    // null unless it is closed
    bool is_denied;        // the other side rejects the key, or has another identity
    struct tls *tls;       // null: none
    struct search *search;      // null: it is connected, or was accepted
    struct door *door;          // while opening: its listener,
    uint64_t from;              // and a hash of the peer's address
    struct link *older, *newer; // while opening: the listener's list
};

// The next connection. Null: no peer waits.
struct link *link_accept(struct link_listener *listener);
// Begins to connect. `key` may be null for a Unix socket. Null: see `error`.
struct link *link_connect(const char *address, const struct link_key *key,
                          struct link_error *error);
// A link over a connected socket, which it owns from then on. Null: no memory, and the caller still
// owns the socket.
struct link *link_over(int file);
// Sends all of `out` and receives about 1 MiB, as far as that goes without waiting, so that other
// links have their turn. False: the link is closed; messages that came before are in `in`.
bool link_work(struct link *link);
// Only sends. False: the link is closed.
bool link_flush(struct link *link);
// Whether a listener with these keys would accept the other side again: its key is among them, or
// its certificate is trusted and not revoked. True for a local user, false while a link is opening.
bool link_is_allowed(const struct link *link, const struct link_keys *keys);
// Closes a link that is still opening LINK_OPENING_TICKS after its start. True: it did.
bool link_overdue(struct link *link, int64_t now);
void link_close(struct link *link);  // null is fine
