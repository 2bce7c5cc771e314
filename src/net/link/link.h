// link.h - connections between processes of rota: messages in, messages out, nobody waits.
//
// A link is a stream socket that carries the frames of wire.h: over a Unix socket between processes
// of one user, else over TLS 1.3 with a key that both sides have. Whoever owns a link watches its
// file and calls link_work() when that can be read or written; what has come is then in `in`, and
// what was put into `out` leaves.
//
// A name of a host is looked up meanwhile, and the file is then another one under the same number:
// whoever watches with epoll has to add it again after link_work() as long as a link is OPENING.
//
// An address is "/path", a Unix socket, or "host:port" (an IPv6 host in brackets).
#pragma once

#include "net/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

// ---- keys.c: who may do what --------------------------------------------------------------

// A key is a line "rota-key ROLE ID SECRET": a word of enum wire_role, up to 32 letters and digits,
// 64 hexadecimal digits. A file of keys has one or more of them, and no id twice. It belongs to its
// reader, nobody else may read it, and only its owner or root may write in its folder; any other
// file is refused.
enum { LINK_ID_MAX = 32, LINK_SECRET = 32, LINK_KEYS_MAX = 1024 };

struct link_key {
    enum wire_role role;
    char id[LINK_ID_MAX + 1];
    uint8_t secret[LINK_SECRET];
    char *pem;  // a certificate instead of the secret, with its private key; null: none
};

struct link_keys {
    struct link_key *items;
    uint32_t count;
};

struct link_error {
    char text[400];  // a sentence that names the address or the file
};

// Or a file has a private key and certificates: certificate.c says what is in it. It counts as one
// key, without a role if it is a server's.

// The keys of a text; `path` is what mistakes are said to be in. False: there are none to release.
bool link_keys_parse(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error);
bool link_keys_copy(struct link_keys *copy, const struct link_keys *keys);  // false: no memory
void link_keys_release(struct link_keys *keys);  // wipes the secrets
// Makes a key with a fresh secret. False: the system has no randomness to give.
bool link_key_make(struct link_key *key, enum wire_role role);
// The line of a key, with its end. `out` has room for LINK_LINE_MAX bytes.
enum { LINK_LINE_MAX = 160 };
void link_key_write(const struct link_key *key, char out[LINK_LINE_MAX]);
const char *link_role_name(enum wire_role role);
bool link_role_read(const char *word, enum wire_role *role);

// ---- keys_file.c: files that only one user may read ------------------------------------------

bool link_keys_read(struct link_keys *keys, const char *path, struct link_error *error);
enum link_write { LINK_WRITE_NEW, LINK_WRITE_OVER };  // what is there: refused; replaced
bool link_keys_write(const struct link_keys *keys, const char *path, enum link_write how,
                     struct link_error *error);
// Nobody else who asks for it has the folder of this file while the result is open. -1: it failed.
int link_keys_lock(const char *path, struct link_error *error);

// ---- address.c: where to find whom -----------------------------------------------------------

bool link_address_is_local(const char *address);     // a Unix socket
bool link_address_is_loopback(const char *address);  // localhost, 127.x.x.x or [::1]

// ---- listen.c, connect.c ---------------------------------------------------------------------

// What a user of this machine may be at a Unix socket. Users who are in no list: the listener's own
// user and root have LINK_LOCAL_ROLES, all others are turned away.
struct link_user {
    uint32_t uid;
    uint32_t roles;  // enum wire_role, together
};

struct link_users {
    struct link_user items[16];
    uint32_t count;
};

struct link_listener {
    int file;  // readable: somebody waits; -1: closed
    bool local;
    const struct link_users *users;  // of a Unix socket; null: no list
    const struct link_keys *keys;  // may be changed to others while listening
    char address[300];  // as it turned out: with the port that port 0 got
    struct door *door;
};

// Any address but a Unix socket needs keys. The socket of a path is made anew, mode 0600; one that
// somebody listens at is refused.
bool link_listen(struct link_listener *listener, const char *address, const struct link_keys *keys,
                 struct link_error *error);
// At a socket that listens already, such as one from systemd; it becomes the listener's.
bool link_listen_over(struct link_listener *listener, int file, const struct link_keys *keys,
                      struct link_error *error);
// Other keys from now on, or another certificate. False: all stays as it was.
bool link_listener_renew(struct link_listener *listener, const struct link_keys *keys,
                         struct link_error *error);
void link_listener_close(struct link_listener *listener);  // its links stay

enum link_state {
    LINK_OPENING,  // who is there is not known yet; nothing has come or gone
    LINK_OPEN,
    LINK_CLOSED,   // by the other side, or because of what it did; `reason` says why
};
enum {
    LINK_LOCAL_ROLES = WIRE_CLIENT | WIRE_WORKER | WIRE_ADMIN,  // of a local user
    LINK_OPENING_MAX = 64,     // of one listener; then one is closed for the next, by lot
    LINK_OPENING_ADDRESS = 8,  // of one address, when others need the places
    LINK_OPENING_TICKS = 10 * 1000000,
    LINK_OPENING_BYTES = 4096,          // to be taken from somebody who is not known,
    LINK_OPENING_CERTIFICATES = 32768,  // and if he has to show certificates
};

struct link {
    int file;  // may stand for another socket after link_work(), under the same number
    enum link_state state;
    bool wants_write;      // watch for that too
    bool is_read_slowly;   // little at a time, so that its owner can stop it early
    uint32_t roles;        // enum wire_role, together: what the other side may be; 0: a server
    char id[LINK_ID_MAX + 1];  // of the key that both have; "": a local user
    struct wire_in in;
    struct wire_out out;
    int64_t opened_at;     // ticks
    const char *reason;    // null while it is not closed
    bool is_denied;        // the other side does not take the key, or is not who it should be
    struct tls *tls;       // null: none
    struct search *search;      // null: it is connected, or came in
    struct door *door;          // while opening: where it came in,
    uint64_t from;              // and a hash of the address it came from
    struct link *older, *newer; // while opening: who else did
};

// The next who waits. Null: nobody who may come in.
struct link *link_accept(struct link_listener *listener);
// Begins to connect. `key` may be null for a Unix socket. Null: it cannot even begin.
struct link *link_connect(const char *address, const struct link_key *key,
                          struct link_error *error);
// Over a socket that is open already, such as one of a pair, and becomes the link's. Null: no
// memory, and the socket is still the caller's.
struct link *link_over(int file);
// Reads and writes what goes without waiting: all that waits in `out`, and of what has come about
// 1 MiB, so that others have their turn. False: it is closed. What came before that is in `in`.
bool link_work(struct link *link);
// Only what waits in `out`. False: it is closed.
bool link_flush(struct link *link);
// Whether somebody with these keys would let in the other side again: its key is there, or its
// certificate is believed and not revoked. A local user always is; one that is opening never.
bool link_is_allowed(const struct link *link, const struct link_keys *keys);
// Closes a link that is still opening LINK_OPENING_TICKS after it began. True: it was.
bool link_overdue(struct link *link, int64_t now);
void link_close(struct link *link);  // null is fine
